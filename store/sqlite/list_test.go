package sqlite

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
)

// manyThreads returns a store with threads of two owners, of all kinds and statuses. The
// owner local has n of them.
func manyThreads(tb testing.TB, n int) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), filepath.Join(tb.TempDir(), "ponder.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	tx, err := s.write.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer tx.Rollback()
	kinds := []ponder.Kind{ponder.KindSession, ponder.KindConversation}
	statuses := []ponder.Status{ponder.Completed, ponder.Thinking, ponder.Paused, ponder.Failed}
	day := time.Date(2026, 5, 17, 12, 30, 45, 0, time.UTC)
	for i := range 2 * n {
		_, err := tx.ExecContext(tb.Context(), `INSERT INTO ponder_thread (id, kind, title, owner, model, created, status, open, fence, node, base, clock, removed)
			VALUES (?, ?, 'a title', ?, '', ?, ?, 0, 0, '', 0, 0, 0)`,
			fmt.Sprintf("thr_%06d", i), kinds[i/2%2], []string{"local", "anna"}[i%2], toMicros(day)+int64(i/6), statuses[i/4%4])
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// surfaceFilters returns the filters of the surfaces.
func surfaceFilters() map[string]ponder.Filter {
	idle := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	return map[string]ponder.Filter{
		"all":                {Owner: "local"},
		"kind":               {Owner: "local", Kind: ponder.KindSession},
		"status":             {Owner: "local", Status: ponder.Completed},
		"kind and status":    {Owner: "local", Kind: ponder.KindSession, Status: ponder.Completed},
		"failed":             {Owner: "local", Status: ponder.Failed},
		"thinking":           {Owner: "local", Status: ponder.Thinking},
		"paused or given up": {Owner: "local", Kind: ponder.KindSession, Status: ponder.Paused, Idle: idle},
	}
}

// queryPlan returns the query plan, one step per line.
func (s *Store) queryPlan(t *testing.T, query string, args ...any) (steps []string) {
	t.Helper()
	rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// TestListPlans checks that each page of a list continues from an index position, without
// sorting or skipping rows, in new and in migrated databases.
func TestListPlans(t *testing.T) {
	old, err := Open(t.Context(), oldDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { old.Close() })
	for from, s := range map[string]*Store{"new": manyThreads(t, 0), "old": old} {
		for name, f := range surfaceFilters() {
			f.Limit, f.Before = 20, ponder.Position{Created: time.Now(), ID: "thr_1"}
			query, args := listQuery(f)
			steps := s.queryPlan(t, query, args...)
			found := 0
			for i, step := range steps {
				sorts := strings.Contains(step, "TEMP B-TREE") && steps[i-1] != "SCAN p" && steps[i-1] != "SCAN q" // these subqueries are no longer than a page
				if sorts || strings.HasPrefix(step, "SCAN ponder") || strings.HasPrefix(step, "SCAN t") {
					t.Errorf("%s, %s: %s", from, name, step)
				}
				if strings.HasPrefix(step, "SEARCH t ") {
					found++
					inOrder := strings.Contains(step, "USING INDEX ponder_thread_owner") || strings.Contains(step, "USING INDEX ponder_thread_busy ")
					if !inOrder || !strings.Contains(step, "(created,id)<(?,?)") {
						t.Errorf("%s, %s: %s", from, name, step)
					}
				}
			}
			if want := 1 + strings.Count(query, "UNION ALL"); found != want {
				t.Errorf("%s, %s: %q", from, name, steps)
			}
		}
	}
}

// TestStatusPlans checks that lists by status use the index of the status. Conversations
// have none.
func TestStatusPlans(t *testing.T) {
	s := manyThreads(t, 0)
	for want, f := range map[string]ponder.Filter{
		"ponder_thread_owner (owner=?":                                    {Owner: "local", Status: ponder.Completed},
		"ponder_thread_owner_kind (owner=? AND kind=?":                    {Owner: "local", Status: ponder.Completed, Kind: ponder.KindConversation},
		"ponder_thread_owner_kind_status (owner=? AND kind=? AND status=": {Owner: "local", Status: ponder.Completed, Kind: ponder.KindSession},
		"ponder_thread_owner_status (owner=? AND status=":                 {Owner: "local", Status: ponder.Failed},
		"ponder_thread_busy ":                                             {Status: ponder.Thinking},
	} {
		f.Before = ponder.Position{Created: time.Now(), ID: "thr_1"}
		query, args := listQuery(f)
		steps := s.queryPlan(t, query, args...)
		if !slices.ContainsFunc(steps, func(step string) bool { return strings.Contains(step, want) }) {
			t.Errorf("%+v: got %q, want one with %q", f, steps, want)
		}
	}
	if steps := s.queryPlan(t, selectAbandoned, oldestBeat(), newestBeat()); !strings.Contains(steps[0], "ponder_thread_busy") {
		t.Errorf("abandoned: %q", steps)
	}
}

// TestListPages reads 20,000 threads page by page.
func TestListPages(t *testing.T) {
	const limit = 100
	s := manyThreads(t, 4_000)
	for name, f := range surfaceFilters() {
		all, err := s.List(t.Context(), f)
		if err != nil || len(all) < 500 {
			t.Fatalf("%s: %d threads (%v)", name, len(all), err)
		}
		f.Limit = limit
		var got []ponder.Info
		for range len(all)/limit + 1 {
			page, err := s.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			got, f.Before = append(got, page...), page[len(page)-1].Position()
		}
		if !reflect.DeepEqual(got, all) {
			t.Errorf("%s: %d threads in pages, %d at once", name, len(got), len(all))
		}
	}
}

// BenchmarkListPage reads the first page and the last of a hundred pages of lists of 20,000
// threads.
func BenchmarkListPage(b *testing.B) {
	const limit = 20
	s := manyThreads(b, 20_000)
	for name, f := range surfaceFilters() {
		f.Limit = 100 * limit
		all, err := s.List(b.Context(), f)
		if err != nil || len(all) != f.Limit {
			b.Fatalf("%d threads: %v", len(all), err)
		}
		f.Limit = limit
		for page, before := range map[string]ponder.Position{"page=1": {}, "page=100": all[99*limit-1].Position()} {
			b.Run(name+"/"+page, func(b *testing.B) {
				for b.Loop() {
					f.Before = before
					if list, err := s.List(b.Context(), f); err != nil || len(list) != limit {
						b.Fatalf("%d threads: %v", len(list), err)
					}
				}
			})
		}
	}
}
