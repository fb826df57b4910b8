package subconscious

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
)

type fakeModel struct {
	name   string
	takes  time.Duration
	answer func(*llm.Request) (llm.Message, error)

	mu       sync.Mutex
	requests []*llm.Request
}

func (m *fakeModel) Name() string { return m.name }

func (m *fakeModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.mu.Lock()
		m.requests = append(m.requests, req)
		m.mu.Unlock()
		select {
		case <-time.After(m.takes):
		case <-ctx.Done():
			yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: m.name, Message: "cancelled", Err: ctx.Err()})
			return
		}
		msg, err := m.answer(req)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		msg.Role = llm.Assistant
		finish := llm.FinishStop
		if len(msg.Calls()) > 0 {
			finish = llm.FinishTools
		}
		yield(llm.Delta{Done: &llm.Response{Message: msg, Finish: finish, Model: m.name, Usage: llm.Usage{Input: 900, Output: 100}}}, nil)
	}
}

func (m *fakeModel) callCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

func newFakeModel(name, text string) *fakeModel {
	return &fakeModel{name: name, takes: 3 * time.Second, answer: func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, text), nil }}
}

const none = `{"findings":[],"escalate":false}`

func findingJSON(kind, summary string, importance int, escalate string) string {
	js, err := json.Marshal(map[string]any{
		"findings": []any{map[string]any{"type": kind, "summary": summary, "importance": importance, "rests_on": []string{"o1"}}},
		"escalate": escalate != "", "reason": escalate,
	})
	if err != nil {
		panic(err)
	}
	return string(js)
}

func callTool(tool string, input any) llm.Message {
	js, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c1", Name: tool, Input: js}}}}
}

type testBench struct {
	*enginetest.Engine
	t      *testing.T
	o      Options
	models map[ponder.Role]*fakeModel
	n      int

	carried map[ponder.RunID]knowledge
}

// newBench starts a bench. Roles missing from models have no model.
func newBench(t *testing.T, o Options, store ponder.Store, models map[ponder.Role]*fakeModel, tools ...ponder.Tool) *testBench {
	t.Helper()
	carried := make(map[ponder.RunID]knowledge)
	c := engine.Config{Store: store, Modes: checkModes(t, New(o), carried), Models: make(map[ponder.Role][]ponder.Model), Tools: tools}
	for role, m := range models {
		c.Models[role] = []ponder.Model{{Model: m, Price: ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 2}}}
	}
	return &testBench{Engine: enginetest.Start(t, c), t: t, o: o, models: models, carried: carried}
}

func newRoleModels(watcher, librarian, oracle, dreamer string) map[ponder.Role]*fakeModel {
	return map[ponder.Role]*fakeModel{
		ModelOf("watcher"): newFakeModel("test/watcher", watcher), ModelOf("librarian"): newFakeModel("test/librarian", librarian),
		ModelOf("oracle"): newFakeModel("test/oracle", oracle), ModelOf("dreamer"): newFakeModel("test/dreamer", dreamer),
	}
}

func (b *testBench) putObservation(o ponder.Observation) {
	b.t.Helper()
	b.Put("", fmt.Sprintf("seen-%s-%s-%s", o.Sensor, o.Subject, o.State), o)
}

func (b *testBench) foldView() View {
	b.t.Helper()
	v := NewView(b.o.Roles...)
	for _, ev := range b.Events() {
		v = v.Apply(ev)
	}
	return v
}

func (b *testBench) runTick(in TickInput, budget ponder.Budget) ponder.RunFinished {
	b.t.Helper()
	b.n++
	run := ponder.RunID(fmt.Sprintf("run_tick.%d", b.n))
	js, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Put(run, "", ponder.RunStarted{Mode: Name, Options: js, Budget: budget})
	return b.Await(run)
}

func (b *testBench) runDecisions() {
	b.t.Helper()
	for _, ev := range b.foldView().Undecided {
		id := ev.Body.(ponder.Escalation).ID
		run := ponder.RunID("run_" + id)
		b.Put(run, "", ponder.RunStarted{Mode: DecideMode, Input: id})
		if fin := b.Await(run); fin.Status != ponder.Completed {
			b.t.Errorf("%s finished %+v", id, fin)
		}
	}
}

func (b *testBench) lastOutcome(role string) RoleOutcome {
	b.t.Helper()
	ticks := b.foldView().Ticks
	if len(ticks) == 0 {
		b.t.Fatal("no tick")
	}
	for _, r := range ticks[len(ticks)-1].Roles {
		if r.Role == role {
			return r
		}
	}
	b.t.Fatalf("no role %s in %+v", role, ticks[len(ticks)-1])
	return RoleOutcome{}
}

func bodiesOf[B ponder.Body](evs []ponder.Event) (list []B) {
	for _, ev := range evs {
		if b, ok := ev.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}

var diskFull = ponder.Observation{Sensor: "system", Subject: "disk /", State: "high", Level: 8, Content: "The disk / is 96 % full."}

// Roles look concurrently with their own models; one transaction merges their findings.
func TestFourRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := newRoleModels(findingJSON("anomaly", "The disk / is 96 % full.", 8, "it may fill up today"), none, none, none)
		b := newBench(t, Options{}, nil, models)
		if due, why := b.foldView().Due(b.o, time.Now()); due {
			t.Errorf("due before anything was seen: %s", why)
		}
		b.putObservation(diskFull)
		if due, why := b.foldView().Due(b.o, time.Now()); !due || !strings.Contains(why, "watcher") {
			t.Errorf("due: %v, %s", due, why)
		}
		began := time.Now()
		fin := b.runTick(TickInput{}, ponder.Budget{})
		if took := time.Since(began); fin.Status != ponder.Completed || took > 4*time.Second {
			t.Errorf("finished %+v after %v", fin, took)
		}
		for role, want := range map[string]int{"watcher": 1, "librarian": 0, "oracle": 0, "dreamer": 1} {
			if got := models[ModelOf(role)].callCount(); got != want {
				t.Errorf("%s was asked %d times, want %d", role, got, want)
			}
			if r := b.lastOutcome(role); (r.Skipped == "") != (want > 0) || r.Calls != want || want > 0 && (r.Tokens == 0 || r.Money == 0) {
				t.Errorf("%+v", r)
			}
		}
		v := b.foldView()
		if len(v.ActiveThreads) != 1 || len(v.Undecided) != 1 || len(v.Ticks) != 1 || v.Ticks[0].Spent != v.Spent || v.Open {
			t.Errorf("view %+v", v.Mind)
		}
		if due, why := v.Due(b.o, time.Now()); due {
			t.Errorf("due again: %s", why)
		}
		t.Log(fin.Answer)
	})
}

// An unfinished role is left out and shown the same again.
func TestLateRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := newRoleModels(findingJSON("anomaly", "The disk / is 96 % full.", 8, ""), none, none, none)
		models[ModelOf("dreamer")].takes = time.Hour
		b := newBench(t, Options{}, nil, models)
		b.putObservation(diskFull)
		for n := range maxFails {
			began := time.Now()
			fin := b.runTick(TickInput{}, ponder.Budget{})
			if took := time.Since(began); fin.Status != ponder.Completed || took > tickLimit {
				t.Errorf("finished %+v after %v", fin, took)
			}
			if r := b.lastOutcome("dreamer"); r.Failed == "" || r.WithoutModel {
				t.Errorf("%+v", r)
			}
			if n == 0 && len(b.foldView().ActiveThreads) != 1 {
				t.Errorf("the others were not merged: %+v", b.foldView().Mind)
			}
			if due, why := b.foldView().Due(b.o, time.Now()); !due || !strings.Contains(why, "dreamer") || strings.Contains(why, "watcher") {
				t.Errorf("due: %v, %s", due, why)
			}
		}
		b.runTick(TickInput{}, ponder.Budget{})
		if r := b.lastOutcome("dreamer"); !r.WithoutModel || models[ModelOf("dreamer")].callCount() != maxFails {
			t.Errorf("after %d ticks: %+v", maxFails, r)
		}
		if due, why := b.foldView().Due(b.o, time.Now()); due {
			t.Errorf("due for ever: %s", why)
		}
	})
}

func TestNoModel(t *testing.T) {
	for name, models := range map[string]map[ponder.Role]*fakeModel{
		"none": {},
		"refuses": {ModelOf("watcher"): {name: "test/broken", answer: func(*llm.Request) (llm.Message, error) {
			return llm.Message{}, &llm.Error{Class: llm.Auth, Message: "key rejected"}
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, Options{}, nil, models)
				b.putObservation(diskFull)
				b.runTick(TickInput{}, ponder.Budget{})
				if r := b.lastOutcome("watcher"); !r.WithoutModel || r.Failed == "" || r.Findings != 1 {
					t.Errorf("%+v", r)
				}
				v := b.foldView()
				if due, why := v.Due(b.o, time.Now()); due || len(v.Undecided) != 1 {
					t.Errorf("due %v: %s; %d undecided", due, why, len(v.Undecided))
				}
				b.runDecisions()
				v = b.foldView()
				if len(v.Undecided) != 0 || len(v.Decided) != 1 {
					t.Fatalf("%d undecided, %d decided", len(v.Undecided), len(v.Decided))
				}
				if e := v.Decided[0].Body.(ponder.Escalation); e.Outcome != Messaged || !e.WithoutModel || !strings.Contains(e.Content, "96 %") {
					t.Errorf("%+v", e)
				}
			})
		})
	}
}

func TestMalformed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := newRoleModels("", none, none, none)
		models[ModelOf("watcher")].answer = func(req *llm.Request) (llm.Message, error) {
			if len(req.Messages) > 1 {
				return llm.Say(llm.Assistant, findingJSON("anomaly", "The disk / is 96 % full.", 8, "")), nil
			}
			return llm.Say(llm.Assistant, "I will not."), nil
		}
		models[ModelOf("dreamer")].answer = func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, "No."), nil }
		b := newBench(t, Options{}, nil, models)
		b.putObservation(diskFull)
		b.runTick(TickInput{}, ponder.Budget{})
		if r := b.lastOutcome("watcher"); r.Failed != "" || r.Calls != 2 || r.Findings != 1 {
			t.Errorf("%+v", r)
		}
		if r := b.lastOutcome("dreamer"); r.Failed == "" || r.WithoutModel || r.Calls != maxAttempts {
			t.Errorf("%+v", r)
		}
	})
}

// A look that its time limit cuts keeps its complete findings, and a repetition is asked again without it.
func TestCutLook(t *testing.T) {
	o := Options{}
	role := DefaultRoles()[0]
	const part = `{"findings":[{"type":"anomaly","summary":"The disk / is 96 % full.","importance":8,"rests_on":["o1"]}`
	for name, tt := range map[string]struct {
		finish   llm.Finish
		text     string
		findings int
		failed   string
		penalty  float64
	}{
		"cut in the second finding": {llm.FinishTime, part + `,{"type":"anomaly","summ`, 1, "", 0},
		"cut in the first":          {llm.FinishTime, `{"findings":[{"type":"anom`, 0, "time limit reached", 0},
		"a repetition":              {llm.FinishLoop, `{"findings":[{"type":"anomaly","summary":"so and so and`, 0, "", llm.RepetitionPenalty},
		"too long":                  {llm.FinishLength, `{"findings":[{"type":"anom`, 0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			o.Roles = DefaultRoles()
			var in lookInput
			step := roleStep{role: role, seen: numberSeen(SeenObservation{Observation: diskFull, At: midday})}
			if err := json.Unmarshal(step.lookOptions(NewState(), midday, time.Minute), &in); err != nil || in.Limit != time.Minute {
				t.Fatalf("%+v, %v", in, err)
			}
			s := &lookState{role: role, in: in}
			call := s.Next(ponder.Moment{})[0].(ponder.Call)
			if call.Until != time.Minute {
				t.Errorf("the call is cut after %v", call.Until)
			}
			next := s.Apply(ponder.Event{Cause: "look-1#1", Body: ponder.CallFinished{Message: llm.Say(llm.Assistant, tt.text), Finish: tt.finish}}).(*lookState)
			switch {
			case next.Failed != tt.failed:
				t.Errorf("failed %q, want %q", next.Failed, tt.failed)
			case tt.findings > 0 && (next.Report == nil || len(next.Report.Report.Findings) != tt.findings):
				t.Errorf("report %+v", next.Report)
			case tt.findings == 0 && tt.failed == "":
				again := next.Next(ponder.Moment{})[0].(ponder.Call)
				if again.Request.Penalty != tt.penalty || (len(again.Request.Messages) == len(call.Request.Messages)) != (tt.penalty > 0) {
					t.Errorf("asked again with a penalty of %v and %d messages", again.Request.Penalty, len(again.Request.Messages))
				}
			}
		})
	}
}

// A budget spent during a tick ends it with partial results.
func TestBudget(t *testing.T) {
	for name, budget := range map[string]ponder.Budget{
		"calls":  {Cost: ponder.Cost{Calls: 2}},
		"tokens": {Cost: ponder.Cost{Tokens: 6000}},
		"time":   {Time: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				models := newRoleModels(none, none, none, none)
				b := newBench(t, Options{}, nil, models)
				b.putObservation(diskFull)
				b.putObservation(ponder.Observation{Sensor: "calendar", Subject: "dentist", State: "upcoming", Content: "Dentist at noon.", Due: time.Now().Add(time.Hour)})
				fin := b.runTick(TickInput{}, budget)
				if fin.Status != ponder.Completed || budget.Calls > 0 && fin.Spent.Calls > budget.Calls {
					t.Errorf("finished %+v", fin)
				}
				v := b.foldView()
				failed := 0
				for _, r := range v.Ticks[0].Roles {
					if r.Failed != "" {
						failed++
					}
				}
				due, why := v.Due(b.o, time.Now())
				if failed == 0 || !due {
					t.Errorf("%d failed, due %v: %s", failed, due, why)
				}
				t.Log(fin.Answer, fin.Reason, why)
			})
		})
	}
}

func TestExtractive(t *testing.T) {
	for name, in := range map[string]TickInput{"a tick": {WithoutModel: true}, "roles": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				models := newRoleModels(none, none, none, none)
				o := Options{NoDecider: true, Roles: DefaultRoles()}
				for i := range o.Roles {
					o.Roles[i].Unaided = !in.WithoutModel
				}
				b := newBench(t, o, nil, models)
				b.putObservation(diskFull)
				b.runTick(in, ponder.Budget{})
				b.runDecisions()
				if calls := bodiesOf[ponder.CallStarted](b.Events()); len(calls) > 0 || len(b.foldView().Decided) != 1 {
					t.Errorf("%d calls, %d decided", len(calls), len(b.foldView().Decided))
				}
			})
		})
	}
}

func TestAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := newRoleModels(none, none, none, none)
		b := newBench(t, Options{}, nil, models)
		if fin := b.runTick(TickInput{}, ponder.Budget{}); fin.Answer != "Nothing is new." || len(b.Events()) != 2 {
			t.Errorf("%+v, %d events", fin, len(b.Events()))
		}
		b.runTick(TickInput{All: true}, ponder.Budget{})
		for role, m := range models {
			if m.callCount() != 1 {
				t.Errorf("%s was asked %d times", role, m.callCount())
			}
		}
		var states []string
		for _, ev := range b.Events() {
			states = append(states, ev.Body.Type())
		}
		if !slices.Contains(states, "subconscious") {
			t.Errorf("%v", states)
		}
	})
}
