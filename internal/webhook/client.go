package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"ponder/internal/netaddr"
)

// NewClient returns a client that connects only to addresses that the guard allows. It uses no
// proxy, which would connect unchecked.
func NewClient(guard netaddr.Guard) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSHandshakeTimeout: timeout, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return guard.DialContext(ctx, timeout, nil, network, address)
		},
	}}
}

// CheckURL returns an error unless a client may have events posted to an address: https, or http
// to an allowed private host.
func CheckURL(guard netaddr.Guard, address string) error {
	u, err := url.Parse(address)
	if err == nil {
		u, err = guard.CheckURL(u)
	}
	if err != nil || u.Scheme != "https" && !guard.AllowsHost(u) {
		return errors.New("expected a public URL that begins with https://; private hosts must be in serve.allow of the server's configuration")
	}
	return nil
}
