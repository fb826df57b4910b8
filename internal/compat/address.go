package compat

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// localNames are ends of names that lead into a private network.
var localNames = []string{"local", "localhost", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa"}

// reserved are addresses of networks that are not public, beside those that package netip
// knows.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("fec0::/10"),
}

// IsPublicAddr reports whether an address is of the public internet.
func IsPublicAddr(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsGlobalUnicast() && !a.IsPrivate() && a.Zone() == "" && !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Elsewhere says what an address of an image must be that is not sent with the request.
const Elsewhere = "an address that begins with https:// and is in the public internet"

// IsPublic reports whether an address, of http or https, is one that a model server may be
// told to read: its host is in the public internet, as far as that can be told from its
// name. A model server may stand in a private network, and would be asked to read there
// what its client cannot.
func IsPublic(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		return IsPublicAddr(a)
	}
	dot := strings.LastIndexByte(host, '.')
	if dot <= 0 || strings.ContainsAny(host, "%\\ _") || strings.ContainsFunc(host, func(c rune) bool { return c >= 0x80 }) {
		return false // other forms of letters may mean the same names
	}
	if last := host[dot+1:]; last == "" || last[0] >= '0' && last[0] <= '9' { // an address in another form, such as 127.1
		return false
	}
	return !slices.ContainsFunc(localNames, func(n string) bool { return strings.HasSuffix(host, "."+n) })
}
