package ponder_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/pondertest"
)

// odd is a mode whose Next is any function of how many events it saw.
type odd struct {
	seen int
	next func(seen int) []ponder.Action
}

func (o odd) Apply(ponder.Event) ponder.State    { o.seen++; return o }
func (o odd) Next(ponder.Moment) []ponder.Action { return o.next(o.seen) }
func oddMode(next func(int) []ponder.Action) ponder.Mode {
	return ponder.Mode{Name: "odd", Start: func(ponder.Run) ponder.State { return odd{next: next} }}
}

// A mode that is wrong ends as a failed run with one line that says what is
// wrong, never in a panic, a stuck run or an endless log.
func TestModesThatAreWrong(t *testing.T) {
	note := func(key string) ponder.Action {
		return ponder.Write{Key: key, Bodies: []ponder.Body{ponder.Progress{Content: "on"}}}
	}
	tests := []struct {
		name string
		next func(seen int) []ponder.Action
		want string
	}{
		{"panics", func(int) []ponder.Action { panic("oh\nno") }, "mode odd panicked: oh"},
		{"writes for ever", func(n int) []ponder.Action { return []ponder.Action{note(fmt.Sprintf("n-%d", n))} }, "never comes to rest"},
		{"has no answer", func(int) []ponder.Action { return []ponder.Action{ponder.Finish{}} }, "without an answer"},
		{"asks with a bad key", func(int) []ponder.Action { return []ponder.Action{note("a/b")} }, "bad key"},
		{"asks with no key", func(int) []ponder.Action { return []ponder.Action{note("")} }, "bad key"},
		{"asks with a long key", func(int) []ponder.Action { return []ponder.Action{note(strings.Repeat("k", 65))} }, "bad key"},
		{"uses a key for two kinds", func(n int) []ponder.Action {
			if n == 0 {
				return []ponder.Action{note("x")}
			}
			return []ponder.Action{ponder.Do{Key: "x", Tool: "look"}}
		}, "two kinds"},
		{"nests without end", func(int) []ponder.Action {
			return []ponder.Action{ponder.Spawn{Key: "deeper", Mode: "odd"}}
		}, ""},
		{"spawns what there is not", func(n int) []ponder.Action {
			if n > 0 {
				return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: "child ended"}}
			}
			return []ponder.Action{ponder.Spawn{Key: "kid", Mode: "none"}}
		}, "child ended"},
		{"uses a tool there is not", func(n int) []ponder.Action {
			if n > 0 {
				return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: "tool ended"}}
			}
			return []ponder.Action{ponder.Do{Key: "t", Tool: "none", Args: json.RawMessage(`{}`)}}
		}, "tool ended"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(new(fake))
				c.Modes = append(c.Modes, oddMode(tt.next))
				mind := pondertest.Start(t, c)
				mind.Put(pondertest.Run, "", ponder.RunStarted{Mode: "odd", Input: "?"})
				if tt.want == "" { // the run itself waits for its child
					time.Sleep(time.Minute)
					mind.Put(pondertest.Run, "stop", ponder.Steer{Do: ponder.Cancel})
				}
				fin := mind.Await(pondertest.Run)
				if !strings.Contains(fin.Reason, tt.want) || strings.Contains(fin.Reason, "goroutine") {
					t.Errorf("finished %s: %q, want %q", fin.Status, fin.Reason, tt.want)
				}
				if n := len(mind.Events()); n > 1000 {
					t.Errorf("%d events", n)
				}
			})
		})
	}
}

// What a mode asks for beyond the limit waits until there is room.
func TestConcurrencyIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 200
		m := new(fake)
		c := config(m)
		c.Modes = append(c.Modes, oddMode(func(seen int) (do []ponder.Action) {
			if seen >= all {
				return []ponder.Action{ponder.Finish{Answer: "all"}}
			}
			for i := range all {
				do = append(do, ponder.Call{Key: fmt.Sprintf("c-%d", i), Role: ponder.Fast, Request: ask(fmt.Sprint(i))})
			}
			return do
		}))
		mind := pondertest.Start(t, c)
		if fin := start(t, mind, "odd", ponder.Budget{}); fin.Answer != "all" || m.begun.Load() != all {
			t.Errorf("finished %+v after %d calls", fin, m.begun.Load())
		}
		open, most := 0, 0
		for _, ev := range mind.Events() {
			switch ev.Body.(type) {
			case ponder.CallStarted:
				open++
			case ponder.CallFinished:
				open--
			}
			most = max(most, open)
		}
		if most > 64+1 { // a result and what takes its place are one transaction
			t.Errorf("%d calls at once", most)
		}
	})
}

// A second run on a thread begins with its time unspent.
func TestSecondRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := pondertest.Start(t, config(new(fake)))
		start(t, mind, "steps", ponder.Budget{})
		mind.Put("run_2", "", ponder.RunStarted{Mode: "steps", Input: "?", Budget: ponder.Budget{Time: 10 * time.Minute}})
		if fin := mind.Await("run_2"); fin.Reason != "" {
			t.Errorf("finished: %+v, want it to have all its time", fin)
		}
	})
}
