package placement

import (
	"path/filepath"
	"testing"
)

// TestWaiting checks that Waiting counts queued and abandoned threads once each, without those
// that run here.
func TestWaiting(t *testing.T) {
	b := newGatedWork()
	p := openProcess(t, filepath.Join(t.TempDir(), "ponder.db"), Config{Work: b.blockWork})
	is := func(want int) {
		t.Helper()
		if n, err := p.QueueLength(t.Context()); n != want || err != nil {
			t.Errorf("%d wait, want %d: %v", n, want, err)
		}
	}
	is(0)
	p.makePending(t, "thr_left")
	is(1)
	for range 2 {
		if err := p.Enqueue(t.Context(), "thr_left", "ann", 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Enqueue(t.Context(), "thr_queued", "ann", 0); err != nil {
		t.Fatal(err)
	}
	is(2)
	if err := p.Start(t.Context(), "thr_left"); err != nil {
		t.Fatal(err)
	}
	b.nextThread(t)
	is(1)
	close(b.release)
	if err := p.Wait(t.Context(), "thr_left"); err != nil {
		t.Fatal(err)
	}
}
