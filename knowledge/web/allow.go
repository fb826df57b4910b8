package web

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// An allowed is an entry of [Options.Allow].
type allowed struct {
	prefix netip.Prefix // of addresses; not valid if the entry is a name
	name   string       // of a host, as [hostName] writes it
	below  bool         // hosts below the name: *.name
	port   uint16       // 0 is any
}

// CheckAllow reports what is wrong with an entry for [Options.Allow].
func CheckAllow(entry string) error {
	_, err := parseAllowed(entry)
	return err
}

// parseAllowed reads an entry: an address, a range such as 10.0.0.0/8, a host,
// or *.host for all below it; all but a range may have a port.
func parseAllowed(entry string) (allowed, error) {
	entry = strings.TrimSpace(entry)
	if p, err := netip.ParsePrefix(entry); err == nil {
		return allowed{prefix: p.Masked()}, nil
	}
	if a, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return single(entry, a, 0)
	}
	if a, err := netip.ParseAddrPort(entry); err == nil {
		return single(entry, a.Addr(), a.Port())
	}
	name, port, err := cutPort(entry)
	if err != nil {
		return allowed{}, fmt.Errorf("allow %q: %w", entry, err)
	}
	rest, below := strings.CutPrefix(name, "*.")
	host, err := hostName(rest)
	if err != nil {
		return allowed{}, fmt.Errorf("allow %q: %w", entry, err)
	}
	return allowed{name: host, below: below, port: port}, nil
}

func single(entry string, a netip.Addr, port uint16) (allowed, error) {
	if a.Zone() != "" {
		return allowed{}, fmt.Errorf("allow %q: addresses with a zone cannot be allowed", entry)
	}
	return allowed{prefix: netip.PrefixFrom(a, a.BitLen()), port: port}, nil
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

// A guard decides where connections may go.
type guard struct{ allow []allowed }

// newGuard reads the entries of a list.
func newGuard(list []string) (guard, error) {
	var g guard
	for _, entry := range list {
		a, err := parseAllowed(entry)
		if err != nil {
			return guard{}, err
		}
		g.allow = append(g.allow, a)
	}
	return g, nil
}

// connect decides on a connection to an address that the name host stands for. It
// is the last that is asked before the connection is made.
func (g guard) connect(host, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrRefused, address)
	}
	what, hard := banned(to.Addr())
	if what == "" || g.byAddress(to) || !hard && g.byName(host, to.Port()) {
		return nil
	}
	if host == to.Addr().String() {
		return fmt.Errorf("%w: %s is %s", ErrRefused, host, what)
	}
	return fmt.Errorf("%w: %s leads to %s, which is %s", ErrRefused, host, to.Addr(), what)
}

func (g guard) byAddress(to netip.AddrPort) bool {
	return slices.ContainsFunc(g.allow, func(a allowed) bool {
		return a.prefix.IsValid() && a.prefix.Contains(to.Addr()) && (a.port == 0 || a.port == to.Port())
	})
}

func (g guard) byName(host string, port uint16) bool {
	for _, a := range g.allow {
		if a.prefix.IsValid() || a.port != 0 && a.port != port {
			continue
		}
		if !a.below && host == a.name || a.below && strings.HasSuffix(host, "."+a.name) {
			return true
		}
	}
	return false
}
