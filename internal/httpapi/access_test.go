package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder/internal/auth"
	"ponder/internal/credential"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/store/sqlite"
)

// A browserServer is a test server with sign-ins and shares. Its browser sends a cookie.
type browserServer struct {
	*testServer
	credentials *credential.Store
	cookie      *http.Cookie
}

func newBrowserServer(t *testing.T) *browserServer {
	t.Helper()
	h := newTestServer(t, &llmtest.Model{Answer: func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, "It is well."), nil }})
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b := &browserServer{testServer: h}
	if b.credentials, err = credential.Open(t.Context(), db.SQL()); err != nil {
		t.Fatal(err)
	}
	guard := auth.New(auth.Config{SignIns: b.credentials, Tokens: []auth.Token{
		{Name: "local", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("mine")},
		{Name: "anna", Owner: "anna", Scopes: auth.Scopes(), Hash: auth.HashOf("hers")},
		{Name: "eye", Owner: "local", Scopes: []auth.Scope{auth.Read}, Hash: auth.HashOf("look")},
	}})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	h.testAPI = &testAPI{h.store, New(ctx, Config{Store: h.store, Hub: h.hub, Service: h, Requests: &memoryRequests{}, Guard: guard, Shares: b.credentials,
		Print: func(_ context.Context, html []byte) ([]byte, error) { return append([]byte("%PDF of "), html...), nil }, Logger: slog.New(slog.DiscardHandler)})}
	return b
}

// send sends a request of a page of this server.
func (b *browserServer) send(method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	if method != http.MethodGet {
		r.Header.Set("Origin", "http://127.0.0.1")
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

func (b *browserServer) signIn(t *testing.T, token string) {
	t.Helper()
	w := b.send("POST", "/api/sign-in", `{"token":"`+token+`"}`)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("sign in: %d %s %v", w.Code, w.Body, w.Header())
	}
	b.cookie = &http.Cookie{Name: cookies[0].Name, Value: cookies[0].Value}
}

func TestSignInRoutes(t *testing.T) {
	b := newBrowserServer(t)
	b.addThreads()
	if w := b.send("GET", "/api/me", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("before the sign-in: %d %s", w.Code, w.Body)
	}
	if w := b.send("POST", "/api/sign-in", `{"token":"wrong"}`); w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 || !strings.Contains(w.Body.String(), "not valid") {
		t.Errorf("a wrong token: %d %s", w.Code, w.Body)
	}
	if w := b.send("POST", "/api/sign-in", `{"token":"look"}`, "Origin", "http://evil.example"); w.Code != http.StatusForbidden {
		t.Errorf("another site: %d %s", w.Code, w.Body)
	}
	b.signIn(t, "look")
	w := b.send("GET", "/api/me", "")
	var me Me
	if err := json.Unmarshal(w.Body.Bytes(), &me); err != nil || !me.SignedIn || me.Owner != "local" || me.Token != "eye" || me.Admin || !me.Required || len(me.Scopes) != 1 || time.Until(*me.Expires) < auth.SignInIdle-time.Minute {
		t.Errorf("%s (%v)", w.Body, err)
	}
	if w := b.send("POST", "/api/memory", `{"text":"The sea is salt."}`); w.Code != http.StatusForbidden {
		t.Errorf("without the scope think: %d %s", w.Code, w.Body)
	}
	if w := b.send("GET", "/api/threads/thr_session_local/export", ""); w.Code != http.StatusOK {
		t.Errorf("read: %d %s", w.Code, w.Body)
	}
	w = b.send("POST", "/api/sign-out", "")
	if gone := w.Result().Cookies(); w.Code != http.StatusOK || len(gone) != 1 || gone[0].MaxAge >= 0 || gone[0].Name != b.cookie.Name {
		t.Errorf("sign out: %d %s %v", w.Code, w.Body, gone)
	}
	if w := b.send("GET", "/api/me", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("after the sign-out: %d %s", w.Code, w.Body)
	}
	if w := b.send("POST", "/api/sign-out", ""); w.Code != http.StatusOK {
		t.Errorf("sign out twice: %d %s", w.Code, w.Body)
	}
}

func TestSignInByCode(t *testing.T) {
	b := newBrowserServer(t)
	code, body := b.sendRequest("hers", "POST", "/api/sign-in/codes", "")
	var made struct{ Code string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || code != http.StatusCreated || made.Code == "" {
		t.Fatalf("%d %s", code, body)
	}
	if w := b.send("POST", "/api/sign-in", `{"code":"`+made.Code+`"}`); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"owner":"anna"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := b.send("POST", "/api/sign-in", `{"code":"`+made.Code+`"}`); w.Code != http.StatusUnauthorized {
		t.Errorf("again: %d %s", w.Code, w.Body)
	}
}

// TestStreamByCookie checks that an EventSource, which cannot send headers, follows a session.
func TestStreamByCookie(t *testing.T) {
	b := newBrowserServer(t)
	b.addThreads()
	b.signIn(t, "mine")
	for path, want := range map[string]int{"/api/threads/thr_session_local/events": 200, "/api/threads/thr_session_anna/events": 404} {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1"+path, http.NoBody)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.AddCookie(b.cookie)
		w := &endAfter{ResponseRecorder: httptest.NewRecorder(), mark: "of local", end: cancel}
		b.ServeHTTP(w, r)
		cancel()
		if w.Code != want || want == 200 && !strings.Contains(w.Body.String(), "data: ") {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
}

// An endAfter ends the request once the response has a mark.
type endAfter struct {
	*httptest.ResponseRecorder
	mark string
	end  func()
}

func (e *endAfter) Write(p []byte) (int, error) {
	n, err := e.ResponseRecorder.Write(p)
	if strings.Contains(e.Body.String(), e.mark) {
		e.end()
	}
	return n, err
}

// TestOwnersDoNotMeetByCookie checks that all routes keep owners apart for browsers, too.
func TestOwnersDoNotMeetByCookie(t *testing.T) {
	b := newBrowserServer(t)
	ids := b.addThreads()
	calls := allCalls(t, b.testAPI, ids)
	b.signIn(t, "mine")
	answers := 0
	for _, c := range calls {
		if c.op.Method != http.MethodGet && !c.foreign {
			continue // the walk with tokens has them
		}
		w := b.send(c.op.Method, c.target, c.body, "Accept", "application/json")
		all := w.Body.String()
		switch {
		case w.Code == http.StatusUnauthorized:
			t.Errorf("%s %s: the cookie does not count", c.op.Method, c.target)
		case strings.Contains(all, annaMark), strings.Contains(all, innerMark), c.foreign && w.Code < 400:
			t.Errorf("%s %s: %d %.300s", c.op.Method, c.target, w.Code, all)
		case w.Code == http.StatusOK && strings.Contains(all, "of local"):
			answers++
		}
	}
	if answers < 10 {
		t.Errorf("only %d answers had anything in them", answers)
	}
}

// share creates a link and returns its path and ID.
func (b *browserServer) share(t *testing.T, thread, life string) (path, id string) {
	t.Helper()
	w := b.send("POST", "/api/shares", `{"thread_id":"`+thread+`","expires_in":"`+life+`"}`)
	var made struct {
		Path  string
		Share Share
	}
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != http.StatusCreated || !strings.HasPrefix(made.Path, "/share/") || len(made.Path) < 50 {
		t.Fatalf("share: %d %s (%v)", w.Code, w.Body, err)
	}
	return made.Path, made.Share.ID
}

func TestShare(t *testing.T) {
	b := newBrowserServer(t)
	b.addThreads()
	b.signIn(t, "mine")
	path, id := b.share(t, "thr_session_local", "12h")
	research, _ := b.share(t, "thr_research_local", "7d")
	reader := &browserServer{testServer: b.testServer} // without a cookie
	for _, link := range []string{path, research} {
		w := reader.send("GET", link, "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
		all := w.Body.String()
		if w.Code != http.StatusOK || !strings.HasPrefix(all, "<!DOCTYPE html>") || link == path && !strings.Contains(all, "of local") || strings.Contains(all, innerMark) {
			t.Errorf("%s: %d %.300s", link, w.Code, all)
		}
		for name, part := range map[string]string{"Content-Security-Policy": "sandbox allow-popups", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex", "Cache-Control": "no-store", "Content-Type": "text/html"} {
			if !strings.Contains(w.Header().Get(name), part) {
				t.Errorf("%s: %s is %q", link, name, w.Header().Get(name))
			}
		}
		if w.Header().Get("Set-Cookie") != "" || strings.Contains(w.Header().Get("Content-Security-Policy"), "allow-same-origin") {
			t.Errorf("%s: %v", link, w.Header())
		}
	}
	w := b.send("GET", "/api/shares", "")
	if all := w.Body.String(); strings.Count(all, `"opened":1`) != 2 || strings.Contains(all, strings.TrimPrefix(path, "/share/")) || !strings.Contains(all, `"kind":"research"`) {
		t.Errorf("list: %s", all)
	}
	anna := &browserServer{testServer: b.testServer}
	anna.signIn(t, "hers")
	if w := anna.send("GET", "/api/shares", ""); !strings.Contains(w.Body.String(), `"share_count":0`) {
		t.Errorf("another owner lists %s", w.Body)
	}
	if w := anna.send("DELETE", "/api/shares/"+id, ""); w.Code != http.StatusNotFound {
		t.Errorf("another owner removes it: %d %s", w.Code, w.Body)
	}
	if w := b.send("DELETE", "/api/shares/"+id, ""); w.Code != http.StatusOK {
		t.Errorf("remove: %d %s", w.Code, w.Body)
	}
	if w := reader.send("GET", path, ""); w.Code != http.StatusNotFound {
		t.Errorf("after the removal: %d", w.Code)
	}
	if w := reader.send("POST", research, ""); w.Code < 400 {
		t.Errorf("write: %d", w.Code)
	}
}

// TestShareEnds checks that a reader cannot tell an expired link, a removed report and a guess apart.
func TestShareEnds(t *testing.T) {
	b := newBrowserServer(t)
	b.addThreads()
	b.signIn(t, "mine")
	removed, _ := b.share(t, "thr_research_local", "7d")
	if err := b.store.Remove(t.Context(), "thr_research_local"); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	if err := b.credentials.AddShare(t.Context(), "expired", credential.Share{ID: "shr_old", Owner: "local", Thread: "thr_session_local", Created: past, Expires: past.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if err := b.credentials.AddShare(t.Context(), "moved", credential.Share{ID: "shr_moved", Owner: "local", Thread: "thr_session_anna", Created: past, Expires: past.Add(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	guess := b.send("GET", "/share/guess", "")
	if guess.Code != http.StatusNotFound || !strings.Contains(guess.Body.String(), "not valid") {
		t.Fatalf("a guess: %d %s", guess.Code, guess.Body)
	}
	for _, link := range []string{removed, "/share/expired", "/share/moved"} {
		w := b.send("GET", link, "")
		if w.Code != guess.Code || w.Body.String() != guess.Body.String() || len(w.Header()) != len(guess.Header()) {
			t.Errorf("%s: %d %s", link, w.Code, w.Body)
		}
	}
	if w := b.send("GET", "/api/shares", ""); !strings.Contains(w.Body.String(), `"share_count":0`) {
		t.Errorf("listed: %s", w.Body)
	}
	for body, want := range map[string]int{
		`{"thread_id":"thr_session_local","expires_in":"91d"}`: 422, `{"thread_id":"thr_session_local","expires_in":"1s"}`: 422,
		`{"thread_id":"thr_session_anna"}`: 404, `{"thread_id":"thr_conversation_local"}`: 404, `{}`: 422,
	} {
		if w := b.send("POST", "/api/shares", body); w.Code != want {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

// TestInlineReport checks that a browser shows a report without access to the server.
func TestInlineReport(t *testing.T) {
	b := newBrowserServer(t)
	b.addThreads()
	b.signIn(t, "mine")
	for _, path := range []string{"/api/thinking/thr_session_local/export", "/api/research/thr_research_local/export"} {
		w := b.send("GET", path+"?format=html&inline=true", "")
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != 200 || !strings.HasPrefix(policy, "sandbox ") || !strings.HasSuffix(policy, "frame-ancestors 'self'") || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "inline") {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		w = b.send("GET", path+"?format=pdf", "")
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/pdf" || !strings.HasPrefix(w.Body.String(), "%PDF of <!DOCTYPE html>") || !strings.Contains(w.Header().Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %d %v %.50s", path, w.Code, w.Header(), w.Body)
		}
	}
	plain := newTestServer(t, slowModel())
	plain.addThreads()
	if code, body := plain.sendRequest("mine", "GET", "/api/thinking/thr_session_local/export?format=pdf", ""); code != http.StatusNotImplemented || !strings.Contains(body, "print dialog") {
		t.Errorf("without a browser on the server: %d %s", code, body)
	}
}
