package engine_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/store/memory"
)

// The next run observes a message that arrived between the cancel and the end of a run. It
// does not observe older messages again.
func TestMessageAfterCancel(t *testing.T) {
	for name, late := range map[string]bool{"a message after it": true, "nothing after it": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				message := func(text string) ponder.Event { return ponder.Event{Body: ponder.UserMessage{Content: text}} }
				events := []ponder.Event{
					message("first"), {Run: "run_talk.1", Body: ponder.RunStarted{Mode: "talk", Version: 1}},
					{Run: "run_talk.1", Body: ponder.Steer{Do: ponder.Cancel}},
				}
				want := 1
				if late {
					events, want = append(events, message("second")), 2
				}
				if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, events...); err != nil {
					t.Fatal(err)
				}
				var shown atomic.Int64
				eng := enginetest.Start(t, engine.Config{Store: store, Modes: []ponder.Mode{talkMode(&shown, true)}})
				synctest.Wait()
				var ended []ponder.Status
				for _, ev := range eng.Events() {
					if b, ok := ev.Body.(ponder.RunFinished); ok {
						ended = append(ended, b.Status)
					}
				}
				if len(ended) != want || ended[0] != ponder.Cancelled {
					t.Errorf("runs ended %v, want %d of them", ended, want)
				}
			})
		})
	}
}
