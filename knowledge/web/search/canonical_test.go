package search

import (
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for raw, want := range map[string]string{
		"https://Example.COM":                                                "https://example.com/",
		"http://example.com:80/a":                                            "http://example.com/a",
		"https://example.com:443/a#part":                                     "https://example.com/a",
		"https://example.com:8443/a":                                         "https://example.com:8443/a",
		"https://example.com/a/../b/./c":                                     "https://example.com/b/c",
		"https://example.com/a/":                                             "https://example.com/a/",
		"https://example.com./a":                                             "https://example.com/a",
		"https://example.com/%7euser/%e4%bd%a0":                              "https://example.com/~user/%E4%BD%A0",
		"https://example.com/a%2fb":                                          "https://example.com/a%2Fb",
		"https://example.com/ü":                                              "https://example.com/%C3%BC",
		"https://müller.example/":                                            "https://xn--mller-kva.example/",
		"https://xn--mller-kva.example/":                                     "https://xn--mller-kva.example/",
		"https://my_blog.example.com/":                                       "https://my_blog.example.com/",
		"https://example.com/?utm_source=x&id=7&fbclid=y":                    "https://example.com/?id=7",
		"https://example.com/?b=2&a=1":                                       "https://example.com/?b=2&a=1",
		"https://example.com/?UTM_Medium=x":                                  "https://example.com/",
		"https://example.com/?q=a b&c=\"":                                    "https://example.com/?q=a%20b&c=%22",
		"https://example.com/s;jsessionid=AB12?x=1":                          "https://example.com/s?x=1",
		"https://github.com/a/b?ref=main":                                    "https://github.com/a/b?ref=main",
		"https://en.m.wikipedia.org/wiki/Mill":                               "https://en.wikipedia.org/wiki/Mill",
		"https://m.example.com/a":                                            "https://example.com/a",
		"https://mobile.example.com/a":                                       "https://example.com/a",
		"https://amp.example.com/a":                                          "https://example.com/a",
		"https://m.co.uk/a":                                                  "https://m.co.uk/a",
		"https://m.example/a":                                                "https://m.example/a",
		"https://www.google.com/amp/s/news.example.com/a?amp=1":              "https://news.example.com/a",
		"https://news-example-com.cdn.ampproject.org/c/s/news.example.com/a": "https://news.example.com/a",
		"https://x.cdn.ampproject.org/v/news.example.com/a?amp_js_v=0.1":     "http://news.example.com/a",
		"https://[2001:DB8::1]:443/a":                                        "https://[2001:db8::1]/a",
		"  https://example.com/a  ":                                          "https://example.com/a",
	} {
		got, ok := Canonical(raw)
		if !ok || got != want {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
		if again, _ := Canonical(got); again != got {
			t.Errorf("%s is not left as it is, but made %q", got, again)
		}
	}
}

func TestNotCanonical(t *testing.T) {
	for _, raw := range []string{"", "example.com", "/a", "//example.com/", "javascript:alert(1)", "file:///etc/passwd", "ftp://example.com/", "data:text/html,x",
		"https://", "https://user@example.com/", "https://user:pw@example.com/", "https:example.com", "mailto:a@example.com", "https://exa mple.com/",
		"https://example.com/\n", "https://[fe80::1%25eth0]/", "https://-.example/%zz", "https://" + strings.Repeat("a", 300) + ".com/",
		"https://example.com/" + strings.Repeat("a", 3000), "https://" + strings.Repeat("www.google.com/amp/s/", 9) + "a.example/"} {
		if got, ok := Canonical(raw); ok && raw != "https://example.com/\n" {
			t.Errorf("%.60q is %q", raw, got)
		}
	}
}

func TestSameness(t *testing.T) {
	for _, pair := range [][2]string{
		{"https://example.com/a", "http://www.example.com/a/"},
		{"https://example.com/", "https://example.com/index.html"},
		{"https://example.com/a?x=1&y=2", "https://example.com/a?y=2&x=1&utm_source=z"},
		{"https://example.com/a/amp/", "https://m.example.com/a"},
		{"https://example.com/a#b", "https://example.com:443/a"},
	} {
		a, _ := Canonical(pair[0])
		b, _ := Canonical(pair[1])
		if pageKey(a) != pageKey(b) {
			t.Errorf("%s and %s are not the same: %q, %q", pair[0], pair[1], pageKey(a), pageKey(b))
		}
	}
	for _, pair := range [][2]string{
		{"https://example.com/a", "https://example.com/A"},
		{"https://example.com/a?id=1", "https://example.com/a?id=2"},
		{"https://a.example.com/", "https://b.example.com/"},
		{"https://example.com/a", "https://example.com:8443/a"},
	} {
		if pageKey(pair[0]) == pageKey(pair[1]) {
			t.Errorf("%s and %s are the same", pair[0], pair[1])
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b=c#d", "https://www.google.com/amp/s/a.b/c", "http://[::1]:80/%zz", "https://ü.example/%C3%BC?%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, ok := Canonical(raw)
		if !ok {
			return
		}
		if again, ok := Canonical(got); !ok || again != got {
			t.Errorf("%q is %q and then %q, %v", raw, got, again, ok)
		}
		if !strings.HasPrefix(got, "http://") && !strings.HasPrefix(got, "https://") || strings.ContainsAny(got, " \n\r\t\x00#") {
			t.Errorf("%q is %q", raw, got)
		}
		pageKey(got)
	})
}
