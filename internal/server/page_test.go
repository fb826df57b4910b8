package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

const chrome = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

func testPage(t *testing.T, files map[string]string) *http.ServeMux {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	p, err := newWebPage(tree)
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]http.Handler{rootPattern: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "Ollama is running")
	})}
	p.mountOn(routes)
	mux := http.NewServeMux()
	for pattern, h := range routes {
		mux.Handle(pattern, h)
	}
	return mux
}

func getPage(mux http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

var pageTree = map[string]string{
	"index.html": "<!doctype html><title>Ponder</title>", "favicon.svg": "<svg/>", "assets/index-1.js": "export {}", "assets/index-1.js.br": "BROTLI",
	"assets/big-1.css": strings.Repeat("body{}", 1000), "assets/frame.html": "<!doctype html>",
}

// TestRootByClient checks that browsers get the page and clients of Ollama their answer.
func TestRootByClient(t *testing.T) {
	mux := testPage(t, pageTree)
	for _, tt := range []struct{ name, accept, want string }{
		{"Chrome", chrome, "<title>Ponder"},
		{"Safari", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "<title>Ponder"},
		{"curl, the Go client", "*/*", "Ollama is running"},
		{"no header", "", "Ollama is running"},
		{"ollama-js", "application/json", "Ollama is running"},
	} {
		w := getPage(mux, "/", "Accept", tt.accept)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), tt.want) || w.Header().Get("Vary") == "" {
			t.Errorf("%s: %d %s %v", tt.name, w.Code, w.Body, w.Header())
		}
	}
	without := testPage(t, nil)
	if w := getPage(without, "/", "Accept", chrome); w.Body.String() != "Ollama is running" {
		t.Errorf("a server without the page: %s", w.Body)
	}
}

func TestPageHeaders(t *testing.T) {
	mux := testPage(t, pageTree)
	for _, tt := range []struct {
		path string
		want map[string]string // parts of headers
		not  map[string]string
	}{
		{"/", map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; ", "Cache-Control": "no-cache", "Content-Type": "text/html",
			"Referrer-Policy": "same-origin", "Permissions-Policy": "microphone=()", "Cross-Origin-Opener-Policy": "same-origin",
		}, map[string]string{"Content-Security-Policy": "unsafe", "Access-Control-Allow-Origin": "*"}},
		{"/assets/index-1.js", map[string]string{"Cache-Control": "immutable", "Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*"}, nil},
		{"/assets/frame.html", map[string]string{"Content-Security-Policy": "sandbox allow-scripts; default-src 'none'", "Cache-Control": "no-cache"},
			map[string]string{"Content-Security-Policy": "allow-same-origin", "Cache-Control": "immutable"}},
		{"/favicon.svg", map[string]string{"Content-Type": "image/svg+xml", "Content-Security-Policy": "sandbox", "Cache-Control": "no-cache"}, nil},
	} {
		w := getPage(mux, tt.path, "Accept", chrome)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", tt.path, w.Code)
		}
		for name, part := range tt.want {
			if !strings.Contains(w.Header().Get(name), part) {
				t.Errorf("%s: %s is %q, want %q", tt.path, name, w.Header().Get(name), part)
			}
		}
		for name, part := range tt.not {
			if strings.Contains(w.Header().Get(name), part) {
				t.Errorf("%s: %s is %q", tt.path, name, w.Header().Get(name))
			}
		}
		if again := getPage(mux, tt.path, "Accept", chrome, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s: %d with its ETag", tt.path, again.Code)
		}
	}
	for _, path := range []string{"/assets/none.js", "/assets/../index.html", "/index.html", "/assets/", "/assets/index-1.js.br"} {
		if w := getPage(mux, path, "Accept", chrome); w.Code == http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestPageEncoding(t *testing.T) {
	mux := testPage(t, pageTree)
	for _, tt := range []struct{ path, accept, want string }{
		{"/assets/index-1.js", "gzip, deflate, br", "br"},
		{"/assets/index-1.js", "gzip", ""}, // too small
		{"/assets/index-1.js", "br;q=0, gzip", ""},
		{"/assets/big-1.css", "gzip, br", "gzip"},
		{"/assets/big-1.css", "gzip;q=0.5", "gzip"},
		{"/assets/big-1.css", "gzip;q=0.0", ""},
		{"/assets/big-1.css", "x-gzip", ""},
		{"/assets/big-1.css", "", ""},
	} {
		w := getPage(mux, tt.path, "Accept-Encoding", tt.accept)
		if got := w.Header().Get("Content-Encoding"); got != tt.want || w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
			t.Errorf("%s %q: %q, want %q", tt.path, tt.accept, got, tt.want)
		}
		if tt.want != "gzip" {
			continue
		}
		r, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); err != nil || string(text) != pageTree["assets/big-1.css"] {
			t.Errorf("%d bytes (%v)", len(text), err)
		}
	}
}
