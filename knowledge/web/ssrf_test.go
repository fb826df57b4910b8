package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// 127.0.0.1 is allowed and acts as the public internet. All other addresses of this
// machine are private: 127.0.0.2, ::1 and those of its interfaces. Servers there count
// connections.

// A trap serves all addresses of this machine but 127.0.0.1, and must get no
// connection.
type trap struct{ sites []*site }

func newTrap(t *testing.T) *trap {
	t.Helper()
	tr := &trap{[]*site{startSite(t, "127.0.0.2:0", textHandler("secret"))}}
	port := tr.port()
	for _, host := range append(otherAddrs(t), "::1") {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err != nil {
			continue // no such address
		}
		l.Close()
		tr.sites = append(tr.sites, startSite(t, net.JoinHostPort(host, port), textHandler("secret")))
	}
	return tr
}

func otherAddrs(t *testing.T) []string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
			out = append(out, p.Addr().String())
		}
	}
	return out
}

func (tr *trap) port() string { return tr.sites[0].port() }

// checkUnused fails if a connection was made.
func (tr *trap) checkUnused(t *testing.T) {
	t.Helper()
	for _, s := range tr.sites {
		if n := s.conns.Load(); n != 0 {
			t.Fatalf("%d connections were made to %s", n, s.URL)
		}
	}
}

// privateHosts includes unreachable addresses.
func (tr *trap) privateHosts(t *testing.T) []string {
	out := []string{"127.0.0.2", "127.0.0.3", "::1", "0.0.0.0", "::", "::ffff:127.0.0.2", "::ffff:0.0.0.0"}
	for _, s := range tr.sites {
		host, _, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
		out = append(out, host)
	}
	for _, a := range readList(t, "private-addresses.json") {
		if !strings.Contains(a, "%") && a != "127.0.0.1" && a != "::ffff:127.0.0.1" {
			out = append(out, a)
		}
	}
	return out
}

func bracketHost(a string) string {
	if strings.Contains(a, ":") {
		return "[" + a + "]"
	}
	return a
}

func TestRefusedAsWritten(t *testing.T) {
	tr := newTrap(t)
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
	for _, a := range tr.privateHosts(t) {
		raw := "http://" + bracketHost(a) + ":" + tr.port() + "/"
		if _, err := f.Fetch(t.Context(), raw); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range readList(t, "odd-urls.json") {
		raw = strings.ReplaceAll(raw, "PORT", tr.port())
		if u, err := url.Parse(raw); err == nil && u.Host == "127.0.0.1:"+tr.port() && u.User == nil {
			continue // acts as the internet
		}
		if _, err := f.Fetch(t.Context(), raw); !errors.Is(err, ErrRefused) && !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v", raw, err)
		}
	}
	tr.checkUnused(t)
}

func TestRefusedByName(t *testing.T) {
	tr := newTrap(t)
	dns, r := newResolver(t)
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, Resolver: r})
	for i, a := range tr.privateHosts(t) {
		if a == "::ffff:8.8.8.8" {
			continue // DNS returns 8.8.8.8 for it
		}
		name := fmt.Sprintf("n%d.example.org", i)
		dns.setAddrs(name, a)
		_, err := f.Fetch(t.Context(), "http://"+name+":"+tr.port()+"/")
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s as %s: %v", a, name, err)
		}
		if dns.queryCount(name) == 0 {
			t.Errorf("%s was not looked up", name)
		}
	}
	tr.checkUnused(t)
	if _, err := f.Fetch(t.Context(), "http://localhost:"+tr.port()+"/"); err == nil {
		t.Error("localhost was fetched")
	}
	tr.checkUnused(t)
}

func TestRefusedByRedirect(t *testing.T) {
	tr := newTrap(t)
	dns, r := newResolver(t)
	dns.setAddrs("inner.example.org", "127.0.0.2")
	open := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		w.Write([]byte("open"))
	})
	var targets []string
	for _, a := range tr.privateHosts(t) {
		targets = append(targets, "http://"+bracketHost(a)+":"+tr.port()+"/", "//"+bracketHost(a)+":"+tr.port()+"/")
	}
	for _, raw := range readList(t, "odd-urls.json") {
		if u, err := url.Parse(raw); err != nil || u.Scheme == "" || u.Host == "127.0.0.1:PORT" && u.User == nil && u.Scheme == "http" {
			continue // relative, or acts as the internet
		}
		targets = append(targets, strings.ReplaceAll(raw, "PORT", tr.port()))
	}
	targets = append(targets, "http://inner.example.org:"+tr.port()+"/", "http://localhost:"+tr.port()+"/",
		open.URL+"/?to="+url.QueryEscape("http://127.0.0.2:"+tr.port()+"/"), "https://127.0.0.2:"+tr.port()+"/")
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, Resolver: r})
	for _, to := range targets {
		_, err := f.Fetch(t.Context(), open.URL+"/?to="+url.QueryEscape(to))
		if !errors.Is(err, ErrRefused) && !errors.Is(err, ErrURL) && !strings.HasPrefix(to, "http://localhost") {
			t.Errorf("redirect to %q: %v", to, err)
		}
	}
	tr.checkUnused(t)
	if n := open.conns.Load(); n == 0 {
		t.Error("the open server was not asked")
	}
}

// Names become private after the first lookup.
func TestRebinding(t *testing.T) {
	tr := newTrap(t)
	open := startSite(t, "127.0.0.1:"+tr.port(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.Write([]byte("open"))
	})
	for name, c := range map[string]struct {
		answers func(n int, tcp bool) []string
		cut     bool
		fetches []bool
	}{
		"private from the second time on": {func(n int, _ bool) []string {
			return []string{map[bool]string{true: "127.0.0.1", false: "127.0.0.2"}[n == 1]}
		}, false, []bool{true, false, false}},
		"by turns": {func(n int, _ bool) []string {
			return []string{map[bool]string{true: "127.0.0.1", false: "127.0.0.2"}[n%2 == 1]}
		}, false, []bool{true, false, true, false}},
		"version 6 from the second time on": {func(n int, _ bool) []string {
			return []string{map[bool]string{true: "127.0.0.1", false: "::1"}[n == 1]}
		}, false, []bool{true, false}},
		"mapped from the second time on": {func(n int, _ bool) []string {
			return []string{map[bool]string{true: "127.0.0.1", false: "::ffff:127.0.0.2"}[n == 1]}
		}, false, []bool{true, false}},
		"private over TCP":    {func(int, bool) []string { return []string{"127.0.0.2"} }, true, []bool{false}},
		"both, private first": {func(int, bool) []string { return []string{"127.0.0.2", "127.0.0.1"} }, false, []bool{true}},
		"both, public first":  {func(int, bool) []string { return []string{"127.0.0.1", "127.0.0.2"} }, false, []bool{true}},
		"both, of version 6":  {func(int, bool) []string { return []string{"::1", "127.0.0.1"} }, false, []bool{true}},
		"many private": {func(int, bool) []string {
			return []string{"127.0.0.2", "127.0.0.3", "::1", "10.0.0.1", "169.254.169.254"}
		}, false, []bool{false}},
		"metadata":             {func(int, bool) []string { return []string{"169.254.169.254"} }, false, []bool{false}},
		"metadata, version 6":  {func(int, bool) []string { return []string{"fd00:ec2::254"} }, false, []bool{false}},
		"nothing at all":       {func(int, bool) []string { return nil }, false, []bool{false}},
		"unspecified addresse": {func(int, bool) []string { return []string{"0.0.0.0", "::"} }, false, []bool{false}},
	} {
		t.Run(name, func(t *testing.T) {
			dns, r := newResolver(t)
			dns.cut = c.cut
			dns.setAnswers("rebind.example.org", c.answers)
			f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, Resolver: r})
			for i, ok := range c.fetches {
				page, err := f.Fetch(t.Context(), "http://rebind.example.org:"+open.port()+"/")
				switch {
				case ok && (err != nil || page.Markdown != "open"):
					t.Errorf("fetch %d: %v", i+1, err)
				case !ok && err == nil:
					t.Errorf("fetch %d succeeded", i+1)
				case !ok && name != "nothing at all" && !errors.Is(err, ErrRefused):
					t.Errorf("fetch %d: %v", i+1, err)
				}
			}
			tr.checkUnused(t)
		})
	}
}

// TestRebindingBetween changes a name between robots.txt, page and redirect.
func TestRebindingBetween(t *testing.T) {
	tr := newTrap(t)
	open := startSite(t, "127.0.0.1:"+tr.port(), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusFound)
			return
		}
		w.Write([]byte("User-agent: *\nAllow: /\n"))
	})
	for name, robots := range map[string]bool{"after robots.txt": false, "after a redirect": true} {
		t.Run(name, func(t *testing.T) {
			dns, r := newResolver(t)
			dns.setAnswers("rebind.example.org", func(n int, _ bool) []string {
				return []string{map[bool]string{true: "127.0.0.1", false: "127.0.0.2"}[n == 1]}
			})
			f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: robots, Resolver: r})
			_, err := f.Fetch(t.Context(), "http://rebind.example.org:"+open.port()+"/from")
			if !errors.Is(err, ErrRefused) {
				t.Error(err)
			}
			if dns.queryCount("rebind.example.org") < 2 {
				t.Error("the name was looked up only once")
			}
			tr.checkUnused(t)
		})
	}
}

func TestAllowedHosts(t *testing.T) {
	inner := startSite(t, "127.0.0.2:0", textHandler("inner"))
	dns, r := newResolver(t)
	dns.setAddrs("nas.lan.example", "127.0.0.2")
	dns.setAddrs("evil.example", "127.0.0.2")
	for name, c := range map[string]struct {
		allow string
		url   string
		ok    bool
	}{
		"by name":             {"nas.lan.example", "http://nas.lan.example:PORT/", true},
		"by name and port":    {"nas.lan.example:PORT", "http://nas.lan.example:PORT/", true},
		"by name, other port": {"nas.lan.example:1", "http://nas.lan.example:PORT/", false},
		"below":               {"*.lan.example", "http://NAS.lan.example.:PORT/", true},
		"another name":        {"nas.lan.example", "http://evil.example:PORT/", false},
		"by name, address":    {"nas.lan.example", "http://127.0.0.2:PORT/", false},
		"by address":          {"127.0.0.2", "http://127.0.0.2:PORT/", true},
		"by address and port": {"127.0.0.2:PORT", "http://127.0.0.2:PORT/", true},
		"by address, a name":  {"127.0.0.2:PORT", "http://evil.example:PORT/", true},
		"by range":            {"127.0.0.0/8", "http://127.0.0.2:PORT/", true},
		"odd notation":        {"127.0.0.0/8", "http://127.2:PORT/", false},
		"other port":          {"127.0.0.2:1", "http://127.0.0.2:PORT/", false},
	} {
		t.Run(name, func(t *testing.T) {
			before := inner.conns.Load()
			allow := strings.ReplaceAll(c.allow, "PORT", inner.port())
			f := newTestFetcher(t, Options{Allow: []string{allow}, IgnoreRobots: true, Resolver: r})
			page, err := f.Fetch(t.Context(), strings.ReplaceAll(c.url, "PORT", inner.port()))
			switch made := inner.conns.Load() - before; {
			case c.ok && (err != nil || page.Markdown != "inner" || made != 1):
				t.Errorf("%d connections, %v", made, err)
			case !c.ok && (!errors.Is(err, ErrRefused) || made != 0):
				t.Errorf("%d connections, %v", made, err)
			}
		})
	}
}

// TestNoProxy ignores proxies of the environment.
func TestNoProxy(t *testing.T) {
	tr := newTrap(t)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.2:"+tr.port())
	}
	open := startSite(t, "127.0.0.1:0", textHandler("open"))
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
	if p, err := f.Fetch(t.Context(), open.URL); err != nil || p.Markdown != "open" {
		t.Error(err)
	}
	if f.wire.Proxy != nil {
		t.Error("a proxy is used")
	}
	tr.checkUnused(t)
}

func TestErrorsAreOneLine(t *testing.T) {
	dns, r := newResolver(t)
	dns.setAddrs("inner.example.org", "10.1.2.3")
	f := newTestFetcher(t, Options{IgnoreRobots: true, Resolver: r, Timeout: time.Minute})
	for raw, want := range map[string]string{
		"http://10.0.0.1/x":              "fetch http://10.0.0.1/x: address not allowed: 10.0.0.1 is a private address",
		"http://inner.example.org/":      "fetch http://inner.example.org/: address not allowed: inner.example.org resolves to 10.1.2.3, which is a private address",
		"http://169.254.169.254/latest/": "fetch http://169.254.169.254/latest/: address not allowed: 169.254.169.254 is a cloud metadata service",
		"http://2130706433/":             `fetch http://2130706433/: address not allowed: host "2130706433" is an unusual notation of an address`,
		"http://none.example.org/":       "fetch http://none.example.org/: unknown host none.example.org",
		"file:///etc/passwd":             "fetch file:///etc/passwd: invalid URL: unsupported scheme file; use https or http",
		"https://me:secret@example.org":  "fetch https://me:xxxxx@example.org: invalid URL: it contains a user name",
		"example.org":                    "fetch example.org: invalid URL: it must start with https:// or http://",
	} {
		if _, err := f.Fetch(t.Context(), raw); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", raw, err, want)
		}
	}
}

// readList returns a list of testdata: odd-urls.json has hosts that some programs read as private, and
// ambiguous URLs, with PORT as port. private-addresses.json has addresses that must be refused.
func readList(t testing.TB, name string) (list []string) {
	t.Helper()
	js, err := os.ReadFile(filepath.Join("..", "..", "internal", "netaddr", "testdata", name))
	if err == nil {
		err = json.Unmarshal(js, &list)
	}
	if err != nil || len(list) < 60 {
		t.Fatalf("%d entries: %v", len(list), err)
	}
	return list
}
