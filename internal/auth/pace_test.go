package auth

import (
	"net/http"
	"testing"
	"time"
)

// TestBurst checks that an idle token allows a minute of requests at once, and that monitoring
// takes none of them.
func TestBurst(t *testing.T) {
	for perMinute, burst := range map[int]int{1: 1, 30: 30, 60: 60, 200: 60, 600: 100, 6000: 1000} {
		now := time.Unix(0, 0)
		g := New(Config{Tokens: []Token{{Name: "a", PerMinute: perMinute, Hash: HashOf("a")}}, Now: func() time.Time { return now }})
		ask := func(path string) bool {
			r := newRequest("127.0.0.1", "Authorization", "Bearer a")
			r.URL.Path = path
			_, refused := g.Check(r)
			return refusalStatus(refused) != http.StatusTooManyRequests
		}
		for range 2 {
			let := 0
			for ask("/api/threads") {
				let++
				if !ask("/healthz") || !ask("/readyz") || !ask("/metrics") || !ask("/docs") {
					t.Fatal("what looks after the server is refused")
				}
			}
			if let != burst {
				t.Errorf("%d a minute: %d at once, want %d", perMinute, let, burst)
			}
			if !ask("/healthz") {
				t.Error("the health of the server is refused to a token that has asked too often")
			}
			now = now.Add(2 * time.Minute)
		}
	}
}
