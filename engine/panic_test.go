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

// A panic in Wakes wakes no run, and other runs continue.
func TestWakesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := newConfig(new(fake))
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Modes = append(c.Modes, ponder.Mode{
			Name: "bad", Start: func(ponder.Run) ponder.State { return oddState{} }, Wakes: func(ponder.Event) bool { panic("oh no") },
		})
		eng := enginetest.Start(t, c)
		if fin := runMode(t, eng, "steps", ponder.Budget{}); fin.Status != ponder.Completed {
			t.Errorf("finished %s: %q", fin.Status, fin.Reason)
		}
		eng.Stop()
		if !strings.Contains(log.String(), "mode=bad") || !strings.Contains(log.String(), "oh no") {
			t.Errorf("the log does not say what happened:\n%s", log.String())
		}
	})
}

// panicState is a state that panics when it is encoded.
type panicState struct{ steps }

func (s panicState) Apply(ev ponder.Event) ponder.State {
	return panicState{s.steps.Apply(ev).(steps)}
}

func (panicState) MarshalJSON() ([]byte, error) { panic("oh no") }

// A run continues without a checkpoint if its mode panics while it loads or encodes a
// state, or loads no state.
func TestCheckpointPanics(t *testing.T) {
	tests := map[string]func(*ponder.Mode){
		"load": func(m *ponder.Mode) {
			m.Load = func(ponder.Run, []byte) (ponder.State, error) { panic("oh no") }
		},
		"load nothing": func(m *ponder.Mode) {
			m.Load = func(ponder.Run, []byte) (ponder.State, error) { return nil, nil }
		},
		"keep": func(m *ponder.Mode) {
			m.Start = func(ponder.Run) ponder.State { return panicState{steps{N: 300}} }
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newConfig(new(fake))
				c.Store = memory.New()
				long := stepsMode(300)
				change(&long)
				c.Modes = []ponder.Mode{long}
				for range 2 {
					eng := enginetest.Start(t, c)
					eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
					for ev := range ponder.Follow(ctx, c.Store, enginetest.Thread, 0) {
						if ev.Seq > 600 {
							break
						}
					}
					cancel()
					eng.Stop()
				}
				fin := enginetest.Start(t, c).Await(enginetest.Run)
				if count := strings.Count(fin.Answer, "step"); fin.Status != ponder.Completed || count != 300 {
					t.Errorf("finished %s (%s) after %d steps", fin.Status, fin.Reason, count)
				}
			})
		})
	}
}
