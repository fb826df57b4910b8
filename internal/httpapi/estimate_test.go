package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"ponder"
	"ponder/mode/session"
)

// endedSession stores a session that thought for a minute, with calls of 100 tokens and a tenth of a dollar.
func (d *testAPI) endedSession(t *testing.T, owner string, n, calls int) {
	t.Helper()
	const run ponder.RunID = "run_1"
	start := time.Now().Add(-time.Hour)
	list := []ponder.Event{{Run: run, Time: start, Body: ponder.RunStarted{Mode: session.Name, Input: "Why is the sea salt?"}}}
	for i := range calls {
		cause := fmt.Sprintf("call-%d#1", i)
		list = append(list, ponder.Event{Run: run, Cause: cause, Time: start, Body: ponder.CallStarted{Role: ponder.Slow, Model: "test/model"}},
			ponder.Event{Run: run, Cause: cause, Time: start, Elapsed: time.Minute, Body: ponder.CallFinished{Model: "test/model", Price: ponder.PriceTable, Spent: ponder.Cost{Calls: 1, Tokens: 100, Money: 100_000}}})
	}
	list = append(list, ponder.Event{Run: run, Time: start.Add(time.Minute), Elapsed: time.Minute, Body: ponder.RunFinished{Status: ponder.Completed}})
	thread := ponder.Thread{ID: ponder.ThreadID(fmt.Sprintf("thr_%s_%d", owner, n)), Kind: ponder.KindSession, Owner: owner, Title: "Sea", Model: "test/model"}
	if err := d.store.Create(context.Background(), thread, list...); err != nil {
		t.Fatal(err)
	}
}

func TestEstimates(t *testing.T) {
	d := newAPI(t, nil)
	for i, calls := range []int{2, 4, 6, 8} {
		d.endedSession(t, "local", i, calls)
	}
	d.endedSession(t, "anna", 0, 1000)
	for body, want := range map[string]*Range{
		`{"kind":"session","duration_minutes":1}`:                          {4, 8},
		`{"kind":"session","duration_minutes":10}`:                         {40, 80},
		`{"kind":"session","duration_minutes":10,"max_calls":50}`:          {40, 50},
		`{"kind":"session","duration_minutes":1,"model_id":"other/model"}`: nil,
		`{"kind":"research","duration_minutes":1}`:                         nil,
	} {
		code, text := d.sendRequest("mine", "POST", "/api/estimates", body)
		var got struct {
			Samples int
			Calls   *Range
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != 200 || (got.Calls == nil) != (want == nil) || want != nil && (*got.Calls != *want || got.Samples != 4) {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
}
