package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/auth"
	"ponder/internal/stream"
	"ponder/llm"
	"ponder/store/memory"
)

func addUsageEvents(t *testing.T, store ponder.Store, id ponder.ThreadID, owner string, at time.Time, models ...string) {
	t.Helper()
	events := []ponder.Event{{Run: "run_" + ponder.RunID(id), Body: ponder.RunStarted{Mode: "session", Input: "Why?"}}}
	for i, model := range models {
		run, cause := events[0].Run, "think-"+string(rune('1'+i))+"#1"
		b := ponder.CallFinished{Model: model, Usage: llm.Usage{Input: 100, Output: 10, CacheRead: 5}, Spent: ponder.Cost{Money: 7}, Price: ponder.PriceTable}
		switch model {
		case "a/broken":
			b.Error = "broken"
		case "a/refused":
			b.Refused, b.Error = true, "refused"
		case "a/unknown":
			b.Price = ponder.PriceUnknown
		}
		events = append(events, ponder.Event{Run: run, Cause: cause, Time: at, Body: ponder.CallStarted{Model: model, Role: ponder.Fast, Mode: "session"}},
			ponder.Event{Run: run, Cause: cause, Time: at, Body: b})
	}
	if err := store.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindSession, Owner: owner}, events[0]); err != nil {
		t.Fatal(err)
	}
	node := ponder.NodeID("nod_" + string(id))
	if err := store.Join(t.Context(), ponder.Node{ID: node}); err != nil {
		t.Fatal(err)
	}
	lease, err := store.Take(t.Context(), id, node)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Append(t.Context(), id, lease.Fence, events[1:]...); err != nil {
		t.Fatal(err)
	}
}

func forkThread(t *testing.T, store ponder.Store) {
	t.Helper()
	if err := engine.Fork(t.Context(), store, "thr_1", 3, ponder.Thread{ID: "thr_fork"}); err != nil {
		t.Fatal(err)
	}
	lease, err := store.Take(t.Context(), "thr_fork", "nod_thr_1")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []ponder.Body{ponder.CallStarted{Model: "a/one", Role: ponder.Fast, Mode: "session"}, ponder.CallFinished{Model: "a/one", Spent: ponder.Cost{Money: 7}, Price: ponder.PriceTable}} {
		if _, err := store.Append(t.Context(), "thr_fork", lease.Fence, ponder.Event{Run: "run_thr_1", Cause: "more#1", Body: b}); err != nil {
			t.Fatal(err)
		}
	}
}

type usageAnswer struct {
	Success bool
	Rows    []UsageRow
	Total   UsageRow
}

func (d *testAPI) readUsage(t *testing.T, token, query string) (a usageAnswer) {
	t.Helper()
	code, body := d.sendRequest(token, "GET", "/api/usage?"+query, "")
	if err := json.Unmarshal([]byte(body), &a); err != nil || code != http.StatusOK || !a.Success {
		t.Fatalf("%s: %d %s", query, code, body)
	}
	return a
}

// An owner's usage equals the ledger of a store with only that owner.
func TestUsage(t *testing.T) {
	shared, alone := newAPI(t, nil), memory.New()
	single := &testAPI{alone, New(t.Context(), Config{Store: alone, Hub: stream.New(alone), Guard: auth.New(auth.Config{Tokens: []auth.Token{
		{Name: "local", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("mine")},
	}})})}
	now := time.Now()
	for _, store := range []ponder.Store{shared.store, alone} {
		addUsageEvents(t, store, "thr_1", "local", now, "a/one", "a/two", "a/one", "a/broken", "a/refused", "a/unknown")
		addUsageEvents(t, store, "thr_2", "local", now.Add(-48*time.Hour), "a/one")
	}
	addUsageEvents(t, shared.store, "thr_3", "anna", now, "a/hers")
	for _, by := range []string{"thread", "run", "role", "model", "mode", "day"} {
		for _, since := range []string{"", "24h", "1d"} {
			got, want := shared.readUsage(t, "mine", "by="+by+"&since="+since), single.readUsage(t, "mine", "by="+by+"&since="+since)
			g, _ := json.Marshal(got)
			w, _ := json.Marshal(want)
			if string(g) != string(w) {
				t.Errorf("by %s since %q:\n%s\nnot\n%s", by, since, g, w)
			}
			if want.Total.Calls < 5 || want.Total.Input == 0 || want.Total.Failed != 1 || want.Total.Unpriced != 1 {
				t.Errorf("by %s since %q: %s", by, since, w)
			}
		}
	}
	for _, d := range []*testAPI{shared, single} {
		forkThread(t, d.store)
		runs := d.readUsage(t, "mine", "by=run").Rows
		var got []string
		for _, r := range runs {
			got = append(got, fmt.Sprint(r.Key, " ", r.Thread, " ", r.Calls))
		}
		if want := []string{"run_thr_1 thr_1 5", "run_thr_1 thr_fork 1", "run_thr_2 thr_2 1"}; !slices.Equal(got, want) {
			t.Errorf("by run: %q, want %q", got, want)
		}
	}
	if hers := shared.readUsage(t, "hers", "by=model"); len(hers.Rows) != 1 || hers.Rows[0].Key != "a/hers" || hers.Total.Micros != 7 {
		t.Errorf("hers: %+v", hers)
	}
	if hers := shared.readUsage(t, "hers", "by=thread"); len(hers.Rows) != 1 || hers.Rows[0].Key != "thr_3" {
		t.Errorf("hers: %+v", hers)
	}
}

func TestUsageProblems(t *testing.T) {
	d := newAPI(t, nil)
	for _, query := range []string{"by=owner", "since=soon", "since=-1h"} {
		if code, body := d.sendRequest("mine", "GET", "/api/usage?"+query, ""); code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
}
