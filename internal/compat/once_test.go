package compat_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
)

func sendOnce(ctx context.Context, r *protocoltest.Rig, body, retry string, a compat.Request) (compat.Job, func(), error) {
	req := protocoltest.Request(ctx, http.MethodPost, "/x", body)
	if retry != "" {
		req.Header.Set("X-Stainless-Retry-Count", retry)
	}
	return r.Desk.BeginOnce(req, []byte(body), a)
}

func TestOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		body  string // of the second
		owner string
		retry string
		gone  bool // disconnected before the second
		whole bool // answered
		wait  time.Duration
		same  bool
	}{
		{name: "the client went away", gone: true, same: true},
		{name: "it says so", retry: "1", same: true},
		{name: "it says so though it was answered", retry: "2", whole: true, gone: true, same: true},
		{name: "it says that it is the first", retry: "0"},
		{name: "it asks once more", whole: true, gone: true},
		{name: "the first still waits"},
		{name: "other words", body: "other", gone: true},
		{name: "another owner", owner: "anna", gone: true},
		{name: "long ago", gone: true, wait: 11 * time.Minute},
		{name: "it was cancelled meanwhile", gone: true, wait: time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: slowAnswer}})
				a := newRequest(r, "ponder/chat", "How deep?")
				a.Standalone = true
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				one, answered, err := sendOnce(ctx, r, "body", "", a)
				if err != nil {
					t.Fatal(err)
				}
				if tt.whole {
					r.CollectParts(one, false)
					answered()
				}
				if tt.gone {
					leave()
				}
				time.Sleep(tt.wait)
				if a.Owner = tt.owner; a.Owner == "" {
					a.Owner = protocoltest.Owner
				}
				if tt.body == "" {
					tt.body = "body"
				}
				two, _, err := sendOnce(t.Context(), r, tt.body, tt.retry, a)
				if err != nil || (two.Thread == one.Thread) != tt.same {
					t.Fatalf("%s, then %s, %v", one.Thread, two.Thread, err)
				}
				list := r.CollectParts(two, false)
				checkWhole(t, list)
				if end := list[len(list)-1].End; end.Status != ponder.Completed {
					t.Errorf("ended %+v", end)
				}
			})
		})
	}
}

// Concurrent retries of a request start it once.
func TestOnceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: slowAnswer}})
		var mu sync.Mutex
		seen := make(map[ponder.ThreadID]int)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				w, _, err := sendOnce(t.Context(), r, "body", "1", newRequest(r, "ponder/chat", "How deep?"))
				if err != nil {
					t.Error(err)
					return
				}
				checkWhole(t, r.CollectParts(w, false))
				mu.Lock()
				defer mu.Unlock()
				seen[w.Thread]++
			})
		}
		wg.Wait()
		if n := len(r.Calls().Said); len(seen) != 1 || n != 1 {
			t.Errorf("%d messages were said, on %v", n, seen)
		}
	})
}

// A failed start does not block waiters, and the next request repeats it.
func TestOnceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: protocoltest.FixedModel("deep")})
		broken := errors.New("the disk is full")
		r.Fail = func(method string) error {
			if method == "Open" {
				return broken
			}
			return nil
		}
		if _, _, err := sendOnce(t.Context(), r, "body", "", newRequest(r, "ponder/chat", "How deep?")); !errors.Is(err, broken) {
			t.Errorf("begun with %v", err)
		}
		r.Fail = nil
		if _, _, err := sendOnce(t.Context(), r, "body", "1", newRequest(r, "ponder/chat", "How deep?")); err != nil {
			t.Error(err)
		}
	})
}

// A Feed outlives its request. A work without a Feed has no subscription.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: slowAnswer}})
		ctx, leave := context.WithCancel(t.Context())
		w, _, err := sendOnce(ctx, r, "body", "", newRequest(r, "ponder/chat", "How deep?"))
		if err != nil {
			t.Fatal(err)
		}
		f := r.Desk.OpenStream(t.Context(), w, false)
		leave()
		synctest.Wait()
		checkWhole(t, r.RemainingParts(f))
		f.Close()
		silent, _, err := sendOnce(ctx, r, "another", "", newRequest(r, "ponder/chat", "How wide?"))
		if err != nil {
			t.Fatal(err)
		}
		silent.Forget()
		time.Sleep(time.Minute)
		if n := r.Desk.Hub.Watchers(); n != 0 {
			t.Errorf("%d still listen", n)
		}
	})
}

// A keyed request runs once. The key rejects other words.
func TestKey(t *testing.T) {
	for _, model := range []string{"ponder/chat", "ponder/session", "ponder/research", "relay"} {
		t.Run(model, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := protocoltest.New(t, protocoltest.Options{})
				name := model
				if model == "relay" {
					name = "ponder/chat"
				}
				a := newRequest(r, name, seaQuestion)
				a.Key, a.Standalone = "k1", model == "relay"
				one := r.Start(a)
				two := r.Start(a)
				if one.ID() != two.ID() {
					t.Errorf("%s, then %s", one.ID(), two.ID())
				}
				other := newRequest(r, name, "Why is the sky blue, and since when?")
				other.Key, other.Standalone = a.Key, a.Standalone
				if _, err := r.Desk.Begin(t.Context(), other); app.CodeOf(err) != app.Invalid {
					t.Errorf("other words: %v", err)
				}
				a.Owner = "anna"
				if three := r.Start(a); three.ID() == one.ID() {
					t.Error("anna has the work of another")
				}
				checkSame(t, "again", r.CollectParts(two, false), r.CollectParts(one, false))
			})
		})
	}
}
