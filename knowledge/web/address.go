package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ponder/internal/textkit"
)

// A ban is a range of non-public addresses.
type ban struct {
	prefix netip.Prefix
	what   string

	// hard bans also hold for hosts allowed by name, since any name server can return
	// such an address. Only entries for addresses lift them.
	hard bool
}

func soft(prefix, what string) ban { return ban{netip.MustParsePrefix(prefix), what, false} }
func hard(prefix, what string) ban { return ban{netip.MustParsePrefix(prefix), what, true} }

// bans4 has IANA's special addresses and metadata services of clouds. The first match
// counts.
var bans4 = []ban{
	hard("169.254.169.254/32", "the metadata service of a cloud"),
	hard("169.254.170.2/32", "the metadata service of a cloud"),
	hard("100.100.100.200/32", "the metadata service of a cloud"),
	hard("168.63.129.16/32", "the metadata service of a cloud"),
	hard("192.0.0.192/32", "the metadata service of a cloud"),
	hard("0.0.0.0/8", "an unspecified address"),
	soft("10.0.0.0/8", "a private address"),
	soft("100.64.0.0/10", "a shared address of a provider"),
	soft("127.0.0.0/8", "a loopback address"),
	hard("169.254.0.0/16", "a link-local address"),
	soft("172.16.0.0/12", "a private address"),
	hard("192.0.0.0/24", "a reserved address"),
	soft("192.0.2.0/24", "an address of documentation"),
	hard("192.88.99.0/24", "a relay of 6to4"),
	soft("192.168.0.0/16", "a private address"),
	soft("198.18.0.0/15", "an address of benchmarks"),
	soft("198.51.100.0/24", "an address of documentation"),
	soft("203.0.113.0/24", "an address of documentation"),
	hard("224.0.0.0/4", "a multicast address"),
	hard("255.255.255.255/32", "the broadcast address"),
	hard("240.0.0.0/4", "a reserved address"),
}

// bans6 is the same for IPv6; addresses outside public6 are banned too.
var bans6 = []ban{
	hard("fd00:ec2::254/128", "the metadata service of a cloud"),
	hard("fd20:ce::254/128", "the metadata service of a cloud"),
	hard("::/128", "an unspecified address"),
	soft("::1/128", "a loopback address"),
	hard("::ffff:0:0/96", "an IPv4 address in the form of IPv6"),
	hard("::ffff:0:0:0/96", "an IPv4 address in the form of IPv6"),
	hard("::/96", "an IPv4 address in the form of IPv6"),
	hard("64:ff9b::/96", "an IPv4 address behind NAT64"),
	hard("64:ff9b:1::/48", "an IPv4 address behind NAT64"),
	hard("100::/64", "an address that discards"),
	hard("2001::/32", "an IPv4 address behind Teredo"),
	hard("2001:2::/48", "an address of benchmarks"),
	hard("2001::/23", "a reserved address"),
	soft("2001:db8::/32", "an address of documentation"),
	hard("2002::/16", "an IPv4 address behind 6to4"),
	soft("3fff::/20", "an address of documentation"),
	hard("5f00::/16", "an address of segment routing"),
	soft("fc00::/7", "a private address"),
	hard("fe80::/10", "a link-local address"),
	soft("fec0::/10", "a private address"),
	hard("ff00::/8", "a multicast address"),
}

var public6 = netip.MustParsePrefix("2000::/3")

// banned returns why an address is not public, or "", and whether that holds for hosts
// allowed by name.
func banned(a netip.Addr) (what string, hard bool) {
	if !a.IsValid() || a.Zone() != "" {
		return "an address of one link only", true
	}
	if a.Is4() {
		return among(bans4, a)
	}
	if what, hard := among(bans6, a); what != "" {
		return what, hard
	}
	if !public6.Contains(a) {
		return "not a public address", true
	}
	if inner, ok := isatap(a); ok {
		if what, _ := banned(inner); what != "" {
			return what + " behind ISATAP", true
		}
	}
	return "", false
}

func among(list []ban, a netip.Addr) (what string, hard bool) {
	for _, b := range list {
		if b.prefix.Contains(a) {
			return b.what, b.hard
		}
	}
	return "", false
}

// isatap returns the embedded IPv4 address, after 0000:5efe or 0200:5efe.
func isatap(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	if b[8]&^2 != 0 || b[9] != 0 || b[10] != 0x5e || b[11] != 0xfe {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(b[12:])), true
}

type allowed struct {
	prefix netip.Prefix // invalid for names
	name   string       // as [hostName] writes it
	below  bool         // *.name: hosts below only
	port   uint16       // 0 is any
}

func CheckAllow(entry string) error {
	_, err := parseAllowed(entry)
	return err
}

// parseAllowed reads an address, a range, a host, or *.host. All but ranges may have a
// port.
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

type guard struct{ allow []allowed }

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

// connect decides directly before each connection.
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

// transport uses no proxy, since a proxy would connect unchecked.
func (f *Fetcher) transport() *http.Transport {
	return &http.Transport{
		DialContext:            f.dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // readBody decompresses within bounds
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        f.limits.total,
		TLSHandshakeTimeout:    2 * f.limits.headers,
		MaxResponseHeaderBytes: f.limits.headerBytes,
		WriteBufferSize:        4 << 10,
		ReadBufferSize:         8 << 10,
	}
}

// dial checks each address of a host directly before connecting.
func (f *Fetcher) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Timeout:  2 * f.limits.headers, // the timer of the exchange gives the better error
		Resolver: f.resolver,
		ControlContext: func(_ context.Context, _, to string, _ syscall.RawConn) error {
			return f.guard.connect(strings.ToLower(host), to)
		},
	}
	return d.DialContext(ctx, network, address)
}

func explain(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, ErrRefused):
		return refused(err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return plainError{"no host has the name " + textkit.VisibleLine(dns.Name, 80), err}
	case errors.As(err, &dns):
		return plainError{"name of the host cannot be looked up: " + textkit.VisibleLine(dns.Err, 80), err}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return plainError{"host hung up without an answer", err}
	case errors.As(err, &op) && op.Op == "dial":
		return plainError{"host cannot be reached: " + textkit.VisibleLine(op.Err.Error(), 80), err}
	}
	return plainError{"host did not answer as it should: " + textkit.VisibleLine(words(err), longest), err}
}

// words removes prefixes of net/http.
func words(err error) string {
	s := err.Error()
	for _, prefix := range []string{"net/http: HTTP/1.x transport connection broken: ", "net/http: ", "http: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}

// refused removes the dialer's wrapping.
func refused(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.HasPrefix(e.Error(), ErrRefused.Error()) {
			return e
		}
	}
	return err
}
