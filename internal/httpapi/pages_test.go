package httpapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/stream"
	"ponder/store/memory"
)

// Only pages of configured origins can read responses.
func TestPages(t *testing.T) {
	const desk = "https://desk.example"
	store := memory.New()
	of := func(origins ...string) http.Handler {
		return New(t.Context(), Config{Store: store, Hub: stream.New(store), Guard: auth.New(auth.Config{
			Origins: origins, Tokens: []auth.Token{{Name: "a", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("mine")}},
		})})
	}
	for _, tt := range []struct {
		name, method, origin, host, token string
		before                            bool // a preflight
		closed                            bool // no pages are configured
		code                              int
		allowed                           bool
	}{
		{name: "before", method: "OPTIONS", origin: desk, before: true, code: 204, allowed: true},
		{name: "OPTIONS of no browser", method: "OPTIONS", origin: desk, code: 401, allowed: true},
		{name: "without a token", method: "GET", origin: desk, code: 401, allowed: true},
		{name: "with one", method: "GET", origin: desk, token: "mine", code: 200, allowed: true},
		{name: "before, of another page", method: "OPTIONS", origin: "https://evil.example", before: true, code: 403},
		{name: "another page", method: "GET", origin: "https://evil.example", token: "mine", code: 403},
		{name: "one that begins like it", method: "OPTIONS", origin: desk + ".evil.example", before: true, code: 403},
		{name: "a page of nowhere", method: "OPTIONS", origin: "null", before: true, code: 403},
		{name: "another host", method: "OPTIONS", origin: desk, host: "rebound.example", before: true, code: 403},
		{name: "no page", method: "GET", token: "mine", code: 200},
		{name: "none is configured", method: "OPTIONS", origin: desk, before: true, closed: true, code: 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := of(desk)
			if tt.closed {
				h = of()
			}
			r := httptest.NewRequestWithContext(t.Context(), tt.method, "http://127.0.0.1/api/threads", http.NoBody)
			if tt.host != "" {
				r.Host = tt.host
			}
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			if tt.token != "" {
				r.Header.Set("Authorization", "Bearer "+tt.token)
			}
			if tt.before {
				r.Header.Set("Access-Control-Request-Method", "POST")
				r.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Header()
			if allowed := got.Get("Access-Control-Allow-Origin") == desk; w.Code != tt.code || allowed != tt.allowed || !allowed && got.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%d, %v", w.Code, got)
			}
			if varies := slices.Contains(got.Values("Vary"), "Origin"); varies == tt.closed {
				t.Errorf("Vary: %q", got.Values("Vary"))
			}
			if got.Get("Access-Control-Allow-Credentials") != "" || (tt.code == 204) != (got.Get("Access-Control-Allow-Headers") == "authorization,content-type") {
				t.Errorf("%v", got)
			}
			if tt.code == 204 && !strings.Contains(got.Get("Access-Control-Allow-Methods"), "DELETE") {
				t.Errorf("%v", got)
			}
		})
	}
	for list, want := range map[string]bool{"authorization, x-stainless-os": true, "": false, "a\r\nb": false, "*": false, strings.Repeat("a", maxRequestedHeaders+1): false} {
		if areNames(list) != want {
			t.Errorf("%.40q: %v", list, !want)
		}
	}
}

// A daily quota refuses until the day ends.
func TestRetryTomorrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		h.deny = app.Errorf(app.Limit, "", "no more today")
		var made struct {
			ID string `json:"thread_id"`
		}
		h.postJSON("", "/api/threads", `{"title":"a talk"}`, &made)
		r := newRequest("/api/threads/"+made.ID+"/messages", `{"content":"hi"}`)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		left, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if w.Code != http.StatusTooManyRequests || err != nil || time.Now().Add(time.Duration(left)*time.Second).Day() == time.Now().Day() || left > 25*3600 {
			t.Errorf("%d, Retry-After %d (%v)", w.Code, left, err)
		}
	})
}
