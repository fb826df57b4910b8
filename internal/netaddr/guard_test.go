package netaddr

import (
	"errors"
	"net/netip"
	"testing"
)

// public has neighbours of those, and others.
var public = []string{
	"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
	"168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.0.3.1", "192.167.255.255",
	"192.169.0.0", "198.17.255.255", "198.20.0.0", "203.0.112.1", "203.0.114.1", "223.255.255.255",
	"2001:4860:4860::8888", "2606:4700:4700::1111", "2003::1", "2600::1", "2a00::1", "2600::5efe:808:808", "2001:200::1",
}

func TestBanned(t *testing.T) {
	for _, a := range readList(t, "private-addresses.json") {
		if what, _ := blockReason(netip.MustParseAddr(a)); what == "" {
			t.Errorf("%s may be connected to", a)
		}
	}
	for _, a := range public {
		if what, _ := blockReason(netip.MustParseAddr(a)); what != "" {
			t.Errorf("%s is said to be %s", a, what)
		}
	}
	if what, _ := blockReason(netip.Addr{}); what == "" {
		t.Error("no address at all may be connected to")
	}
}

func TestGuardConnect(t *testing.T) {
	for name, c := range map[string]struct {
		allow         []string
		host, address string
		ok            bool
	}{
		"public":                        {nil, "a.example", "8.8.8.8:443", true},
		"private":                       {nil, "a.example", "10.0.0.1:443", false},
		"no address":                    {nil, "a.example", "localhost:80", false},
		"empty":                         {nil, "", "", false},
		"zone":                          {nil, "a.example", "[fe80::1%eth0]:80", false},
		"zone of an allowed range":      {[]string{"fe80::/10"}, "a.example", "[fe80::1%eth0]:80", false},
		"range":                         {[]string{"10.0.0.0/8"}, "a.example", "10.0.0.1:443", true},
		"range, another":                {[]string{"10.0.0.0/8"}, "a.example", "192.168.0.1:443", false},
		"range with bits after it":      {[]string{"10.1.2.3/8"}, "a.example", "10.0.0.1:443", true},
		"address":                       {[]string{"10.0.0.1"}, "a.example", "10.0.0.1:9", true},
		"address, mapped":               {[]string{"10.0.0.1"}, "a.example", "[::ffff:10.0.0.1]:9", false},
		"address with port":             {[]string{"10.0.0.1:80"}, "a.example", "10.0.0.1:80", true},
		"address with another port":     {[]string{"10.0.0.1:80"}, "a.example", "10.0.0.1:81", false},
		"address of version 6":          {[]string{"[::1]:80"}, "localhost", "[::1]:80", true},
		"address of version 6, bare":    {[]string{"::1"}, "localhost", "[::1]:80", true},
		"address of version 6, bracket": {[]string{"[::1]"}, "localhost", "[::1]:81", true},
		"name":                          {[]string{"nas.lan"}, "nas.lan", "10.0.0.1:80", true},
		"name, written otherwise":       {[]string{" NAS.lan. "}, "nas.lan", "10.0.0.1:80", true},
		"name of another":               {[]string{"nas.lan"}, "evil.example", "10.0.0.1:80", false},
		"name that ends the same":       {[]string{"nas.lan"}, "evilnas.lan", "10.0.0.1:80", false},
		"name below":                    {[]string{"nas.lan"}, "www.nas.lan", "10.0.0.1:80", false},
		"all below":                     {[]string{"*.nas.lan"}, "www.nas.lan", "10.0.0.1:80", true},
		"all below, not itself":         {[]string{"*.nas.lan"}, "nas.lan", "10.0.0.1:80", false},
		"all below, ends the same":      {[]string{"*.nas.lan"}, "evilnas.lan", "10.0.0.1:80", false},
		"name with port":                {[]string{"nas.lan:8080"}, "nas.lan", "10.0.0.1:8080", true},
		"name with another port":        {[]string{"nas.lan:8080"}, "nas.lan", "10.0.0.1:22", false},
		"name to loopback":              {[]string{"localhost"}, "localhost", "127.0.0.1:80", true},
		"name to metadata":              {[]string{"nas.lan"}, "nas.lan", "169.254.169.254:80", false},
		"name to metadata of another":   {[]string{"nas.lan"}, "nas.lan", "100.100.100.200:80", false},
		"name to link-local":            {[]string{"nas.lan"}, "nas.lan", "[fe80::1]:80", false},
		"name to nowhere":               {[]string{"nas.lan"}, "nas.lan", "0.0.0.0:80", false},
		"metadata by address":           {[]string{"169.254.169.254"}, "169.254.169.254", "169.254.169.254:80", true},
		"everything":                    {[]string{"0.0.0.0/0"}, "a.example", "10.0.0.1:80", true},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := NewGuard(c.allow)
			if err != nil {
				t.Fatal(err)
			}
			err = g.checkConnect(c.host, c.address)
			if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrRefused) {
				t.Errorf("connect to %s for %s: %v", c.address, c.host, err)
			}
		})
	}
}

func TestCheckAllow(t *testing.T) {
	for entry, ok := range map[string]bool{
		"nas.lan": true, "localhost:8080": true, "*.lan": true, "10.0.0.0/8": true, "::1": true, "[::1]:80": true, "bücher.example": true,
		"": false, "*": false, "http://nas.lan": false, "nas.lan:0": false, "nas.lan:http": false, "10.0.0.0/33": false, "0x7f.1": false,
		"fe80::1%eth0": false, "a b": false, "nas.lan/x": false, "10.0.0.256": false, "::1:80:zz": false,
	} {
		if err := CheckAllow(entry); (err == nil) != ok {
			t.Errorf("%q: %v", entry, err)
		}
	}
	if _, err := NewGuard([]string{"http://x"}); err == nil {
		t.Error("a list that cannot be read is ignored")
	}
}
