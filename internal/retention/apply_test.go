package retention_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/retention"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/store/memory"
	"ponder/store/sqlite"
)

// A thinkingModel is a model that emits a marked thought before each answer.
type thinkingModel struct{}

const secret = "MARK-OF-A-THOUGHT"

func (thinkingModel) Name() string { return "fake/muser" }

func (thinkingModel) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		last := req.Messages[len(req.Messages)-1].Parts[0]
		msg := llm.Say(llm.Assistant, "So.")
		if last.Result == nil {
			js := json.RawMessage(fmt.Sprintf(`{"thought":%q}`, secret+" about "+last.Text))
			msg = llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c", Name: "think", Input: js}}}}
		}
		yield(llm.Delta{Done: &llm.Response{Message: msg, Finish: llm.FinishStop, Model: "fake/muser"}}, nil)
	}
}

type testConversation struct {
	*testing.T
	mind *enginetest.Engine
}

// startConversation creates a conversation; forget allows its thoughts to be erased.
func startConversation(t *testing.T, store ponder.Store, forget bool) testConversation {
	t.Helper()
	if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread, Kind: ponder.KindConversation}); err != nil {
		t.Fatal(err)
	}
	mode := chat.New(chat.Options{Think: true, Forget: forget})
	return testConversation{t, enginetest.Start(t, engine.Config{Store: store, Modes: []ponder.Mode{mode}, Models: enginetest.Models(thinkingModel{}, ponder.Price{})})}
}

// sendMessage sends a message, waits for the answer and returns the message's position.
func (w testConversation) sendMessage(text string) (at ponder.Seq) {
	w.Helper()
	w.mind.Put("", text, ponder.UserMessage{Content: text})
	for ev, err := range ponder.Follow(w.Context(), w.mind.Store, enginetest.Thread, 0) {
		if err != nil {
			w.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			if b.Content == text {
				at = ev.Seq
			}
		case ponder.RunFinished:
			if at > 0 {
				return at
			}
		}
	}
	return at
}

// countMarks returns the numbers of events and requests with the mark.
func (w testConversation) countMarks() (events, requests int) {
	w.Helper()
	for _, ev := range w.mind.Events() {
		js, err := json.Marshal(ev)
		if err != nil {
			w.Fatal(err)
		}
		if strings.Contains(string(js), secret) {
			events++
		}
		if _, ok := ev.Body.(ponder.CallStarted); !ok {
			continue
		}
		req, err := w.mind.Store.Request(w.Context(), enginetest.Thread, ev.Run, ev.Cause)
		if err != nil {
			w.Fatal(err)
		}
		if js, err = json.Marshal(req); err != nil {
			w.Fatal(err)
		}
		if strings.Contains(string(js), secret) {
			requests++
		}
	}
	return events, requests
}

// checkMarks checks the result of left.
func (w testConversation) checkMarks(when string, events, requests int) {
	w.Helper()
	if e, r := w.countMarks(); e != events || r != requests {
		w.Errorf("%s: a thought is in %d events and %d requests, want %d and %d", when, e, r, events, requests)
	}
}

func forEachStore(t *testing.T, test func(*testing.T, ponder.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, memory.New()) })
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
}

func TestDiscard(t *testing.T) {
	forEachStore(t, func(t *testing.T, store ponder.Store) {
		w := startConversation(t, store, true)
		for _, text := range []string{"one", "two", "three"} {
			at := w.sendMessage(text)
			w.checkMarks("before", 2, 1)
			n, err := retention.Apply(t.Context(), store, enginetest.Thread, at-1, retention.Rule{Discard: true}, time.Now())
			if err != nil || n != 3 {
				t.Errorf("erased %d: %v, want 3", n, err)
			}
			w.checkMarks("after", 0, 0)
		}
	})
}

func TestKeepForDays(t *testing.T) {
	forEachStore(t, func(t *testing.T, store ponder.Store) {
		w := startConversation(t, store, false)
		w.sendMessage("one")
		w.sendMessage("two")
		w.checkMarks("before", 4, 3) // the second turn shows the first thought twice
		for _, s := range []struct{ days, erased, events, requests int }{{0, 0, 4, 3}, {6, 0, 4, 3}, {8, 7, 0, 0}, {9, 0, 0, 0}} {
			n, err := retention.Sweep(t.Context(), store, retention.Rule{Days: 7}, time.Now().AddDate(0, 0, s.days))
			if err != nil || n != s.erased {
				t.Errorf("after %d days: erased %d: %v, want %d", s.days, n, err, s.erased)
			}
			w.checkMarks(fmt.Sprintf("after %d days", s.days), s.events, s.requests)
		}
		w.sendMessage("three")
		w.checkMarks("in a later turn", 2, 1)
	})
}

type readCounter struct {
	ponder.Store
	reads int
}

func (c *readCounter) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	c.reads++
	return c.Store.Events(ctx, id, after)
}

// TestSweepReadsOnce checks that unchanged conversations are not read again before something is
// due.
func TestSweepReadsOnce(t *testing.T) {
	forEachStore(t, func(t *testing.T, store ponder.Store) {
		w := startConversation(t, store, false)
		w.sendMessage("one")
		w.mind.Stop()
		c := &readCounter{Store: store}
		sweep := func(days, reads, erased int) {
			t.Helper()
			c.reads = 0
			n, err := retention.Sweep(t.Context(), c, retention.Rule{Days: 7}, time.Now().AddDate(0, 0, days))
			if err != nil || n != erased || c.reads != reads {
				t.Errorf("after %d days: erased %d with %d reads: %v, want %d with %d", days, n, c.reads, err, erased, reads)
			}
		}
		sweep(0, 1, 0)
		sweep(1, 0, 0)
		sweep(6, 0, 0)
		sweep(8, 1, 3)
		sweep(8, 1, 0)
		sweep(99, 0, 0)
		w.mind.Put("", "more", ponder.UserMessage{Content: "more"})
		sweep(99, 1, 0)
	})
}
