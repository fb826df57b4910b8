package compat_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

func newRequest(r *protocoltest.Rig, model string, said ...string) compat.Request {
	m, ok := r.Desk.Model(model)
	if !ok {
		panic(model)
	}
	a := compat.Request{Owner: protocoltest.Owner, Model: m}
	for i, text := range said {
		role := llm.User
		if i%2 == 1 {
			role = llm.Assistant
		}
		a.Messages = append(a.Messages, llm.Say(role, text))
	}
	return a
}

func slowAnswer(*llm.Request, int) protocoltest.Answer {
	return protocoltest.Answer{Text: "The sea is deep, and the lake is not.", Wait: time.Second, Pause: time.Second}
}

// Text streams during a model call.
func TestLive(t *testing.T) {
	for _, apart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
				return protocoltest.Answer{Reasoning: "I think of it for a while.", Text: "The sea is deep, and the lake is not.", Pause: time.Second}
			}}})
			a := newRequest(r, "ponder/chat", "How deep?")
			a.Standalone = apart
			f := r.Desk.OpenStream(t.Context(), r.Start(a), false)
			defer f.Close()
			told := make(map[compat.Kind]time.Duration)
			for begun := time.Now(); told[compat.Ended] == 0; {
				list, err := f.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range list {
					if told[p.Kind] == 0 {
						told[p.Kind] = max(1, time.Since(begun))
					}
				}
			}
			if told[compat.Reasoning] > time.Second || told[compat.Text] > 4*time.Second || told[compat.Ended] < 5*time.Second {
				t.Errorf("apart %t: told at %v", apart, told)
			}
		})
	}
}

// A retried model call neither loses nor repeats text for clients that apply Again.
func TestRetry(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			rng := randomModel{rand.New(&lockedSource{of: rand.NewPCG(seed, 3)})}
			failed, rounds, last := 0, 1+rng.IntN(3), protocoltest.Answer{}
			model := &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
				if last.Err == nil || rng.IntN(2) == 0 {
					last = rng.randomAnswer(req, &rounds)
				}
				last.Err, last.After = nil, 0
				if failed < 2 && rng.IntN(2) == 0 {
					failed++
					last.Err, last.After = &llm.Error{Class: llm.Truncated, Model: "test/model", Message: "it broke off"}, 1+rng.IntN(9)
				}
				return last
			}}
			r := protocoltest.New(t, protocoltest.Options{Model: model, Tools: protocoltest.Lookups(time.Second)})
			a := newRequest(r, "ponder/chat", "How deep?")
			a.Standalone = rng.IntN(2) == 0
			w := r.Start(a)
			var wg sync.WaitGroup
			for i := range 3 {
				late := time.Duration(i) * rng.randomTime(3*time.Second)
				wg.Go(func() {
					time.Sleep(late)
					list, err := collectParts(r.Desk, w, false, func() time.Duration { return 0 })
					if err != nil {
						t.Error(err)
						return
					}
					checkWhole(t, list)
				})
			}
			wg.Wait()
			after := r.CollectParts(w, false)
			checkWhole(t, after)
			for _, p := range after {
				if p.Again {
					t.Errorf("the log says again %q", p.Text)
				}
			}
			if end := after[len(after)-1].End; end.Status != ponder.Completed || t.Failed() {
				t.Fatalf("seed %d: %+v", seed, end)
			}
		})
	}
}

// A slow client that loses deltas gets the complete text from the log, once.
func TestLost(t *testing.T) {
	for _, apart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			text := strings.Repeat("The sea is deep. ", 100) + "So it is."
			r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
				return protocoltest.Answer{Reasoning: strings.Repeat("Hm, well. ", 50), Text: text, Piece: 1, Pause: time.Millisecond}
			}}})
			a := newRequest(r, "ponder/chat", "How deep?")
			a.Standalone = apart
			w := r.Start(a)
			slow, err := collectParts(r.Desk, w, false, func() time.Duration { return 700 * time.Millisecond })
			if err != nil {
				t.Fatal(err)
			}
			checkWhole(t, slow)
			checkSame(t, "slow", slow, r.CollectParts(w, false))
		})
	}
}

// A failed model call retracts its streamed text.
func TestFailed(t *testing.T) {
	for _, apart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
				return protocoltest.Answer{
					Text: "The sea is deep, and", Pause: 100 * time.Millisecond, Err: &llm.Error{Class: llm.Auth, Model: "test/model", Message: "no key"}, After: 2,
				}
			}}})
			a := newRequest(r, "ponder/chat", "How deep?")
			a.Standalone = apart
			w := r.Start(a)
			live := r.CollectParts(w, false)
			checkWhole(t, live)
			end := live[len(live)-1].End
			if end.Status != ponder.Failed || end.Reason == "" || end.Text != "" {
				t.Errorf("apart %t: %+v", apart, end)
			}
			_, late, err := r.Desk.Result(context.Background(), w)
			if err != nil || late.Status != end.Status || late.Reason != end.Reason {
				t.Errorf("apart %t: the log says %+v, %v; told %+v", apart, late, err, end)
			}
		})
	}
}
