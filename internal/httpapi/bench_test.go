package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ponder/internal/stream"
	"ponder/store/memory"
)

// BenchmarkRequests measures a GET, a POST and a refused POST.
func BenchmarkRequests(b *testing.B) {
	store := memory.New()
	api := New(b.Context(), Config{
		Store: store, Hub: stream.New(store), Guard: guardOf(), Logger: slog.New(slog.DiscardHandler),
		Service: &library{owners: make(map[string][]Memory)},
	})
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"get", http.MethodGet, "/api/memory?limit=5&kind=post", "", http.StatusOK},
		{"post", http.MethodPost, "/api/memory", `{"text":"The bridge was closed in 1931.","kind":"memory"}`, http.StatusCreated},
		{"refused", http.MethodPost, "/api/thinking/start", `{"question":"","duration_minutes":-1}`, http.StatusUnprocessableEntity},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), tt.method, "http://127.0.0.1"+tt.path, strings.NewReader(tt.body))
				r.Header.Set("Authorization", "Bearer mine")
				w := httptest.NewRecorder()
				if api.ServeHTTP(w, r); w.Code != tt.status {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
}
