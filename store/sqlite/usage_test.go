package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder"
)

// The usage of an owner includes removed threads, and no threads of other owners.
func TestUsageOfAnOwner(t *testing.T) {
	ctx := t.Context()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Join(ctx, ponder.Node{ID: "nod_1"}); err != nil {
		t.Fatal(err)
	}
	for i, owner := range []string{"anna", "anna", "ben"} {
		id := ponder.ThreadID(fmt.Sprint("thr_", i))
		if err := s.Create(ctx, ponder.Thread{ID: id, Owner: owner}, ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "session"}}); err != nil {
			t.Fatal(err)
		}
		lease, err := s.Take(ctx, id, "nod_1")
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range []ponder.Body{
			ponder.CallStarted{Role: ponder.Slow, Model: "p/m"},
			ponder.CallFinished{Model: "p/m", Spent: ponder.Cost{Money: 10}, Price: ponder.PriceTable},
		} {
			if _, err := s.Append(ctx, id, lease.Fence, ponder.Event{Run: "run_1", Cause: "c#1", Body: b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Remove(ctx, "thr_1"); err != nil {
		t.Fatal(err)
	}
	uses := func(owner string, by ponder.GroupBy, since time.Time) string {
		rows, err := s.UsageOf(ctx, owner, by, since)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, r := range rows {
			list = append(list, fmt.Sprintf("%s %d %d", r.Key, r.Calls, r.Money))
		}
		return strings.Join(list, ", ")
	}
	checkEqual(t, "by role", uses("anna", ponder.ByRole, time.Time{}), "slow 2 20")
	checkEqual(t, "by thread", uses("anna", ponder.ByThread, time.Time{}), "thr_0 1 10, thr_1 1 10")
	checkEqual(t, "of another", uses("ben", ponder.ByModel, time.Time{}), "p/m 1 10")
	checkEqual(t, "of nobody", uses("", ponder.ByModel, time.Time{}), "")
	checkEqual(t, "later", uses("anna", ponder.ByRole, time.Now().Add(time.Hour)), "")
	if err := s.Create(ctx, ponder.Thread{ID: "thr_1", Owner: "ben"}); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "of one whose id is another's now", uses("anna", ponder.ByRole, time.Time{}), "slow 1 10")

	for _, c := range []struct {
		owner  string
		others bool
	}{{"anna", true}, {"ben", true}, {"", true}} {
		if there, err := s.HasOthers(ctx, c.owner); err != nil || there != c.others {
			t.Errorf("beside %q: %t %v", c.owner, there, err)
		}
	}
	if err := s.Remove(ctx, "thr_0"); err != nil {
		t.Fatal(err)
	}
	if there, err := s.HasOthers(ctx, "ben"); err != nil || there {
		t.Errorf("beside ben are threads that were removed: %v", err)
	}
	if err := s.Create(ctx, ponder.Thread{ID: "thr_3"}); err != nil {
		t.Fatal(err)
	}
	if there, err := s.HasOthers(ctx, "ben"); err != nil || !there {
		t.Errorf("found no thread of another owner than ben: %v", err)
	}

	steps := strings.Join(s.queryPlan(t, `SELECT sum(money) FROM ponder_usage u JOIN ponder_thread t USING (num) WHERE u.tool = '' AND u.time >= ?`, 1), "; ")
	if !strings.Contains(steps, "USING INDEX ponder_usage_time") {
		t.Errorf("all that was ever used is read: %s", steps)
	}
}

// manyUsed returns a store with n rows of usage of two owners in three days.
func manyUsed(tb testing.TB, n int) *Store {
	tb.Helper()
	s := manyThreads(tb, 10)
	tx, err := s.write.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer tx.Rollback()
	stmt, err := tx.PrepareContext(tb.Context(), `INSERT INTO ponder_usage (num, time, run, cause, tool, role, mode, model, failed,
		input, cache_read, cache_write, output, reasoning, cost, estimated, money, price) VALUES (?, ?, ?, 'c#1', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		tb.Fatal(err)
	}
	defer stmt.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		var cost any
		if random.IntN(3) == 0 {
			cost = random.IntN(100)
		}
		some := func(of ...string) string { return of[random.IntN(len(of))] }
		_, err := stmt.ExecContext(tb.Context(), 1+random.IntN(20), toMicros(usedSince)+random.Int64N(3*24*3600*1e6), some("run_1", "run_2"), some("", "", "", "look"),
			some("fast", "slow"), some("chat", "session"), some("p/a", "p/b", "p/c"), random.IntN(2),
			random.IntN(1000), random.IntN(10), random.IntN(10), random.IntN(100), random.IntN(10), cost, random.IntN(2), random.IntN(500), some("table", "unknown"))
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
	return s
}

var usedSince = time.Date(2026, 5, 17, 0, 0, 0, 0, time.UTC)

// TestSums checks that the sums do not depend on how many rows are summed already.
func TestSums(t *testing.T) {
	const n = 2500
	s := manyUsed(t, n)
	if err := s.Remove(t.Context(), "thr_000003"); err != nil {
		t.Fatal(err)
	}
	anna, nobody := "anna", "nobody"
	type usageQuery struct {
		by    ponder.GroupBy
		owner *string
		since time.Time
	}
	var all []usageQuery
	for by := range groups {
		for _, owner := range []*string{nil, &anna, &nobody} {
			for _, since := range []time.Time{{}, usedSince, usedSince.Add(30 * time.Hour), usedSince.Add(31*time.Hour + 7*time.Minute + 1), usedSince.Add(100 * time.Hour)} {
				all = append(all, usageQuery{by, owner, since})
			}
		}
	}
	s.summing.Store(true) // only the loop below sums
	read := func() (got [][]ponder.UsageRow) {
		t.Helper()
		for _, a := range all {
			rows, err := s.queryUsage(t.Context(), a.by, a.owner, sinceMicros(a.since))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rows)
		}
		return got
	}
	want := read()
	for i, a := range all {
		calls := 0
		for _, r := range want[i] {
			calls += r.Calls
		}
		if some := a.owner != &nobody && !a.since.After(usedSince.Add(72*time.Hour)); (calls > 0) != some {
			t.Errorf("%s since %v: %d calls", a.by, a.since, calls)
		}
	}
	steps := 0
	for more := true; more; steps++ {
		if err := s.submitVolatile(t.Context(), func(tx *tx) error {
			more = tx.sumUp()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if steps == 1 || !more {
			for i, got := range read() {
				checkEqual(t, fmt.Sprintf("%s since %v after %d", all[i].by, all[i].since, steps), got, want[i])
			}
		}
	}
	checkEqual(t, "transactions", steps, n/sumChunk)
	var left int
	err := s.read.QueryRowContext(t.Context(), `SELECT count(*) FROM ponder_usage WHERE rowid > (SELECT upto FROM ponder_summed)`).Scan(&left)
	checkEqual(t, "rows that are left", left, 0, err)
}

// TestQueryStartsSumming has a query start the summing.
func TestQueryStartsSumming(t *testing.T) {
	s := manyUsed(t, sumEvery*2)
	want, err := s.Usage(t.Context(), ponder.ByModel, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for left := 1; left > 0; {
		got, err := s.Usage(t.Context(), ponder.ByModel, time.Time{})
		checkEqual(t, "while they are summed up", got, want, err)
		err = s.read.QueryRowContext(t.Context(), `SELECT count(*) FROM ponder_usage WHERE rowid > (SELECT upto FROM ponder_summed)`).Scan(&left)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkUsage sums 100,000 calls by day.
func BenchmarkUsage(b *testing.B) {
	s := manyUsed(b, 100_000)
	owner := "anna"
	for _, summed := range []bool{false, true} {
		s.summing.Store(true)
		for more := summed; more; {
			if err := s.submitVolatile(b.Context(), func(tx *tx) error {
				more = tx.sumUp()
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("summed=%t", summed), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.UsageOf(b.Context(), owner, ponder.ByDay, time.Time{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
