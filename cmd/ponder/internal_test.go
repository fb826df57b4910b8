package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"ponder"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

const marker = "INTERNAL-MARKER"

func markedDatabase(t *testing.T) (db string) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "ponder.db")
	store, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const run = ponder.RunID("run_1")
	call := ponder.Cost{Calls: 1, Tokens: 10}
	err = store.Create(t.Context(), ponder.Thread{ID: "thr_1", Kind: ponder.KindSession, Title: "What is the sea?"},
		ponder.Event{Run: run, Body: ponder.RunStarted{Mode: session.Name, Version: 1, Input: "What is the sea?"}},
		ponder.Event{Run: run, Cause: "thoughts-1#1", Body: ponder.CallStarted{Role: ponder.Slow, Mode: session.Name, Model: "a/1", Reserved: call,
			Request: &llm.Request{System: marker, Messages: []llm.Message{llm.Say(llm.User, marker)}}}},
		ponder.Event{Run: run, Cause: "thoughts-1#1", Body: ponder.CallFinished{Model: "a/1", Message: llm.Say(llm.Assistant, marker), Spent: call,
			Outcome: ponder.Outcome{Error: marker}}},
		ponder.Event{Run: run, Body: ponder.InnerMonologue{Content: marker, Reason: marker}},
		ponder.Event{Run: run, Internal: true, Body: ponder.Thought{Content: marker, Kind: "insight"}},
		ponder.Event{Run: run, Internal: true, Body: ponder.ToolCall{Name: "think", Args: []byte(`{"thought":"` + marker + `"}`)}},
		ponder.Event{Run: run, Internal: true, Body: ponder.SystemNote{Content: marker}},
		ponder.Event{Internal: true, Body: ponder.Observation{Sensor: "subconscious", Subject: marker, State: marker, Content: marker, Source: marker}},
		ponder.Event{Run: run, Internal: true, Body: ponder.Synthesis{Content: marker, Insights: []string{marker}, Remaining: []string{marker}}},
		ponder.Event{Run: run, Internal: true, Body: ponder.Evidence{Content: marker, ID: "e1", Source: marker}},
		ponder.Event{Run: run, Internal: true, Body: ponder.SubQuestion{Content: marker, ID: "q1"}},
		ponder.Event{Run: run, Body: ponder.Thought{Content: "It is wide.", Kind: "insight", Confidence: 0.5}},
		ponder.Event{Run: run, Body: ponder.RunFinished{Answer: "Water.", Status: ponder.Completed, Reason: "time is spent"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Default output has no internal text.
func TestNothingInternalIsShown(t *testing.T) {
	db := markedDatabase(t)
	t.Setenv("HOME", t.TempDir())
	for _, args := range []string{
		"session list", "session list --json", "session show last", "session show last --json", "session watch last", "session watch last --json",
		"session export last", "session export last --format json", "session export last --format jsonl", "session export last --format markdown", "session export last --format html",
		"thread list", "thread list --json", "thread show last", "thread show last --json", "thread export last",
		"usage", "usage --json", "usage --by thread",
	} {
		t.Run(args, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"--db", db}, strings.Fields(args)...), strings.NewReader(""), &out, &errs)
			if code != 0 || strings.Contains(out.String()+errs.String(), marker) {
				t.Errorf("exit %d:\n%s%s", code, out.String(), errs.String())
			}
		})
	}
	for _, args := range []string{"thread export last --internal", "thread show last --internal"} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"--db", db}, strings.Fields(args)...), strings.NewReader(""), &out, &errs); code != 0 || !strings.Contains(out.String(), marker) {
			t.Errorf("%s: exit %d, no internal events:\n%s%s", args, code, out.String(), errs.String())
		}
	}
}
