package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ponder"
)

// A slowDisk waits to be told that it has written.
type slowDisk struct {
	asked  chan struct{}
	answer chan error
}

// slow gives a store such a disk.
func slow(s *Store) slowDisk {
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

// said appends to a thread, and returns where the outcome will be.
func said(ctx context.Context, s *Store, id ponder.ThreadID, text string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Append(ctx, id, 0, ponder.Event{Body: ponder.UserMessage{Content: text}})
		done <- err
	}()
	return done
}

// all returns what is said on a thread.
func all(t *testing.T, s *Store, id ponder.ThreadID) string {
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

// rows returns how many appends are in the log.
func rows(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.read.QueryRowContext(t.Context(), `SELECT count(*) FROM ponder_batch`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDurable checks that nobody is told of an append, or shown it, before the disk has it,
// that it is in the log by then, and that what comes meanwhile waits for the disk together.
func TestDurable(t *testing.T) {
	s := openWith(t, "thr_1")
	disk := slow(s)
	recorded := make(chan struct{})
	first := said(ponder.OnRecord(t.Context(), func() { close(recorded) }), s, "thr_1", "one")
	<-disk.asked
	<-recorded
	if n := rows(t, s); n != 1 {
		t.Errorf("%d appends are in the log while the disk is waited for", n)
	}
	if err := s.pass(t.Context(), func(*tx) error { return nil }); err != nil { // which waits for no disk
		t.Error(err)
	}
	var more []<-chan error
	for range 5 {
		more = append(more, said(t.Context(), s, "thr_1", "more"))
	}
	for rows(t, s) < 1+len(more) { // the writer writes on
	}
	shown := make(chan string, 1)
	go func() { shown <- all(t, s, "thr_1") }()
	<-disk.asked // by who reads
	select {
	case err := <-first:
		t.Errorf("told before the disk had it: %v", err)
	case got := <-shown:
		t.Errorf("shown before the disk had it: %q", got)
	default:
	}
	for range 2 {
		disk.answer <- nil
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	<-disk.asked
	disk.answer <- nil
	if got := <-shown; got != "one"+strings.Repeat(" more", len(more)) {
		t.Errorf("shown is %q", got)
	}
	for _, done := range more { // and the disk is not asked again
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	refused := said(t.Context(), s, "thr_none", "nothing is written")
	if err := <-refused; !errors.Is(err, ponder.ErrNoThread) {
		t.Errorf("refused with %v", err)
	}
}

// TestDiskFails has the disk fail: nothing is written on before what was written is in the
// database itself.
func TestDiskFails(t *testing.T) {
	s := openWith(t, "thr_1")
	disk := slow(s)
	broken := errors.New("input/output error")
	done := said(t.Context(), s, "thr_1", "one")
	<-disk.asked
	disk.answer <- broken
	if err := <-done; !errors.Is(err, broken) {
		t.Errorf("the disk failed, and the append returned %v", err)
	}
	read, err := s.read.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true}) // it keeps later pages in the log
	if err != nil {
		t.Fatal(err)
	}
	if err := read.QueryRowContext(t.Context(), `SELECT count(*) FROM ponder_batch`).Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	s.sync = s.wal.sync
	if err := <-said(t.Context(), s, "thr_1", "two"); err != nil {
		t.Errorf("what was written can be moved: %v", err)
	}
	s.doubtful.Store(true)
	if err := <-said(t.Context(), s, "thr_1", "three"); !errors.Is(err, errDoubtful) {
		t.Errorf("what was written can't be moved, and an append returned %v", err)
	}
	if err := read.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-said(t.Context(), s, "thr_1", "four"); err != nil {
		t.Errorf("nobody is in the way any more: %v", err)
	}
	if got := all(t, s, "thr_1"); got != "one two four" {
		t.Errorf("in the log is %q", got)
	}
}

// TestOthersAreDurable checks that what others commit through [Store.SQL] is waited for,
// and only that.
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
	err = db.Pass(t.Context(), false, `INSERT INTO other VALUES (?)`, 1)
	if n := asked.Load(); n != 1 || err != nil {
		t.Errorf("what is passing asked the disk %d times, %v", n-1, err)
	}
	broken := errors.New("input/output error")
	s.sync = func() error { return broken }
	err = db.Tx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO other VALUES (2)`)
		return err
	})
	if !errors.Is(err, broken) {
		t.Errorf("the disk failed, and a transaction returned %v", err)
	}
}
