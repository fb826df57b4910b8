package netaddr

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"ponder/internal/textkit"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// MaxURL is in bytes.
const MaxURL = 8 << 10

// maxMessage limits quoted messages of others.
const maxMessage = 300

// ParseURL parses and normalizes an http or https URL. It refuses banned addresses and unusual
// notations of addresses. Only [Guard.DialContext] checks the addresses of names.
func (g Guard) ParseURL(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if len(raw) > MaxURL {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrURL, MaxURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrURL, ParseErrorText(err))
	}
	return g.CheckURL(u)
}

// ParseErrorText returns the text of a parse error without the URL.
func ParseErrorText(err error) string {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // as url.Parse returns it
		err = e.Err
	}
	return textkit.VisibleLine(err.Error(), maxMessage)
}

// CheckURL is [Guard.ParseURL] for a parsed URL.
func (g Guard) CheckURL(u *url.URL) (*url.URL, error) {
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "":
		return nil, fmt.Errorf("%w: it must start with https:// or http://", ErrURL)
	case scheme != "http" && scheme != "https":
		return nil, fmt.Errorf("%w: unsupported scheme %s; use https or http", ErrURL, textkit.VisibleLine(u.Scheme, 20))
	case u.Opaque != "" || u.Host == "":
		return nil, fmt.Errorf("%w: it has no host", ErrURL)
	case u.User != nil:
		return nil, fmt.Errorf("%w: it contains a user name", ErrURL)
	}
	host, err := g.checkHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port, err := urlPort(u)
	if err != nil {
		return nil, err
	}
	out := &url.URL{Scheme: strings.ToLower(u.Scheme), Host: host, Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
	if strings.Contains(host, ":") {
		out.Host = "[" + host + "]"
	}
	out.Host += port
	if out.Path == "" {
		out.Path, out.RawPath = "/", ""
	}
	return out, nil
}

// urlPort returns ":" and the port, or "" for the default.
func urlPort(u *url.URL) (string, error) {
	port := u.Port()
	if port == "" {
		return "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("%w: %q is not a port", ErrURL, textkit.VisibleLine(port, 20))
	}
	if n == 80 && strings.EqualFold(u.Scheme, "http") || n == 443 && strings.EqualFold(u.Scheme, "https") {
		return "", nil
	}
	return ":" + strconv.FormatUint(n, 10), nil
}

// checkHost refuses banned addresses early, except for ports, which the dialer checks.
func (g Guard) checkHost(raw string) (string, error) {
	a, err := netip.ParseAddr(raw)
	if err != nil && strings.Contains(raw, ":") {
		return "", fmt.Errorf("%w: invalid host %q", ErrURL, textkit.VisibleLine(raw, 80))
	}
	if err != nil {
		return hostName(raw)
	}
	if what, _ := blockReason(a); what != "" && !g.mayAllow(a) {
		return "", fmt.Errorf("%w: %s is %s", ErrRefused, a, what)
	}
	return a.String(), nil
}

func (g Guard) mayAllow(a netip.Addr) bool {
	return slices.ContainsFunc(g.allow, func(e allowEntry) bool { return e.prefix.IsValid() && e.prefix.Contains(a) })
}

// hostName normalizes a name: lower-case ASCII without a final dot. It refuses
// notations that some programs read as addresses: 0x7f.1, 2130706433, or wide digits.
func hostName(raw string) (string, error) {
	name := raw
	for i := range len(raw) {
		if raw[i] >= 0x80 {
			ascii, err := idna.Lookup.ToASCII(raw)
			if err != nil {
				return "", fmt.Errorf("%w: invalid host %q", ErrURL, textkit.VisibleLine(raw, 80))
			}
			name = ascii
			break
		}
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if !isLabel(l) {
			return "", fmt.Errorf("%w: invalid host %q", ErrURL, textkit.VisibleLine(raw, 80))
		}
	}
	if len(name) > 253 {
		return "", fmt.Errorf("%w: its host is too long", ErrURL)
	}
	switch last := labels[len(labels)-1]; {
	case isNumericLabel(last):
		return "", fmt.Errorf("%w: host %q is an unusual notation of an address", ErrRefused, textkit.VisibleLine(raw, 80))
	case last == "invalid": // RFC 6761: a saved page without an address
		return "", fmt.Errorf("%w: %s is not a network host", ErrRefused, name)
	}
	return name, nil
}

func isLabel(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || 'z' < c) && (c < '0' || '9' < c) && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 63
}

// isNumericLabel reports whether some programs would read an address: decimal, octal or
// hexadecimal.
func isNumericLabel(s string) bool {
	if rest, ok := strings.CutPrefix(s, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(s, "0123456789") == ""
}

// AllowsHost reports whether the configuration allows the host and port of a URL by name or
// address.
func (g Guard) AllowsHost(u *url.URL) bool {
	port, err := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]), 10, 16)
	if err != nil {
		return false
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return g.allowsAddress(netip.AddrPortFrom(a, uint16(port)))
	}
	return g.allowsName(u.Hostname(), uint16(port))
}

// localNames are domains of private networks.
var localNames = []string{"local", "localhost", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa"}

// IsPublicURL reports whether address is an http or https URL with a public host name, for other
// programs to fetch, such as model servers. DNS is not checked.
func IsPublicURL(address string) bool {
	u, err := Guard{}.ParseURL(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return true // checked by ParseURL
	}
	if parsed, err := url.Parse(strings.TrimSpace(address)); err != nil || strings.ContainsFunc(parsed.Hostname(), func(c rune) bool { return c >= 0x80 || c == '_' }) {
		return false // other scripts can map to the same names
	}
	return strings.Contains(host, ".") && !slices.ContainsFunc(localNames, func(n string) bool { return strings.HasSuffix(host, "."+n) })
}
