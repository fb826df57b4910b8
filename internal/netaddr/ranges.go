package netaddr

import "net/netip"

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
