package main

import (
	"context"
	"path/filepath"
	"testing"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/internal/app"
	"ponder/llm/llmtest"
	"ponder/store/sqlite"
)

// The holder appends a message and the first decisions about it in one transaction, after the
// event that it had seen.
func TestSayAppendsOnce(t *testing.T) {
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	a := &cli{App: app.New(app.Options{DB: filepath.Join(dir, "p.db")})}
	if _, err := a.Config(); err != nil {
		t.Fatal(err)
	}
	setup := app.ChatSetup{Models: enginetest.Models(&llmtest.Model{}, ponder.Price{}), Name: "llmtest/model"}
	c, err := a.newConversation(t.Context(), store, "", setup)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.runner.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if c.stopBroadcast != nil {
			c.stopBroadcast()
		}
	}()
	for i, text := range []string{"Hello", "Why is the sea salty?", "Is it?"} {
		stored, err := c.sendMessage(t.Context(), message{text: text})
		if err != nil {
			t.Fatal(err)
		}
		if (stored.After == 0) != (i == 0) {
			t.Errorf("append %q: After is %d", text, stored.After)
		}
		if i == 1 { // the turn may still run when the next message arrives
			continue
		}
		for c.working {
			if err := c.onWorkDone(<-c.workResults); err != nil {
				t.Fatal(err)
			}
		}
	}
	said := 0
	for ev, err := range store.Events(t.Context(), c.id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.Body.(ponder.UserMessage); ok {
			said++
		}
	}
	if said != 3 {
		t.Errorf("%d messages, want 3", said)
	}
}
