package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/store/memory"
)

// politeState is the state of a mode that makes calls until a command stops it, and acknowledges each command.
type politeState struct {
	Run      ponder.RunID
	Calls    int
	Commands []string // ids
	Over     bool
}

func politeMode() ponder.Mode {
	return ponder.Mode{
		Name: "polite", Version: 1,
		Start: func(r ponder.Run) ponder.State { return politeState{Run: r.ID} },
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			var s politeState
			err := json.Unmarshal(js, &s)
			return s, err
		},
	}
}

func (s politeState) Apply(ev ponder.Event) ponder.State {
	switch b := ev.Body.(type) {
	case ponder.Steer:
		s.Commands = append(slices.Clip(s.Commands), ev.ID)
		s.Over = s.Over || b.Content == "stop"
	case ponder.CallFinished:
		s.Calls++
	}
	return s
}

func (s politeState) Next(ponder.Moment) (do []ponder.Action) {
	for i, id := range s.Commands {
		do = append(do, ponder.Write{Key: fmt.Sprintf("heard-%d", i+1), Bodies: []ponder.Body{ponder.Progress{Stage: ponder.StageSteered, Ref: id}}})
	}
	if s.Over || s.Calls == 50 {
		return append(do, ponder.Finish{Answer: "enough"})
	}
	return append(do, ponder.Call{Key: fmt.Sprintf("call-%d", s.Calls+1), Role: ponder.Slow, Request: newRequest(fmt.Sprint("call ", s.Calls))})
}

func politeConfig() engine.Config {
	return engine.Config{Modes: []ponder.Mode{politeMode()}, Models: enginetest.Models(new(fake), price)}
}

func newSteer(text string) ponder.Event {
	return ponder.Event{Run: enginetest.Run, Body: ponder.Steer{Content: text}}
}

func TestSendCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		eng := enginetest.Start(t, politeConfig())
		if _, err := ponder.SendCommands(ctx, eng.Store, "thr_none", newSteer("?")); !errors.Is(err, ponder.ErrNoThread) {
			t.Errorf("on no thread: %v", err)
		}
		if _, err := ponder.SendCommands(ctx, eng.Store, enginetest.Thread, newSteer("?")); !errors.Is(err, ponder.ErrNoRun) {
			t.Errorf("to no run: %v", err)
		}
		if _, err := ponder.SendCommands(ctx, eng.Store, enginetest.Thread, ponder.Event{Body: ponder.Steer{}}); !errors.Is(err, ponder.ErrEnded) {
			t.Errorf("to all runs of none: %v", err)
		}
		eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "polite"})
		if _, err := ponder.SendCommands(ctx, eng.Store, enginetest.Thread, ponder.Event{Run: enginetest.Run, Body: ponder.Thought{}}); !errors.Is(err, ponder.ErrNotInput) {
			t.Errorf("for an event that is no input: %v", err)
		}

		sent, err := ponder.SendCommands(ctx, eng.Store, enginetest.Thread, newSteer("one"), ponder.Event{Body: ponder.Steer{Content: "two"}})
		if err != nil || len(sent) != 2 || sent[0].Seq+1 != sent[1].Seq || sent[0].Cause == sent[1].Cause || sent[0].Cause == "" || sent[0].ID == "" {
			t.Fatalf("sent %+v, %v", sent, err)
		}
		for _, ev := range sent {
			ack, err := ponder.AwaitAck(ctx, eng.Store, ev)
			if b, ok := ack.Body.(ponder.Progress); err != nil || !ok || b.Ref != ev.ID || ack.Seq <= sent[1].Seq {
				t.Errorf("acknowledged by %+v, %v", ack, err)
			}
		}

		mine := newSteer("stop")
		mine.Cause = "mine"
		first, err := ponder.SendCommands(ctx, eng.Store, enginetest.Thread, mine)
		if err != nil {
			t.Fatal(err)
		}
		eng.Await(enginetest.Run)
		again, err := ponder.SendCommands(ctx, eng.Store, enginetest.Thread, mine)
		if err != nil || len(again) != 1 || again[0].Seq != first[0].Seq {
			t.Errorf("sent again: %+v, %v", again, err)
		}
		for _, w := range []ponder.Event{newSteer("late"), {Body: ponder.RunPaused{}}, {Run: enginetest.Run + "/kid", Body: ponder.RunPaused{}}} {
			if _, err := ponder.SendCommands(ctx, eng.Store, enginetest.Thread, w); !errors.Is(err, ponder.ErrEnded) && !errors.Is(err, ponder.ErrNoRun) {
				t.Errorf("late: %v", err)
			}
		}
	})
}

// The run acknowledges commands that race with its end, or SendCommands refuses them.
func TestCommandsRaceWithEnd(t *testing.T) {
	for round := range 20 {
		synctest.Test(t, func(t *testing.T) {
			eng := enginetest.Start(t, politeConfig())
			eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "polite"})
			time.Sleep(time.Duration(round) * time.Second)
			var wg sync.WaitGroup
			var mu sync.Mutex
			refused := 0
			for i := range 8 {
				wg.Go(func() {
					text := "?"
					if i == 4 {
						text = "stop"
					}
					sent, err := ponder.SendCommands(t.Context(), eng.Store, enginetest.Thread, newSteer(text))
					if err == nil {
						_, err = ponder.AwaitAck(t.Context(), eng.Store, sent[0])
						if err != nil {
							t.Errorf("an accepted command was not acknowledged: %v", err)
						}
						return
					}
					if !errors.Is(err, ponder.ErrEnded) {
						t.Errorf("refused: %v", err)
					}
					mu.Lock()
					defer mu.Unlock()
					refused++
				})
			}
			wg.Wait()
			eng.Await(enginetest.Run)
			sent, acks := 0, 0
			for _, ev := range eng.Events() {
				switch ev.Body.(type) {
				case ponder.Steer:
					sent++
				case ponder.Progress:
					acks++
				}
			}
			if sent != acks || sent+refused != 8 {
				t.Errorf("%d commands, %d acknowledged, %d refused", sent, acks, refused)
			}
		})
	}
}

// The next process applies a command once after a crash at any cut of the log.
func TestCommandsSurviveCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eng := enginetest.Start(t, politeConfig())
		eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "polite"})
		for _, text := range []string{"one", "two", "stop"} {
			time.Sleep(7 * time.Second)
			if _, err := ponder.SendCommands(t.Context(), eng.Store, enginetest.Thread, newSteer(text)); err != nil {
				t.Fatal(err)
			}
		}
		eng.Await(enginetest.Run)
		eng.Stop()
		whole := eng.Events()
		want := enginetest.Lines(whole)
		for n := 1; n <= len(whole); n++ {
			store := memory.New()
			if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, eng.Copy(whole[:n])...); err != nil {
				t.Fatal(err)
			}
			c := politeConfig()
			c.Store = store
			cut := enginetest.Start(t, c)
			wanted := 0
			for _, ev := range whole {
				b, ok := ev.Body.(ponder.Steer)
				if !ok {
					continue
				}
				wanted++
				if ev.Seq > ponder.Seq(n) {
					ev.Cause, ev.ID, ev.Seq, ev.After = "", "", 0, 0
				}
				if _, err := ponder.SendCommands(t.Context(), store, enginetest.Thread, ponder.Event{ID: ev.ID, Run: ev.Run, Cause: ev.Cause, Body: b}); err != nil {
					t.Fatalf("cut after %d: %v", n, err)
				}
			}
			cut.Await(enginetest.Run)
			cut.Stop()
			acks := make(map[string]int)
			for _, ev := range cut.Events() {
				if b, ok := ev.Body.(ponder.Progress); ok {
					acks[b.Ref]++
				}
			}
			for id, n := range acks {
				if n != 1 {
					t.Errorf("cut after %d: %s was acknowledged %d times", n, id, n)
				}
			}
			if len(acks) != wanted {
				t.Errorf("cut after %d: %d commands were acknowledged, want %d", n, len(acks), wanted)
			}
		}
		if len(want) == 0 {
			t.Error("there was nothing to cut")
		}
	})
}

func TestAwaitAckOfEndedRun(t *testing.T) {
	for _, run := range []ponder.RunID{enginetest.Run, ""} {
		t.Run("a command to "+string(run), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newConfig(new(fake)) // whose modes acknowledge nothing
				eng := enginetest.Start(t, c)
				eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
				sent, err := ponder.SendCommands(t.Context(), eng.Store, enginetest.Thread, ponder.Event{Run: run, Body: ponder.Steer{Content: "what?"}})
				if err != nil {
					t.Fatal(err)
				}
				eng.Put("run_other", "", ponder.RunStarted{Mode: "polite", Input: "?"}) // gets no command
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if _, err := ponder.AwaitAck(ctx, eng.Store, sent[0]); !errors.Is(err, ponder.ErrEnded) {
					t.Errorf("acknowledged: %v", err)
				}
			})
		})
	}
}

// AwaitAck of a command to all runs waits for each run that was open at its time.
func TestAwaitAckOfLastRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := politeConfig()
		c.Modes = append(c.Modes, stepsMode(0))
		eng := enginetest.Start(t, c)
		eng.Put("run_deaf", "", ponder.RunStarted{Mode: "steps", Input: "?"})
		eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "polite"})
		eng.Put(enginetest.Run, "", ponder.RunPaused{})
		sent, err := ponder.SendCommands(t.Context(), eng.Store, enginetest.Thread, ponder.Event{Body: ponder.Steer{Content: "what?"}})
		if err != nil {
			t.Fatal(err)
		}
		eng.Await("run_deaf")
		if ack, err := ponder.AwaitAck(t.Context(), eng.Store, sent[0]); err != nil || ack.Run != enginetest.Run {
			t.Errorf("acknowledged by %s, %v", ack.Run, err)
		}
	})
}
