package netaddr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Errors of a [Guard].
var (
	ErrRefused = errors.New("address not allowed") // not public and not allowed
	ErrURL     = errors.New("invalid URL")         // scheme, host or syntax
)

type allowEntry struct {
	prefix     netip.Prefix // invalid for names
	name       string       // as [hostName] writes it
	subdomains bool         // *.name: hosts below only
	port       uint16       // 0 is any
}

// CheckAllow checks an entry for [NewGuard]: an address, a range, a host, or *.host. All but ranges
// may have a port.
func CheckAllow(entry string) error {
	_, err := parseAllowEntry(entry)
	return err
}

func parseAllowEntry(entry string) (allowEntry, error) {
	entry = strings.TrimSpace(entry)
	if p, err := netip.ParsePrefix(entry); err == nil {
		return allowEntry{prefix: p.Masked()}, nil
	}
	if a, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return addressEntry(entry, a, 0)
	}
	if a, err := netip.ParseAddrPort(entry); err == nil {
		return addressEntry(entry, a.Addr(), a.Port())
	}
	name, port, err := cutPort(entry)
	if err != nil {
		return allowEntry{}, fmt.Errorf("allow %q: %w", entry, err)
	}
	rest, below := strings.CutPrefix(name, "*.")
	host, err := hostName(rest)
	if err != nil {
		return allowEntry{}, fmt.Errorf("allow %q: %w", entry, err)
	}
	return allowEntry{name: host, subdomains: below, port: port}, nil
}

func addressEntry(entry string, a netip.Addr, port uint16) (allowEntry, error) {
	if a.Zone() != "" {
		return allowEntry{}, fmt.Errorf("allow %q: addresses with a zone cannot be allowed", entry)
	}
	return allowEntry{prefix: netip.PrefixFrom(a, a.BitLen()), port: port}, nil
}

func cutPort(entry string) (name string, port uint16, err error) {
	name, digits, ok := strings.Cut(entry, ":")
	if !ok {
		return name, 0, nil
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q is not a port", digits)
	}
	return name, uint16(n), nil
}

// A Guard decides which addresses may be connected to: public ones, and those that the
// configuration allows. The zero Guard allows public addresses.
type Guard struct{ allow []allowEntry }

// NewGuard returns a guard that also allows hosts and networks, see [CheckAllow].
func NewGuard(list []string) (Guard, error) {
	var g Guard
	for _, entry := range list {
		a, err := parseAllowEntry(entry)
		if err != nil {
			return Guard{}, err
		}
		g.allow = append(g.allow, a)
	}
	return g, nil
}

// checkConnect decides directly before each connection.
func (g Guard) checkConnect(host, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrRefused, address)
	}
	what, hard := blockReason(to.Addr())
	if what == "" || g.allowsAddress(to) || !hard && g.allowsName(host, to.Port()) {
		return nil
	}
	if host == to.Addr().String() {
		return fmt.Errorf("%w: %s is %s", ErrRefused, host, what)
	}
	return fmt.Errorf("%w: %s resolves to %s, which is %s", ErrRefused, host, to.Addr(), what)
}

func (g Guard) allowsAddress(to netip.AddrPort) bool {
	return slices.ContainsFunc(g.allow, func(a allowEntry) bool {
		return a.prefix.IsValid() && a.prefix.Contains(to.Addr()) && (a.port == 0 || a.port == to.Port())
	})
}

func (g Guard) allowsName(host string, port uint16) bool {
	for _, a := range g.allow {
		if a.prefix.IsValid() || a.port != 0 && a.port != port {
			continue
		}
		if !a.subdomains && host == a.name || a.subdomains && strings.HasSuffix(host, "."+a.name) {
			return true
		}
	}
	return false
}

// DialContext connects with [net.Dialer]. It checks each resolved address directly before it
// connects, so that a name cannot change in between. A nil resolver is the default one.
func (g Guard) DialContext(ctx context.Context, timeout time.Duration, r *net.Resolver, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Timeout:  timeout,
		Resolver: r,
		ControlContext: func(_ context.Context, _, to string, _ syscall.RawConn) error {
			return g.checkConnect(strings.ToLower(host), to)
		},
	}
	return d.DialContext(ctx, network, address)
}
