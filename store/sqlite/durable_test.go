package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
)

// A slowDisk blocks each sync until the test answers it.
type slowDisk struct {
	asked  chan struct{}
	answer chan error
}

// installSlowDisk installs a slowDisk in a store.
func installSlowDisk(s *Store) slowDisk {
	d := slowDisk{make(chan struct{}), make(chan error)}
	s.sync = func() error {
		d.asked <- struct{}{}
		return <-d.answer
	}
	return d
}

func openWith(t *testing.T, id ponder.ThreadID) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Create(t.Context(), ponder.Thread{ID: id}); err != nil {
		t.Fatal(err)
	}
	return s
}

// appendAsync appends a message, and returns a channel for the error.
func appendAsync(ctx context.Context, s *Store, id ponder.ThreadID, text string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Append(ctx, id, 0, ponder.Event{Body: ponder.UserMessage{Content: text}})
		done <- err
	}()
	return done
}

// threadMessages returns the messages of a thread.
func threadMessages(t *testing.T, s *Store, id ponder.ThreadID) string {
	t.Helper()
	var list []string
	for ev, err := range s.Events(t.Context(), id, 0) {
		if err != nil {
			t.Error(err)
			break
		}
		list = append(list, ev.Body.(ponder.UserMessage).Content)
	}
	return strings.Join(list, " ")
}

// countRows returns the number of rows in the log.
func countRows(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.read.QueryRowContext(t.Context(), `SELECT count(*) FROM ponder_batch`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDurable checks that callers and readers see an append only after the disk has it, and
// that appends during a sync share the next one.
func TestDurable(t *testing.T) {
	s := openWith(t, "thr_1")
	disk := installSlowDisk(s)
	recorded := make(chan struct{})
	first := appendAsync(ponder.OnRecord(t.Context(), func() { close(recorded) }), s, "thr_1", "one")
	<-disk.asked
	<-recorded
	if n := countRows(t, s); n != 1 {
		t.Errorf("%d appends are in the log while the disk is waited for", n)
	}
	if err := s.submitVolatile(t.Context(), func(*tx) error { return nil }); err != nil { // needs no disk
		t.Error(err)
	}
	var more []<-chan error
	for range 5 {
		more = append(more, appendAsync(t.Context(), s, "thr_1", "more"))
	}
	for countRows(t, s) < 1+len(more) { // the writer continues
	}
	shown := make(chan string, 1)
	go func() { shown <- threadMessages(t, s, "thr_1") }()
	select {
	case err := <-first:
		t.Errorf("told before the disk had it: %v", err)
	case got := <-shown:
		t.Errorf("shown before the disk had it: %q", got)
	default:
	}
	disk.answer <- nil
	if err := <-first; err != nil {
		t.Error(err)
	}
	var asked atomic.Int64 // syncs from now on
	go func() {
		for range disk.asked {
			asked.Add(1)
			disk.answer <- nil
		}
	}()
	if got := <-shown; got != "one"+strings.Repeat(" more", len(more)) {
		t.Errorf("shown is %q", got)
	}
	for _, done := range more {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := asked.Load(); n < 1 || n > 2 { // by the syncer and by the reader
		t.Errorf("got %d syncs for concurrent appends, want 1 or 2", n)
	}
	refused := appendAsync(t.Context(), s, "thr_none", "nothing is written")
	if err := <-refused; !errors.Is(err, ponder.ErrNoThread) {
		t.Errorf("refused with %v", err)
	}
}

// TestDiskFails has the disk fail. Until the WAL is written again, nothing is acknowledged or
// written.
func TestDiskFails(t *testing.T) {
	s := openWith(t, "thr_1")
	replace := func(rewrite func() error) {
		s.safety.Lock()
		defer s.safety.Unlock()
		once := false
		s.rewrite, s.sync = rewrite, func() error {
			if !once {
				once = true
				return errors.New("input/output error")
			}
			return s.wal.sync() // the system reports each failure once
		}
	}
	rewritten := 0
	replace(func() error {
		rewritten++
		return s.wal.rewrite()
	})
	if err := <-appendAsync(t.Context(), s, "thr_1", "one"); err != nil || rewritten != 1 {
		t.Errorf("append with a rescued log: %v, written again %d times", err, rewritten)
	}
	replace(func() error { return errors.New("input/output error") })
	recorded := make(chan struct{})
	ctx := ponder.OnRecord(t.Context(), func() { close(recorded) })
	if err := <-appendAsync(ctx, s, "thr_1", "two"); !errors.Is(err, errUnsynced) {
		t.Errorf("append with a log that cannot be rescued: got error %v, want errUnsynced", err)
	}
	<-recorded
	if err := <-appendAsync(t.Context(), s, "thr_1", "three"); !errors.Is(err, errUnsynced) {
		t.Errorf("append after unsynced writes: got error %v, want errUnsynced", err)
	}
	err := s.SQL().Tx(t.Context(), func(*sql.Tx) error { return nil })
	if !errors.Is(err, errUnsynced) {
		t.Errorf("transaction after unsynced writes: got error %v, want errUnsynced", err)
	}
	replace(s.wal.rewrite)
	if err := <-appendAsync(t.Context(), s, "thr_1", "four"); err != nil {
		t.Errorf("append after the recovery: %v", err)
	}
	if got := threadMessages(t, s, "thr_1"); got != "one two four" {
		t.Errorf("in the log is %q", got)
	}
}

// TestLink checks that the store syncs the WAL of the database behind a link.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	if err := os.Mkdir(filepath.Join(dir, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dir, "other", "ponder.db")
	if err := os.WriteFile(real, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Create(t.Context(), ponder.Thread{ID: "thr_1"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.Stat(s.wal.name)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(real + "-wal")
	if err != nil || !os.SameFile(got, want) {
		t.Errorf("waited for %s, %v", s.wal.name, err)
	}
}

// TestOthersAreDurable checks that commits through [Store.SQL] wait for the disk, and only
// those.
func TestOthersAreDurable(t *testing.T) {
	s := openWith(t, "thr_1")
	var asked atomic.Int64
	s.sync = func() error {
		asked.Add(1)
		return s.wal.sync()
	}
	db := s.SQL()
	err := db.Tx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `CREATE TABLE other (n INTEGER)`)
		return err
	})
	if n := asked.Load(); n != 1 || err != nil {
		t.Errorf("a transaction asked the disk %d times, %v", n, err)
	}
	err = db.ExecUnsynced(t.Context(), false, `INSERT INTO other VALUES (?)`, 1)
	if n := asked.Load(); n != 1 || err != nil {
		t.Errorf("an unsynced write caused %d syncs, error %v", n-1, err)
	}
}

// TestReadWaitsForDisk checks that a reader of another process's events waits for the disk once.
func TestReadWaitsForDisk(t *testing.T) {
	s := openWith(t, "thr_1")
	if err := <-appendAsync(t.Context(), s, "thr_1", "one"); err != nil {
		t.Fatal(err)
	}
	other, err := Open(t.Context(), s.file)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	asked := 0
	other.sync = func() error {
		asked++
		return other.wal.sync()
	}
	for range 2 {
		if got := threadMessages(t, other, "thr_1"); got != "one" || asked != 1 {
			t.Errorf("shown is %q, and the disk was asked %d times", got, asked)
		}
	}
}

// TestSyncDelay checks that the store delays a sync if only model calls depend on it. An urgent
// request ends the delay.
func TestSyncDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openWith(t, "thr_1")
		var synced atomic.Int64
		s.sync = func() error {
			synced.Add(1)
			return nil
		}
		write := func(calls bool) <-chan error {
			done := make(chan error, 1)
			go func() {
				done <- s.sendRequest(ponder.OnRecord(t.Context(), func() {}), &request{calls: calls, do: func(*tx) error { return nil }})
			}()
			synctest.Wait()
			return done
		}
		began := time.Now()
		first, calls, second, more := write(false), write(true), write(false), write(true)
		for _, done := range []<-chan error{first, calls, second} {
			if err := <-done; err != nil || time.Since(began) != 0 {
				t.Errorf("%v after %v, want at once", err, time.Since(began))
			}
		}
		if n := synced.Load(); n != 2 {
			t.Errorf("the disk was asked %d times, want one time for each who hurries", n)
		}
		if err := <-more; err != nil || time.Since(began) != syncDelay {
			t.Errorf("%v after %v, want %v", err, time.Since(began), syncDelay)
		}
		time.Sleep(syncDelay)
		began = time.Now()
		if err := <-write(true); err != nil || time.Since(began) != 0 {
			t.Errorf("%v after %v, of a disk that has rested", err, time.Since(began))
		}
	})
}

// TestCallsAlone checks which batches are not urgent: calls, and the writes of a mode
// beside them.
func TestCallsAlone(t *testing.T) {
	of := func(cause string, body ponder.Body) ponder.Event {
		return ponder.Event{Run: "run_1", Cause: cause, Body: body}
	}
	call, thought := of("c-1#1", ponder.CallStarted{Request: &llm.Request{}}), of("w/1.1", ponder.Thought{Content: "so"})
	for what, c := range map[string]struct {
		events []ponder.Event
		alone  bool
	}{
		"a call":            {[]ponder.Event{call}, true},
		"a usual step":      {[]ponder.Event{of("c-0#1", ponder.CallFinished{}), thought, call}, true},
		"a thought":         {[]ponder.Event{thought}, false},
		"a refused call":    {[]ponder.Event{of("c-1#1", ponder.CallStarted{}), of("c-1#1", ponder.CallFinished{Outcome: ponder.Outcome{Refused: true}})}, false},
		"a tool beside it":  {[]ponder.Event{call, of("t-1#1", ponder.ToolCall{Name: "look"})}, false},
		"a run that ends":   {[]ponder.Event{call, of("", ponder.RunFinished{})}, false},
		"a message":         {[]ponder.Event{{Body: ponder.UserMessage{Content: "hi"}}, call}, false},
		"an answer with it": {[]ponder.Event{of("a/1.1", ponder.AssistantMessage{Content: "yes"}), call}, false},
	} {
		var p batches
		for range 2 { // the second round reuses the memory of the first
			b, err := p.encodeBatch("thr_1", c.events)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.startsCall && !b.urgent; got != c.alone {
				t.Errorf("%s: %v, want %v", what, got, c.alone)
			}
			p.recycleBatch(b)
		}
	}
}
