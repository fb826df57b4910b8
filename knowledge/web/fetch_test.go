package web

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/web/extract"
)

func hexSHA256(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func TestFetch(t *testing.T) {
	body := "<html><title>x</title>The harbour has forty boats.</html>"
	s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new?x=1", http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, body)
	})
	clock, store := newClock(), newArchive(t)
	published := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	f := newTestFetcher(t, Options{
		Allow: []string{"127.0.0.1"}, IgnoreRobots: true, Archive: store, Now: clock.Now,
		HTML: func(page []byte, url string) (extract.Content, error) {
			return extract.Content{
				Title: "Boats", Author: "A. N.\nOther", Site: "Port", Language: "en", Published: published, Canonical: url, Markdown: string(page),
			}, nil
		},
	})
	got, err := f.Fetch(t.Context(), s.URL+"/old#part")
	if err != nil {
		t.Fatal(err)
	}
	want := &Page{
		URL: s.URL + "/old", Final: s.URL + "/new?x=1", Type: "text/html", Charset: "utf-8", Title: "Boats", Author: "A. N. Other", Site: "Port",
		Language: "en", Published: published, Fetched: clock.Now(), Markdown: body, Hash: hexSHA256(body), Bytes: len(body), Canonical: s.URL + "/new?x=1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	o, err := store.Get(t.Context(), got.Hash)
	if err != nil {
		t.Fatal(err)
	}
	kept := archive.Original{Hash: got.Hash, Type: "text/html", Source: want.Final, Title: "Boats", Fetched: clock.Now(), Bytes: []byte(body)}
	if diff := cmp.Diff(kept, o); diff != "" {
		t.Error(diff)
	}

	s.Close() // the rest needs no network
	want.Cached = true
	if got, err = f.Fetch(t.Context(), s.URL+"/old"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	want.URL = want.Final
	clock.advance(1000 * time.Hour)
	if got, err = f.Archived(t.Context(), hexSHA256(body)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := f.Archived(t.Context(), hexSHA256("nothing")); !errors.Is(err, archive.ErrNone) {
		t.Error(err)
	}
}

func TestConditional(t *testing.T) {
	var version atomic.Value
	version.Store("one")
	for name, c := range map[string]struct {
		etag, modified bool
	}{"ETag": {true, false}, "Last-Modified": {false, true}, "both": {true, true}, "neither": {false, false}} {
		t.Run(name, func(t *testing.T) {
			version.Store("one")
			var full, asked atomic.Int64
			s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				v := version.Load().(string)
				date := map[string]string{"one": "Mon, 01 Jan 2024 00:00:00 GMT", "two": "Tue, 02 Jan 2024 00:00:00 GMT"}[v]
				if c.etag && r.Header.Get("If-None-Match") == `"`+v+`"` || !c.etag && c.modified && r.Header.Get("If-Modified-Since") == date {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				full.Add(1)
				if c.etag {
					w.Header().Set("ETag", `"`+v+`"`)
				}
				if c.modified {
					w.Header().Set("Last-Modified", date)
				}
				textHandler(v)(w, r)
			})
			clock, store := newClock(), newArchive(t)
			f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, Archive: store, Now: clock.Now, MaxAge: time.Hour})
			fetch := func(when, want string, cached bool, wantFull, wantAsked int64) {
				t.Helper()
				p, err := f.Fetch(t.Context(), s.URL)
				if err != nil {
					t.Fatal(err)
				}
				if p.Markdown != want || p.Cached != cached || full.Load() != wantFull || asked.Load() != wantAsked {
					t.Errorf("%s: %q, cached: %v, asked %d times, %d in full", when, p.Markdown, p.Cached, asked.Load(), full.Load())
				}
			}
			known := c.etag || c.modified
			fetch("at first", "one", false, 1, 1)
			clock.advance(59 * time.Minute)
			fetch("soon", "one", true, 1, 1)
			clock.advance(2 * time.Minute)
			again := int64(1)
			if !known {
				again = 2
			}
			fetch("when it is old", "one", known, again, 2)
			fetch("when it was confirmed", "one", true, again, 2)
			version.Store("two")
			clock.advance(2 * time.Hour)
			fetch("when it changed", "two", false, again+1, 3)
			copies, err := store.Copies(t.Context(), s.URL+"/")
			if err != nil || len(copies) != 2 {
				t.Errorf("%d copies, %v", len(copies), err)
			}
		})
	}
}

// TestConfirmedWhatWeDoNotHave requests pages again that the archive lost.
func TestConfirmedWhatWeDoNotHave(t *testing.T) {
	s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" || r.URL.Path == "/liar" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"x"`)
		textHandler("page")(w, r)
	})
	store := newArchive(t)
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, Archive: store, MaxAge: -1})
	if _, err := f.Fetch(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	note := []byte(`{"final":"` + s.URL + `/","hash":"` + hexSHA256("gone") + `","etag":"\"x\""}`)
	if err := store.SetNote(t.Context(), notePage, s.URL+"/", note, time.Now()); err != nil {
		t.Fatal(err)
	}
	if p, err := f.Fetch(t.Context(), s.URL); err != nil || p.Cached {
		t.Error(err)
	}
	if err := store.SetNote(t.Context(), notePage, s.URL+"/", []byte("not ours"), time.Now()); err != nil {
		t.Fatal(err)
	}
	if p, err := f.Fetch(t.Context(), s.URL); err != nil || p.Cached {
		t.Error(err)
	}
	var status *StatusError
	if _, err := f.Fetch(t.Context(), s.URL+"/liar"); !errors.As(err, &status) || status.Code != 304 {
		t.Error(err)
	}
}

func TestCodings(t *testing.T) {
	const body = "The harbour has forty boats, and the quay has nine cranes."
	for name, c := range map[string]struct {
		coding string
		pack   func(io.Writer) io.WriteCloser
	}{
		"identity": {"identity", nil},
		"gzip":     {"gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
		"x-gzip":   {"X-GZIP", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
		"zlib":     {"deflate", func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }},
		"flate":    {"deflate", func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 9); return z }},
		"both": {"deflate, gzip", func(w io.Writer) io.WriteCloser {
			outer := gzip.NewWriter(w)
			return nestedWriter{zlib.NewWriter(outer), outer}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); got != "gzip, deflate" {
					t.Errorf("accepts %q", got)
				}
				w.Header().Set("Content-Type", "text/plain")
				w.Header().Set("Content-Encoding", c.coding)
				if c.pack == nil {
					io.WriteString(w, body)
					return
				}
				to := c.pack(w)
				io.WriteString(to, body)
				to.Close()
			})
			f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
			if p, err := f.Fetch(t.Context(), s.URL); err != nil || p.Markdown != body || p.Hash != hexSHA256(body) {
				t.Errorf("%v", err)
			}
		})
	}
}

type nestedWriter struct {
	io.WriteCloser
	outer io.Closer
}

func (t nestedWriter) Close() error { return errors.Join(t.WriteCloser.Close(), t.outer.Close()) }

func TestTypes(t *testing.T) {
	pdf := "%PDF-1.4\nnot really"
	for name, c := range map[string]struct {
		header, path, body string
		kind, markdown     string
		want               error
	}{
		"HTML":               {"text/html; charset=utf-8", "/", "a page", "text/html", "a page", nil},
		"XHTML":              {"application/xhtml+xml", "/", "a page", "application/xhtml+xml", "a page", nil},
		"text":               {"text/plain", "/", "a\r\ntext\x1b\u202e", "text/plain", "a\ntext", nil},
		"Markdown":           {"text/markdown", "/", "# Title #\n\ntext", "text/markdown", "# Title #\n\ntext", nil},
		"odd header":         {"Text/PLAIN;;;charset", "/", "a text", "text/plain", "a text", nil},
		"no header, text":    {"", "/", "a text", "text/plain", "a text", nil},
		"no header, HTML":    {"", "/", "<!doctype html><p>x", "text/html", "<!doctype html><p>x", nil},
		"octets, text":       {"application/octet-stream", "/", "a text", "text/plain", "a text", nil},
		"PDF":                {"application/pdf", "/a.pdf", pdf, "application/pdf", "# One\n\ntext", nil},
		"PDF as HTML":        {"text/html", "/", pdf, "application/pdf", "# One\n\ntext", nil},
		"PDF as octets":      {"application/octet-stream", "/", "\n" + pdf, "application/pdf", "# One\n\ntext", nil},
		"JSON unread":        {"application/json", "/", `{"a": 1}`, "application/json", `{"a": 1}`, nil},
		"feed":               {"application/atom+xml", "/", "<feed/>", "application/atom+xml", "<feed/>", nil},
		"binary text":        {"text/plain", "/", "a\x00b", "", "", ErrType},
		"binary HTML":        {"text/html", "/", "\x00\x01\x02", "", "", ErrType},
		"image":              {"image/png", "/", "x", "", "", ErrType},
		"drawing":            {"image/svg+xml", "/", "<svg/>", "", "", ErrType},
		"program":            {"application/x-executable", "/", "x", "", "", ErrType},
		"octets, binary":     {"application/octet-stream", "/", "\x7fELF\x00\x00", "", "", ErrType},
		"no type":            {"nonsense", "/", "a text", "text/plain", "a text", nil},
		"nothing":            {"text/html", "/", "", "", "", ErrType},
		"nothing to be seen": {"text/plain", "/", " \n\u200b\ufeff ", "", "", ErrType},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.header != "" {
					w.Header().Set("Content-Type", c.header)
				}
				io.WriteString(w, c.body)
			})
			f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, Typed: func(mime, name string, raw []byte) (*document.Document, error) {
				if mime != "application/pdf" {
					return nil, errors.New("no format reads it")
				}
				return document.NewDocument(name, name, document.Content{Blocks: []document.Block{{Kind: document.Heading, Level: 1, Text: "One"}, {Text: "text"}}}), nil
			}})
			p, err := f.Fetch(t.Context(), s.URL+c.path)
			if !errors.Is(err, c.want) {
				t.Fatalf("%v, not %v", err, c.want)
			}
			if err == nil && (p.Type != c.kind || p.Markdown != c.markdown || p.Title == "") {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestPages(t *testing.T) {
	var p Page
	p.setDocument(document.NewDocument("a.pdf", "a.pdf", document.Content{Title: "A", Author: "B", Blocks: []document.Block{
		{Text: "Before.", Page: 1},
		{Kind: document.Heading, Level: 1, Text: "One", Page: 2},
		{Text: "First.", Page: 2},
		{Text: "Second.", Page: 3},
		{Kind: document.Heading, Level: 2, Text: "Two", Page: 3},
		{Text: "Third.", Page: 4},
	}}))
	if want := "Before.\n\n# One\n\nFirst.\n\nSecond.\n\n## Two\n\nThird."; p.Markdown != want {
		t.Errorf("%q", p.Markdown)
	}
	var begins []string
	for i, at := range p.Pages {
		begins = append(begins, p.Markdown[at.Start:at.Start+5])
		if at.Number != i+1 {
			t.Errorf("page %d is number %d", i+1, at.Number)
		}
	}
	if diff := cmp.Diff([]string{"Befor", "# One", "Secon", "Third"}, begins); diff != "" {
		t.Error(diff)
	}
	if p.Title != "A" || p.Author != "B" {
		t.Errorf("%q by %q", p.Title, p.Author)
	}
}

func TestCookies(t *testing.T) {
	s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("seen"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1", Path: "/"})
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return
		}
		textHandler("page")(w, r)
	})
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
	for range 2 {
		if _, err := f.Fetch(t.Context(), s.URL+"/a"); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.requestCount("/a"); n != 4 {
		t.Errorf("asked %d times: cookies outlive a fetch", n)
	}
}

// TestRequest sends no unneeded headers.
func TestRequest(t *testing.T) {
	headers := make(chan http.Header, 1)
	s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Clone()
		textHandler("page")(w, r)
	})
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, UserAgent: "Test/2"})
	if _, err := f.Fetch(t.Context(), s.URL); err != nil {
		t.Fatal(err)
	}
	h := <-headers
	if h.Get("User-Agent") != "Test/2" {
		t.Errorf("User-Agent: %s", h.Get("User-Agent"))
	}
	for _, name := range []string{"User-Agent", "Accept", "Accept-Encoding"} {
		h.Del(name)
	}
	if len(h) > 0 {
		t.Errorf("sent, too: %v", h)
	}
}

// TestTLS fetches over HTTP/2 and refuses a bad certificate.
func TestTLS(t *testing.T) {
	tls := serveTLS(t, func(w http.ResponseWriter, r *http.Request) { textHandler("page by "+r.Proto)(w, r) })
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
	if _, err := f.Fetch(t.Context(), tls.URL); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate without a known issuer: %v", err)
	}
	f.wire.TLSClientConfig = tls.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	f.wire.CloseIdleConnections()
	g := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true})
	g.wire.TLSClientConfig = f.wire.TLSClientConfig
	if p, err := g.Fetch(t.Context(), tls.URL); err != nil || p.Markdown != "page by HTTP/2.0" {
		t.Errorf("%+v, %v", p, err)
	}
	closed := newTestFetcher(t, Options{IgnoreRobots: true})
	closed.wire.TLSClientConfig = f.wire.TLSClientConfig
	if _, err := closed.Fetch(t.Context(), tls.URL); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}

// TestAsItIs uses the default extraction.
func TestAsItIs(t *testing.T) {
	article := `<!doctype html><html lang="en"><head><title>Forty boats | Port News</title><meta name="author" content="Anna Lind">
<meta property="article:published_time" content="2024-05-01T10:00:00Z"></head><body><nav>Home About</nav><article><h1>Forty boats</h1>
<p>` + strings.Repeat("The harbour has forty boats, and the quay has nine cranes. ", 20) + `</p></article><footer>All rights reserved</footer></body></html>`
	s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", map[string]string{"/page": "text/html", "/data": "application/json"}[r.URL.Path])
		io.WriteString(w, map[string]string{"/page": article, "/data": `{"boats": "forty of them"}`}[r.URL.Path])
	})
	f := New(Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, Delay: -1, Archive: newArchive(t)})
	t.Cleanup(f.Close)
	p, err := f.Fetch(t.Context(), s.URL+"/page")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Markdown, "nine cranes") || strings.Contains(p.Markdown, "All rights") || p.Title != "Forty boats" ||
		p.Author != "Anna Lind" || p.Language != "en" || p.Published.Format(time.DateOnly) != "2024-05-01" {
		t.Errorf("%+v", p)
	}
	if p, err = f.Fetch(t.Context(), s.URL+"/data"); err != nil || !strings.Contains(p.Markdown, "forty of them") {
		t.Errorf("%+v, %v", p, err)
	}
}

// Terminal escapes are removed in any notation.
func TestEscapes(t *testing.T) {
	const text = "<html><head><title>\x1b]0;OWNED\a\x1b[2JThe sea</title></head><body><article><h1>The sea</h1><p>\x1b[1mThe sea is deep\x1b[0m in the west, as &#27;[31mdivers have measured again and again with ropes and with sound.</p></article></body></html>"
	for _, kind := range []string{"text/html; charset=utf-8", "text/plain; charset=utf-8"} {
		p, err := New(Options{}).buildPage(&pageCopy{record: record{URL: "https://a.test/x", Final: "https://a.test/x", Type: kind}, raw: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range []string{"\x1b", "OWNED", "[2J", "[1m", "[0m"} {
			if strings.Contains(p.Title+p.Markdown, rest) {
				t.Errorf("%s: %q in %q, %q", kind, rest, p.Title, p.Markdown)
			}
		}
		if kind[5] == 'h' && (p.Title != "The sea" || strings.Contains(p.Markdown, "[31m")) {
			t.Errorf("%q, %q", p.Title, p.Markdown)
		}
	}
}
