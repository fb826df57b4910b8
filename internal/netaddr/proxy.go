package netaddr

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"
)

// Proxy returns the proxy of a request, for [http.Transport]. It reads HTTP_PROXY, HTTPS_PROXY and
// NO_PROXY like [http.ProxyFromEnvironment], and ALL_PROXY for what the first two leave out. A
// proxy has the scheme http, https, socks5 or socks5h. Names may be in lower case.
func Proxy(r *http.Request) (*url.URL, error) { return environmentProxy()(r.URL) }

var environmentProxy = sync.OnceValue(func() func(*url.URL) (*url.URL, error) { return proxyFrom(os.Getenv) })

func proxyFrom(env func(string) string) func(*url.URL) (*url.URL, error) {
	value := func(name string) string {
		v := cmp.Or(env(name), env(strings.ToLower(name)))
		if address, ok := strings.CutPrefix(v, "socks://"); ok { // written by some desktops
			return "socks5://" + address
		}
		return v
	}
	all := value("ALL_PROXY")
	c := httpproxy.Config{
		HTTPProxy: cmp.Or(value("HTTP_PROXY"), all), HTTPSProxy: cmp.Or(value("HTTPS_PROXY"), all), NoProxy: value("NO_PROXY"),
		CGI: env("REQUEST_METHOD") != "",
	}
	return c.ProxyFunc()
}
