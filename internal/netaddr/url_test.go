package web

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// odd has hosts that some programs read as private, and ambiguous URLs. PORT is a port.
var odd = []string{
	// numbers
	"http://2130706433:PORT/", "http://017700000001:PORT/", "http://0x7f000001:PORT/", "http://0X7F000001:PORT/", "http://0x7f.1:PORT/",
	"http://0x7f.0x0.0x0.0x1:PORT/", "http://0177.0.0.1:PORT/", "http://0177.0.0.01:PORT/", "http://127.0.0.01:PORT/", "http://127.1:PORT/",
	"http://127.0.1:PORT/", "http://0:PORT/", "http://0x0:PORT/", "http://00:PORT/", "http://127.0.0.1.:PORT/", "http://127.0.0.1..:PORT/",
	"http://127.0.0.1.1:PORT/", "http://999.1.1.1:PORT/", "http://4294967296:PORT/", "http://3232235521:PORT/", "http://0xA9FEA9FE:PORT/",
	"http://127.0.0.0x1:PORT/", "http://example.0x7f:PORT/", "http://0x:PORT/", "http://10.1:PORT/", "http://2852039166:PORT/",
	// letters
	"http://１２７.０.０.１:PORT/", "http://127。0。0。1:PORT/", "http://127．0．0．1:PORT/", "http://127｡0｡0｡1:PORT/", "http://①②⑦.⓪.⓪.①:PORT/",
	"http://１２７。０。０。１:PORT/", "http://2130706433。:PORT/", "http://127.0.0.1\u00ad:PORT/", "http://0ｘ7f.1:PORT/", "http://127.0.0.①:PORT/",
	// escapes
	"http://%31%32%37.0.0.1:PORT/", "http://127%2e0%2e0%2e1:PORT/", "http://127.0.0.1%00.example.org:PORT/", "http://127.0.0.1%2f@example.org:PORT/",
	"http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1:PORT/", "http://127.0.0.1%20:PORT/", "http://127.0.0.1%09:PORT/",
	// IPv6
	"http://[::1]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/", "http://[::ffff:7f00:1]:PORT/", "http://[::127.0.0.1]:PORT/",
	"http://[::]:PORT/", "http://[0000::1]:PORT/", "http://[::1%25lo]:PORT/", "http://[fe80::1%25eth0]:PORT/", "http://[::ffff:0:127.0.0.1]:PORT/",
	"http://[64:ff9b::127.0.0.1]:PORT/", "http://[2002:7f00:1::]:PORT/", "http://[::1]]:PORT/", "http://[127.0.0.1]:PORT/", "http://[localhost]:PORT/",
	"http://[::1%lo]:PORT/", "http://::1:PORT/", "http://[v1.a]:PORT/",
	// users
	"http://example.org@127.0.0.1:PORT/", "http://example.org:x@127.0.0.1:PORT/", "http://127.0.0.1:PORT@example.org/", "http://u:p@example.org/",
	"http://example.org%40127.0.0.1:PORT/", "http://@127.0.0.1:PORT/", "http://example.org&@127.0.0.1:PORT#@example.org/",
	// other separators
	"http://127.0.0.1:PORT\\@example.org/", "http://example.org\\@127.0.0.1:PORT/", "http:\\\\127.0.0.1:PORT/", "http://127.0.0.1:PORT\t/",
	"http://127.0.0.1 :PORT/", "http://127.0.0.1\n.example.org:PORT/", "http:/127.0.0.1:PORT/", "http:127.0.0.1:PORT/", "http:///127.0.0.1:PORT/",
	"//127.0.0.1:PORT/", "127.0.0.1:PORT", "http://127.0.0.1:PORT#@example.org/", "http://127.0.0.1:PORT?@example.org/", "http://.:PORT/", "http://a..b:PORT/",
	"http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:-1/", "http://127.0.0.1:0x50/", "http://:PORT/",
	// schemes
	"file:///etc/passwd", "file://127.0.0.1/etc/passwd", "ftp://127.0.0.1:PORT/", "gopher://127.0.0.1:PORT/_GET", "dict://127.0.0.1:PORT/", "ldap://127.0.0.1:PORT/",
	"data:text/html,x", "javascript:alert(1)", "jar:http://127.0.0.1:PORT!/", "ws://127.0.0.1:PORT/", "unix:///run/x.sock", "view-source:http://127.0.0.1:PORT/",
	"HTTP+UNIX://x/", "blob:http://127.0.0.1:PORT/", "",
}

func TestOddURLs(t *testing.T) {
	var g guard
	for _, raw := range odd {
		raw = strings.ReplaceAll(raw, "PORT", "8080")
		u, err := g.parseURL(raw)
		if err == nil {
			t.Errorf("%q is fetched as %s", raw, u)
			continue
		}
		if !errors.Is(err, ErrURL) && !errors.Is(err, ErrRefused) || strings.ContainsAny(err.Error(), "\n\t\x00") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestParse(t *testing.T) {
	var g guard
	for raw, want := range map[string]string{
		" https://Example.ORG ":                        "https://example.org/",
		"HTTP://example.org:80/a":                      "http://example.org/a",
		"https://example.org:443":                      "https://example.org/",
		"https://example.org:0443":                     "https://example.org/",
		"http://example.org:443/":                      "http://example.org:443/",
		"https://example.org./a?b=c#d":                 "https://example.org/a?b=c",
		"https://bücher.example/ü":                     "https://xn--bcher-kva.example/%C3%BC",
		"https://ＥＸＡＭＰＬＥ.org/":                         "https://example.org/",
		"https://example.org/a%2Fb%20c":                "https://example.org/a%2Fb%20c",
		"https://a_b.example.org/":                     "https://a_b.example.org/",
		"https://8.8.8.8:8443/":                        "https://8.8.8.8:8443/",
		"https://[2606:4700:4700:0:0:0:0:1111]:8443/x": "https://[2606:4700:4700::1111]:8443/x",
		"http://example.org#@127.0.0.1/":               "http://example.org/",
		"http://example.org?@127.0.0.1/":               "http://example.org/?@127.0.0.1/",
		"http://1.2.3.4.example.org/":                  "http://1.2.3.4.example.org/",
		"http://0x7f.example/":                         "http://0x7f.example/",
		"http://127.0.0.1.nip.io/":                     "http://127.0.0.1.nip.io/", // left to the dialer
		"http://localhost:8080/":                       "http://localhost:8080/",   // the same
	} {
		u, err := g.parseURL(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
		} else if u.String() != want {
			t.Errorf("%q is fetched as %s, not %s", raw, u, want)
		}
	}
	if _, err := g.parseURL("https://example.org/" + strings.Repeat("x", maxURL)); !errors.Is(err, ErrURL) {
		t.Errorf("a URL without end: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, raw := range odd {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var g guard
		u, err := g.parseURL(raw)
		if err != nil {
			return
		}
		again, err := g.parseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q is %s, which is %v, %v", raw, u, again, err)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil {
			if what, _ := blockReason(a); what != "" {
				t.Fatalf("%q leads to %s", raw, a)
			}
		}
		if u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q is %s", raw, u)
		}
	})
}

// Reserved names are not looked up.
func TestNoNames(t *testing.T) {
	for raw, refused := range map[string]bool{
		"https://folder.invalid/a.html": true, "http://FOLDER.invalid./": true, "https://invalid/": true, "https://a.b.invalid:8080/x": true,
		"https://invalid.example/": false, "https://notinvalid/": false,
	} {
		if _, err := (guard{}).parseURL(raw); errors.Is(err, ErrRefused) != refused {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
