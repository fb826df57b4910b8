package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder"
	"ponder/internal/place"
	"ponder/store/sqlite"
)

// counting counts the events that are read.
type counting struct {
	ponder.Store
	read int
}

func (s *counting) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range s.Store.Events(ctx, id, after) {
			if s.read++; !yield(ev, err) {
				return
			}
		}
	}
}

// The first run on a long thread of another program does not read it again.
func TestLongImportIsReadAhead(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	file, db := filepath.Join(t.TempDir(), "old.jsonl"), filepath.Join(t.TempDir(), "ponder.db")
	var lines strings.Builder
	lines.WriteString(`{"thread_id":"old1","kind":"conversation"}` + "\n")
	for i := range longThread {
		fmt.Fprintf(&lines, `{"type":"user_message","content":"question %d"}`+"\n"+`{"type":"assistant_message","content":"answer"}`+"\n", i)
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"--db", db, "thread", "import", file}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	inner, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	store := &counting{Store: inner}
	mind, err := ponder.New(ponder.Config{Store: store, Modes: modes(talking{}, nil), Node: place.Self()})
	if err != nil {
		t.Fatal(err)
	}
	if err := mind.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer mind.Close(context.Background())
	if _, err := store.Append(t.Context(), "old1", 0, ponder.Event{Body: ponder.UserMessage{Content: "next"}}); err != nil {
		t.Fatal(err)
	}
	if err := mind.Work(t.Context(), "old1"); err != nil {
		t.Fatal(err)
	}
	if store.read > 100 {
		t.Errorf("%d events were read", store.read)
	}
}
