package subconscious

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func TestNewStateHasNoNulls(t *testing.T) {
	const none = `{"active_threads":[],"patterns":[],"hunches":[],"insights":[],"escalation_history":[],"thread_state":{`
	for name, s := range map[string]State{"new": NewState(), "zero": State{}.DecayTo(noon), "merged": Aggregate(State{}, Input{}, noon, rules).State, "shown": NewState().FillRoles(rules.Roles...)} {
		want := none
		for i, role := range []string{"dreamer", "librarian", "oracle", "watcher"} {
			if name == "new" || name == "zero" {
				break
			}
			if i > 0 {
				want += ","
			}
			want += `"` + role + `":{"last_findings":[],"novelty_pressure":0,"focus_hint":""}`
		}
		want += "}}"
		if js, err := s.MarshalMind(); err != nil || string(js) != want {
			t.Errorf("%s: %s, %v", name, js, err)
		}
	}
}

func TestRollback(t *testing.T) {
	w := newWorld(3)
	old := NewState()
	for range 4 {
		_, got := w.randomTick(old)
		old = got.State
	}
	s := old
	for range 4 {
		_, got := w.randomTick(s)
		s = w.applyOutcomes(got.State, got)
	}
	s = s.Apply(ponder.Event{Seq: 7, Body: ponder.Escalation{ID: "esc_9-1"}})
	at := w.now.Add(24 * time.Hour)
	got := s.Apply(ponder.Event{Time: at, Body: ponder.Resolution{As: "rolled_back", State: json.RawMessage(encodeJSON(t, old))}})
	if got.Internal.Rollback != (Rollback{At: at}) {
		t.Errorf("it says %+v", got.Internal.Rollback)
	}
	want, _ := ReadState(json.RawMessage(encodeJSON(t, old)))
	for name, r := range want.ThreadState {
		if _, ran := old.Internal.Pressed[name]; ran {
			r.NoveltyPressure = MaxPressure // of the day since then
			want.ThreadState[name] = r
		}
	}
	for _, c := range categories {
		for i := range *want.categoryEntries(c) {
			(*want.categoryEntries(c))[i].Strength = 1
		}
	}
	if encodeJSON(t, got.Mind) != encodeJSON(t, want.Mind) || encodeJSON(t, got.DecayTo(at).Mind) != encodeJSON(t, want.Mind) {
		t.Errorf("%s\n%s", encodeJSON(t, got.DecayTo(at).Mind), encodeJSON(t, want.Mind))
	}
	for what, pair := range map[string][2]any{
		"alerts": {got.Internal.Alerts, s.Internal.Alerts}, "settled": {got.Internal.Settled, s.Internal.Settled}, "undecided": {got.Internal.Undecided, s.Internal.Undecided},
		"tick": {got.Internal.Tick, s.Internal.Tick}, "read": {got.Internal.Read, s.Internal.Read},
	} {
		if encodeJSON(t, pair[0]) != encodeJSON(t, pair[1]) {
			t.Errorf("%s: %s, not %s", what, encodeJSON(t, pair[0]), encodeJSON(t, pair[1]))
		}
	}
}

// TestRollbackSettled checks which settled topics return, and the strength of restored entries.
func TestRollbackSettled(t *testing.T) {
	s := Aggregate(NewState(), newSupportedInput(1, reportOf("watcher",
		Finding{Summary: "The fridge is open.", Importance: 4}, Finding{Summary: "Anna waits for the lease.", Importance: 5})), noon, rules).State
	old := json.RawMessage(encodeJSON(t, s))
	back := func(s State, after time.Duration) State {
		return s.Apply(ponder.Event{Time: noon.Add(after), Body: ponder.Resolution{Ref: "2", As: asRolledBack, State: old}})
	}
	for name, tt := range map[string]struct {
		said  ponder.Resolution
		at    time.Duration
		after time.Duration
		want  []string
	}{
		"resolved":           {ponder.Resolution{Ref: "e2"}, time.Minute, 2 * time.Minute, []string{"Anna waits for the lease. 3"}},
		"forgotten":          {ponder.Resolution{Ref: "e1", As: asForgotten}, time.Minute, 2 * time.Minute, []string{"The fridge is open. 3"}},
		"in words":           {ponder.Resolution{Content: "the lease of Anna"}, time.Minute, 2 * time.Minute, []string{"The fridge is open. 3"}},
		"before it came":     {ponder.Resolution{Content: "the fridge"}, -time.Minute, 2 * time.Minute, []string{"Anna waits for the lease. 3", "The fridge is open. 3"}},
		"forgotten before":   {ponder.Resolution{Content: "fridge", As: asForgotten}, -time.Minute, 2 * time.Minute, []string{"Anna waits for the lease. 3"}},
		"12 minutes ago":     {ponder.Resolution{Content: "x"}, time.Minute, 12 * time.Minute, []string{"Anna waits for the lease. 1", "The fridge is open. 1"}},
		"6 minutes ago":      {ponder.Resolution{Content: "x"}, time.Minute, 6 * time.Minute, []string{"Anna waits for the lease. 2", "The fridge is open. 2"}},
		"a very long time":   {ponder.Resolution{Content: "x"}, time.Minute, 90 * time.Hour, []string{"Anna waits for the lease. 1", "The fridge is open. 1"}},
		"the clock set back": {ponder.Resolution{Content: "x"}, time.Minute, -time.Hour, []string{"Anna waits for the lease. 3", "The fridge is open. 3"}},
	} {
		got := back(s.Apply(ponder.Event{Time: noon.Add(tt.at), Body: tt.said}), tt.after)
		if diff := cmp.Diff(tt.want, summaries(got.ActiveThreads)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got.Internal.Rollback != (Rollback{2, noon.Add(tt.after)}) || len(got.Internal.Metadata) != len(tt.want) {
			t.Errorf("%s: %+v, %+v", name, got.Internal.Rollback, got.Internal.Metadata)
		}
		if now := Aggregate(got, newInput(3, nil), noon.Add(tt.after), rules).State; now.Internal.Rollback != (Rollback{}) {
			t.Errorf("%s: it still says %+v", name, now.Internal.Rollback)
		}
	}
}

func TestSaidMeanwhile(t *testing.T) {
	s := Aggregate(NewState(), newSupportedInput(1, reportOf("watcher", Finding{Summary: "The fridge is open.", Importance: 4})), noon, rules).State
	tick := Aggregate(s, newInput(2, nil), noon, rules).State
	s = s.Apply(ponder.Event{Time: noon, Body: ponder.Resolution{Ref: "e1"}})
	s = s.Apply(ponder.Event{Body: ponder.Subconscious{State: json.RawMessage(encodeJSON(t, tick))}})
	if len(s.ActiveThreads) != 0 || len(s.Internal.Settled) != 1 {
		t.Errorf("%s", encodeJSON(t, s))
	}
}

func TestStaticWorld(t *testing.T) {
	s := NewState()
	ran := []string{"watcher"}
	for n := range 20 {
		var reports []Report
		for _, name := range ran {
			hints := make(map[string]string)
			for _, r := range testRoles() {
				hints[r.Name] = "look at it, says " + name
			}
			reports = append(reports, Report{Role: name, Hints: hints})
		}
		in := Input{Tick: n + 1, Reports: reports, Given: map[string]int64{}}
		if n == 0 {
			in.Given["watcher"] = 5
		}
		s = Aggregate(s, in, noon, rules).State
		ran = nil
		for _, r := range testRoles() {
			if s.ThreadState[r.Name].FocusHint != "" {
				ran = append(ran, r.Name)
			}
		}
	}
	if len(ran) > 0 || len(s.Internal.Hints) > 0 {
		t.Errorf("%v still look, for %+v", ran, s.Internal.Hints)
	}
	if p := s.ThreadState["watcher"].NoveltyPressure; p < 2 {
		t.Errorf("pressure %d", p)
	}
}

func FuzzState(f *testing.F) {
	w := newWorld(2)
	s := NewState()
	for range 8 {
		_, got := w.randomTick(s)
		s = got.State
	}
	f.Add([]byte(encodeJSON(f, s)), []byte(`[{"role":"watcher","findings":[{"summary":"x","importance":9}],"escalate":"y"}]`))
	f.Add([]byte(`{"active_threads":[{"id":"e1","summary":"a","strength":99},{"id":"e1","summary":"a","strength":-9}],"aside":{"decayed_at":"9999-12-31T23:59:59Z","next_entry":9223372036854775807}}`), []byte(`[]`))
	f.Add([]byte(`{"aside":{"pending":[{"summary":"a","at":"0001-01-01T00:00:00Z"}],"raised":"0001-01-02T00:00:00Z","read_to":{"\u0000":-1}}}`), []byte(`[{"role":"\u001b"}]`))
	f.Fuzz(func(t *testing.T, state, reports []byte) {
		bodies := []ponder.Body{
			ponder.Subconscious{State: state}, ponder.Resolution{As: "rolled_back", State: state}, ponder.Resolution{Ref: "e1", Content: string(state)},
			ponder.Escalation{ID: string(reports)}, ponder.Escalation{ID: "esc_1-1", Content: string(state), Outcome: string(reports)},
		}
		s := NewState()
		for i, b := range bodies {
			s = s.Apply(ponder.Event{Seq: ponder.Seq(i), Time: noon, Body: b})
		}
		in := Input{Tick: 1}
		if json.Unmarshal(reports, &in.Reports) != nil {
			in.Reports = nil
		}
		got := Aggregate(s, in, noon, rules)
		if why := describeInvalid(got.State); why != "" {
			t.Fatal(why)
		}
		again, ok := ReadState(json.RawMessage(encodeJSON(t, got.State)))
		if !ok || encodeJSON(t, again) != encodeJSON(t, got.State) {
			t.Fatalf("%s\n%s", encodeJSON(t, got.State), encodeJSON(t, again))
		}
	})
}
