package web

import "net/netip"

// A ban is a range of addresses that are nobody's on the public internet.
type ban struct {
	prefix netip.Prefix
	what   string

	// hard bans hold for a host that the user allowed by its name, too: whoever
	// answers for the name could name them. They are lifted by address only.
	hard bool
}

func soft(prefix, what string) ban { return ban{netip.MustParsePrefix(prefix), what, false} }
func hard(prefix, what string) ban { return ban{netip.MustParsePrefix(prefix), what, true} }

// bans4 is the registry of special addresses of IPv4 (IANA), and the addresses
// at which clouds tell their machines secrets. The first that matches counts.
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

// bans6 is the same of IPv6. What is outside of public6 is banned as well; it is
// named here where a word can be said about it.
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

// public6 is all that has been given out of the space of IPv6.
var public6 = netip.MustParsePrefix("2000::/3")

// banned says what keeps an address from being public, or "", and whether that
// holds for hosts that are allowed by name.
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

// isatap returns the IPv4 address that an address of ISATAP leads to: the lower
// half is 0000:5efe or 0200:5efe and the address.
func isatap(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	if b[8]&^2 != 0 || b[9] != 0 || b[10] != 0x5e || b[11] != 0xfe {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte(b[12:])), true
}
