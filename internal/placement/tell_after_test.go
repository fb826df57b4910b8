package placement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"ponder"
)

// TestPostAfter checks that PostAfter succeeds only if nothing followed the given input.
func TestPostAfter(t *testing.T) {
	after := func(t *testing.T, w *poster, last, text string) ([]ponder.Event, error) {
		t.Helper()
		return w.PostAfter(t.Context(), talk, last, func(ctx context.Context) error { return w.place.Start(ctx, talk) },
			ponder.Event{Body: ponder.UserMessage{Content: text}})
	}
	for name, tt := range map[string]struct {
		// do changes the thread after the first turn and returns the caller and its last known
		// input.
		do   func(t *testing.T, w *poster, first ponder.Event) (*poster, string)
		fine bool
	}{
		"nothing since": {func(_ *testing.T, w *poster, first ponder.Event) (*poster, string) { return w, first.ID }, true},
		"by a new process": {func(t *testing.T, w *poster, first ponder.Event) (*poster, string) {
			return newPoster(t, w.log, "nod_2"), first.ID
		}, true},
		"told since": {func(t *testing.T, w *poster, first ponder.Event) (*poster, string) {
			if _, err := w.log.Append(t.Context(), talk, 0, ponder.Event{Body: ponder.Observation{Content: "By another process."}}); err != nil {
				t.Fatal(err)
			}
			return w, first.ID
		}, false},
		"erased since": {func(t *testing.T, w *poster, first ponder.Event) (*poster, string) {
			if err := w.log.Erase(t.Context(), talk, first.Seq+2); err != nil {
				t.Fatal(err)
			}
			return w, first.ID
		}, false},
		"erased since, by a new process": {func(t *testing.T, w *poster, first ponder.Event) (*poster, string) {
			if err := w.log.Erase(t.Context(), talk, first.Seq+2); err != nil {
				t.Fatal(err)
			}
			return newPoster(t, w.log, "nod_2"), first.ID
		}, false},
		"before": {func(*testing.T, *poster, ponder.Event) (*poster, string) { return nil, "evt_0" }, false},
		"removed": {func(t *testing.T, w *poster, first ponder.Event) (*poster, string) {
			if err := w.log.Remove(t.Context(), talk); err != nil {
				t.Fatal(err)
			}
			return w, first.ID
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			withPoster(t, func(t *testing.T, w *poster) {
				stored, err := w.postMessage(t.Context(), "one", "Hello.")
				if err == nil {
					err = w.place.Wait(t.Context(), talk)
				}
				if err != nil {
					t.Fatal(err)
				}
				who, last := tt.do(t, w, stored[0])
				if who == nil {
					who = w
				}
				w.log.reset()
				stored, err = after(t, who, last, "And?")
				if tt.fine != (err == nil && len(stored) == 1) || !tt.fine && !errors.Is(err, ponder.ErrStale) && !errors.Is(err, ponder.ErrNoThread) {
					t.Errorf("%v, %v", stored, err)
				}
				if !tt.fine {
					if len(w.log.batches) > 0 {
						t.Errorf("appended %s", eventTypes(w.log.batches[0]))
					}
					return
				}
				if first, _ := w.log.firstBatch(); !strings.HasPrefix(eventTypes(first), "user_message") || !strings.HasSuffix(eventTypes(first), "call_started") {
					t.Errorf("the first batch is %s", eventTypes(first))
				}
				if _, err := after(t, who, last, "And again?"); !errors.Is(err, ponder.ErrStale) {
					t.Errorf("post after an old event: got error %v, want ErrStale", err)
				}
				if err := who.place.Wait(t.Context(), talk); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPostAfterAtOnce checks that one of many concurrent calls succeeds.
func TestPostAfterAtOnce(t *testing.T) {
	withPoster(t, func(t *testing.T, w *poster) {
		stored, err := w.postMessage(t.Context(), "one", "Hello.")
		if err != nil {
			t.Fatal(err)
		}
		var told sync.Map
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				_, err := w.PostAfter(t.Context(), talk, stored[0].ID, func(ctx context.Context) error { return w.place.Start(ctx, talk) },
					ponder.Event{Body: ponder.UserMessage{Content: fmt.Sprint(i)}})
				if err == nil {
					told.Store(i, true)
				} else if !errors.Is(err, ponder.ErrStale) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		n := 0
		told.Range(func(any, any) bool { n++; return true })
		if err := w.place.Wait(t.Context(), talk); err != nil {
			t.Error(err)
		}
		if said, answers := w.readHistory(t); n != 1 || len(said) != 2 || answers != 2 {
			t.Errorf("%d were told they had said it: %q, %d answers", n, said, answers)
		}
	})
}
