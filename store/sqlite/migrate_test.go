package sqlite

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/llm"

	"github.com/google/go-cmp/cmp"
)

// oldDatabase creates a database of version 1.
func oldDatabase(t *testing.T) (file string) {
	t.Helper()
	script, err := os.ReadFile("testdata/version1.sql")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "ponder.db")
	db := openConnection(t, file)
	if _, err := db.ExecContext(t.Context(), string(script)); err != nil {
		t.Fatal(err)
	}
	return file
}

func openConnection(t *testing.T, file string) *sql.DB {
	t.Helper()
	db := openPool(file, writeOptions)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func currentScripts(t *testing.T) []string {
	t.Helper()
	all, err := readMigrations()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != newest {
		t.Fatalf("there are %d migrations, and the newest version is %d", len(all), newest)
	}
	return all
}

// TestOldDatabase reads the content of a database of version 1.
func TestOldDatabase(t *testing.T) {
	s, err := Open(t.Context(), oldDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var types []string
	for ev, err := range s.Events(t.Context(), "thr_1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, ev.Body.Type())
	}
	checkEqual(t, "types", types, []string{"run_started", "call_started", "call_finished", "thought", "thought"})

	day := time.Date(2026, 5, 17, 12, 30, 45, 123456000, time.UTC)
	info, err := s.Thread(t.Context(), "thr_1")
	header := ponder.Thread{ID: "thr_1", Kind: ponder.KindSession, Title: "why?", Owner: "local", Created: day, Model: "p/m"}
	checkEqual(t, "thread", info, ponder.Info{Thread: header, Head: 5, Updated: day.Add(4 * time.Second), Status: ponder.Thinking, Open: 1}, err)

	req, err := s.Request(t.Context(), "thr_1", "run_1", "think-1#1")
	checkEqual(t, "request", req, &llm.Request{System: "think", Messages: []llm.Message{llm.Say(llm.User, "why?")}}, err)

	usage, err := s.Usage(t.Context(), ponder.ByMode, time.Time{})
	checkEqual(t, "usage", usage, []ponder.UsageRow{{Key: "session", Calls: 1, Usage: llm.Usage{Input: 10, Output: 5}, Money: 7}}, err)

	seq, state, err := s.LoadCheckpoint(t.Context(), "thr_1", "line", "1")
	checkEqual(t, "checkpoint", string(state), "state", err)
	checkEqual(t, "seq of the checkpoint", seq, 3)

	list, err := s.List(t.Context(), ponder.Filter{})
	checkEqual(t, "threads", len(list), 2, err)
	if err := s.Join(t.Context(), ponder.Node{ID: "nod_2"}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Take(t.Context(), "thr_1", "nod_2")
	checkEqual(t, "lease", lease, ponder.Lease{Fence: 2, Head: 5, Elapsed: 1500 * time.Millisecond}, err)
	again := ponder.Event{Run: "run_1", Cause: "thoughts-1/2.2", Body: ponder.Thought{}}
	if _, err := s.Append(t.Context(), "thr_1", lease.Fence, again); !errors.Is(err, ponder.ErrTaken) {
		t.Errorf("append an existing cause: got error %v, want ErrTaken", err)
	}
}

// TestAbandonedInOldDatabase finds an ended thread whose holder died in a version 1 that never
// released it.
func TestAbandonedInOldDatabase(t *testing.T) {
	file := oldDatabase(t)
	db := openConnection(t, file)
	if _, err := db.ExecContext(t.Context(), `UPDATE ponder_thread SET status = 'cancelled', open = 0, fence = 1, node = 'nod_1' WHERE id = 'thr_1'`); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids, err := s.Abandoned(t.Context())
	if err != nil || !slices.Contains(ids, "thr_1") {
		t.Errorf("abandoned: %v, %v, want thr_1", ids, err)
	}
}

// TestPauseInOldDatabase pauses a run in a database of version 1.
func TestPauseInOldDatabase(t *testing.T) {
	s, err := Open(t.Context(), oldDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		body ponder.Body
		want ponder.Status
	}{{ponder.RunPaused{}, ponder.Paused}, {ponder.RunResumed{}, ponder.Thinking}} {
		if _, err := s.Append(t.Context(), "thr_1", 0, ponder.Event{Run: "run_1", Body: c.body}); err != nil {
			t.Fatal(err)
		}
		info, err := s.Thread(t.Context(), "thr_1")
		checkEqual(t, "status", info.Status, c.want, err)
		checkEqual(t, "open runs", info.Roots, []ponder.Root{{ID: "run_1", Paused: c.want == ponder.Paused}})
	}
}

func checkEqual[T any](t *testing.T, what string, got, want T, errs ...error) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	if err := errors.Join(errs...); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// TestMigrate migrates an old and a new database concurrently to a future version.
func TestMigrate(t *testing.T) {
	future := append(currentScripts(t), `ALTER TABLE ponder_thread ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'`,
		`CREATE TABLE ponder_future (n INTEGER); INSERT INTO ponder_future VALUES (1); INSERT INTO ponder_future VALUES (2)`)
	for name, file := range map[string]string{"old": oldDatabase(t), "new": filepath.Join(t.TempDir(), "ponder.db")} {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			for range 6 {
				db := openConnection(t, file)
				wg.Go(func() {
					if err := migrate(t.Context(), db, future); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			db := openConnection(t, file)
			version, err := schemaVersion(t.Context(), db)
			checkEqual(t, "version", version, len(future), err)
			var rows, colours int
			err = db.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM ponder_future), (SELECT count(colour) FROM ponder_thread)`).Scan(&rows, &colours)
			checkEqual(t, "rows that the migration made", rows, 2, err)
			if name == "old" {
				checkEqual(t, "threads with a colour", colours, 3)
			}
			if _, err := Open(t.Context(), file); !errors.Is(err, ponder.ErrNewer) || !strings.Contains(err.Error(), "this program supports") {
				t.Errorf("open a newer file: got error %v, want ErrNewer", err)
			}
		})
	}
}

// TestMigrateFails has a migration fail in the middle, which must change nothing.
func TestMigrateFails(t *testing.T) {
	file := oldDatabase(t)
	db := openConnection(t, file)
	bad := slices.Concat(currentScripts(t), []string{`CREATE TABLE ponder_future (n INTEGER)`, `INSERT INTO ponder_nowhere VALUES (1)`})
	if err := migrate(t.Context(), db, bad); err == nil || !strings.Contains(err.Error(), "migrate to version") {
		t.Errorf("got error %v", err)
	}
	version, err := schemaVersion(t.Context(), db)
	checkEqual(t, "version", version, 1, err)
	tables := 0
	err = db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_schema WHERE name = 'ponder_future'`).Scan(&tables)
	checkEqual(t, "tables left", tables, 0, err)
}

// TestPragmas checks the settings that durability needs.
func TestPragmas(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "secure_delete": "1", "busy_timeout": "10000"} {
		got := ""
		err := s.write.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got)
		checkEqual(t, pragma, got, want, err)
	}
}

// TestTruncateWAL has the writer truncate the WAL.
func TestTruncateWAL(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Create(t.Context(), ponder.Thread{ID: "thr_1"}); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(s.file + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	var limit int64
	for i := range 100 {
		s.walFull.Store(true)
		if _, err := s.Append(t.Context(), "thr_1", 0, ponder.Event{Body: ponder.UserMessage{Content: strings.Repeat("x", 8000)}}); err != nil {
			t.Fatal(err)
		}
		if i == 10 {
			limit = size()
		}
	}
	if got := size(); got > 2*limit {
		t.Errorf("the log grew from %d to %d bytes", limit, got)
	}
}

// TestGrownSince checks that the poll reads only new rows.
func TestGrownSince(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+grownSince, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if len(plan) == 0 || plan[0] != "SEARCH b USING INTEGER PRIMARY KEY (rowid>?)" {
		t.Errorf("plan: %q; %v", plan, rows.Err())
	}
}
