package compat_test

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
	"ponder/store/memory"
)

// A cached conversation is not continued if it changed, was erased or was recreated.
func TestRecent(t *testing.T) {
	for name, tt := range map[string]struct {
		chat string
		do   func(t *testing.T, r *protocoltest.Rig, id ponder.ThreadID)
		same bool
	}{
		"nothing": {"", func(*testing.T, *protocoltest.Rig, ponder.ThreadID) {}, true},
		"said": {"", func(t *testing.T, r *protocoltest.Rig, id ponder.ThreadID) {
			if _, err := r.Desk.Store.Append(t.Context(), id, 0, ponder.Event{Body: ponder.UserMessage{Content: "And?"}}); err != nil {
				t.Fatal(err)
			}
		}, false},
		"erased": {"", func(t *testing.T, r *protocoltest.Rig, id ponder.ThreadID) {
			for _, ev := range r.Events(id) {
				if _, ok := ev.Body.(ponder.AssistantMessage); !ok {
					continue
				}
				if err := r.Desk.Store.Erase(t.Context(), id, ev.Seq); err != nil {
					t.Fatal(err)
				}
			}
		}, false},
		"removed": {"", func(t *testing.T, r *protocoltest.Rig, id ponder.ThreadID) {
			if err := r.Desk.Store.Remove(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}, false},
		"made anew": {"name", func(t *testing.T, r *protocoltest.Rig, id ponder.ThreadID) {
			info, err := r.Desk.Store.Thread(t.Context(), id)
			if err == nil {
				err = r.Desk.Store.Remove(t.Context(), id)
			}
			if err == nil {
				err = r.Desk.Store.Create(t.Context(), info.Thread)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: echoAnswer}})
				first := newRequest(r, "ponder/chat", "Hello, sea")
				first.Chat = tt.chat
				one, answer := startAndCollect(t, r, first)
				synctest.Wait()
				tt.do(t, r, one.Thread)
				next := newRequest(r, "ponder/chat", "Hello, sea", answer, "How deep?")
				next.Chat = tt.chat
				two, _ := startAndCollect(t, r, next)
				taken := false // whether earlier messages were attached
				for _, ev := range r.Events(two.Thread) {
					_, is := ev.Body.(ponder.AttachmentAdded)
					taken = taken || is
				}
				if same := one.Thread == two.Thread && !taken; same != tt.same {
					t.Errorf("%s, then %s; has earlier messages: %t", one.ID(), two.ID(), taken)
				}
			})
		})
	}
}

type readRecorder struct {
	ponder.Store
	mu   sync.Mutex
	from []ponder.Seq
}

func (r *readRecorder) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	r.mu.Lock()
	r.from = append(r.from, after)
	r.mu.Unlock()
	return r.Store.Events(ctx, id, after)
}

func (r *readRecorder) takeReads() (from []ponder.Seq) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, r.from = r.from, nil
	return from
}

// Continuing a cached conversation reads no older events.
func TestByHeart(t *testing.T) {
	for name, chat := range map[string]string{"by what was said": "", "by name": "name"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &readRecorder{Store: memory.New()}
				r := protocoltest.New(t, protocoltest.Options{Store: store, Model: &protocoltest.Model{Answer: echoAnswer}})
				first := newRequest(r, "ponder/chat", "Hello, sea")
				first.Chat = chat
				one, answer := startAndCollect(t, r, first)
				synctest.Wait()
				head := one.After
				for _, ev := range r.Events(one.Thread) {
					if _, ok := ev.Body.(ponder.AssistantMessage); ok {
						head = ev.Seq
					}
				}
				store.takeReads() // reset
				next := newRequest(r, "ponder/chat", "Hello, sea", answer, "How deep?")
				next.Chat = chat
				two := r.Start(next)
				if two.Thread != one.Thread {
					t.Fatalf("%s, then %s", one.ID(), two.ID())
				}
				for _, from := range store.takeReads() {
					if from < head {
						t.Errorf("read from behind event %d, of %d", from, head)
					}
				}
				r.CollectParts(two, false)
			})
		})
	}
}

// A turn with a concurrent message does not match a client that lacks it.
func TestSaidMeanwhile(t *testing.T) {
	for name, titled := range map[string]bool{"before the answer": false, "before the title": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
					return protocoltest.Answer{Text: "You said: " + req.Messages[len(req.Messages)-1].Text(), Wait: 2 * time.Second}
				}}})
				one := r.Start(newRequest(r, "ponder/chat", "Hello, sea"))
				go func() {
					time.Sleep(time.Second)
					if titled {
						time.Sleep(2 * time.Second)
					}
					if _, err := r.Desk.Store.Append(t.Context(), one.Thread, 0, ponder.Event{Body: ponder.UserMessage{Content: "From the web"}}); err != nil {
						t.Error(err)
					}
				}()
				var answer strings.Builder
				for _, p := range r.CollectParts(one, titled) {
					if p.Kind == compat.Text {
						answer.WriteString(p.Text)
					}
				}
				time.Sleep(time.Minute)
				two := r.Start(newRequest(r, "ponder/chat", "Hello, sea", answer.String(), "How deep?"))
				r.CollectParts(two, false)
				if one.Thread == two.Thread {
					t.Errorf("%s, then %s", one.ID(), two.ID())
				}
			})
		})
	}
}
