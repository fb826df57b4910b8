package main

import (
	"testing"
	"time"

	"ponder/internal/app"

	"ponder"
)

func TestStatusOf(t *testing.T) {
	const stopped = "paused (interrupted)"
	for _, tt := range []struct {
		name   string
		kind   ponder.Kind
		status ponder.Status
		held   bool
		since  time.Duration
		want   string
	}{
		{"a running session", ponder.KindSession, ponder.Thinking, true, time.Hour, "thinking"},
		{"a session whose process was killed", ponder.KindSession, ponder.Thinking, false, 0, stopped},
		{"a conversation that is to be titled", ponder.KindConversation, ponder.Thinking, false, time.Second, "thinking"},
		{"a conversation that is being titled", ponder.KindConversation, ponder.Thinking, true, time.Hour, "thinking"},
		{"a conversation that nobody took up", ponder.KindConversation, ponder.Thinking, false, time.Minute, stopped},
		{"a conversation that was answered", ponder.KindConversation, ponder.Completed, false, time.Minute, "completed"},
	} {
		info := ponder.Info{Thread: ponder.Thread{Kind: tt.kind}, Status: tt.status, Held: tt.held, Updated: time.Now().Add(-tt.since)}
		if got := app.StatusText(info); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
