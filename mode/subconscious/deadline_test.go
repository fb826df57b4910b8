package subconscious

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
)

func (b *testBench) runDays(n int, script map[int]ponder.Observation) (told []string, ticks int) {
	for hour := range n * 24 {
		if o, ok := script[hour]; ok {
			b.Put("", fmt.Sprint("seen-", hour), o)
		}
		before := len(b.Events())
		for range 3 {
			if due, _ := b.foldView().Due(b.o, time.Now()); due {
				ticks++
				b.runTick(TickInput{}, ponder.Budget{})
			}
		}
		for _, ev := range b.Events()[before:] {
			if f, ok := ev.Body.(ponder.Finding); ok {
				told = append(told, fmt.Sprintf("%d %s %d %s", hour, f.Kind, f.Importance, f.MergeResult))
			}
		}
		time.Sleep(time.Hour)
	}
	return told, ticks
}

func newSilentBench(t *testing.T) *testBench {
	models := map[ponder.Role]*fakeModel{}
	for _, r := range DefaultRoles() {
		models[ModelOf(r.Name)] = &fakeModel{name: "test/" + r.Name, takes: time.Second, answer: func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, none), nil }}
	}
	return newBench(t, Options{}, nil, models)
}

// A due date resurfaces 72, 24 and 2 hours before it, by rules.
func TestDeadlineComesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSilentBench(t)
		due := time.Now().Add(7*24*time.Hour - time.Minute)
		thesis := ponder.Observation{Sensor: "files", Subject: "thesis.md", State: "new 1", Content: "New file thesis.md: Deadline of the thesis", Due: due, Untrusted: true}
		told, ticks := b.runDays(10, map[int]ponder.Observation{0: thesis})
		if want := "96 upcoming 4 added, 144 upcoming 6 added, 166 upcoming 8 added"; strings.Join(told, ", ") != want || ticks != 5 {
			t.Errorf("%d ticks, told %q, want %q", ticks, told, want)
		}
		if calls := allCalls(b.models); calls > 6 { // once for the observation, once a day later
			t.Errorf("%d calls", calls)
		}
		if n := len(b.foldView().Internal.Deadlines); n != 0 {
			t.Errorf("%d deadlines are left", n)
		}
	})
}

// An open promise resurfaces twice; a kept or settled one does not.
func TestPromiseComesUp(t *testing.T) {
	promise := ponder.Observation{Sensor: "own", Subject: "message:t/1", State: "said", Content: "I will call the plumber. (The user said this in a conversation.)"}
	done := ponder.Observation{Sensor: "own", Subject: "message:t/5", State: "done", Content: "I called the plumber. (The user said this in a conversation.)"}
	stranger := done
	stranger.Sensor, stranger.Untrusted = "mail", true
	dated := promise
	for name, tt := range map[string]struct {
		script map[int]ponder.Observation
		due    time.Duration
		want   string
	}{
		"forgotten":         {map[int]ponder.Observation{0: promise}, 0, "24 forgotten 5 added, 72 forgotten 5 added"},
		"done":              {map[int]ponder.Observation{0: promise, 5: done}, 0, ""},
		"done later":        {map[int]ponder.Observation{0: promise, 30: done}, 0, "24 forgotten 5 added"},
		"strangers say so":  {map[int]ponder.Observation{0: promise, 5: stranger}, 0, "24 forgotten 5 added, 72 forgotten 5 added"},
		"with a date":       {map[int]ponder.Observation{0: dated}, 60*time.Hour - time.Minute, "36 forgotten 5 added, 58 forgotten 5 added"},
		"an event that was": {map[int]ponder.Observation{0: {Sensor: "calendar", Subject: "a", State: "72h", Content: "Dentist"}}, 60 * time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newSilentBench(t)
				if o := tt.script[0]; tt.due > 0 {
					o.Due = time.Now().Add(tt.due)
					tt.script[0] = o
				}
				if told, _ := b.runDays(4, tt.script); strings.Join(told, ", ") != tt.want {
					t.Errorf("told %q, want %q", told, tt.want)
				}
			})
		})
	}
}

func TestDeadlinesEnd(t *testing.T) {
	o := numberSeen(parseObservation("own|message:t/1|said||I will call the plumber"))[0]
	s := Aggregate(NewState(), newInput(1, []SeenObservation{o}), midday, Rules{}).State
	if len(s.Internal.Deadlines) != 1 {
		t.Fatalf("%+v", s.Internal.Deadlines)
	}
	settled := s.Apply(ponder.Event{Time: midday.Add(time.Hour), Body: ponder.Resolution{Content: "I will call the plumber"}})
	if s = Aggregate(settled, newInput(2, nil), midday.Add(2*time.Hour), Rules{}).State; len(s.Internal.Deadlines) != 0 {
		t.Errorf("%+v", s.Internal.Deadlines)
	}
	var list []SeenObservation
	for i := range 3 * maxDeadlines {
		o := parseObservation(fmt.Sprintf("mail|%d|new||Pay bill %d", i, i)).withDue(time.Duration(100+i) * time.Hour)
		list = append(list, o.asUntrusted())
	}
	own := parseObservation("own|message:t/9|said||Pay the rent").withDue(400 * time.Hour)
	s = Aggregate(NewState(), newInput(1, numberSeen(append(list, own)...)), midday, Rules{}).State
	if n := len(s.Internal.Deadlines); n != maxDeadlines || !slices.ContainsFunc(s.Internal.Deadlines, func(d Deadline) bool { return d.Sensor == "own" }) {
		t.Errorf("%d deadlines", n)
	}
	moved := numberSeen(parseObservation("files|a|new||Pay by Monday").withDue(100*time.Hour), parseObservation("files|a|changed||Pay by Friday").withDue(200*time.Hour), parseObservation("files|b|new||Due").withDue(90*time.Hour), parseObservation("files|b|gone||It is gone"))
	s = Aggregate(NewState(), newInput(1, moved), midday, Rules{}).State
	if list := s.Internal.Deadlines; len(list) != 1 || list[0].Text != "Pay by Friday" {
		t.Errorf("%+v", list)
	}
}
