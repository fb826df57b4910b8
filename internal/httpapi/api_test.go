package httpapi

import (
	"context"
	"encoding/json"
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

type testAPI struct {
	store ponder.Store
	http.Handler
}

func newAPI(t *testing.T, service Service) *testAPI {
	t.Helper()
	return newAPIWith(t, memory.New(), service)
}

func newAPIWith(t *testing.T, store ponder.Store, service Service) *testAPI {
	t.Helper()
	return &testAPI{store, New(t.Context(), Config{
		Store: store, Hub: stream.New(store), Service: service, Requests: &memoryRequests{},
		Guard: auth.New(auth.Config{Tokens: []auth.Token{
			{Name: "local", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("mine")},
			{Name: "anna", Owner: "anna", Scopes: auth.Scopes(), Hash: auth.HashOf("hers")},
			{Name: "eye", Owner: "local", Scopes: []auth.Scope{auth.Read}, Hash: auth.HashOf("look")},
		}}),
	})}
}

func (d *testAPI) sendRequest(token, method, path, body string) (int, string) {
	r := httptest.NewRequestWithContext(context.Background(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (d *testAPI) createSession(t *testing.T, id ponder.ThreadID, owner string) {
	t.Helper()
	longAgo := time.Now().Add(-time.Hour)
	err := d.store.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindSession, Owner: owner, Title: "Why?", Created: longAgo},
		ponder.Event{Time: longAgo, Run: "run_1", Body: ponder.RunStarted{Mode: session.Name, Input: "Why do large projects run late?"}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSession(t *testing.T) {
	d := newAPI(t, nil)
	d.createSession(t, "thr_1", "local")
	code, body := d.sendRequest("mine", "GET", "/api/thinking/thr_1", "")
	var got struct {
		Success bool
		Session map[string]any
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK || !got.Success {
		t.Fatalf("%d %s (%v)", code, body, err)
	}
	for _, field := range strings.Fields("id original_question thinking_duration_minutes model_id status progress started_at paused_at completed_at created_at " +
		"final_synthesis confidence_evolution stop_reason budget usage metadata error_message") {
		if _, ok := got.Session[field]; !ok {
			t.Errorf("no %s in %s", field, body)
		}
	}
	if got.Session["status"] != "paused" { // no holder
		t.Errorf("status %v", got.Session["status"])
	}
	if code, body := d.sendRequest("hers", "GET", "/api/thinking/thr_1", ""); code != http.StatusNotFound || strings.Contains(body, "large") {
		t.Errorf("another owner sees %d %s", code, body)
	}
}

func TestProblems(t *testing.T) {
	d := newAPI(t, nil)
	for _, tt := range []struct {
		name, token, path string
		status            int
	}{
		{"no token", "", "/api/thinking/thr_1", 401},
		{"no thread", "mine", "/api/thinking/thr_1", 404},
		{"no route", "mine", "/api/nothing", 404},
		{"an odd path", "mine", "/api/thinking/%00%1b[31m", 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, body := d.sendRequest(tt.token, "GET", tt.path, "")
			var doc struct {
				Title, Detail string
				Status        int
			}
			if err := json.Unmarshal([]byte(body), &doc); err != nil || code != tt.status || doc.Status != tt.status || doc.Detail == "" || strings.ContainsRune(body, 0x1b) {
				t.Errorf("%d %s (%v)", code, body, err)
			}
		})
	}
}

// Handlers of other protocols format refusals themselves.
func TestRefuse(t *testing.T) {
	store := memory.New()
	api := New(t.Context(), Config{
		Store: store, Hub: stream.New(store), Guard: guardOf(),
		More: map[string]http.Handler{"GET /other": http.NotFoundHandler()},
		Refuse: func(w http.ResponseWriter, r *http.Request, why *auth.Refusal) bool {
			if r.URL.Path != "/other" {
				return false
			}
			w.WriteHeader(why.Status)
			w.Write([]byte("no: " + why.Detail))
			return true
		},
	})
	for path, want := range map[string]string{"/other": "no: ", "/api/threads": `{"`} {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, http.NoBody))
		if w.Code != http.StatusUnauthorized || !strings.HasPrefix(w.Body.String(), want) || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func newRequest(path, body string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), "POST", "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer mine")
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (d *testAPI) serveRequest(r *http.Request) (int, string) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// canary marks internal text.
const canary = "CANARY-7f3"
