package netaddr

import (
	"net/url"
	"testing"
)

func TestProxyFrom(t *testing.T) {
	const plain, secure = "http://models.example.org/v1", "https://models.example.org/v1"
	tests := []struct {
		name           string
		env            map[string]string
		http, forHTTPS string // the proxies
	}{
		{"none", nil, "", ""},
		{"for both", map[string]string{"ALL_PROXY": "http://p:1"}, "http://p:1", "http://p:1"},
		{"lower case", map[string]string{"all_proxy": "socks5://p:1"}, "socks5://p:1", "socks5://p:1"},
		{"names that the proxy resolves", map[string]string{"ALL_PROXY": "socks5h://p:1"}, "socks5h://p:1", "socks5h://p:1"},
		{"of a desktop", map[string]string{"ALL_PROXY": "socks://p:1/"}, "socks5://p:1/", "socks5://p:1/"},
		{"without a scheme", map[string]string{"ALL_PROXY": "p:1"}, "http://p:1", "http://p:1"},
		{"an own one first", map[string]string{"ALL_PROXY": "http://p:1", "https_proxy": "http://q:2"}, "http://p:1", "http://q:2"},
		{"both have their own", map[string]string{"ALL_PROXY": "http://p:1", "HTTPS_PROXY": "http://q:2", "http_proxy": "http://r:3"}, "http://r:3", "http://q:2"},
		{"an exception", map[string]string{"ALL_PROXY": "http://p:1", "NO_PROXY": "other.org,.example.org"}, "", ""},
		{"all are exceptions", map[string]string{"ALL_PROXY": "http://p:1", "no_proxy": "*"}, "", ""},
		{"in a CGI program, HTTP_PROXY is a header", map[string]string{"HTTPS_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, "", "http://p:1"},
	}
	for _, tt := range tests {
		proxy := proxyFrom(func(name string) string { return tt.env[name] })
		for address, want := range map[string]string{plain: tt.http, secure: tt.forHTTPS, "http://localhost:8080": "", "http://127.0.0.1:11434": ""} {
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if p, err := proxy(u); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			} else if p != nil {
				got = p.String()
			}
			if got != want {
				t.Errorf("%s: %s through %q, want %q", tt.name, address, got, want)
			}
		}
	}
}
