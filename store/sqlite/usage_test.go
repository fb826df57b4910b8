package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder"
)

// What an owner has used is a part of what he used when its thread is removed too, and
// never of what another has.
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
	equal(t, "by role", uses("anna", ponder.ByRole, time.Time{}), "slow 2 20")
	equal(t, "by thread", uses("anna", ponder.ByThread, time.Time{}), "thr_0 1 10, thr_1 1 10")
	equal(t, "of another", uses("ben", ponder.ByModel, time.Time{}), "p/m 1 10")
	equal(t, "of nobody", uses("", ponder.ByModel, time.Time{}), "")
	equal(t, "later", uses("anna", ponder.ByRole, time.Now().Add(time.Hour)), "")
	if err := s.Create(ctx, ponder.Thread{ID: "thr_1", Owner: "ben"}); err != nil {
		t.Fatal(err)
	}
	equal(t, "of one whose id is another's now", uses("anna", ponder.ByRole, time.Time{}), "slow 1 10")

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
		t.Errorf("beside ben is no thread of nobody: %v", err)
	}

	steps := strings.Join(s.plan(t, `SELECT sum(money) FROM ponder_usage u JOIN ponder_thread t USING (num) WHERE u.tool = '' AND u.time >= ?`, 1), "; ")
	if !strings.Contains(steps, "USING INDEX ponder_usage_time") {
		t.Errorf("all that was ever used is read: %s", steps)
	}
}
