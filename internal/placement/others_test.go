package placement

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"ponder"
)

// TestEnqueue checks that only a serving process takes a queued thread.
func TestEnqueue(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	alone, serving := newGatedWork(), newGatedWork()
	a := openProcess(t, file, Config{Work: alone.blockWork})
	if err := a.Enqueue(t.Context(), "thr_early", "local", 0); err != nil {
		t.Fatal(err)
	}
	b := openProcess(t, file, Config{Work: serving.blockWork, Serve: true})
	if got := serving.nextThread(t); got != "thr_early" {
		t.Errorf("work on %s", got)
	}
	for _, s := range []*testProcess{a, b} {
		thread := ponder.ThreadID("thr_of_" + string(s.Node.ID))
		if err := s.Enqueue(t.Context(), thread, "local", 0); err != nil {
			t.Fatal(err)
		}
		if got := serving.nextThread(t); got != thread {
			t.Errorf("work on %s, want %s", got, thread)
		}
	}
	close(serving.release)
	b.waitRows(t)
	select {
	case got := <-alone.threads:
		t.Errorf("a process that does not serve works on %s", got)
	default:
	}
	if err := a.Enqueue(t.Context(), "thr_x", "", 0); err == nil {
		t.Error("a thread of nobody is enqueued")
	}
}

// TestCaps checks the limit per owner over all processes, and the priorities.
func TestCaps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	b := newGatedWork()
	a := openProcess(t, file, Config{Work: newGatedWork().blockWork})
	for i, thread := range []ponder.ThreadID{"thr_1", "thr_2", "thr_3", "thr_4", "thr_urgent"} {
		if err := a.Enqueue(t.Context(), thread, "ann", uint(10-2*i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Enqueue(t.Context(), "thr_bob", "bob", 100); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		openProcess(t, file, Config{Work: b.blockWork, Serve: true, PerOwner: 2})
	}
	begun := []ponder.ThreadID{b.nextThread(t), b.nextThread(t), b.nextThread(t)}
	slices.Sort(begun)
	if want := []ponder.ThreadID{"thr_4", "thr_bob", "thr_urgent"}; !slices.Equal(begun, want) {
		t.Errorf("at work are %v, want %v", begun, want)
	}
	select {
	case got := <-b.threads:
		t.Errorf("work on %s too", got)
	case <-time.After(5 * pollEvery):
	}
	close(b.release)
	begun = []ponder.ThreadID{b.nextThread(t), b.nextThread(t), b.nextThread(t)}
	slices.Sort(begun)
	if want := []ponder.ThreadID{"thr_1", "thr_2", "thr_3"}; !slices.Equal(begun, want) {
		t.Errorf("then work is on %v, want %v", begun, want)
	}
	a.waitRows(t)
}

func (s *testProcess) makePending(t *testing.T, thread ponder.ThreadID) {
	t.Helper()
	ev := ponder.Event{Run: "run_x", Body: ponder.RunStarted{Mode: "steps", Input: "?"}}
	if err := s.store.Create(t.Context(), ponder.Thread{ID: thread, Created: time.Now()}, ev); err != nil {
		t.Fatal(err)
	}
}

// TestRecover checks that Recover starts abandoned threads and those in rows of dead nodes, but
// not queued ones.
func TestRecover(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	dead := openProcess(t, file, Config{Work: newGatedWork().blockWork})
	if err := dead.Enqueue(t.Context(), "thr_queued", "local", 0); err != nil {
		t.Fatal(err)
	}
	for _, thread := range []ponder.ThreadID{"thr_queued", "thr_thinking", "thr_both"} {
		dead.makePending(t, thread)
	}
	for _, thread := range []ponder.ThreadID{"thr_asked", "thr_both"} {
		if err := dead.Start(t.Context(), thread); err != nil {
			t.Fatal(err)
		}
	}
	queued := fmt.Sprintln(serveApp, periodName, "thr_queued", "", "ENQUEUED")
	dead.waitRows(t, dead.rowText(soloApp, "thr_asked", "PENDING"), dead.rowText(soloApp, "thr_both", "PENDING"), queued)
	if err := dead.store.MarkDead(t.Context(), dead.Node.ID); err != nil {
		t.Fatal(err)
	}

	b := newGatedWork()
	s := openProcess(t, file, Config{Work: b.blockWork})
	if n, err := s.Recover(t.Context()); n != 3 || err != nil {
		t.Errorf("recovered %d, %v, want 3", n, err)
	}
	begun := []ponder.ThreadID{b.nextThread(t), b.nextThread(t), b.nextThread(t)}
	slices.Sort(begun)
	if want := []ponder.ThreadID{"thr_asked", "thr_both", "thr_thinking"}; !slices.Equal(begun, want) {
		t.Errorf("work on %v, want %v", begun, want)
	}
	s.waitRows(t, s.rowText(soloApp, "thr_asked", "PENDING"), s.rowText(soloApp, "thr_both", "PENDING"), s.rowText(soloApp, "thr_thinking", "PENDING"), queued)
	if n, err := s.Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("recovered %d once more, %v", n, err)
	}
}

// TestSweep checks that a sweep starts abandoned threads.
func TestSweep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	b := newGatedWork()
	s := openProcess(t, file, Config{Work: b.blockWork}) // no automatic sweep
	dead := openProcess(t, file, Config{Work: newGatedWork().blockWork})
	dead.makePending(t, "thr_a")
	if _, err := dead.store.Take(t.Context(), "thr_a", dead.Node.ID); err != nil {
		t.Fatal(err)
	}
	w := &sweeper{Placement: s.Placement}
	look := func() {
		t.Helper()
		if err := w.sweepOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
	select {
	case got := <-b.threads:
		t.Errorf("work on %s, which is held", got)
	default:
	}
	if err := dead.store.MarkDead(t.Context(), dead.Node.ID); err != nil {
		t.Fatal(err)
	}
	look()
	if got := b.nextThread(t); got != "thr_a" {
		t.Errorf("work on %s", got)
	}
	s.makePending(t, "thr_new")
	look()
	select {
	case got := <-b.threads:
		t.Errorf("work on %s, which was just made", got)
	default:
	}
	look()
	if got := b.nextThread(t); got != "thr_new" {
		t.Errorf("work on %s", got)
	}
}

// TestSchedule checks that each tick runs in one process, and missed ticks never.
func TestSchedule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	var mu sync.Mutex
	due := make(map[time.Time]int)
	many := make(chan struct{})
	tick := func(_ context.Context, at time.Time) error {
		mu.Lock()
		defer mu.Unlock()
		if due[at]++; len(due) == 3 {
			close(many)
		}
		if at.Nanosecond() != 0 || time.Since(at) > patience {
			t.Errorf("due at %v", at)
		}
		return nil
	}
	b := newGatedWork()
	begin := time.Now()
	posts := []*testProcess{openProcess(t, file, Config{Work: b.blockWork, Serve: true}), openProcess(t, file, Config{Work: b.blockWork, Serve: true})}
	for _, s := range posts {
		if err := s.Schedule(t.Context(), "often", "* * * * * *", tick); err != nil {
			t.Fatal(err)
		}
		if err := s.Schedule(t.Context(), "often", "* * * * *", tick); err == nil {
			t.Error("two schedules of a name")
		}
	}
	alone := openProcess(t, file, Config{Work: b.blockWork})
	if err := alone.Schedule(t.Context(), "often", "* * * * * *", tick); err == nil {
		t.Error("a process that does not serve keeps a schedule")
	}
	select {
	case <-many:
	case <-time.After(patience):
		t.Fatalf("ticks: %v", due)
	}
	mu.Lock()
	for at, n := range due {
		if n != 1 || at.Before(begin) {
			t.Errorf("%d ticks at %v", n, at)
		}
	}
	mu.Unlock()
	for _, s := range posts {
		s.closeProcess(t)
	}
}

// TestCleanupTicks checks that old tick rows are erased.
func TestCleanupTicks(t *testing.T) {
	s := openProcess(t, filepath.Join(t.TempDir(), "ponder.db"), Config{Work: newGatedWork().blockWork, Serve: true})
	if _, err := s.keeper.awaitDBOS(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	rows := []struct {
		id, status  string
		made, ended int64
		name, app   string
	}{
		{"sched-a@done-long-ago", "SUCCESS", now - 100_000, now - 90_000, tickName, serveApp},
		{"sched-a@done", "SUCCESS", now - 100_000, now - 10_000, tickName, serveApp},
		{"sched-b@nobody-took", "ENQUEUED", now - 4_000_000, 0, tickName, serveApp},
		{"sched-b@waits", "ENQUEUED", now - 4_000, 0, tickName, serveApp},
		{"thr_a@queued", "ENQUEUED", now - 4_000_000, 0, periodName, serveApp},
	}
	for _, r := range rows {
		var ended any
		if r.ended > 0 {
			ended = r.ended
		}
		_, err := s.store.DB().ExecContext(t.Context(), `INSERT INTO workflow_status (workflow_uuid, status, name, executor_id, created_at, completed_at, application_name, queue_name)
			VALUES (?, ?, ?, '', ?, ?, ?, 'elsewhere')`, r.id, r.status, r.name, r.made, ended, r.app)
		if err != nil {
			t.Fatal(err)
		}
	}
	s.keeper.addJob(s.keeper.cleanupTicks)
	s.waitRows(t, fmt.Sprintln(serveApp, periodName, "thr_a", "", "ENQUEUED"), fmt.Sprintln(serveApp, tickName, "sched-a", "", "SUCCESS"),
		fmt.Sprintln(serveApp, tickName, "sched-b", "", "ENQUEUED"))
}
