package chat

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"ponder"
	"ponder/llm"
)

func stampEvents(seq ponder.Seq, evs []ponder.Event) (list []ponder.Event) {
	for _, ev := range evs {
		seq++
		if ev.Run == "" {
			ev.Run = "run_1"
		}
		list = append(list, ev.Stamp("thr_1", seq, ev.Time))
	}
	return list
}

func TestTurnView(t *testing.T) {
	started := ponder.Event{Body: ponder.RunStarted{Mode: Name}}
	said := func(cause, text string) ponder.Event {
		return ponder.Event{Cause: cause, Body: ponder.AssistantMessage{Content: text, Model: "p/m"}}
	}
	called := func(cause string, b ponder.CallFinished) ponder.Event { return ponder.Event{Cause: cause, Body: b} }
	failed := ponder.CallFinished{Outcome: ponder.Outcome{Error: "no", Class: llm.Auth}}
	answered := ponder.CallFinished{Model: "p/m", Finish: llm.FinishStop, Usage: llm.Usage{Input: 2, Output: 3}}
	ended := ponder.Event{Cause: "end-7/1.1", Body: ponder.Progress{Stage: TurnEnded, Ref: "evt_7"}}
	refused := ponder.Event{Cause: "end-7/1.1", Body: ponder.Progress{Stage: TurnEnded, Ref: "evt_7", Refused: true, Content: "no words"}}
	finished := func(run ponder.RunID, s ponder.Status) ponder.Event {
		return ponder.Event{Run: run, Body: ponder.RunFinished{Status: s, Reason: "so it is"}}
	}
	for name, tt := range map[string]struct {
		evs                   []ponder.Event
		said                  string
		run                   ponder.RunID
		status                ponder.Status
		reason                string
		trouble               llm.Class
		tokens                int
		unclaimed, superseded bool
	}{
		"answered":                  {[]ponder.Event{started, called("turn-7-1#1", answered), said("say-7-1/1.1", "So. "), called("turn-7-2#1", answered), said("say-7-2/1.1", "And so."), ended}, "So.\n\nAnd so.", "run_1", ponder.Completed, "", "", 10, false, false},
		"another turn":              {[]ponder.Event{started, called("turn-3-1#1", answered), said("say-3-1/1.1", "So."), {Body: ponder.Progress{Stage: TurnEnded, Ref: "evt_3"}}}, "", "run_1", ponder.Thinking, "", "", 0, false, false},
		"refused":                   {[]ponder.Event{started, refused, finished("run_1", ponder.Failed)}, "", "run_1", ponder.Failed, "no words", "", 0, false, false},
		"a call that failed":        {[]ponder.Event{started, called("turn-7-1#1", failed), refused}, "", "run_1", ponder.Failed, "no words", llm.Auth, 0, false, false},
		"another model answers":     {[]ponder.Event{started, called("turn-7-1#1", failed), called("turn-7-1#2", answered), refused}, "", "run_1", ponder.Failed, "no words", "", 5, false, false},
		"cancelled":                 {[]ponder.Event{started, finished("run_1", ponder.Cancelled)}, "", "run_1", ponder.Cancelled, "so it is", "", 0, false, false},
		"cancelled before its turn": {[]ponder.Event{{Cause: "turn-3-1#1", Body: ponder.CallStarted{}}, finished("run_1", ponder.Cancelled)}, "", "run_1", ponder.Cancelled, "so it is", "", 0, false, false},
		"the run of something else": {[]ponder.Event{started, finished("run_2", ponder.Failed)}, "", "run_1", ponder.Thinking, "", "", 0, false, false},
		"a run that is not known":   {[]ponder.Event{finished("run_2", ponder.Failed)}, "", "", ponder.Thinking, "", "", 0, true, false},
		"a run below":               {[]ponder.Event{started, {Run: "run_1/child", Cause: "say-7-1/1.1", Body: ponder.AssistantMessage{Content: "No."}}, finished("run_1/child", ponder.Failed)}, "", "run_1", ponder.Thinking, "", "", 0, false, false},
		"a later run":               {[]ponder.Event{started, ended, finished("run_1", ponder.Completed), {Run: "run_2", Body: ponder.RunStarted{Mode: Name}}, finished("run_2", ponder.Failed)}, "", "run_1", ponder.Completed, "", "", 0, false, false},
		"it ends with its run":      {[]ponder.Event{started, said("say-7-1/1.1", "So."), finished("run_1", ponder.Completed)}, "So.", "run_1", ponder.Completed, "so it is", "", 0, false, false},
		"another message":           {[]ponder.Event{started, ended, {Run: "-", Body: ponder.UserMessage{Content: "And?"}}}, "", "run_1", ponder.Completed, "", "", 0, false, true},
		"a call that is made again": {[]ponder.Event{started, called("turn-7-1#1", ponder.CallFinished{Outcome: ponder.Outcome{Error: "no", RetryAt: ponder.Event{}.Time.AddDate(2000, 0, 0)}})}, "", "run_1", ponder.Thinking, "", "", 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			v, unclaimed := NewTurnView("evt_7", 7), false
			message := ponder.Event{ID: "evt_7", Body: ponder.UserMessage{Content: "Why?"}}.Stamp("thr_1", 7, ponder.Event{}.Time)
			for _, ev := range append([]ponder.Event{message}, stampEvents(7, tt.evs)...) {
				for range 2 {
					v.Apply(ev)
				}
				unclaimed = unclaimed || v.IsUnclaimed(ev)
			}
			if v.Text.Stored() != tt.said || v.Run != tt.run || v.Status != tt.status || v.Reason != tt.reason || v.FailureClass() != tt.trouble {
				t.Errorf("%q of %q, %s (%s), %q", v.Text.Stored(), v.Run, v.Status, v.Reason, v.FailureClass())
			}
			if v.Usage.Total() != tt.tokens || unclaimed != tt.unclaimed || v.Superseded != tt.superseded {
				t.Errorf("%d tokens, unclaimed %v, superseded %v", v.Usage.Total(), unclaimed, v.Superseded)
			}
		})
	}
}

func TestExchangeView(t *testing.T) {
	answer := func(text string) ponder.CallFinished {
		return ponder.CallFinished{Model: "p/m", Message: llm.Say(llm.Assistant, text), Finish: llm.FinishStop}
	}
	v := NewExchangeView("relay", "ask-")
	for i, ev := range stampEvents(0, []ponder.Event{
		{Body: ponder.RunStarted{Mode: "relay"}}, {Cause: "ask-1#1", Body: answer(" One. ")}, {Cause: "ask-2#1", Body: answer(" ")},
		{Cause: "turn-1-3#1", Body: answer("No.")}, {Cause: "ask-3#1", Body: answer("Three.")}, {Body: ponder.RunFinished{Status: ponder.Completed}},
	}) {
		if v.IsOver() {
			t.Errorf("it is over before event %d", i)
		}
		v.Apply(ev)
	}
	if got := v.Text.Stored(); got != "One.\n\nThree." || v.Status != ponder.Completed || v.Model != "p/m" {
		t.Errorf("%q, %s by %s", got, v.Status, v.Model)
	}
}

// script is the events and deltas of a turn.
type script []any

// turnScript returns a random turn with rounds, failed attempts, tools and other events.
func turnScript(rnd *rand.Rand) (s script) {
	words := []string{"a", " b", "\n", "  ", "é", "日本", " c.", "\n\nd", "**e**", ""}
	seq := ponder.Seq(6)
	event := func(cause string, b ponder.Body) {
		seq++
		s = append(s, ponder.Event{Run: "run_1", Cause: cause, Body: b}.Stamp("thr_1", seq, ponder.Event{}.Time))
	}
	event("", ponder.UserMessage{Content: "Why?"})
	if rnd.IntN(2) == 0 {
		event("", ponder.RunStarted{Mode: Name})
	}
	cut := rnd.IntN(30)
	for round := 1; round <= 1+rnd.IntN(3); round++ {
		key := fmt.Sprintf("turn-7-%d", round)
		for attempt := 1; ; attempt++ {
			cause := fmt.Sprintf("%s#%d", key, attempt)
			event(cause, ponder.CallStarted{Model: "p/m"})
			text, began := "", seq
			for range rnd.IntN(6) {
				word := words[rnd.IntN(len(words))]
				s = append(s, ponder.Delta{Run: "run_1", Key: key, Cause: cause, Began: began, Attempt: attempt, Offset: len(text), Delta: llm.Delta{Text: word}})
				text += word
			}
			if cut--; cut == 0 {
				event("", ponder.RunFinished{Status: ponder.Cancelled, Reason: "cancelled"})
				return s
			}
			if attempt < 3 && rnd.IntN(3) == 0 {
				event(cause, ponder.CallFinished{Model: "p/m", Outcome: ponder.Outcome{Error: "broken", Class: llm.Transient}})
				continue
			}
			event(cause, ponder.CallFinished{Model: "p/m", Finish: llm.FinishStop, Usage: llm.Usage{Output: len(text)}})
			if text = strings.TrimSpace(text); text != "" {
				event(fmt.Sprintf("say-7-%d/1.1", round), ponder.AssistantMessage{Content: text, Model: "p/m"})
			}
			break
		}
		if rnd.IntN(3) == 0 {
			event("", ponder.BudgetSpent{What: "calls"})
		}
		event(fmt.Sprintf("use-7-%d-0#1", round), ponder.ToolResult{Name: "web_search", Result: "{}"})
	}
	event("end-7/1.1", ponder.Progress{Stage: TurnEnded, Ref: ponder.NewID("evt"), Refused: rnd.IntN(2) == 0})
	event("", ponder.RunFinished{Status: []ponder.Status{ponder.Completed, ponder.Failed}[rnd.IntN(2)], Answer: "So."})
	return s
}

// For any interleaving of events and deltas, the view ends equal to that of the events, and the
// edits give its text. Reconnecting anywhere gives the same view.
func TestTurnViewProperty(t *testing.T) {
	for seed := range uint64(4000) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		s := turnScript(rnd)
		message := s[0].(ponder.Event).ID
		for i, one := range s {
			if ev, ok := one.(ponder.Event); ok {
				if b, ok := ev.Body.(ponder.Progress); ok {
					b.Ref = message
					ev.Body = b
					s[i] = ev
				}
			}
		}
		alone := NewTurnView(message, 7)
		for _, one := range s {
			if ev, ok := one.(ponder.Event); ok {
				alone.Apply(ev)
			}
		}
		streamed := NewTurnView(message, 7)
		streamed.Text.Eager = rnd.IntN(2) == 0
		page := ""
		edit := func(e llm.Edit) { page = page[:len(page)-e.Back] + e.Text }
		var late []ponder.Delta
		lost := 0 // earlier deltas are lost
		for i := 0; i < len(s); i++ {
			switch one := s[i].(type) {
			case ponder.Event:
				edit(streamed.Apply(one))
			case ponder.Delta:
				late = append(late, one)
				if i >= lost && rnd.IntN(6) > 0 { // otherwise lost or late
					edit(streamed.ApplyDelta(one))
				}
			}
			if len(late) > 0 && rnd.IntN(5) == 0 {
				edit(streamed.ApplyDelta(late[rnd.IntN(len(late))]))
			}
			if rnd.IntN(25) == 0 { // a reconnect loses deltas and repeats events
				lost = i + rnd.IntN(8)
				i = max(-1, i-rnd.IntN(4))
			}
		}
		edit(streamed.Text.Drop())
		if want := alone.Text.Stored(); page != want || streamed.Text.Stored() != want || alone.Text.Text() != want {
			t.Fatalf("seed %d: the edits lead to %q, and %q is stored; want %q", seed, page, streamed.Text.Stored(), want)
		}
		streamed.Text, alone.Text = llm.TextAssembler{}, llm.TextAssembler{}
		if !reflect.DeepEqual(streamed, alone) {
			t.Fatalf("seed %d:\n%+v\n%+v", seed, streamed, alone)
		}
	}
}

// TestTurnViewUntrusted checks that the view has the sources of its own answer.
func TestTurnViewUntrusted(t *testing.T) {
	view := NewTurnView("evt_7", 7)
	own, other := []ponder.UntrustedSource{{Source: "web page", Seq: 3}}, []ponder.UntrustedSource{{Source: "other"}}
	for i, list := range [][]ponder.UntrustedSource{own, other} {
		ev := ponder.Event{Run: "run_1", Cause: fmt.Sprintf("say-%d-1/1.1", 7+i), Body: ponder.AssistantMessage{Content: "so", Model: "p/m", Untrusted: list}}
		view.Apply(ev.Stamp("thr_1", ponder.Seq(8+i), ev.Time))
	}
	if len(view.Untrusted) != 1 || view.Untrusted[0] != own[0] {
		t.Errorf("%+v", view.Untrusted)
	}
}
