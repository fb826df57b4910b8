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

// polite is a mode that makes calls until it is wished for an end, and
// acknowledges each wish.
type polite struct {
	Run   ponder.RunID
	Calls int
	Heard []string // ids of wishes
	Over  bool
}

func politeMode() ponder.Mode {
	return ponder.Mode{
		Name: "polite", Version: 1,
		Start: func(r ponder.Run) ponder.State { return polite{Run: r.ID} },
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			var s polite
			err := json.Unmarshal(js, &s)
			return s, err
		},
	}
}

func (s polite) Apply(ev ponder.Event) ponder.State {
	switch b := ev.Body.(type) {
	case ponder.Steer:
		s.Heard = append(slices.Clip(s.Heard), ev.ID)
		s.Over = s.Over || b.Content == "stop"
	case ponder.CallFinished:
		s.Calls++
	}
	return s
}

func (s polite) Next(ponder.Moment) (do []ponder.Action) {
	for i, id := range s.Heard {
		do = append(do, ponder.Write{Key: fmt.Sprintf("heard-%d", i+1), Bodies: []ponder.Body{ponder.Progress{Stage: ponder.StageSteered, Ref: id}}})
	}
	if s.Over || s.Calls == 50 {
		return append(do, ponder.Finish{Answer: "enough"})
	}
	return append(do, ponder.Call{Key: fmt.Sprintf("call-%d", s.Calls+1), Role: ponder.Slow, Request: ask(fmt.Sprint("call ", s.Calls))})
}

func politeConfig() engine.Config {
	return engine.Config{Modes: []ponder.Mode{politeMode()}, Models: enginetest.Models(new(fake), price)}
}

func steer(text string) ponder.Event {
	return ponder.Event{Run: enginetest.Run, Body: ponder.Steer{Content: text}}
}

func TestWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		mind := enginetest.Start(t, politeConfig())
		if _, err := ponder.SendCommands(ctx, mind.Store, "thr_none", steer("?")); !errors.Is(err, ponder.ErrNoThread) {
			t.Errorf("on no thread: %v", err)
		}
		if _, err := ponder.SendCommands(ctx, mind.Store, enginetest.Thread, steer("?")); !errors.Is(err, ponder.ErrNoRun) {
			t.Errorf("to no run: %v", err)
		}
		if _, err := ponder.SendCommands(ctx, mind.Store, enginetest.Thread, ponder.Event{Body: ponder.Steer{}}); !errors.Is(err, ponder.ErrEnded) {
			t.Errorf("to all runs of none: %v", err)
		}
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "polite"})
		if _, err := ponder.SendCommands(ctx, mind.Store, enginetest.Thread, ponder.Event{Run: enginetest.Run, Body: ponder.Thought{}}); !errors.Is(err, ponder.ErrNotInput) {
			t.Errorf("of what is no wish: %v", err)
		}

		sent, err := ponder.SendCommands(ctx, mind.Store, enginetest.Thread, steer("one"), ponder.Event{Body: ponder.Steer{Content: "two"}})
		if err != nil || len(sent) != 2 || sent[0].Seq+1 != sent[1].Seq || sent[0].Cause == sent[1].Cause || sent[0].Cause == "" || sent[0].ID == "" {
			t.Fatalf("sent %+v, %v", sent, err)
		}
		for _, ev := range sent {
			ack, err := ponder.AwaitAck(ctx, mind.Store, ev)
			if b, ok := ack.Body.(ponder.Progress); err != nil || !ok || b.Ref != ev.ID || ack.Seq <= sent[1].Seq {
				t.Errorf("heard %+v, %v", ack, err)
			}
		}

		mine := steer("stop")
		mine.Cause = "mine"
		first, err := ponder.SendCommands(ctx, mind.Store, enginetest.Thread, mine)
		if err != nil {
			t.Fatal(err)
		}
		mind.Await(enginetest.Run)
		again, err := ponder.SendCommands(ctx, mind.Store, enginetest.Thread, mine)
		if err != nil || len(again) != 1 || again[0].Seq != first[0].Seq {
			t.Errorf("sent again: %+v, %v", again, err)
		}
		for _, w := range []ponder.Event{steer("late"), {Body: ponder.RunPaused{}}, {Run: enginetest.Run + "/kid", Body: ponder.RunPaused{}}} {
			if _, err := ponder.SendCommands(ctx, mind.Store, enginetest.Thread, w); !errors.Is(err, ponder.ErrEnded) && !errors.Is(err, ponder.ErrNoRun) {
				t.Errorf("late: %v", err)
			}
		}
	})
}

// However wishes race with the end of a run, each is acknowledged or refused.
func TestWishesRaceWithTheEnd(t *testing.T) {
	for round := range 20 {
		synctest.Test(t, func(t *testing.T) {
			mind := enginetest.Start(t, politeConfig())
			mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "polite"})
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
					sent, err := ponder.SendCommands(t.Context(), mind.Store, enginetest.Thread, steer(text))
					if err == nil {
						_, err = ponder.AwaitAck(t.Context(), mind.Store, sent[0])
						if err != nil {
							t.Errorf("a wish that was accepted was not heard: %v", err)
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
			mind.Await(enginetest.Run)
			wishes, acks := 0, 0
			for _, ev := range mind.Events() {
				switch ev.Body.(type) {
				case ponder.Steer:
					wishes++
				case ponder.Progress:
					acks++
				}
			}
			if wishes != acks || wishes+refused != 8 {
				t.Errorf("%d wishes, %d acknowledged, %d refused", wishes, acks, refused)
			}
		})
	}
}

// A wish that was told to a thread whose process is killed is obeyed once by the
// next, wherever the log was cut.
func TestWishesOverACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := enginetest.Start(t, politeConfig())
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "polite"})
		for _, text := range []string{"one", "two", "stop"} {
			time.Sleep(7 * time.Second)
			if _, err := ponder.SendCommands(t.Context(), mind.Store, enginetest.Thread, steer(text)); err != nil {
				t.Fatal(err)
			}
		}
		mind.Await(enginetest.Run)
		mind.Stop()
		whole := mind.Events()
		want := enginetest.Lines(whole)
		for n := 1; n <= len(whole); n++ {
			store := memory.New()
			if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, mind.Copy(whole[:n])...); err != nil {
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
			heard := make(map[string]int)
			for _, ev := range cut.Events() {
				if b, ok := ev.Body.(ponder.Progress); ok {
					heard[b.Ref]++
				}
			}
			for id, n := range heard {
				if n != 1 {
					t.Errorf("cut after %d: %s was acknowledged %d times", n, id, n)
				}
			}
			if len(heard) != wanted {
				t.Errorf("cut after %d: %d wishes were acknowledged, want %d", n, len(heard), wanted)
			}
		}
		if len(want) == 0 {
			t.Error("there was nothing to cut")
		}
	})
}

func TestHeardEnds(t *testing.T) {
	for _, run := range []ponder.RunID{enginetest.Run, ""} {
		t.Run("a wish for "+string(run), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(new(fake)) // whose modes acknowledge nothing
				mind := enginetest.Start(t, c)
				mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
				sent, err := ponder.SendCommands(t.Context(), mind.Store, enginetest.Thread, ponder.Event{Run: run, Body: ponder.Steer{Content: "what?"}})
				if err != nil {
					t.Fatal(err)
				}
				mind.Put("run_other", "", ponder.RunStarted{Mode: "polite", Input: "?"}) // is not wished anything
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if _, err := ponder.AwaitAck(ctx, mind.Store, sent[0]); !errors.Is(err, ponder.ErrEnded) {
					t.Errorf("heard: %v", err)
				}
			})
		})
	}
}

// A wish for all runs is waited for until the last of them has ended.
func TestHeardByTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := politeConfig()
		c.Modes = append(c.Modes, stepsMode(0))
		mind := enginetest.Start(t, c)
		mind.Put("run_deaf", "", ponder.RunStarted{Mode: "steps", Input: "?"})
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "polite"})
		mind.Put(enginetest.Run, "", ponder.RunPaused{})
		sent, err := ponder.SendCommands(t.Context(), mind.Store, enginetest.Thread, ponder.Event{Body: ponder.Steer{Content: "what?"}})
		if err != nil {
			t.Fatal(err)
		}
		mind.Await("run_deaf")
		if ack, err := ponder.AwaitAck(t.Context(), mind.Store, sent[0]); err != nil || ack.Run != enginetest.Run {
			t.Errorf("heard by %s, %v", ack.Run, err)
		}
	})
}
