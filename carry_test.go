package ponder_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/pondertest"
)

// talk is a mode that answers each message with all that it knows was said. It
// is hushed by a steer for as long as the run goes on.
type talk struct {
	Run   ponder.RunID
	Said  []string
	Asked int // how many of Said are from this run's start on
	Hush  bool

	shown *atomic.Int64
}

func talkMode(shown *atomic.Int64, carry bool) ponder.Mode {
	m := ponder.Mode{
		Name: "talk", Version: 1, History: true,
		Wakes: func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok },
		Start: func(r ponder.Run) ponder.State { return talk{Run: r.ID, shown: shown} },
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			s := talk{shown: shown}
			err := json.Unmarshal(js, &s)
			return s, err
		},
	}
	if carry {
		m.Carry = func(r ponder.Run, last ponder.State) ponder.State {
			return talk{Run: r.ID, Said: last.(talk).Said, shown: shown}
		}
	}
	return m
}

func (s talk) Apply(ev ponder.Event) ponder.State {
	s.shown.Add(1)
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		s.Said = append(slices.Clip(s.Said), b.Content)
	case ponder.AssistantMessage:
		s.Said = append(slices.Clip(s.Said), fmt.Sprintf("%d letters", len(b.Content)))
	case ponder.Steer:
		s.Hush = true
	}
	return s
}

func (s talk) Next(ponder.Moment) []ponder.Action {
	answer := strings.Join(s.Said[max(0, len(s.Said)-3):], ", ") + fmt.Sprintf(" (%d)", len(s.Said))
	if s.Hush {
		answer = "hush"
	}
	if n := len(s.Said); n > 0 && !strings.HasSuffix(s.Said[n-1], "letters") {
		return []ponder.Action{ponder.Write{Key: "say", Bodies: []ponder.Body{ponder.AssistantMessage{Content: answer}}}}
	}
	return []ponder.Action{ponder.Finish{Answer: answer}}
}

// TestCarry has the same conversation with a mode that carries its state on and
// with one that is shown all of it again each time, in processes that end now and
// then, and finds the same answers.
func TestCarry(t *testing.T) {
	const turns = 150
	converse := func(t *testing.T, carry bool) (answers []string, shown int64) {
		var count atomic.Int64
		mind := pondertest.Start(t, ponder.Config{Modes: []ponder.Mode{talkMode(&count, carry)}})
		for i := range turns {
			if i%37 == 36 {
				store := mind.Store
				mind.Stop()
				mind = pondertest.Start(t, ponder.Config{Store: store, Modes: []ponder.Mode{talkMode(&count, carry)}})
			}
			if i%50 == 20 { // between the turns: no run is to hear it
				mind.Put("", fmt.Sprintf("steer-%d", i), ponder.Steer{Do: ponder.AnswerNow})
			}
			mind.Put("", fmt.Sprintf("say-%d", i), ponder.UserMessage{Content: fmt.Sprintf("message %d", i)})
			synctest.Wait()
			time.Sleep(time.Second)
		}
		for _, ev := range mind.Events() {
			if b, ok := ev.Body.(ponder.RunFinished); ok {
				answers = append(answers, string(ev.Run)+": "+b.Answer)
			}
		}
		mind.Stop()
		return answers, count.Load()
	}
	var all [2][]string
	var shown [2]int64
	for i, carry := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { all[i], shown[i] = converse(t, carry) })
	}
	if len(all[0]) != turns || !slices.Equal(all[0], all[1]) {
		t.Errorf("%d answers with the history, %d carried on; the last are %q and %q", len(all[0]), len(all[1]), all[0][len(all[0])-1], all[1][len(all[1])-1])
	}
	if 4*shown[1] > shown[0] {
		t.Errorf("the mode was shown %d events with the history and %d carried on", shown[0], shown[1])
	}
}
