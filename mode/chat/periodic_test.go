package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/mode/chat"
)

// TestPeriodic counts the turns without a reflection before each automatic request.
func TestPeriodic(t *testing.T) {
	for _, tt := range []struct {
		name     string
		after    int
		perHour  int
		explicit []int // turns in which the model requests a reflection
		byUser   []int // turns before which the user requests one
		turns    int
		want     string
	}{
		{name: "the default", after: 5, turns: 16, want: "5: after 5 user turns, 10: after 5 user turns, 15: after 5 user turns"},
		{name: "every second turn", after: 2, turns: 7, want: "2: after 2 user turns, 4: after 2 user turns, 6: after 2 user turns"},
		{name: "every turn", after: 1, turns: 3, want: "1: after 1 user turn, 2: after 1 user turn, 3: after 1 user turn"},
		{name: "never", after: 0, turns: 12},
		{name: "after calls of the model", after: 5, explicit: []int{3, 7}, turns: 13, want: "12: after 5 user turns"},
		{name: "after requests of the user", after: 3, byUser: []int{2}, turns: 8, want: "5: after 3 user turns, 8: after 3 user turns"},
		{name: "a request in each turn", after: 1, byUser: []int{1, 2, 3}, turns: 3},
		{name: "delayed by the limit", after: 2, perHour: 1, turns: 7, want: "2: after 2 user turns, 5: after 3 user turns"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var turn int
				model := fakeModel{answer: func(req *llm.Request) (llm.Message, error) {
					switch {
					case strings.HasPrefix(lastUserText(req), "muse"):
						return sayMessage("hm"), nil
					case slices.Contains(tt.explicit, turn) && toolResults(req) == nil:
						return callMessage("deep_think", `{"reason":"so"}`), nil
					}
					return sayMessage("so"), nil
				}}
				opts := chat.Options{Deep: true, DeepAfter: tt.after, DeepPerHour: max(tt.perHour, 0)}
				mind := enginetest.Start(t, engine.Config{Modes: []ponder.Mode{chat.New(opts), fakeReflectionMode()}, Models: enginetest.Models(model, ponder.Price{})})
				var got []string
				seen := 0
				for turn = 1; turn <= tt.turns; turn++ {
					if slices.Contains(tt.byUser, turn) {
						mind.Put("", fmt.Sprint("deep", turn), ponder.Observation{Sensor: chat.DeepAsked})
					}
					mind.Put("", fmt.Sprint("m", turn), ponder.UserMessage{Content: fmt.Sprint("message ", turn)})
					time.Sleep(20 * time.Minute)
					synctest.Wait()
					evs := mind.Events()
					for _, ev := range evs[seen:] {
						if b, ok := ev.Body.(ponder.Progress); ok && strings.HasPrefix(ev.Cause, "auto-") {
							got = append(got, fmt.Sprint(turn, ": ", strings.TrimPrefix(b.Label, "periodic reflection ")))
						}
					}
					seen = len(evs)
				}
				checkEqual(t, "automatic reflections", strings.Join(got, ", "), tt.want)
			})
		})
	}
}

// TestReflectionLimit tells the model when it may request the next reflection.
func TestReflectionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var results []string
		model := fakeModel{answer: func(req *llm.Request) (llm.Message, error) {
			if strings.HasPrefix(lastUserText(req), "muse") {
				return sayMessage("hm"), nil
			}
			if toolResults(req) == nil {
				return callMessage("deep_think", `{"reason":"so"}`), nil
			}
			results = append(results, toolResults(req)...)
			return sayMessage("so"), nil
		}}
		opts := chat.Options{Deep: true, DeepPerHour: 2}
		mind := enginetest.Start(t, engine.Config{Modes: []ponder.Mode{chat.New(opts), fakeReflectionMode()}, Models: enginetest.Models(model, ponder.Price{})})
		for i := range 5 {
			mind.Put("", fmt.Sprint("m", i), ponder.UserMessage{Content: "go"})
			time.Sleep(15*time.Minute + 10*time.Second)
			synctest.Wait()
		}
		const refused = `{"status":"refused","reason":"too many reflections in the last hour","next":"01:01"}`
		checkEqual(t, "results", results, []string{`{"status":"started"}`, `{"status":"started"}`, refused, refused, `{"status":"started"}`})
	})
}
