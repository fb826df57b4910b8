package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/internal/racetest"
	"ponder/llm"
)

// occupyConn takes the writing connection, so that all writes wait.
func occupyConn(t *testing.T, db *sql.DB) (release func()) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func() { conn.Close() }
}

func TestCancelWhileQueued(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "ponder.db"))
	appendMessages(t, s, "thr_1")
	release := occupyConn(t, s.DB())
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := s.Append(ctx, "thr_1", 0, userMessage("cancelled")); !errors.Is(err, context.Canceled) {
				t.Errorf("append: got error %v, want Canceled", err)
			}
		})
	}
	cancel()
	wg.Wait() // although nothing can be written
	release()
	appendMessages(t, s, "thr_1", "alone")
	if got := strings.Join(threadTexts(t, s, "thr_1"), " "); got != "alone" {
		t.Errorf("thread: %q", got)
	}
}

// TestOneTransaction has good and bad requests in one transaction.
func TestOneTransaction(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "ponder.db"))
	appendMessages(t, s, "thr_1", "first")
	keyed := func(key string) ponder.Event {
		return ponder.Event{Cause: key, Body: ponder.UserMessage{Content: "ok"}}
	}
	stale := userMessage("stale")
	stale.After = 1000
	release := occupyConn(t, s.DB())
	var wg sync.WaitGroup
	expect := func(want error, do func() error) {
		wg.Go(func() {
			if err := do(); !errors.Is(err, want) {
				t.Errorf("got error %v, want %v", err, want)
			}
		})
	}
	add := func(id ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) func() error {
		return func() error {
			_, err := s.Append(t.Context(), id, fence, events...)
			return err
		}
	}
	for i := range 20 {
		expect(nil, add("thr_1", 0, userMessage("ok"), keyed(fmt.Sprint("key-", i))))
		expect(ponder.ErrStale, add("thr_1", 0, userMessage("bad"), stale))
		expect(ponder.ErrFenced, add("thr_1", 7, userMessage("bad")))
		expect(ponder.ErrNoThread, add("thr_2", 0, userMessage("bad")))
		expect(ponder.ErrNotInput, add("thr_1", 0, userMessage("bad"), ponder.Event{Body: ponder.Finding{}}))
		expect(nil, func() error {
			return s.Create(t.Context(), ponder.Thread{ID: ponder.ThreadID(fmt.Sprint("thr_new", i))})
		})
		expect(ponder.ErrTaken, func() error { return s.Create(t.Context(), ponder.Thread{ID: "thr_1"}, userMessage("bad")) })
		expect(ponder.ErrFenced, func() error { return s.Heartbeat(t.Context(), "nod_none", 0) })
	}
	release()
	wg.Wait()
	expect(ponder.ErrTaken, add("thr_1", 0, userMessage("bad"), keyed("key-3")))
	wg.Wait()
	if got := strings.Join(threadTexts(t, s, "thr_1"), " "); got != "first"+strings.Repeat(" ok", 40) {
		t.Errorf("thread: %q", got)
	}
}

// TestBusy has another process write for a long time.
func TestBusy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	appendMessages(t, s, "thr_1")
	db, err := sql.Open("sqlite", file+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Append(ctx, "thr_1", 0, userMessage("too late")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("append: got error %v, want DeadlineExceeded", err)
	}
	done := make(chan error)
	go func() {
		_, err := s.Append(t.Context(), "thr_1", 0, userMessage("patient"))
		done <- err
	}()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := strings.Join(threadTexts(t, s, "thr_1"), " "); got != "patient" {
		t.Errorf("thread: %q", got)
	}
}

// TestSharedConnection has another package keep tables in the file.
func TestSharedConnection(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "ponder.db"))
	appendMessages(t, s, "thr_1")
	if _, err := s.DB().ExecContext(t.Context(), `CREATE TABLE other (n INTEGER)`); err != nil {
		t.Fatal(err)
	}
	const writes = 200
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range writes / 4 {
				if _, err := s.DB().ExecContext(t.Context(), `INSERT INTO other VALUES (1)`); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range writes / 4 {
				if _, err := s.Append(t.Context(), "thr_1", 0, userMessage("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	n := 0
	if err := s.DB().QueryRowContext(t.Context(), `SELECT count(*) FROM other`).Scan(&n); err != nil || n != writes {
		t.Errorf("other table has %d rows, %v", n, err)
	}
	if got := len(threadTexts(t, s, "thr_1")); got != writes {
		t.Errorf("thread has %d events, want %d", got, writes)
	}
}

// TestTooBig appends more than any database can hold.
func TestTooBig(t *testing.T) {
	racetest.Skip(t, "one goroutine, which copies 300 MB")
	s := openStore(t, filepath.Join(t.TempDir(), "ponder.db"))
	appendMessages(t, s, "thr_1")
	big := strings.Repeat("x", 300<<20)
	if _, err := s.Append(t.Context(), "thr_1", 0, userMessage(big)); err == nil || len(err.Error()) > 200 {
		t.Errorf("300 MB: error %.200v", err)
	}
	appendMessages(t, s, "thr_1", "small")
}

// TestRemoveErases searches the files for removed content.
func TestRemoveErases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	const secret = "the-secret-of-the-thread"
	appendMessages(t, s, "thr_1", secret, strings.Repeat(secret, 1000))
	appendMessages(t, s, "thr_2", "stays")
	if err := s.Join(t.Context(), ponder.Node{ID: "nod_1"}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Take(t.Context(), "thr_1", "nod_1")
	if err != nil {
		t.Fatal(err)
	}
	call := ponder.CallStarted{Role: ponder.Fast, Model: "p/m", Request: &llm.Request{System: strings.Repeat(secret, 1000)}}
	title := ponder.TitleGenerated{Content: secret}
	if _, err := s.Append(t.Context(), "thr_1", lease.Fence,
		ponder.Event{Run: "run_1", Cause: "c#1", Body: call}, ponder.Event{Cause: "t", Body: title}); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveCheckpoint(t.Context(), "thr_1", "f", "1", 1, []byte(strings.Repeat(secret, 1000))); err != nil {
		t.Fatal(err)
	}
	if !containsText(t, file, secret) {
		t.Error("it was not there")
	}
	if err := s.Remove(t.Context(), "thr_1"); err != nil {
		t.Fatal(err)
	}
	if containsText(t, file, secret) {
		t.Error("it is still there")
	}
}

// TestManyWatchers follows 10,000 threads while another process appends to a few.
func TestManyWatchers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	a, b := openStore(t, file), openStore(t, file)
	appendMessages(t, a, "thr_9000")
	for i := range 10_000 {
		heads, stop := b.Watch(ponder.ThreadID(fmt.Sprint("thr_", i)))
		defer stop()
		if i == 9000 {
			defer func() {
				select {
				case head := <-heads:
					if head != 1 {
						t.Errorf("hint %d, want 1", head)
					}
				case <-time.After(30 * time.Second):
					t.Error("no hint")
				}
			}()
		}
	}
	appendMessages(t, a, "thr_9000", "x")
}
