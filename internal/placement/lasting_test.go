package placement

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/store/sqlite"
)

// patience limits the waits of tests.
const patience = 30 * time.Second

// A testProcess is a simulated process: a store on a file and a placement.
type testProcess struct {
	*Placement
	store *sqlite.Store
	log   *logBuffer
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// openProcess opens a testProcess. Any log output is an error when it closes.
func openProcess(t *testing.T, file string, cfg Config) *testProcess {
	t.Helper()
	store, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	s := &testProcess{store: store, log: new(logBuffer)}
	cfg.Store, cfg.DB = store, store.DB()
	cfg.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if cfg.Node.ID == "" {
		cfg.Node = CurrentNode()
	}
	if err := store.Join(t.Context(), cfg.Node); err != nil {
		t.Fatal(err)
	}
	if s.Placement, err = Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.closeProcess(t) })
	return s
}

// closeProcess closes a testProcess as an orderly exit does.
func (s *testProcess) closeProcess(t *testing.T) {
	t.Helper()
	if s.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range 2 { // the second close does nothing
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	// The store's connection must still work.
	if err := s.store.MarkDead(ctx, s.Node.ID); err != nil {
		t.Error(err)
	}
	if err := s.store.Close(); err != nil {
		t.Error(err)
	}
	s.store = nil
	if said := s.log.String(); said != "" {
		t.Errorf("logged:\n%s", said)
	}
}

// A gatedWork is a Work that reports each call and blocks until it is released.
type gatedWork struct {
	threads chan ponder.ThreadID
	release chan struct{}
}

func newGatedWork() *gatedWork {
	return &gatedWork{threads: make(chan ponder.ThreadID, 1000), release: make(chan struct{})}
}

func (b *gatedWork) blockWork(ctx context.Context, thread ponder.ThreadID) error {
	b.threads <- thread
	select {
	case <-b.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *gatedWork) nextThread(t *testing.T) ponder.ThreadID {
	t.Helper()
	select {
	case thread := <-b.threads:
		return thread
	case <-time.After(patience):
		t.Fatal("no work begins")
		return ""
	}
}

// dbosRows returns the rows of DBOS as "app name thread executor status".
func (s *testProcess) dbosRows(t *testing.T) (list []string) {
	t.Helper()
	if _, err := s.keeper.awaitDBOS(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := s.store.DB().QueryContext(t.Context(), `SELECT application_name, name, workflow_uuid, executor_id, status FROM workflow_status`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var app, name, id, executor, status string
		if err := rows.Scan(&app, &name, &id, &executor, &status); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintln(app, name, threadOf(id), executor, status))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// waitRows waits for the expected rows.
func (s *testProcess) waitRows(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	var got []string
	for begin := time.Now(); time.Since(begin) < patience; {
		if got = s.dbosRows(t); slices.Equal(got, want) {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Errorf("rows: -want +got\n%s", cmp.Diff(want, got))
}

func (s *testProcess) rowText(app, thread, status string) string {
	return fmt.Sprintln(app, periodName, thread, s.Node.ID, status)
}

// TestRows checks that only a running thread has a row.
func TestRows(t *testing.T) {
	for _, serve := range []bool{false, true} {
		t.Run(fmt.Sprintf("serve %t", serve), func(t *testing.T) {
			b := newGatedWork()
			s := openProcess(t, filepath.Join(t.TempDir(), "ponder.db"), Config{Work: b.blockWork, Serve: serve})
			app := map[bool]string{false: soloApp, true: serveApp}[serve]
			for _, thread := range []ponder.ThreadID{"thr_a", "thr_b", "thr_a"} {
				if err := s.Start(t.Context(), thread); err != nil {
					t.Fatal(err)
				}
			}
			s.waitRows(t, s.rowText(app, "thr_a", "PENDING"), s.rowText(app, "thr_b", "PENDING"))
			close(b.release)
			for _, thread := range []ponder.ThreadID{"thr_a", "thr_b"} {
				if err := s.Wait(t.Context(), thread); err != nil {
					t.Error(err)
				}
			}
			s.waitRows(t)
			s.closeProcess(t)
		})
	}
}

// TestCloseErasesRows checks that an orderly exit leaves no rows.
func TestCloseErasesRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	b := newGatedWork()
	s := openProcess(t, file, Config{Work: b.blockWork})
	var want []string
	for i := range 50 {
		thread := fmt.Sprintf("thr_%02d", i)
		if err := s.Start(t.Context(), ponder.ThreadID(thread)); err != nil {
			t.Fatal(err)
		}
		want = append(want, s.rowText(soloApp, thread, "PENDING"))
	}
	s.waitRows(t, want...)
	s.closeProcess(t)
	openProcess(t, file, Config{Work: b.blockWork}).waitRows(t)
}

// TestOpenAtOnce opens a new file from many processes at once.
func TestOpenAtOnce(t *testing.T) {
	for range 5 {
		file := filepath.Join(t.TempDir(), "ponder.db")
		store, err := sqlite.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		store.Close()
		b := newGatedWork()
		posts := make([]*testProcess, 4)
		for i := range posts {
			posts[i] = openProcess(t, file, Config{Work: b.blockWork, Serve: i%2 == 0})
		}
		for _, s := range posts {
			if _, err := s.keeper.awaitDBOS(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.closeProcess(t)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	work := newGatedWork().blockWork
	done, cancel := context.WithCancel(t.Context())
	cancel()
	whole := Config{Store: store, DB: store.DB(), Node: CurrentNode(), Work: work}
	tests := []struct {
		name string
		ctx  context.Context
		cfg  Config
		want string
	}{
		{"a store that is read-only", t.Context(), Config{Store: store, Node: CurrentNode(), Work: work}, "config has no DB; check that the store is writable"},
		{"no work", t.Context(), Config{Store: store, DB: store.DB(), Node: CurrentNode()}, "needs Store, Work and Node.ID"},
		{"no node", t.Context(), Config{Store: store, DB: store.DB(), Work: work}, "needs Store, Work and Node.ID"},
		{"too late", done, whole, "context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Open(tt.ctx, tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestWithoutDBOS checks that a process with a forbidden variable works without DBOS.
func TestWithoutDBOS(t *testing.T) {
	t.Setenv("DBOS__VMID", "another")
	b := newGatedWork()
	s := openProcess(t, filepath.Join(t.TempDir(), "ponder.db"), Config{Work: b.blockWork, Serve: true})
	if err := s.Enqueue(t.Context(), "thr_a", "local", 0); err == nil || !strings.Contains(err.Error(), "the environment variable DBOS__VMID is set; unset it") {
		t.Errorf("enqueue: %v", err)
	}
	if err := s.Start(t.Context(), "thr_b"); err != nil {
		t.Fatal(err)
	}
	if got := b.nextThread(t); got != "thr_b" {
		t.Errorf("work on %s", got)
	}
	if n, err := s.Recover(t.Context()); n != 0 || err == nil {
		t.Errorf("recovered %d, %v, want an error", n, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(s.log.String(), "\n"); n != 1 {
		t.Errorf("logged %d lines, want 1:\n%s", n, s.log)
	}
	s.log = new(logBuffer)
}
