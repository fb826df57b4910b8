package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/mode/passthrough"
)

func (t *quotaTest) Exchange(s *Service, id ponder.ThreadID, at time.Time, ended bool) {
	t.Helper()
	events := []ponder.Event{{ID: ponder.NewID("evt"), Time: at, Run: "run_1", Body: ponder.RunStarted{Mode: passthrough.Name, Input: "?"}}}
	if ended {
		events = append(events, ponder.Event{ID: ponder.NewID("evt"), Time: at, Run: "run_1", Body: ponder.RunFinished{Status: ponder.Completed, Answer: "!"}})
	}
	if err := s.Log.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindExchange, Owner: "anna", Created: at}, events...); err != nil {
		t.Fatal(err)
	}
}

// Expired exchanges are removed, except kept ones.
func TestForgetExchanges(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		keep string
		gone string
	}{{"", "old"}, {"0", "old,new"}, {"100h", ""}} {
		till := NewTill(t, config.Token{})
		s := till.Serve()
		if tt.keep != "" {
			var k config.Lifetime
			if err := k.UnmarshalText([]byte(tt.keep)); err != nil {
				t.Fatal(err)
			}
			s.Settings.Serve.KeepExchanges = &k
		}
		till.Exchange(s, "thr_old", now.Add(-30*time.Hour), true)
		till.Exchange(s, "thr_new", now.Add(-time.Hour), true)
		till.Exchange(s, "thr_open", now.Add(-30*time.Hour), false)
		till.Exchange(s, "thr_kept", now.Add(-30*time.Hour), true)
		if err := s.DB.ChangePrefs(t.Context(), "thr_kept", func(w *threadPrefs) { w.Keep = true }); err != nil {
			t.Fatal(err)
		}
		if err := s.Log.Create(t.Context(), ponder.Thread{ID: "thr_talk", Kind: ponder.KindConversation, Created: now.Add(-30 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		s.ForgetExchanges(t.Context(), now)
		var gone []string
		for _, id := range []string{"old", "new", "open", "kept", "talk"} {
			if _, err := s.Store.Thread(t.Context(), ponder.ThreadID("thr_"+id)); errors.Is(err, ponder.ErrNoThread) {
				gone = append(gone, id)
			}
		}
		if got := strings.Join(gone, ","); got != tt.gone {
			t.Errorf("kept for %q: %q are gone, want %q", tt.keep, got, tt.gone)
		}
	}
}

// The newest conversation of a digest is found, for its owner only. Expired, surplus and
// removed ones are forgotten.
func TestChats(t *testing.T) {
	s := NewTill(t, config.Token{}).Serve()
	ctx, now := t.Context(), time.Now()
	note := func(owner, digest string, id ponder.ThreadID, at time.Time) {
		t.Helper()
		if err := s.DB.NoteChat(ctx, owner, digest, id, false, at); err != nil {
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
	if err := s.DB.CleanUpChats(ctx, now, 4); err != nil {
		t.Fatal(err)
	}
	find("anna", "d0", "")
	find("anna", "m2", "")
	find("anna", "m4", "thr_9")
	find("anna", "d1", "thr_2")
	if err := s.DB.Remove(ctx, "thr_2"); err != nil {
		t.Fatal(err)
	}
	find("anna", "d1", "")
	find("local", "d1", "thr_3")
}

func TestCleanSystem(t *testing.T) {
	if got, err := CleanSystem(" In French.\xff\n"); got != "In French." || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := CleanSystem(strings.Repeat("x", MaxSystem+1)); err == nil {
		t.Error("it may be of any length")
	}
}
