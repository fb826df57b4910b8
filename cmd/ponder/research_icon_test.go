package main

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder/internal/app"
	"ponder/internal/report"
	"ponder/knowledge/archive"
	"ponder/store/sqlite"
)

var dot = "GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;"

func TestIcons(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	put := func(source, body string) string {
		hash, err := kept.Put(t.Context(), archive.Original{Type: "text/html", Source: source, Fetched: time.Unix(1, 0), Bytes: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	inline := base64.StdEncoding.EncodeToString([]byte(dot))
	want := "data:image/gif;base64," + inline
	put("https://a.example/i/icon.gif", dot)
	put("https://b.example/favicon.ico", dot)
	put("https://d.example/x.png", "<svg onload=alert(1)>")
	put("https://e.example/large.gif", dot+strings.Repeat("x", app.MaxIcon))
	r := report.Research{}
	for i, tt := range []struct{ source, page, want string }{
		{"https://a.example/page", `<head><link rel="shortcut icon" href="i/icon.gif"></head>`, want},
		{"https://b.example/deep/page", `<head></head>`, want},
		{"https://c.example/", `<link href='data:image/png;base64,` + inline + `' rel=icon>`, want},
		{"https://d.example/", `<link rel="icon" href="/x.png">`, ""},
		{"https://e.example/", `<link rel="icon" href="large.gif">`, ""},
		{"https://f.example/", `<link rel="icon" href="https://g.example/i.gif"><link rel=icon href="%zz"><link rel=icon>`, ""},
		{"https://g.example/", `<link rel="stylesheet" href="https://a.example/i/icon.gif">`, ""},
	} {
		id := "e" + string(rune('1'+i))
		r.Evidence = append(r.Evidence, report.Evidence{ID: id, Cited: true, Original: put(tt.source, tt.page)})
		a := &cli{App: &app.App{}}
		a.Icons(t.Context(), store, &r)
		if got := r.Evidence[i].Icon; got != tt.want {
			t.Errorf("%s: %.60q, want %.60q", tt.page, got, tt.want)
		}
	}
}

// A cited page has the icon of its site, if its host serves one.
func TestIconsAreFetched(t *testing.T) {
	asked := make(chan string, 20)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		switch r.URL.Path {
		case "/i/own.gif":
			w.Header().Set("Content-Type", "image/gif")
			_, _ = w.Write([]byte(dot))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	hash, err := kept.Put(t.Context(), archive.Original{
		Type: "text/html", Source: s.URL + "/page", Fetched: time.Unix(1, 0),
		Bytes: []byte(`<link rel=icon href="http://127.0.0.2:1/other.gif"><link rel=icon href="/i/own.gif">`),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte("[web]\nallow = [\"127.0.0.1\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &cli{App: &app.App{}}
	a.Options.Config = file
	r := report.Research{Evidence: []report.Evidence{
		{ID: "e1", Cited: true, URL: s.URL + "/page", Original: hash, Tool: "web_fetch"},
		{ID: "e2", Cited: true, URL: "http://127.0.0.3:1/", Original: hash, Tool: "web_fetch", Provider: "folder"},
		{ID: "e3", URL: "http://127.0.0.4:1/", Original: hash, Tool: "web_fetch"},
	}}
	a.FetchIcons(t.Context(), store, &r)
	a.Icons(t.Context(), store, &r)
	if want := "data:image/gif;base64," + base64.StdEncoding.EncodeToString([]byte(dot)); r.Evidence[0].Icon != want {
		t.Errorf("icon %q, want %q", r.Evidence[0].Icon, want)
	}
	close(asked)
	for path := range asked {
		if path != "/i/own.gif" && path != "/robots.txt" {
			t.Errorf("request of %s", path)
		}
	}
}
