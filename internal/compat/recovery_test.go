package compat_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

// After a restart, a repeated request gets unanswered work, and a declared retry also answered work.
func TestOnceOverRestart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		model string
		apart bool
		chat  string
		ends  bool // before the restart
		retry string
		body  string // of the second, if different
		wait  time.Duration
		same  bool
	}{
		{name: "an exchange", model: "ponder/chat", apart: true, same: true},
		{name: "a turn", model: "ponder/chat", chat: "c1", same: true},
		{name: "a turn without a name", model: "ponder/chat", same: true},
		{name: "a turn without a name that has ended", model: "ponder/chat", ends: true},
		{name: "a session", model: "ponder/session", same: true},
		{name: "research", model: "ponder/research", same: true},
		{name: "an exchange that has ended", model: "ponder/chat", apart: true, ends: true},
		{name: "a turn that has ended", model: "ponder/chat", chat: "c1", ends: true},
		{name: "an exchange that has ended, sent again", model: "ponder/chat", apart: true, ends: true, retry: "1", same: true},
		{name: "a turn that has ended, sent again", model: "ponder/chat", chat: "c1", ends: true, retry: "1", same: true},
		{name: "other words", model: "ponder/chat", apart: true, body: "How wide?"},
		{name: "other words in a conversation", model: "ponder/chat", chat: "c1", body: "How wide?"},
		{name: "long ago", model: "ponder/chat", apart: true, wait: time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: slowAnswer}})
				a := newRequest(r, tt.model, "How deep?")
				a.Standalone, a.Chat, a.Effort, a.KeepRunning = tt.apart, tt.chat, "minimal", true
				ctx, leave := context.WithCancel(t.Context())
				one, _, err := sendOnce(ctx, r, "body", "", a)
				if err != nil {
					t.Fatal(err)
				}
				if tt.ends {
					r.CollectParts(one, false)
				}
				time.Sleep(time.Second)
				r.Close()
				leave()
				time.Sleep(tt.wait + time.Second)
				again := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: slowAnswer}, Store: r.Desk.Store})
				if err := again.Go(t.Context(), one.Thread, ""); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if tt.body != "" {
					a.Messages = []llm.Message{llm.Say(llm.User, tt.body)}
				}
				two, answered, err := sendOnce(t.Context(), again, "body", tt.retry, a)
				if err != nil || (two.ID() == one.ID()) != tt.same {
					t.Fatalf("%s, then %s, %v", one.ID(), two.ID(), err)
				}
				if list := again.CollectParts(two, false); list[len(list)-1].End.Status != ponder.Completed {
					t.Errorf("ended %+v", list[len(list)-1].End)
				}
				answered()
				if three, _, err := sendOnce(t.Context(), again, "body", "", a); err != nil || three.ID() == two.ID() {
					t.Errorf("asked again: %s, then %s, %v", two.ID(), three.ID(), err)
				}
			})
		})
	}
}

// A keyed message in an existing conversation is appended once.
func TestKeyGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: echoAnswer}})
		one, first := startAndCollect(t, r, newRequest(r, "ponder/chat", "Hello, sea"))
		keyed := func(key string) compat.Request {
			a := newRequest(r, "ponder/chat", "Hello, sea", first, "How deep?")
			a.Key = key
			return a
		}
		two, second := startAndCollect(t, r, keyed("k1"))
		if again := r.Start(keyed("k1")); again.ID() != two.ID() || two.Thread != one.Thread {
			t.Errorf("%s, %s, then %s", one.ID(), two.ID(), again.ID())
		}
		three := newRequest(r, "ponder/chat", "Hello, sea", first, "How deep?", second, "How wide?")
		if w, _ := startAndCollect(t, r, three); w.Thread != one.Thread {
			t.Error("it did not go on")
		}
		if again := r.Start(keyed("k1")); again.ID() != two.ID() {
			t.Errorf("%s, and later %s", two.ID(), again.ID())
		}
		if n := len(storedMessages(r, one.Thread)); n != 6 {
			t.Errorf("%d messages", n)
		}
		if other := r.Start(keyed("k2")); other.Thread == one.Thread {
			t.Error("another key went on with what has gone another way")
		}
	})
}
