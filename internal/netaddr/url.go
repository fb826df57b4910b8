package web

import (
	"fmt"
	"net/netip"
	"net/url"
	"ponder/internal/textkit"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

const maxURL = 8 << 10

func (g guard) parseURL(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if len(raw) > maxURL {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrURL, maxURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrURL, parseErrorText(err))
	}
	return g.checkURL(u)
}

// parseErrorText returns a parse error without the URL.
func parseErrorText(err error) string {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // as url.Parse returns it
		err = e.Err
	}
	return textkit.VisibleLine(err.Error(), maxMessage)
}

// checkURL normalizes a URL that may be fetched.
func (g guard) checkURL(u *url.URL) (*url.URL, error) {
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
func (g guard) checkHost(raw string) (string, error) {
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

func (g guard) mayAllow(a netip.Addr) bool {
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
