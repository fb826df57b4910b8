package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"ponder"
	"ponder/store/sqlite"
)

// occupyReaders takes all reading connections until the test ends or calls release.
func occupyReaders(t *testing.T, s *sqlite.Store) (release func()) {
	t.Helper()
	read := s.SQL().Read
	var all []func()
	for range read.Stats().MaxOpenConnections {
		all = append(all, occupyConn(t, read))
	}
	release = func() {
		for _, one := range all {
			one()
		}
	}
	t.Cleanup(release)
	return release
}

// TestReadEndsWithContext reads while all reading connections are in use.
func TestReadEndsWithContext(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "ponder.db"))
	appendMessages(t, s, "thr_1", "hello")
	reads := map[string]func(context.Context) error{
		"Thread":         func(ctx context.Context) error { _, err := s.Thread(ctx, "thr_1"); return err },
		"List":           func(ctx context.Context) error { _, err := s.List(ctx, ponder.Filter{}); return err },
		"Request":        func(ctx context.Context) error { _, err := s.Request(ctx, "thr_1", "run_1", "k#1"); return err },
		"LoadCheckpoint": func(ctx context.Context) error { _, _, err := s.LoadCheckpoint(ctx, "thr_1", "line", "1"); return err },
		"Events": func(ctx context.Context) error {
			for _, err := range s.Events(ctx, "thr_1", 0) {
				return err
			}
			return nil
		},
	}
	for name, read := range reads {
		if err := read(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	occupyReaders(t, s)
	for name, read := range reads {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		done := make(chan error, 1)
		go func() { done <- read(ctx) }()
		select {
		case err := <-done:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got error %v, want DeadlineExceeded", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s has not returned 5 s after its ctx has ended", name)
		}
		cancel()
	}
}

// TestWatchBlocksNoAppend starts to watch while all reading connections are in use.
func TestWatchBlocksNoAppend(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "ponder.db"))
	appendMessages(t, s, "thr_1")
	release := occupyReaders(t, s)
	type headWatch struct {
		heads <-chan ponder.Seq
		stop  func()
	}
	watched := make(chan headWatch)
	go func() {
		heads, stop := s.Watch("thr_1")
		watched <- headWatch{heads, stop}
	}()
	for s.SQL().Read.Stats().WaitCount == 0 {
		time.Sleep(time.Millisecond)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Append(context.WithoutCancel(t.Context()), "thr_1", 0, userMessage("x"))
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("an append waits for who begins to watch")
	}
	release()
	w := <-watched
	defer w.stop()
	if head := <-w.heads; head != 1 {
		t.Errorf("hint at %d, want 1", head)
	}
}
