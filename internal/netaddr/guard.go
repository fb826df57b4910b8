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

// A blockedRange is a range of non-public addresses.
type blockedRange struct {
	prefix netip.Prefix
	what   string

	// hard bans also hold for hosts allowed by name, since any name server can return
	// such an address. Only entries for addresses lift them.
	hard bool
}

func softRange(prefix, what string) blockedRange {
	return blockedRange{netip.MustParsePrefix(prefix), what, false}
}
func hardRange(prefix, what string) blockedRange {
	return blockedRange{netip.MustParsePrefix(prefix), what, true}
}

// blockedIPv4 has IANA's special addresses and metadata services of clouds. The first match
// counts.
var blockedIPv4 = []blockedRange{
	hardRange("169.254.169.254/32", "a cloud metadata service"),
	hardRange("169.254.170.2/32", "a cloud metadata service"),
	hardRange("100.100.100.200/32", "a cloud metadata service"),
	hardRange("168.63.129.16/32", "a cloud metadata service"),
	hardRange("192.0.0.192/32", "a cloud metadata service"),
	hardRange("0.0.0.0/8", "an unspecified address"),
	softRange("10.0.0.0/8", "a private address"),
	softRange("100.64.0.0/10", "a shared address of a carrier"),
	softRange("127.0.0.0/8", "a loopback address"),
	hardRange("169.254.0.0/16", "a link-local address"),
	softRange("172.16.0.0/12", "a private address"),
	hardRange("192.0.0.0/24", "a reserved address"),
	softRange("192.0.2.0/24", "a documentation address"),
	hardRange("192.88.99.0/24", "a 6to4 relay"),
	softRange("192.168.0.0/16", "a private address"),
	softRange("198.18.0.0/15", "a benchmarking address"),
	softRange("198.51.100.0/24", "a documentation address"),
	softRange("203.0.113.0/24", "a documentation address"),
	hardRange("224.0.0.0/4", "a multicast address"),
	hardRange("255.255.255.255/32", "the broadcast address"),
	hardRange("240.0.0.0/4", "a reserved address"),
}

// blockedIPv6 is the same for IPv6; addresses outside public6 are banned too.
var blockedIPv6 = []blockedRange{
	hardRange("fd00:ec2::254/128", "a cloud metadata service"),
	hardRange("fd20:ce::254/128", "a cloud metadata service"),
	hardRange("::/128", "an unspecified address"),
	softRange("::1/128", "a loopback address"),
	hardRange("::ffff:0:0/96", "an IPv4 address in IPv6 notation"),
	hardRange("::ffff:0:0:0/96", "an IPv4 address in IPv6 notation"),
	hardRange("::/96", "an IPv4 address in IPv6 notation"),
	hardRange("64:ff9b::/96", "an IPv4 address behind NAT64"),
	hardRange("64:ff9b:1::/48", "an IPv4 address behind NAT64"),
	hardRange("100::/64", "a discard-only address"),
	hardRange("2001::/32", "an IPv4 address behind Teredo"),
	hardRange("2001:2::/48", "a benchmarking address"),
	hardRange("2001::/23", "a reserved address"),
	softRange("2001:db8::/32", "a documentation address"),
	hardRange("2002::/16", "an IPv4 address behind 6to4"),
	softRange("3fff::/20", "a documentation address"),
	hardRange("5f00::/16", "a segment routing address"),
	softRange("fc00::/7", "a private address"),
	hardRange("fe80::/10", "a link-local address"),
	softRange("fec0::/10", "a private address"),
	hardRange("ff00::/8", "a multicast address"),
}

var publicIPv6 = netip.MustParsePrefix("2000::/3")

// blockReason returns why an address is not public, or "", and whether that holds for hosts
// allowed by name.
func blockReason(a netip.Addr) (what string, hard bool) {
	if !a.IsValid() || a.Zone() != "" {
		return "an address with a zone", true
	}
	if a.Is4() {
		return findRange(blockedIPv4, a)
	}
	if what, hard := findRange(blockedIPv6, a); what != "" {
		return what, hard
	}
	if !publicIPv6.Contains(a) {
		return "not a public address", true
	}
	if inner, ok := isatapIPv4(a); ok {
		if what, _ := blockReason(inner); what != "" {
			return what + " behind ISATAP", true
		}
	}
	return "", false
}

func findRange(list []blockedRange, a netip.Addr) (what string, hard bool) {
	for _, b := range list {
		if b.prefix.Contains(a) {
			return b.what, b.hard
		}
	}
	return "", false
}

// isatapIPv4 returns the embedded IPv4 address, after 0000:5efe or 0200:5efe.
func isatapIPv4(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	if b[8]&^2 != 0 || b[9] != 0 || b[10] != 0x5e || b[11] != 0xfe {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(b[12:])), true
}

type allowEntry struct {
	prefix     netip.Prefix // invalid for names
	name       string       // as [hostName] writes it
	subdomains bool         // *.name: hosts below only
	port       uint16       // 0 is any
}

func CheckAllow(entry string) error {
	_, err := parseAllowEntry(entry)
	return err
}

// parseAllowEntry reads an address, a range, a host, or *.host. All but ranges may have a
// port.
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

type guard struct{ allow []allowEntry }

func newGuard(list []string) (guard, error) {
	var g guard
	for _, entry := range list {
		a, err := parseAllowEntry(entry)
		if err != nil {
			return guard{}, err
		}
		g.allow = append(g.allow, a)
	}
	return g, nil
}

// checkConnect decides directly before each connection.
func (g guard) checkConnect(host, address string) error {
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

func (g guard) allowsAddress(to netip.AddrPort) bool {
	return slices.ContainsFunc(g.allow, func(a allowEntry) bool {
		return a.prefix.IsValid() && a.prefix.Contains(to.Addr()) && (a.port == 0 || a.port == to.Port())
	})
}

func (g guard) allowsName(host string, port uint16) bool {
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

// newTransport uses no proxy, since a proxy would connect unchecked.
func (f *Fetcher) newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            f.dialChecked,
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

// dialChecked checks each address of a host directly before connecting.
func (f *Fetcher) dialChecked(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Timeout:  2 * f.limits.headers, // the timer of the exchange gives the better error
		Resolver: f.resolver,
		ControlContext: func(_ context.Context, _, to string, _ syscall.RawConn) error {
			return f.guard.checkConnect(strings.ToLower(host), to)
		},
	}
	return d.DialContext(ctx, network, address)
}

func explainError(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, ErrRefused):
		return unwrapRefusal(err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return plainError{"unknown host " + textkit.VisibleLine(dns.Name, 80), err}
	case errors.As(err, &dns):
		return plainError{"host name lookup failed: " + textkit.VisibleLine(dns.Err, 80), err}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return plainError{"host closed the connection without an answer", err}
	case errors.As(err, &op) && op.Op == "dial":
		return plainError{"connection to host failed: " + textkit.VisibleLine(op.Err.Error(), 80), err}
	}
	return plainError{"invalid answer of host: " + textkit.VisibleLine(trimHTTPPrefix(err), maxMessage), err}
}

// trimHTTPPrefix removes prefixes of net/http.
func trimHTTPPrefix(err error) string {
	s := err.Error()
	for _, prefix := range []string{"net/http: HTTP/1.x transport connection broken: ", "net/http: ", "http: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}

// unwrapRefusal removes the dialer's wrapping.
func unwrapRefusal(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.HasPrefix(e.Error(), ErrRefused.Error()) {
			return e
		}
	}
	return err
}
