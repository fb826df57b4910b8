package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"ponder"
	"ponder/mode/session"
)

type counter struct {
	ponder.Store
	listed int
}

func (c *counter) List(ctx context.Context, f ponder.Filter) ([]ponder.Info, error) {
	list, err := c.Store.List(ctx, f)
	c.listed += len(list)
	return list, err
}

func (d *testAPI) readPage(t *testing.T, path, cursor string) (ids []string, next string) {
	t.Helper()
	code, body := d.sendRequest("mine", "GET", path+"&cursor="+cursor, "")
	var out struct {
		Sessions []struct {
			ID     string
			Status ponder.Status
		}
		Threads []struct {
			ID string `json:"thread_id"`
		}
		Next string `json:"next_cursor"`
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil || code != 200 {
		t.Fatalf("%s: %d %s", path, code, body)
	}
	for _, s := range out.Sessions {
		ids = append(ids, s.ID)
	}
	for _, s := range out.Threads {
		ids = append(ids, s.ID)
	}
	return ids, out.Next
}

// Each page lists only one thread more than it returns.
func TestLatePages(t *testing.T) {
	d := newAPI(t, nil)
	long := time.Now().Add(-time.Hour)
	for i := range 4200 {
		header := ponder.Thread{ID: ponder.ThreadID(fmt.Sprintf("thr_%05d", i)), Kind: ponder.KindSession, Owner: "local", Created: long.Add(time.Duration(i/3) * time.Microsecond)}
		events := []ponder.Event{{Time: long, Run: "run_1", Body: ponder.RunStarted{Mode: session.Name, Input: "Why?"}}}
		if i%2 == 0 {
			events = append(events, ponder.Event{Time: long, Run: "run_1", Body: ponder.RunPaused{}})
		}
		if err := d.store.Create(t.Context(), header, events...); err != nil {
			t.Fatal(err)
		}
	}
	count := &counter{Store: d.store}
	d = newAPIWith(t, count, nil)
	for _, path := range []string{"/api/threads?limit=20", "/api/threads?limit=20&kind=session&status=thinking", "/api/thinking/?limit=20&status=paused"} {
		var all []string
		cursor := ""
		for n := 1; n <= 100; n++ {
			count.listed = 0
			var ids []string
			if ids, cursor = d.readPage(t, path, cursor); len(ids) != 20 || count.listed != 21 || cursor == "" {
				t.Fatalf("%s: page %d has %d threads, for which %d were read", path, n, len(ids), count.listed)
			}
			all = append(all, ids...)
		}
		if !slices.IsSortedFunc(all, func(a, b string) int { return -compareIDs(a, b) }) || len(slices.Compact(slices.Clone(all))) != 2000 {
			t.Errorf("%s: pages of %d threads", path, len(all))
		}
	}
}

func compareIDs(a, b string) int {
	x, _ := strconv.Atoi(a[len("thr_"):])
	y, _ := strconv.Atoi(b[len("thr_"):])
	return x - y
}

// Paging is stable under concurrent changes.
func TestStablePages(t *testing.T) {
	d := newAPI(t, nil)
	for i := range 12 {
		d.createSession(t, ponder.ThreadID(fmt.Sprintf("thr_%d", 100+i)), "local")
	}
	first, cursor := d.readPage(t, "/api/thinking/?limit=4&status=paused", "")
	for _, id := range []ponder.ThreadID{"thr_108", "thr_106"} { // the cursor's thread and the next one
		if err := d.store.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	d.createSession(t, "thr_200", "local")
	second, cursor := d.readPage(t, "/api/thinking/?limit=4&status=paused", cursor)
	third, cursor := d.readPage(t, "/api/thinking/?limit=4&status=paused", cursor)
	if got, want := slices.Concat(first, second, third), []string{"thr_111", "thr_110", "thr_109", "thr_108", "thr_107", "thr_105", "thr_104", "thr_103", "thr_102", "thr_101", "thr_100"}; !slices.Equal(got, want) || cursor != "" {
		t.Errorf("pages %q, then %q", got, cursor)
	}
	if ids, _ := d.readPage(t, "/api/thinking/?limit=4&status=thinking", ""); len(ids) > 0 {
		t.Errorf("interrupted sessions are said to think: %q", ids)
	}
}
