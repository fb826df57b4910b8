package compat

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"ponder/internal/netaddr"
)

// localNames are ends of names that lead into a private network.
var localNames = []string{"local", "localhost", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa"}

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
		return netaddr.IsPublic(a)
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
