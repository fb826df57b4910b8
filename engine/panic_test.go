package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/store/memory"
)

// A mode that panics over what wakes it is not woken; others go on.
func TestWakesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := config(new(fake))
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Modes = append(c.Modes, ponder.Mode{
			Name: "bad", Start: func(ponder.Run) ponder.State { return odd{} }, Wakes: func(ponder.Event) bool { panic("oh no") },
		})
		mind := enginetest.Start(t, c)
		if fin := start(t, mind, "steps", ponder.Budget{}); fin.Status != ponder.Completed {
			t.Errorf("finished %s: %q", fin.Status, fin.Reason)
		}
		mind.Stop()
		if !strings.Contains(log.String(), "mode=bad") || !strings.Contains(log.String(), "oh no") {
			t.Errorf("the log does not say what happened:\n%s", log.String())
		}
	})
}

// wild is a state that panics when it is to be kept.
type wild struct{ steps }

func (s wild) Apply(ev ponder.Event) ponder.State { return wild{s.steps.Apply(ev).(steps)} }

func (wild) MarshalJSON() ([]byte, error) { panic("oh no") }

// A mode that panics over a checkpoint goes on without one: when the state is loaded, or
// is nothing, and when it is kept.
func TestCheckpointPanics(t *testing.T) {
	tests := map[string]func(*ponder.Mode){
		"load": func(m *ponder.Mode) {
			m.Load = func(ponder.Run, []byte) (ponder.State, error) { panic("oh no") }
		},
		"load nothing": func(m *ponder.Mode) {
			m.Load = func(ponder.Run, []byte) (ponder.State, error) { return nil, nil }
		},
		"keep": func(m *ponder.Mode) {
			m.Start = func(ponder.Run) ponder.State { return wild{steps{N: 300}} }
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(new(fake))
				c.Store = memory.New()
				long := stepsMode(300)
				change(&long)
				c.Modes = []ponder.Mode{long}
				for range 2 {
					mind := enginetest.Start(t, c)
					mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
					for ev := range ponder.Follow(ctx, c.Store, enginetest.Thread, 0) {
						if ev.Seq > 600 {
							break
						}
					}
					cancel()
					mind.Stop()
				}
				fin := enginetest.Start(t, c).Await(enginetest.Run)
				if said := strings.Count(fin.Answer, "step"); fin.Status != ponder.Completed || said != 300 {
					t.Errorf("finished %s (%s) after %d steps", fin.Status, fin.Reason, said)
				}
			})
		})
	}
}
