// Package netaddr classifies addresses: this machine, private networks and the internet. A [Guard]
// checks every address that a client or model can name.
package netaddr

import "net/netip"

// IsLoopback reports whether a host of a URL is this machine.
func IsLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}
