package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func serveRobots(t *testing.T, h http.HandlerFunc) *site {
	return startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			h(w, r)
			return
		}
		textHandler("the page")(w, r)
	})
}

func statusHandler(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestRobots(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		path string
		want error
	}{
		"allowed":              {textHandler("User-agent: *\nDisallow: /private\n"), "/page", nil},
		"disallowed":           {textHandler("User-agent: *\nDisallow: /private\n"), "/private/x", ErrRobots},
		"disallowed query":     {textHandler("User-agent: *\nDisallow: /*?id=\n"), "/page?id=1", ErrRobots},
		"us":                   {textHandler("User-agent: ponder\nDisallow: /\n"), "/page", ErrRobots},
		"others":               {textHandler("User-agent: other\nDisallow: /\n"), "/page", nil},
		"none":                 {statusHandler(404), "/page", nil},
		"gone":                 {statusHandler(410), "/page", nil},
		"forbidden":            {statusHandler(403), "/page", nil},
		"unauthorised":         {statusHandler(401), "/page", nil},
		"empty":                {statusHandler(200), "/page", nil},
		"no content":           {statusHandler(204), "/page", nil},
		"in trouble":           {statusHandler(500), "/page", ErrRobots},
		"unavailable":          {statusHandler(503), "/page", ErrRobots},
		"busy":                 {statusHandler(429), "/page", ErrRobots},
		"binary":               {textHandler("\x00\xff\x00"), "/page", nil},
		"cut off at 512 KiB":   {textHandler("User-agent: *\n" + strings.Repeat("# long\n", 100_000) + "Disallow: /\n"), "/page", nil},
		"itself":               {textHandler("User-agent: *\nDisallow: /\n"), "/robots.txt", ErrRobots},
		"redirected":           {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other.txt", 302) }, "/page", nil},
		"redirected in a ring": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/robots.txt", 302) }, "/page", nil},
		"redirected inwards":   {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://10.0.0.1/", 302) }, "/page", ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveRobots(t, c.h)
			f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}})
			page, err := f.Fetch(t.Context(), s.URL+c.path)
			if !errors.Is(err, c.want) || err == nil && page.Markdown != "the page" {
				t.Errorf("%v, not %v", err, c.want)
			}
			if errors.Is(c.want, ErrRobots) && s.requestCount(c.path) != 0 && c.path != "/robots.txt" {
				t.Error("the page was asked for")
			}
		})
	}
}

func TestRobotsIgnored(t *testing.T) {
	s := serveRobots(t, textHandler("User-agent: *\nDisallow: /\n"))
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
	if _, err := f.Fetch(t.Context(), s.URL+"/page"); err != nil || s.requestCount("/robots.txt") != 0 {
		t.Error(err)
	}
}

// TestRobotsOfRedirect checks the target's robots.txt.
func TestRobotsOfRedirect(t *testing.T) {
	closed := serveRobots(t, textHandler("User-agent: *\nDisallow: /\n"))
	from := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.Redirect(w, r, closed.URL+"/page", http.StatusFound)
	})
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}})
	if _, err := f.Fetch(t.Context(), from.URL); !errors.Is(err, ErrRobots) || closed.requestCount("/page") != 0 {
		t.Error(err)
	}
}

func TestRobotsAreRemembered(t *testing.T) {
	var mu sync.Mutex
	h := textHandler("User-agent: *\nDisallow: /private\n")
	s := serveRobots(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		h(w, r)
	})
	answer := func(with http.HandlerFunc) { mu.Lock(); h = with; mu.Unlock() }
	clock, store := newClock(), newArchive(t)
	o := Options{Allow: []string{"127.0.0.1"}, Archive: store, Now: clock.Now, MaxAge: -1}
	f := newTestFetcher(t, o)
	try := func(when, path string, want error, asked int64) {
		t.Helper()
		if _, err := f.Fetch(t.Context(), s.URL+path); !errors.Is(err, want) {
			t.Errorf("%s: %s: %v", when, path, err)
		}
		if n := s.requestCount("/robots.txt"); n != asked {
			t.Errorf("%s: robots.txt was asked for %d times, not %d", when, n, asked)
		}
	}
	try("at first", "/a", nil, 1)
	try("at once", "/private", ErrRobots, 1)
	clock.advance(23 * time.Hour)
	try("a day later", "/b", nil, 1)
	f = newTestFetcher(t, o)
	try("by another process", "/private", ErrRobots, 1)
	answer(textHandler("User-agent: *\nDisallow: /b\n"))
	clock.advance(2 * time.Hour)
	try("when it is old", "/b", ErrRobots, 2)
	answer(statusHandler(503))
	clock.advance(25 * time.Hour)
	try("when the host is in trouble", "/b", ErrRobots, 3)
	try("when the host is in trouble, of what it said", "/private", nil, 3)
	clock.advance(31 * 24 * time.Hour)
	try("a month later", "/private", ErrRobots, 4)
	try("a month later, at once", "/private", ErrRobots, 4)
	answer(statusHandler(404))
	clock.advance(2 * time.Minute)
	try("when it has none any more", "/private", nil, 5)
}

// TestRobotsOnce shares one robots.txt.
func TestRobotsOnce(t *testing.T) {
	s := serveRobots(t, textHandler("User-agent: *\nAllow: /\n"))
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, PerHost: 8})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := f.Fetch(t.Context(), s.URL+"/page"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.requestCount("/robots.txt"); n != 1 {
		t.Errorf("asked for %d times", n)
	}
}

// servePipes connects a fetcher to a handler without network, so that time can be virtual.
func servePipes(t *testing.T, f *Fetcher, h http.Handler) {
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	go srv.Serve(l)
	t.Cleanup(func() { f.Close(); srv.Close() })
	f.wire.DialContext = func(_ context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		l.conns <- there
		return here, nil
	}
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipeListener) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func TestPoliteness(t *testing.T) {
	for name, c := range map[string]struct {
		robots string
		want   time.Duration // from the first to the third page
	}{
		"no wish":          {"", 2 * time.Second},
		"a wish":           {"User-agent: *\nCrawl-delay: 3\n", 6 * time.Second},
		"less than ours":   {"User-agent: *\nCrawl-delay: 0.1\n", 2 * time.Second},
		"an immodest wish": {"User-agent: *\nCrawl-delay: 86400\n", 2 * maxCrawlDelay},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFetcher(t, Options{Delay: time.Second})
				var at []time.Time
				servePipes(t, f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						io.WriteString(w, c.robots)
						return
					}
					at = append(at, time.Now())
					textHandler("page")(w, r)
				}))
				for range 3 {
					if _, err := f.Fetch(t.Context(), "http://a.example/page"); err != nil {
						t.Fatal(err)
					}
				}
				if got := at[2].Sub(at[0]); got != c.want {
					t.Errorf("%v passed, not %v", got, c.want)
				}
			})
		})
	}
}

func TestComeBackLater(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		after  string
		busy   int // number of busy answers
		asked  int
		took   time.Duration
		status int // 0: success
	}{
		"soon":            {429, "3", 1, 2, 3 * time.Second, 0},
		"soon, twice":     {503, "3", 2, 3, 6 * time.Second, 0},
		"soon, for ever":  {503, "3", 99, 3, 6 * time.Second, 503},
		"at once":         {429, "0", 1, 2, time.Second, 0},
		"later":           {429, "600", 1, 1, 0, 429},
		"much later":      {503, "999999999999", 1, 1, 0, 503},
		"does not say":    {429, "", 1, 1, 0, 429},
		"says something":  {503, "soon", 1, 1, 0, 503},
		"other trouble":   {500, "3", 1, 1, 0, 500},
		"not there":       {404, "", 1, 1, 0, 404},
		"unknown trouble": {599, "", 1, 1, 0, 599},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFetcher(t, Options{IgnoreRobots: true})
				asked := 0
				servePipes(t, f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if asked++; asked <= c.busy {
						w.Header().Set("Retry-After", c.after)
						w.WriteHeader(c.code)
						return
					}
					textHandler("page")(w, r)
				}))
				began := time.Now()
				_, err := f.Fetch(t.Context(), "http://a.example/")
				var s *StatusError
				if c.status == 0 && err != nil || c.status != 0 && (!errors.As(err, &s) || s.Code != c.status) {
					t.Errorf("%v", err)
				}
				if took := time.Since(began); took != c.took || asked != c.asked {
					t.Errorf("asked %d times in %v, not %d in %v", asked, took, c.asked, c.took)
				}
			})
		})
	}
}

// TestLeftAlone respects Retry-After for all pages of a host.
func TestLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newTestFetcher(t, Options{IgnoreRobots: true})
		asked := 0
		servePipes(t, f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		_, err := f.Fetch(t.Context(), "http://a.example/1")
		if want := "fetch http://a.example/1: server answered 429 (too many requests); try again in 10m0s"; err == nil || err.Error() != want {
			t.Errorf("%v", err)
		}
		_, err = f.Fetch(t.Context(), "http://a.example/2")
		if want := "fetch http://a.example/2: host is rate-limited; try again in 10m0s"; !errors.Is(err, ErrBusy) || err.Error() != want {
			t.Errorf("%v", err)
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// TestWaitsAddUp bounds the total waiting time.
func TestWaitsAddUp(t *testing.T) {
	for name, robots := range map[string]string{"by Retry-After": "", "by Crawl-delay": "User-agent: *\nCrawl-delay: 10\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newTestFetcher(t, Options{})
				n := 0
				servePipes(t, f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					n++
					switch {
					case r.URL.Path == "/robots.txt":
						io.WriteString(w, robots)
					case n%2 == 0 && robots == "":
						w.Header().Set("Retry-After", "9")
						w.WriteHeader(http.StatusServiceUnavailable)
					default:
						http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
					}
				}))
				began := time.Now()
				_, err := f.Fetch(t.Context(), "http://a.example/")
				if took := time.Since(began); err == nil || took > f.limits.wait+f.limits.total {
					t.Errorf("took %v: %v", took, err)
				}
			})
		})
	}
}
