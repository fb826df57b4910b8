package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"ponder/internal/netaddr"
)

// ErrPrivate reports that an address is in a private network.
var ErrPrivate = errors.New("the address is in a private network")

// Client connects to public addresses, or to this machine if the URL names it. It refuses names that resolve to private
// addresses.
var Client = &http.Client{Transport: &http.Transport{
	TLSHandshakeTimeout: timeout, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("post to a webhook: %w", err)
		}
		d := net.Dialer{Timeout: timeout, Control: func(_, to string, _ syscall.RawConn) error { return CheckPublic(to, netaddr.IsLoopback(host)) }}
		return d.DialContext(ctx, network, address)
	},
}}

// CheckPublic returns [ErrPrivate] for a private address with a port. local permits loopback.
func CheckPublic(to string, local bool) error {
	at, err := netip.ParseAddrPort(to)
	if a := at.Addr().Unmap(); err != nil || (!local || !a.IsLoopback()) && !netaddr.IsPublic(a) {
		return ErrPrivate
	}
	return nil
}
