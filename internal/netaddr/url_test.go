package netaddr

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readList returns a list of testdata: odd-urls.json has hosts that some programs read as private, and
// ambiguous URLs, with PORT as port. private-addresses.json has addresses that must be refused.
func readList(t testing.TB, name string) (list []string) {
	t.Helper()
	js, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(js, &list)
	}
	if err != nil || len(list) < 60 {
		t.Fatalf("%d entries: %v", len(list), err)
	}
	return list
}

func TestOddURLs(t *testing.T) {
	var g Guard
	for _, raw := range readList(t, "odd-urls.json") {
		raw = strings.ReplaceAll(raw, "PORT", "8080")
		u, err := g.ParseURL(raw)
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
	var g Guard
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
		u, err := g.ParseURL(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
		} else if u.String() != want {
			t.Errorf("%q is fetched as %s, not %s", raw, u, want)
		}
	}
	if _, err := g.ParseURL("https://example.org/" + strings.Repeat("x", MaxURL)); !errors.Is(err, ErrURL) {
		t.Errorf("a URL without end: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, raw := range readList(f, "odd-urls.json") {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var g Guard
		u, err := g.ParseURL(raw)
		if err != nil {
			return
		}
		again, err := g.ParseURL(u.String())
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
		if _, err := (Guard{}).ParseURL(raw); errors.Is(err, ErrRefused) != refused {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
