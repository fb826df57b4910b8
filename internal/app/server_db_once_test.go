package app

import (
	"path/filepath"
	"testing"
	"time"

	"ponder/store/sqlite"
)

// Idempotency keys survive a restart, for a week.
func TestBooksKeepRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	opened := func(do func(b *serverDB)) {
		t.Helper()
		store, err := sqlite.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		b, err := openServerDB(t.Context(), store.SQL())
		if err != nil {
			t.Fatal(err)
		}
		do(b)
	}
	enter := func(b *serverDB, id, words string, want SentRequest, wantKnown bool) {
		t.Helper()
		got, known, err := b.Enter(t.Context(), id, words)
		if err != nil || known != wantKnown || got != want {
			t.Errorf("enter %s: %+v, %v, %v", id, got, known, err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	opened(func(b *serverDB) {
		enter(b, "one", "w", SentRequest{}, false)
		must(b.Answer(t.Context(), "one", `{"tick":1}`))
		enter(b, "two", "w", SentRequest{}, false)
		enter(b, "three", "w", SentRequest{}, false)
		must(b.Leave(t.Context(), "three"))
		must(b.Leave(t.Context(), "one"))
	})
	opened(func(b *serverDB) {
		enter(b, "one", "other", SentRequest{Words: "w", Answer: `{"tick":1}`}, true)
		enter(b, "two", "w", SentRequest{Words: "w"}, true)
		enter(b, "three", "other", SentRequest{}, false)
		must(b.cleanUpRequests(t.Context(), time.Now()))
		enter(b, "one", "w", SentRequest{Words: "w", Answer: `{"tick":1}`}, true)
		must(b.cleanUpRequests(t.Context(), time.Now().AddDate(0, 0, requestDays+1)))
		enter(b, "one", "w", SentRequest{}, false)
	})
}
