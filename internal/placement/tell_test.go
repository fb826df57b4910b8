package placement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/store/memory"
)

const talk ponder.ThreadID = "thr_talk"

func repliesMode() ponder.Mode {
	return ponder.Mode{
		Name: "replies", Start: func(ponder.Run) ponder.State { return reply{} }, History: true,
		Carry: func(_ ponder.Run, last ponder.State) ponder.State { return last },
		Wakes: func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok },
	}
}

type reply struct{ messages, answers int }

func (r reply) Apply(ev ponder.Event) ponder.State {
	switch ev.Body.(type) {
	case ponder.UserMessage:
		r.messages++
	case ponder.CallFinished:
		r.answers++
	}
	return r
}

func (r reply) Next(ponder.Moment) []ponder.Action {
	if r.answers == r.messages {
		return []ponder.Action{ponder.Finish{}}
	}
	return []ponder.Action{ponder.Call{Key: fmt.Sprintf("say-%d", r.answers), Role: ponder.Fast, Request: llm.Request{Messages: []llm.Message{llm.Say(llm.User, "say")}}}}
}

// An appendRecorder counts appends to a store and may reject them.
type appendRecorder struct {
	ponder.Store
	mu      sync.Mutex
	batches [][]ponder.Event
	takes   int
	refuse  func(fence ponder.Fence, events []ponder.Event) error
}

func (a *appendRecorder) Append(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) ([]ponder.Event, error) {
	return a.recordBatch(fence, events, func() ([]ponder.Event, error) { return a.Store.Append(ctx, id, fence, events...) })
}

func (a *appendRecorder) Retake(ctx context.Context, id ponder.ThreadID, node ponder.NodeID, want ponder.Lease, events ...ponder.Event) ([]ponder.Event, error) {
	return a.recordBatch(want.Fence, events, func() ([]ponder.Event, error) { return a.Store.Retake(ctx, id, node, want, events...) })
}

func (a *appendRecorder) Take(ctx context.Context, id ponder.ThreadID, node ponder.NodeID) (ponder.Lease, error) {
	a.mu.Lock()
	a.takes++
	a.mu.Unlock()
	return a.Store.Take(ctx, id, node)
}

// firstBatch returns the first batch and the number of taken leases.
func (a *appendRecorder) firstBatch() (first []ponder.Event, takes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.batches[0], a.takes
}

func (a *appendRecorder) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.batches, a.takes = nil, 0
}

func (a *appendRecorder) recordBatch(fence ponder.Fence, events []ponder.Event, do func() ([]ponder.Event, error)) ([]ponder.Event, error) {
	if a.refuse != nil {
		if err := a.refuse(fence, events); err != nil {
			return nil, err
		}
	}
	stored, err := do()
	if err == nil {
		a.mu.Lock()
		a.batches = append(a.batches, stored)
		a.mu.Unlock()
	}
	return stored, err
}

// A poster is an engine with a placement, to which tests post messages.
type poster struct {
	*engine.Engine
	log   *appendRecorder
	place *Placement
}

func newPoster(t *testing.T, log *appendRecorder, node ponder.NodeID) *poster {
	t.Helper()
	model := ponder.Model{Model: &llmtest.Model{ID: "lab/slow", Latency: llmtest.Delay{Mean: 2 * time.Second}}}
	mind, err := engine.New(engine.Config{
		Store: log, Modes: []ponder.Mode{repliesMode()}, Models: map[ponder.Role][]ponder.Model{ponder.Fast: {model}},
		Node: ponder.Node{ID: node}, Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = mind.Open(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	p := Memory(Config{Store: log, Work: mind.Work, Ended: mind.ReturnUnclaimed, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := errors.Join(p.Close(context.Background()), mind.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return &poster{mind, log, p}
}

func (w *poster) postMessage(ctx context.Context, key, text string) ([]ponder.Event, error) {
	return w.Post(ctx, talk, func(ctx context.Context) error { return w.place.Start(ctx, talk) },
		ponder.Event{Cause: key, Body: ponder.UserMessage{Content: text}})
}

func withPoster(t *testing.T, do func(*testing.T, *poster)) {
	synctest.Test(t, func(t *testing.T) {
		log := &appendRecorder{Store: memory.New()}
		if err := log.Create(t.Context(), ponder.Thread{ID: talk, Kind: ponder.KindConversation}, ponder.Event{Body: ponder.Observation{Content: "It begins."}}); err != nil {
			t.Fatal(err)
		}
		do(t, newPoster(t, log, "nod_1"))
	})
}

func eventTypes(list []ponder.Event) string {
	var all []string
	for _, ev := range list {
		all = append(all, string(ev.Body.Type()))
	}
	return strings.Join(all, " ")
}

// readHistory returns the messages of users and the number of answers.
func (w *poster) readHistory(t *testing.T) (said []string, answers int) {
	t.Helper()
	for ev, err := range w.log.Events(t.Context(), talk, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			said = append(said, b.Content)
		case ponder.CallFinished:
			answers++
		}
	}
	return said, answers
}

// TestPost checks that one append writes the message and the intent to answer, on an idle and on a
// busy thread.
func TestPost(t *testing.T) {
	withPoster(t, func(t *testing.T, w *poster) {
		stored, err := w.postMessage(t.Context(), "one", "Hello.")
		if err != nil || len(stored) != 1 || stored[0].Seq != 2 || stored[0].ID == "" || stored[0].Cause != "one" {
			t.Fatalf("%+v, %v", stored, err)
		}
		synctest.Wait()
		if len(w.log.batches) != 1 || eventTypes(w.log.batches[0]) != "user_message run_started call_started" {
			t.Errorf("%d batches, the first %s", len(w.log.batches), eventTypes(w.log.batches[0]))
		}
		time.Sleep(time.Second) // in the middle of the call
		if stored, err = w.postMessage(t.Context(), "two", "And?"); err != nil || len(stored) != 1 || stored[0].Seq != 5 {
			t.Errorf("%+v, %v", stored, err)
		}
		if _, err := w.postMessage(t.Context(), "two", "And again?"); !errors.Is(err, ponder.ErrTaken) {
			t.Errorf("a key that is taken: %v", err)
		}
		if err := w.place.Wait(t.Context(), talk); err != nil {
			t.Error(err)
		}
		if said, answers := w.readHistory(t); len(said) != 2 || answers != 2 {
			t.Errorf("%q, %d answers", said, answers)
		}
		if list, err := w.Post(t.Context(), talk, func(context.Context) error { return nil }); len(list) > 0 || err != nil {
			t.Errorf("told nothing: %v, %v", list, err)
		}
		if _, err := w.Post(t.Context(), talk, nil, ponder.Event{Body: ponder.RunFinished{}}); !errors.Is(err, ponder.ErrNotInput) {
			t.Errorf("post an event that is no input: got error %v, want ErrNotInput", err)
		}
	})
}

// TestPostAgain checks that the last holder takes the thread again with the append, unless another
// node held it since.
func TestPostAgain(t *testing.T) {
	in := func(t *testing.T, w *poster) {
		t.Helper()
		if _, err := w.log.Store.Append(t.Context(), talk, 0, ponder.Event{Body: ponder.UserMessage{Content: "Me first."}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		since  func(*testing.T, *poster)
		alone  bool
		others int // messages
	}{
		{"nobody", func(*testing.T, *poster) {}, true, 0},
		{"a message", in, false, 1},
		{"another holder", func(t *testing.T, w *poster) {
			other := newPoster(t, w.log, "nod_2")
			if _, err := other.postMessage(t.Context(), "", "Me first."); err != nil {
				t.Fatal(err)
			}
			if err := other.place.Wait(t.Context(), talk); err != nil {
				t.Fatal(err)
			}
		}, false, 1},
		{"who is still there", func(t *testing.T, w *poster) {
			if _, err := newPoster(t, w.log, "nod_2").postMessage(t.Context(), "", "Me first."); err != nil {
				t.Fatal(err)
			}
		}, false, 1},
		{"an erasure", func(t *testing.T, w *poster) {
			if err := w.log.Erase(t.Context(), talk, 2); err != nil {
				t.Fatal(err)
			}
		}, false, 0},
		{"a full disk", func(t *testing.T, w *poster) {
			w.log.refuse = func(fence ponder.Fence, _ []ponder.Event) error {
				w.log.refuse = nil
				return ponder.ErrFull
			}
		}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			withPoster(t, func(t *testing.T, w *poster) {
				if _, err := w.postMessage(t.Context(), "one", "Hello."); err != nil {
					t.Fatal(err)
				}
				if err := w.place.Wait(t.Context(), talk); err != nil {
					t.Fatal(err)
				}
				c.since(t, w)
				w.log.reset()
				stored, err := w.postMessage(t.Context(), "two", "And?")
				if err != nil || len(stored) != 1 || stored[0].Cause != "two" {
					t.Errorf("%+v, %v", stored, err)
				}
				time.Sleep(time.Minute)
				first, takes := w.log.firstBatch()
				if c.alone && eventTypes(first) != "user_message run_started call_started" {
					t.Errorf("first %s", eventTypes(first))
				}
				if (takes == 0) != c.alone {
					t.Errorf("taken %d times", takes)
				}
				if said, answers := w.readHistory(t); len(said) != 2+c.others || answers < 2 {
					t.Errorf("%q, %d answers", said, answers)
				}
				if _, err := w.postMessage(t.Context(), "two", "And again?"); !errors.Is(err, ponder.ErrTaken) {
					t.Errorf("a key that is taken: %v", err)
				}
			})
		})
	}
}

// TestPostAndLeave checks that a process that exits at once loses no posted work.
func TestPostAndLeave(t *testing.T) {
	withPoster(t, func(t *testing.T, w *poster) {
		if _, err := w.postMessage(t.Context(), "one", "Hello."); err != nil {
			t.Fatal(err)
		}
		if err := w.place.Wait(t.Context(), talk); err != nil {
			t.Fatal(err)
		}
		if _, err := w.log.Append(t.Context(), talk, 0, ponder.Event{Body: ponder.UserMessage{Content: "By another process."}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := w.Post(ctx, talk, func(context.Context) error { return w.place.Start(t.Context(), talk) },
			ponder.Event{Body: ponder.UserMessage{Content: "I am gone."}})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if said, answers := w.readHistory(t); answers != len(said) || len(said) < 2 {
			t.Errorf("%q, %d answers", said, answers)
		}
	})
}

// TestPostTrouble checks that after any failure a message is in the log once, or its caller gets
// an error.
func TestPostTrouble(t *testing.T) {
	broken := errors.New("broken")
	t.Run("held", func(t *testing.T) {
		withPoster(t, func(t *testing.T, w *poster) {
			other := newPoster(t, w.log, "nod_2")
			if _, err := other.postMessage(t.Context(), "", "Hello."); err != nil {
				t.Fatal(err)
			}
			if stored, err := w.postMessage(t.Context(), "", "And?"); err != nil || len(stored) != 1 {
				t.Errorf("%v, %v", stored, err)
			}
			if err := other.place.Wait(t.Context(), talk); err != nil {
				t.Error(err)
			}
			if said, answers := w.readHistory(t); len(said) != 2 || answers != 2 {
				t.Errorf("%q, %d answers", said, answers)
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		withPoster(t, func(t *testing.T, w *poster) {
			w.log.refuse = func(ponder.Fence, []ponder.Event) error { return ponder.ErrFull }
			if _, err := w.postMessage(t.Context(), "", "Hello."); !errors.Is(err, ponder.ErrFull) {
				t.Error(err)
			}
			w.log.refuse = nil
			if _, err := w.postMessage(t.Context(), "", "Hello again."); err != nil {
				t.Error(err)
			}
			if said, _ := w.readHistory(t); len(said) != 1 || said[0] != "Hello again." {
				t.Errorf("%q", said)
			}
		})
	})
	t.Run("grown", func(t *testing.T) {
		withPoster(t, func(t *testing.T, w *poster) {
			first := true
			w.log.refuse = func(fence ponder.Fence, _ []ponder.Event) error {
				if fence != 0 && first { // another process appended first
					first = false
					_, err := w.log.Store.Append(t.Context(), talk, 0, ponder.Event{Body: ponder.UserMessage{Content: "Me first."}})
					return err
				}
				return nil
			}
			if stored, err := w.postMessage(t.Context(), "", "Hello."); err != nil || stored[0].Seq < 3 {
				t.Errorf("%v, %v", stored, err)
			}
			if err := w.place.Wait(t.Context(), talk); err != nil {
				t.Error(err)
			}
			if said, answers := w.readHistory(t); len(said) != 2 || answers != 2 {
				t.Errorf("%q, %d answers", said, answers)
			}
		})
	})
	t.Run("start", func(t *testing.T) {
		withPoster(t, func(t *testing.T, w *poster) {
			if _, err := w.Post(t.Context(), talk, func(context.Context) error { return broken }, ponder.Event{Body: ponder.UserMessage{Content: "Hello."}}); !errors.Is(err, broken) {
				t.Error(err)
			}
			if _, err := w.postMessage(t.Context(), "", "Hello again."); err != nil {
				t.Error(err)
			}
			if said, _ := w.readHistory(t); len(said) != 1 {
				t.Errorf("%q", said)
			}
		})
	})
	t.Run("impatient", func(t *testing.T) {
		withPoster(t, func(t *testing.T, w *poster) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := w.Post(ctx, talk, func(context.Context) error { return nil }, ponder.Event{Body: ponder.UserMessage{Content: "Hello."}}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if _, err := w.postMessage(t.Context(), "", "Hello again."); err != nil {
				t.Error(err)
			}
			if said, _ := w.readHistory(t); len(said) != 1 {
				t.Errorf("%q", said)
			}
		})
	})
	t.Run("work fails", func(t *testing.T) {
		withPoster(t, func(t *testing.T, w *poster) {
			w.place.Work = func(context.Context, ponder.ThreadID) error { return broken }
			if stored, err := w.postMessage(t.Context(), "", "Hello."); err != nil || stored[0].Seq != 2 {
				t.Errorf("%v, %v", stored, err)
			}
		})
	})
	t.Run("empty", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			log := &appendRecorder{Store: memory.New()}
			if err := log.Create(t.Context(), ponder.Thread{ID: talk, Kind: ponder.KindConversation}); err != nil {
				t.Fatal(err)
			}
			w := newPoster(t, log, "nod_1")
			if stored, err := w.postMessage(t.Context(), "", "Hello."); err != nil || stored[0].Seq != 1 {
				t.Errorf("%v, %v", stored, err)
			}
			if err := w.place.Wait(t.Context(), talk); err != nil {
				t.Error(err)
			}
			if said, answers := w.readHistory(t); len(said) != 1 || answers != 1 {
				t.Errorf("%q, %d answers", said, answers)
			}
		})
	})
	t.Run("no thread", func(t *testing.T) {
		withPoster(t, func(t *testing.T, w *poster) {
			if err := w.log.Remove(t.Context(), talk); err != nil {
				t.Fatal(err)
			}
			if _, err := w.postMessage(t.Context(), "", "Hello."); !errors.Is(err, ponder.ErrNoThread) {
				t.Error(err)
			}
		})
	})
}

// TestPostMany posts to a thread through two processes while work on it starts and ends. Each
// message must be in the log as its caller learned, and every one must be answered.
func TestPostMany(t *testing.T) {
	for seed := range uint64(20) {
		withPoster(t, func(t *testing.T, w *poster) {
			rng := rand.New(rand.NewPCG(seed, 1))
			tellers := []*poster{w, w, newPoster(t, w.log, "nod_2")}
			var mu sync.Mutex
			told := make(map[string]int)
			var all sync.WaitGroup
			for i := range 40 {
				by, wait := tellers[rng.IntN(3)], time.Duration(rng.IntN(20_000))*time.Millisecond
				patience := time.Hour
				if rng.IntN(4) == 0 {
					patience = time.Duration(rng.IntN(3)) * time.Nanosecond
				}
				all.Go(func() {
					time.Sleep(wait)
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					text := fmt.Sprint("message ", i)
					_, err := by.postMessage(ctx, text, text)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						told[text] = 1
					case ctx.Err() == nil:
						t.Errorf("message %d: %v", i, err)
					}
				})
			}
			all.Wait()
			time.Sleep(2 * time.Minute) // 2 s per answer
			said, answers := w.readHistory(t)
			for _, text := range said {
				told[text]--
			}
			for text, n := range told {
				if n > 0 {
					t.Errorf("seed %d: %s was acknowledged but is not in the log", seed, text)
				}
				if n < -1 {
					t.Errorf("seed %d: %s is in the log %d times", seed, text, -n)
				}
			}
			if answers != len(said) {
				t.Errorf("seed %d: %d messages, %d answers", seed, len(said), answers)
			}
		})
	}
}
