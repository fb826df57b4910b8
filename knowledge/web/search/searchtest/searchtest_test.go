package searchtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestServer(t *testing.T) {
	dir := t.TempDir()
	page := `<html><head><title>A &amp; B</title><meta name="author" content="Anna"><meta property="article:published_time" content="2024-01-02T03:04:05Z"></head><body><p>The mill.</p><p>The river.</p></body></html>`
	if err := os.WriteFile(filepath.Join(dir, "a.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	pages, err := Load(dir)
	if err != nil || len(pages) != 1 || pages[0].Title != "A & B" || pages[0].Author != "Anna" || pages[0].Published != time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC) {
		t.Fatalf("%v %+v", err, pages)
	}
	server := New(pages, Options{Keys: map[string]string{Brave: "right"}})
	at := httptest.NewServer(server)
	t.Cleanup(at.Close)
	for _, test := range []struct {
		name, method, path, header, body string
		status                           int
		has                              string
	}{
		{"exa", "POST", "/search", "X-Api-Key: k", `{"query":"river"}`, 200, `"summary":"A page that says: The river."`},
		{"tavily", "POST", "/search", "Authorization: Bearer k", `{"query":"river"}`, 200, `"content":"The river."`},
		{"tavily at its path", "POST", "/tavily/search", "Authorization: Bearer k", `{"query":"river"}`, 200, `"raw_content"`},
		{"searxng", "GET", "/search?q=river&format=json", "", "", 200, `"engine":"wikipedia"`},
		{"searxng without JSON", "GET", "/search?q=river", "", "", 403, "Forbidden"},
		{"brave", "GET", "/res/v1/web/search?q=river", "X-Subscription-Token: right", "", 200, `"web":{`},
		{"brave finds nothing", "GET", "/res/v1/web/search?q=bear", "X-Subscription-Token: right", "", 200, `"original":"bear"`},
		{"brave with another key", "GET", "/brave/res/v1/web/search?q=river", "X-Subscription-Token: wrong", "", 422, "SUBSCRIPTION_TOKEN_INVALID"},
		{"no key", "POST", "/exa/search", "", `{"query":"river"}`, 401, "INVALID_API_KEY"},
		{"no query", "POST", "/exa/search", "X-Api-Key: k", `{`, 400, "INVALID_REQUEST_BODY"},
		{"a fault that is asked for", "POST", "/exa/search", "X-Api-Key: k", `{"query":"river fault:429"}`, 429, "rate limit"},
		{"a page", "GET", "/pages/a.html", "", "", 200, "<p>The mill.</p>"},
		{"no such page", "GET", "/pages/b.html", "", "", 404, "no such page"},
		{"nothing", "GET", "/", "", "", 404, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), test.method, at.URL+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if k, v, ok := strings.Cut(test.header, ": "); ok {
				r.Header.Set(k, v)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != test.status || !strings.Contains(string(b), test.has) {
				t.Errorf("status %d, %v: %s", resp.StatusCode, err, b)
			}
		})
	}
	if n := len(server.Requests()); n != 11 {
		t.Errorf("%d requests", n)
	}
}
