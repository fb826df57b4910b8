package subconscious

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

var dawn = time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)

func TestPace(t *testing.T) {
	const every = 5 * time.Minute
	for _, tt := range []struct {
		quiet, want time.Duration
	}{
		{0, every / 2}, {every, every / 2}, {2*every - 1, every / 2}, {2 * every, every}, {3*every - 1, every},
		{3 * every, every * 3 / 2}, {2 * time.Hour, 6 * every}, {30 * 24 * time.Hour, 6 * every},
	} {
		v := View{News: dawn}
		if got := v.Pace(every, dawn.Add(tt.quiet)); got != tt.want {
			t.Errorf("after %v: %v, want %v", tt.quiet, got, tt.want)
		}
	}
	last := time.Duration(0)
	for m := range 300 {
		got := View{News: dawn}.Pace(every, dawn.Add(time.Duration(m)*time.Minute))
		if got < last || got > 6*every {
			t.Fatalf("after %d minutes %v, before that %v", m, got, last)
		}
		last = got
	}
	if got := NewView().Pace(every, dawn); got != every {
		t.Errorf("without news: %v", got)
	}
	if got := (View{News: dawn}).Pace(0, dawn); got != 0 {
		t.Errorf("of zero: %v", got)
	}
}

func TestView(t *testing.T) {
	v := NewView()
	seq := ponder.Seq(0)
	apply := func(at time.Time, run ponder.RunID, b ponder.Body) {
		seq++
		v = v.Apply(ponder.Event{ID: fmt.Sprintf("evt_%d", seq), Seq: seq, Time: at, Run: run, Body: b})
	}
	apply(dawn, "", ponder.Observation{Sensor: "mail", Subject: "m", State: "new", Content: "Hello.", Cursor: json.RawMessage(`{"uid":7}`)})
	apply(dawn.Add(time.Minute), "run_1", ponder.RunStarted{Mode: Name})
	if !v.Open || v.Waiting["watcher"] != 1 || v.Waiting["librarian"] != 0 || !v.News.Equal(dawn) || string(v.Cursors["mail"]) != `{"uid":7}` {
		t.Errorf("%+v", v)
	}
	apply(dawn.Add(time.Minute), "run_1/role-watcher", ponder.CallFinished{Spent: ponder.Cost{Calls: 1, Tokens: 70, Money: 9}})
	state := NewState()
	state.Internal.Tick, state.Internal.Read = 1, map[string]int64{"watcher": 1, "dreamer": 1}
	js, _ := json.Marshal(state)
	apply(dawn.Add(2*time.Minute), "run_1", ponder.Subconscious{Tick: 1, State: js})
	apply(dawn.Add(2*time.Minute), "run_1", ponder.Escalation{ID: "esc_1-1", Content: "Hello."})
	apply(dawn.Add(2*time.Minute), "run_1", ponder.RunFinished{Status: ponder.Completed, Answer: "x"})
	if v.Open || len(v.Waiting) != 0 || len(v.Ticks) != 1 || v.Ticks[0].Number != 1 || v.Ticks[0].Run != "run_1" || len(v.Undecided) != 1 {
		t.Errorf("%+v", v)
	}
	apply(dawn.Add(3*time.Minute), "run_2", ponder.Escalation{ID: "esc_1-1", Outcome: Messaged, Content: "Hello."})
	apply(dawn.Add(3*time.Minute), "run_3", ponder.Escalation{ID: "esc_1-1", Outcome: Dismissed})
	apply(dawn.Add(4*time.Minute), "", ponder.Observation{Sensor: Delivery, Subject: "esc_1-1", State: "terminal"})
	apply(dawn.Add(5*time.Minute), "", ponder.Observation{Sensor: Name + ":cursor", Subject: "mail", Cursor: json.RawMessage(`{"uid":9}`)})
	if string(v.Cursors["mail"]) != `{"uid":9}` || len(v.facts.News) != 1 {
		t.Errorf("cursor %s, %d observations", v.Cursors["mail"], len(v.facts.News))
	}
	if len(v.Undecided) != 0 || len(v.Decided) != 1 || !v.Delivered["esc_1-1"]["terminal"].Equal(dawn.Add(4*time.Minute)) || !v.News.Equal(dawn) {
		t.Errorf("%+v", v)
	}
	apply(dawn.Add(26*time.Hour), "run_4", ponder.CallFinished{Spent: ponder.Cost{Calls: 1, Tokens: 30}})
	if got := v.DayCost(dawn.Add(time.Hour)); got != (ponder.Cost{Calls: 1, Tokens: 70, Money: 9}) || v.Spent.Tokens != 100 || v.DayCost(dawn.Add(-48*time.Hour)) != (ponder.Cost{}) {
		t.Errorf("spent %+v of %+v", got, v.Spent)
	}
	apply(dawn.Add(27*time.Hour), "", ponder.Resolution{As: asRolledBack, Ref: "1", State: js})
	if n := len(v.Ticks); n != 2 || v.Ticks[1].Back != 1 || v.Ticks[1].Seq != seq {
		t.Errorf("%+v", v.Ticks)
	}
}

// A role with its own pace is due by it.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Roles: DefaultRoles()}
		o.Roles[3].Every = 6 * time.Hour
		models := newRoleModels(none, none, none, none)
		b := newBench(t, o, nil, models)
		if ticks := b.runDay(nil); ticks != 4 || models[ModelOf("dreamer")].callCount() != 4 || models[ModelOf("watcher")].callCount() != 0 {
			t.Errorf("%d ticks, %d looks", ticks, models[ModelOf("dreamer")].callCount())
		}
	})
}

// Pending escalations are due once, after the cooldown.
func TestGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := newRoleModels("", none, none, none)
		models[ModelOf("watcher")] = newEagerModel("test/watcher")
		models[ModelOf("watcher")].answer = func(req *llm.Request) (llm.Message, error) {
			m := frames.FindStringSubmatch(req.Messages[0].Text())
			return llm.Say(llm.Assistant, findingJSON("anomaly", m[2], 8, "now")), nil
		}
		b := newBench(t, Options{NoDecider: true}, nil, models)
		b.putObservation(diskFull)
		b.runTick(TickInput{}, ponder.Budget{})
		time.Sleep(time.Minute)
		b.putObservation(ponder.Observation{Sensor: "mail", Subject: "m", State: "new", Content: "Anna asks for the contract."})
		b.runTick(TickInput{}, ponder.Budget{})
		if v := b.foldView(); len(v.Undecided) != 1 || len(v.Internal.Pending) != 1 {
			t.Fatalf("%d raised, %d gathered", len(v.Undecided), len(v.Internal.Pending))
		}
		if due, why := b.foldView().Due(b.o, time.Now()); due {
			t.Errorf("due within the cooldown: %s", why)
		}
		time.Sleep(15 * time.Minute)
		if due, why := b.foldView().Due(b.o, time.Now()); !due || !strings.Contains(why, "1 finding waiting") {
			t.Errorf("due: %v, %s", due, why)
		}
		calls := allCalls(models)
		b.runTick(TickInput{}, ponder.Budget{})
		v := b.foldView()
		if due, why := v.Due(b.o, time.Now().Add(time.Hour)); due || len(v.Undecided) != 2 || allCalls(models) != calls {
			t.Errorf("%d raised, %d calls more; due: %s", len(v.Undecided), allCalls(models)-calls, why)
		}
	})
}

func TestSeenJSON(t *testing.T) {
	want := SeenObservation{ID: "evt_1", Seq: 7, At: dawn, Observation: ponder.Observation{Content: "It rains.", Sensor: "feed:x", Subject: "s", State: "new", Level: 3, Due: dawn, Source: "u", Untrusted: true}}
	js, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got SeenObservation
	if err := json.Unmarshal(js, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
}

// A role gets the same prompt from the full state and from its shown part.
func TestShownTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := map[ponder.Role]*fakeModel{}
		for _, r := range DefaultRoles() {
			models[ModelOf(r.Name)] = newEagerModel("test/" + r.Name)
		}
		b := newBench(t, Options{NoDecider: true}, nil, models)
		script := eventfulDay()
		for n, list := range script {
			if n > 80 {
				delete(script, n)
			}
			_ = list
		}
		b.runDay(script)
		v := b.foldView()
		seen := []SeenObservation{{ID: "evt_1", Seq: 1, At: time.Now(), Observation: spam}}
		for _, r := range DefaultRoles() {
			if diff := cmp.Diff(Prompt(r, v.State, seen, time.Now()), Prompt(r, v.visibleState(r.Name), seen, time.Now())); diff != "" {
				t.Errorf("%s is asked something else (-all +shown):\n%s", r.Name, diff)
			}
		}
		if full, less := len(jsonKey(v.State)), len(jsonKey(v.visibleState("watcher"))); 4*less > 3*full {
			t.Errorf("%d bytes of %d are shown", less, full)
		}
	})
}
