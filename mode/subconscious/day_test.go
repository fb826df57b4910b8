package subconscious

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

const ticksOfDay = 288

// runDay simulates a day: it applies the script before each tick, runs due ticks and decides
// escalations, as the runner does.
func (b *testBench) runDay(script map[int][]ponder.Observation) (ticks int) {
	b.t.Helper()
	v, read := NewView(b.o.Roles...), ponder.Seq(0)
	look := func() {
		for ev, err := range b.Store.Events(b.t.Context(), "thr_test", read) {
			if err != nil {
				b.t.Fatal(err)
			}
			v, read = v.Apply(ev), ev.Seq
		}
	}
	for n := range ticksOfDay {
		for i, o := range script[n] {
			b.Put("", fmt.Sprintf("seen-%d-%d", n, i), o)
		}
		if look(); len(script[n]) > 0 || n%24 == 0 {
			if again := b.foldView(); !cmp.Equal(again.Mind, v.Mind) || !cmp.Equal(again.Waiting, v.Waiting) {
				b.t.Errorf("before tick %d another reading of the thread gives another view:\n%s", n, cmp.Diff(again.Mind, v.Mind))
			}
		}
		if due, _ := v.Due(b.o, time.Now()); due {
			ticks++
			b.runTick(TickInput{}, ponder.Budget{})
			if look(); len(v.Undecided) > 0 {
				b.runDecisions()
			}
		}
		time.Sleep(5 * time.Minute)
	}
	look()
	return ticks
}

var frames = regexp.MustCompile(`<observation id=(o\d+)[^>]*>([^<]*)</observation>`)

func newEagerModel(name string) *fakeModel {
	return &fakeModel{name: name, takes: 4 * time.Second, answer: func(req *llm.Request) (llm.Message, error) {
		list := []any{}
		for _, m := range frames.FindAllStringSubmatch(req.Messages[0].Text(), -1) {
			list = append(list, map[string]any{"type": "observation", "summary": m[2], "importance": 8, "rests_on": []string{m[1]}})
		}
		js, err := json.Marshal(map[string]any{
			"findings": list, "escalate": len(list) > 0, "reason": "it is new", "journal": "I looked at " + name,
			"hints": []any{map[string]string{"role": "librarian", "look_for": "more of this"}, map[string]string{"role": "watcher", "look_for": "the same"}},
		})
		return llm.Say(llm.Assistant, string(js)), err
	}}
}

// eventfulDay returns distinct changes two hours apart, with repeats between them.
func eventfulDay() map[int][]ponder.Observation {
	things := []string{
		"The disk / is 96 % full.", "The backup of Sunday failed with an error.", "Anna asks whether the contract is signed.",
		"The train to Basel at noon is cancelled.", "The repository kitchen has a merge conflict.", "The certificate of the web server expires tomorrow.",
		"The memory of the machine is nearly used up.", "The dentist has moved the appointment to Friday.", "The unit postgres has failed.",
		"A parcel waits at the post office.", "The invoice of the printer is overdue.", "The school trip needs a signature by Monday.",
	}
	sensors := []string{"system", "command", "mail", "calendar", "git", "system", "system", "calendar", "system", "mail", "mail", "mail"}
	script := make(map[int][]ponder.Observation)
	for i, text := range things {
		o := ponder.Observation{Sensor: sensors[i], Subject: fmt.Sprintf("thing %d", i), State: "changed", Level: 8, Content: text}
		n := 6 + 23*i
		script[n] = append(script[n], o)
		again := o
		again.Content = "Still so: " + text
		script[n+2] = append(script[n+2], again)
	}
	return script
}

func TestStaticDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := map[ponder.Role]*fakeModel{}
		for _, r := range DefaultRoles() {
			models[ModelOf(r.Name)] = newEagerModel("test/" + r.Name)
		}
		b := newBench(t, Options{}, nil, models)
		if n := b.runDay(nil); n != 0 || len(b.Events()) != 0 || allCalls(models) != 0 {
			t.Errorf("%d ticks, %d events, %d calls", n, len(b.Events()), allCalls(models))
		}
	})
}

// After a change, roles' hints to each other end.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := map[ponder.Role]*fakeModel{ponder.Frontier: newFakeModel("test/frontier", "Hm.")}
		for _, r := range DefaultRoles() {
			models[ModelOf(r.Name)] = newEagerModel("test/" + r.Name)
		}
		b := newBench(t, Options{}, nil, models)
		ticks := b.runDay(map[int][]ponder.Observation{0: {diskFull}})
		calls := allCalls(models)
		if more := b.runDay(nil); ticks > 5 || more > 3 || allCalls(models)-calls > 6 { // each looks once more after a day
			t.Errorf("%d ticks, then %d and %d calls more", ticks, more, allCalls(models)-calls)
		}
		t.Logf("%d ticks, %d calls", ticks, calls)
	})
}

func TestTwelveChanges(t *testing.T) {
	for name, aided := range map[string]bool{"models": true, "rules": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				models := map[ponder.Role]*fakeModel{}
				if aided {
					models[ponder.Frontier] = &fakeModel{name: "test/frontier", takes: 9 * time.Second, answer: func(req *llm.Request) (llm.Message, error) {
						return callTool(messageTool, map[string]string{"text": "Told: " + frames.FindStringSubmatch(req.Messages[0].Text())[2]}), nil
					}}
					for _, r := range DefaultRoles() {
						models[ModelOf(r.Name)] = newEagerModel("test/" + r.Name)
					}
				}
				b := newBench(t, Options{NoDecider: !aided}, nil, models)
				script := eventfulDay()
				ticks := b.runDay(script)
				v := b.foldView()
				told := map[string]int{}
				for _, ev := range v.Decided {
					if e := ev.Body.(ponder.Escalation); e.Outcome == Messaged {
						told[strings.Join(e.Signatures, ",")]++
					}
				}
				if len(v.Decided) != 12 || len(v.Undecided) != 0 || len(told) != 12 {
					t.Errorf("%d decided, %d undecided, %d distinct: %v", len(v.Decided), len(v.Undecided), len(told), told)
				}
				for i := range 12 {
					o := script[6+23*i][0]
					if !slices.ContainsFunc(v.Decided, func(ev ponder.Event) bool { return strings.Contains(ev.Body.(ponder.Escalation).Content, o.Content) }) {
						t.Errorf("not told: %s", o.Content)
					}
				}
				checkCarried(t, b)
				t.Logf("%d ticks, %d calls, %d events", ticks, allCalls(models), len(b.Events()))
			})
		})
	}
}

func checkCarried(t *testing.T, b *testBench) {
	t.Helper()
	b.runTick(TickInput{All: true, WithoutModel: true}, ponder.Budget{})
	run, k := ponder.RunID(fmt.Sprintf("run_tick.%d", b.n)), newKnowledge()
	for _, ev := range b.Events() {
		if ev.Run == run {
			break
		}
		k = k.applyEvent(ev, DefaultRoles())
	}
	got, ok := b.carried[run]
	if diff := cmp.Diff(k, got); diff != "" || !ok {
		t.Errorf("carried on: %v (-history +carried):\n%s", ok, diff)
	}
}
