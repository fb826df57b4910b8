package web

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestRaw(t *testing.T) {
	const feed = "<rss version='2.0'/>"
	s := startSite(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			io.WriteString(w, strings.Repeat("x", 2000))
			return
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/inside":
			http.Redirect(w, r, "http://10.0.0.1/feed", http.StatusFound)
			return
		case "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /")
			return
		}
		w.Header().Set("Content-Type", "image/gif") // irrelevant
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, feed)
	})
	f := newTestFetcher(t, Options{Allow: []string{"127.0.0.1"}, IgnoreRobots: true, MaxBytes: 1000})
	got, err := f.Raw(t.Context(), RawRequest{URL: s.URL + "/feed?key=secret"})
	if err != nil || string(got.Body) != feed || got.Status != 200 || got.ETag != `"v1"` {
		t.Fatalf("%+v, %v", got, err)
	}
	if same, err := f.Raw(t.Context(), RawRequest{URL: s.URL + "/feed?key=secret", ETag: got.ETag}); err != nil || same.Status != http.StatusNotModified || len(same.Body) > 0 {
		t.Errorf("an unchanged page: %+v, %v", same, err)
	}
	if _, err := f.Raw(t.Context(), RawRequest{URL: s.URL + "/feed", MaxBytes: 5}); !errors.Is(err, ErrTooBig) {
		t.Errorf("a too large answer: %v", err)
	}
	var status *StatusError
	for path, ok := range map[string]func(error) bool{
		"/large?key=secret": func(err error) bool { return errors.Is(err, ErrTooBig) }, "/gone?key=secret": func(err error) bool { return errors.As(err, &status) },
		"/inside?key=secret": func(err error) bool { return errors.Is(err, ErrRefused) },
	} {
		if _, err := f.Raw(t.Context(), RawRequest{URL: s.URL + path}); err == nil || !ok(err) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := newTestFetcher(t, Options{}).Raw(t.Context(), RawRequest{URL: s.URL + "/feed"}); !errors.Is(err, ErrRefused) {
		t.Errorf("of a host that is not public: %v", err)
	}
	client := http.Client{Transport: newTestFetcher(t, Options{}).Transport()}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/feed", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := client.Do(req); !errors.Is(err, ErrRefused) {
		if err == nil {
			resp.Body.Close()
		}
		t.Errorf("of such a host by the transport: %v", err)
	}
}
