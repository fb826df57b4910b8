package main

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/chat"
)

// TestTurnShows applies deltas (ROUND.ATTEMPT@OFFSET:text) and texts of the log (ROUND=text).
func TestTurnShows(t *testing.T) {
	for name, tt := range map[string]struct {
		steps        []string
		want, atOnce string
	}{
		"in pieces":              {[]string{"1.1@0:It ", "1.1@3:is ", "1.1@6:so.", "1=It is so."}, "It is so.", ""},
		"two rounds":             {[]string{"1.1@0:One.\n", "1=One.", "2.1@0:\n Two.", "2=Two."}, "One.\n\nTwo.", ""},
		"tried again":            {[]string{"1.1@0:It is n", "1.2@0:It is so.", "1=It is so."}, "It is n" + restartNotice + "It is so.", "It is so."},
		"tried again, as before": {[]string{"1.1@0:It ", "1.2@0:It is so.", "1=It is so."}, "It is so.", ""},
		"a second round again":   {[]string{"1=One.", "2.1@0:It", "2=Two."}, "One.\n\nIt" + restartNotice + "Two.", "One.\n\nTwo."},
		"nothing came of it":     {[]string{"1.1@0:It", "1=", "2=So."}, "It" + restartNotice + "So.", "So."},
		"letters in pieces":      {[]string{"1.1@0:bl\xc3", "1.1@3:\xbc", "1.1@4:h", "1=blüh"}, "blüh", ""},
		"steering":               {[]string{"1.1@0:a\x1b[31", "1.1@5:mb\u202e", "1=a\x1b[31mb\u202e"}, "ab", ""},
		"half a sequence":        {[]string{"1.1@0:a\x1b[3", "1=a\x1b[3", "2=b"}, "a\n\nb", ""},
	} {
		for _, atOnce := range []bool{false, true} {
			turn, got, seq := newPrintedTurn("evt_7", 7, atOnce), "", ponder.Seq(7)
			for _, step := range tt.steps {
				head, text, delta := strings.Cut(step, ":")
				if !delta {
					seq++
					head, text, _ = strings.Cut(step, "=")
					got += turn.applyUpdate(turnUpdate{event: &ponder.Event{Seq: seq, Run: "run_1", Cause: "say-7-" + head + "/1.1", Body: ponder.AssistantMessage{Content: text}}})
					continue
				}
				d := ponder.Delta{Key: "turn-7-" + head[:1]}
				if _, err := fmt.Sscanf(head[2:], "%d@%d", &d.Attempt, &d.Offset); err != nil {
					t.Fatal(err)
				}
				d.Text = text
				before := got
				if got += turn.applyUpdate(turnUpdate{delta: d}); atOnce && got != before || !turn.modelWrote {
					t.Errorf("%s: %q is shown at once; wrote: %v", name, got, turn.modelWrote)
				}
				if open := turn.unstoredText(); !strings.HasSuffix(got, open) {
					t.Errorf("%s: %q is open in %q", name, open, got)
				}
			}
			want := tt.want
			if atOnce {
				want = cmp.Or(tt.atOnce, tt.want)
			}
			if got != want || turn.shown != (want != "") || turn.unstoredText() != "" {
				t.Errorf("%s, at once %v: %q, want %q; open: %q", name, atOnce, got, want, turn.unstoredText())
			}
		}
	}
}

func TestTurn(t *testing.T) {
	ended := func(b ponder.Progress) ponder.Event { return ponder.Event{Run: "run_1", Cause: "end-7/1.1", Body: b} }
	started := ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: chat.Name}}
	said := func(cause, text string) ponder.Event {
		return ponder.Event{Run: "run_1", Cause: cause, Body: ponder.AssistantMessage{Content: text}}
	}
	for _, tt := range []struct {
		name string
		evs  []ponder.Event
		said string
		over bool
		code int
	}{
		{"answered", []ponder.Event{started, said("say-7-1/1.1", "So."), ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7"})}, "So.", true, exitDone},
		{"another turn", []ponder.Event{started, said("say-3-1/1.1", "So."), ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_3"})}, "", false, exitDone},
		{"refused", []ponder.Event{started, ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7", Refused: true, Content: "no"})}, "", true, exitFailed},
		{"not let in", []ponder.Event{started, {Run: "run_1", Cause: "turn-7-1#1", Body: ponder.CallFinished{Outcome: ponder.Outcome{Error: "no", Class: llm.Auth}}},
			ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7", Refused: true, Content: "no"})}, "", true, exitNotReady},
		{"no words of another model", []ponder.Event{started, {Run: "run_1", Cause: "turn-7-1#1", Body: ponder.CallFinished{Outcome: ponder.Outcome{Error: "no", Class: llm.Auth}}},
			{Run: "run_1", Cause: "turn-7-1#2", Body: ponder.CallFinished{}}, ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7", Refused: true, Content: "it gave an empty answer"})}, "", true, exitFailed},
		{"withheld", []ponder.Event{started, {Run: "run_1", Cause: "turn-7-1#1", Body: ponder.CallFinished{Finish: llm.FinishFilter}}, said("say-7-1/1.1", "So"),
			ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7"})}, "So", true, exitIncomplete},
		{"broken off before it went on", []ponder.Event{started, {Run: "run_1", Cause: "turn-7-1#1", Body: ponder.CallFinished{Finish: llm.FinishLength}},
			{Run: "run_1", Cause: "turn-7-2#1", Body: ponder.CallFinished{Finish: llm.FinishStop}}, said("say-7-2/1.1", "So."),
			ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7"})}, "So.", true, exitDone},
		{"cancelled", []ponder.Event{started, {Run: "run_1", Body: ponder.RunFinished{Status: ponder.Cancelled}}}, "", true, exitFailed},
		{"the run of something else", []ponder.Event{started, {Run: "run_2", Body: ponder.RunFinished{Status: ponder.Failed}}}, "", false, exitDone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn, said := newPrintedTurn("evt_7", 7, false), ""
			for i, ev := range tt.evs {
				ev.Seq = ponder.Seq(8 + i)
				said += turn.applyUpdate(turnUpdate{event: &ev})
			}
			code, err := exitDone, error(nil)
			if turn.IsOver() {
				err = turn.answerError()
			}
			if err != nil {
				code = exitCodeOf(err)
			}
			if said != tt.said || turn.IsOver() != tt.over || code != tt.code {
				t.Errorf("said %q, over %v, %v", said, turn.IsOver(), err)
			}
		})
	}
}

// A turn announces the retry of one of its calls if the delay is long.
func TestTurnWaits(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		cause string
		retry time.Time
		want  string
	}{
		{"turn-7-1#1", now.Add(time.Minute), "p/m: overloaded; retrying in 1m0s"},
		{"turn-7-1#1", now.Add(time.Second), ""},
		{"turn-7-1#3", time.Time{}, ""},
		{"name-1#1", now.Add(time.Minute), ""},
	} {
		turn := newPrintedTurn("evt_7", 7, false)
		turn.applyUpdate(turnUpdate{event: &ponder.Event{Seq: 8, Run: "run_1", Cause: tt.cause, Time: now, Body: ponder.CallFinished{
			Outcome: ponder.Outcome{Error: "p/m: overloaded", Class: llm.Transient, RetryAt: tt.retry},
		}}})
		if turn.retryNotice != tt.want {
			t.Errorf("%s, %v: %q, want %q", tt.cause, tt.retry, turn.retryNotice, tt.want)
		}
	}
}

func TestHintCommand(t *testing.T) {
	for _, tt := range []struct{ line, text, complete string }{
		{"hello", "", ""},
		{"/", "/deep  /think  /thoughts  /plan  /model  /attach  /cost  /export  /new  /help  /quit", "/"},
		{"/th", "/think  /thoughts", "/th"},
		{"/mo", "/model [provider/model]: which model talks, or talk with another", "/model "},
		{"/think", "/think [on|off]: whether the model may put down thoughts before it answers", "/think "},
		{"/deep the sea", "/deep [topic]: have a slower model think about the conversation, in the background", ""},
		{"/foo", "", ""},
	} {
		got := hintCommand(tt.line)
		if got.Text != tt.text || got.Complete != tt.complete {
			t.Errorf("%q: %q, %q", tt.line, got.Text, got.Complete)
		}
	}
}

// Deltas follow the event that started their call, adjacent ones are merged, and other threads'
// are dropped.
func TestDeltaBuffer(t *testing.T) {
	b := deltaBuffer{ready: make(chan struct{}, 1)}
	add := func(thread ponder.ThreadID, key string, began ponder.Seq, attempt, offset int, text string) {
		d := ponder.Delta{Thread: thread, Key: key, Began: began, Attempt: attempt, Offset: offset}
		d.Text = text
		b.appendDelta(d)
	}
	add("thr_0", "turn-1-1", 99, 1, 0, "Old.")
	add("thr_1", "turn-1-1", 4, 1, 0, "It ")
	add("thr_1", "turn-1-1", 4, 1, 3, "was")
	add("thr_1", "turn-1-1", 6, 2, 0, "It ")
	add("thr_1", "turn-1-1", 6, 2, 7, "so.")
	for _, tt := range []struct {
		seen ponder.Seq
		want string
	}{{3, ""}, {4, "It was"}, {5, ""}, {6, "It |so."}, {7, ""}} {
		var got []string
		for _, d := range b.takeSeen("thr_1", tt.seen) {
			got = append(got, d.Text)
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%q after %d, want %q", got, tt.seen, tt.want)
		}
	}
}
