package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/mode/passthrough"
)

// exchange makes an exchange that began at a time, and has ended if it did.
func (t *till) exchange(s *server, id ponder.ThreadID, at time.Time, ended bool) {
	t.Helper()
	events := []ponder.Event{{ID: ponder.NewID("evt"), Time: at, Run: "run_1", Body: ponder.RunStarted{Mode: passthrough.Name, Input: "?"}}}
	if ended {
		events = append(events, ponder.Event{ID: ponder.NewID("evt"), Time: at, Run: "run_1", Body: ponder.RunFinished{Status: ponder.Completed, Answer: "!"}})
	}
	if err := s.log.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindExchange, Owner: "anna", Created: at}, events...); err != nil {
		t.Fatal(err)
	}
}

// Exchanges that ended long ago are removed, but for those that are to be kept.
func TestForgetExchanges(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		keep string
		gone string
	}{{"", "old"}, {"0", "old,new"}, {"100h", ""}} {
		till := newTill(t, config.Token{})
		s := till.serve()
		if tt.keep != "" {
			var k config.Keeping
			if err := k.UnmarshalText([]byte(tt.keep)); err != nil {
				t.Fatal(err)
			}
			s.Settings.Serve.KeepExchanges = &k
		}
		till.exchange(s, "thr_old", now.Add(-30*time.Hour), true)
		till.exchange(s, "thr_new", now.Add(-time.Hour), true)
		till.exchange(s, "thr_open", now.Add(-30*time.Hour), false)
		till.exchange(s, "thr_kept", now.Add(-30*time.Hour), true)
		if err := s.books.wish(t.Context(), "thr_kept", func(w *wishing) { w.Keep = true }); err != nil {
			t.Fatal(err)
		}
		if err := s.log.Create(t.Context(), ponder.Thread{ID: "thr_talk", Kind: ponder.KindConversation, Created: now.Add(-30 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		s.forgetExchanges(t.Context(), now)
		var gone []string
		for _, id := range []string{"old", "new", "open", "kept", "talk"} {
			if _, err := s.store.Thread(t.Context(), ponder.ThreadID("thr_"+id)); errors.Is(err, ponder.ErrNoThread) {
				gone = append(gone, id)
			}
		}
		if got := strings.Join(gone, ","); got != tt.gone {
			t.Errorf("kept for %q: %q are gone, want %q", tt.keep, got, tt.gone)
		}
	}
}

// Conversations are found by what was noted of them last, each owner's apart; what is old,
// too much or of a removed thread is forgotten.
func TestChats(t *testing.T) {
	s := newTill(t, config.Token{}).serve()
	ctx, now := t.Context(), time.Now()
	note := func(owner, digest string, id ponder.ThreadID, at time.Time) {
		t.Helper()
		if err := s.books.noteChat(ctx, owner, digest, id, false, at); err != nil {
			t.Fatal(err)
		}
	}
	find := func(owner, digest string, want ponder.ThreadID) {
		t.Helper()
		if got, err := s.FindChat(ctx, owner, digest); err != nil || got != want {
			t.Errorf("%s of %s is %q, %v; want %q", digest, owner, got, err, want)
		}
	}
	note("anna", "d1", "thr_1", now.Add(-time.Hour))
	note("anna", "d1", "thr_2", now)
	note("local", "d1", "thr_3", now)
	note("anna", "d0", "thr_1", now.AddDate(-1, 0, 0))
	find("anna", "d1", "thr_2")
	find("local", "d1", "thr_3")
	find("anna", "d2", "")
	for i := range 5 {
		note("anna", fmt.Sprint("m", i), "thr_9", now.Add(time.Duration(i-10)*time.Minute))
	}
	if err := s.books.tidyChats(ctx, now, 4); err != nil {
		t.Fatal(err)
	}
	find("anna", "d0", "")
	find("anna", "m2", "")
	find("anna", "m4", "thr_9")
	find("anna", "d1", "thr_2")
	if err := s.books.remove(ctx, "thr_2", "", 0, now); err != nil {
		t.Fatal(err)
	}
	find("anna", "d1", "")
	find("local", "d1", "thr_3")
}

func TestCleanSystem(t *testing.T) {
	if got, err := cleanSystem(" In French.\xff\n"); got != "In French." || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := cleanSystem(strings.Repeat("x", maxSystem+1)); err == nil {
		t.Error("it may be of any length")
	}
}

// What was said last is what is known of a long conversation.
func TestSaidBefore(t *testing.T) {
	got := saidBefore("user: first\n\n" + strings.Repeat("ö", maxSaid) + "\n\nuser: last")
	if !strings.HasSuffix(got, "user: last") || strings.Contains(got, "first") || len(got) > maxSaid+200 || strings.ContainsRune(got, '\ufffd') {
		t.Errorf("%d bytes, that end with %q", len(got), got[len(got)-20:])
	}
	if saidBefore(" \n") != "" {
		t.Error("nothing was said, and told")
	}
}

// The guard's refusals have the shape of the language whose route it is.
func TestMounted(t *testing.T) {
	hi := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hi")) })
	says := func(text string) func(http.ResponseWriter, int, string) {
		return func(w http.ResponseWriter, status int, detail string) { http.Error(w, text+detail, status) }
	}
	routes, refuse := mounted([]language{{map[string]http.Handler{"POST /a": hi, "GET /same": hi}, says("a: ")}, {map[string]http.Handler{"GET /b/{id}": hi, "GET /same": hi}, says("b: ")}})
	if len(routes) != 3 {
		t.Errorf("%d routes", len(routes))
	}
	for request, want := range map[string]string{"POST /a": "a: no\n", "GET /b/7": "b: no\n", "GET /same": "a: no\n", "GET /a": "", "GET /c": ""} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		did := refuse(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody), &auth.Refusal{Status: 401, Detail: "no"})
		if got := w.Body.String(); got != want || did != (want != "") {
			t.Errorf("%s: %t %q", request, did, got)
		}
	}
}
