package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/deep"
)

// TestSpeech hears pieces (key: text), settled texts (=key: text) and failures (!key).
func TestSpeech(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hears []string
		want  string
	}{
		{"in pieces", []string{"a:It ", "a:is ", "a:so.", "=a:It is so."}, "It is so."},
		{"not in pieces", []string{"=a:It is so."}, "It is so."},
		{"two rounds", []string{"a:One.\n", "=a:One.", "b:\n Two.", "=b:Two."}, "One.\n\nTwo."},
		{"space around it", []string{"a:\n\n  So", "a:  \n", "a:it is. \n ", "=a:So  \nit is."}, "So  \nit is."},
		{"the end is missed", []string{"a:It is", "=a:It is so."}, "It is so."},
		{"the beginning is missed", []string{"a:is so.", "=a:It is so."}, "is so.\n\n" + anew + "\n\nIt is so."},
		{"tried again", []string{"a:It is n", "!a", "a:It is so.", "=a:It is so."}, "It is n\n\n" + anew + "\n\nIt is so."},
		{"tried again, and nothing came before", []string{"!a", "a:It is so.", "=a:It is so."}, "It is so."},
		{"letters in pieces", []string{"a:bl\xc3", "a:\xbc", "a:h", "=a:blüh"}, "blüh"},
		{"steering", []string{"a:a\x1b[31", "a:mb\u202e", "=a:a\x1b[31mb\u202e"}, "ab"},
		{"no words", []string{"a: \n", "=b:So."}, "So."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s speech
			var got strings.Builder
			for _, h := range tt.hears {
				key, text, _ := strings.Cut(h, ":")
				switch key[0] {
				case '=':
					got.WriteString(s.settle(key[1:], text))
				case '!':
					s.fail(key[1:])
				default:
					got.WriteString(s.hear(key, text))
				}
			}
			if !s.spoke {
				t.Error("it has not spoken")
			}
			if got.String() != tt.want || s.said.String() != tt.want {
				t.Errorf("%q, and has said %q; want %q", got.String(), s.said.String(), tt.want)
			}
		})
	}
}

// Where nobody sees how it comes, an answer is what is in the log of it.
func TestSpeechAtOnce(t *testing.T) {
	s := speech{atOnce: true}
	got := s.hear("a", "It is n")
	s.fail("a")
	got += s.hear("a", "It is")
	if got != "" || s.open() != "" || !s.spoke {
		t.Errorf("said %q, and %q of the round; spoke: %v", got, s.open(), s.spoke)
	}
	got += s.settle("a", "It is so.") + s.hear("b", "And") + s.settle("b", "And why.")
	if want := "It is so.\n\nAnd why."; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

func FuzzSpeech(f *testing.F) {
	f.Add("It is so.\n\nAnd *so*.", 3)
	f.Add(" \xff\xc3\x28 \u202e", 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		var s speech
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			s.hear("a", rest[:n])
			rest = rest[n:]
		}
		before := s.said.String()
		if after := s.settle("a", text); after != "" {
			t.Errorf("%q was shown, and then %q", before, after)
		}
	})
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
		{"answered", []ponder.Event{started, said("say-7-1/1.1", "So."), ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7"})}, "So.", true, done},
		{"another turn", []ponder.Event{started, said("say-3-1/1.1", "So."), ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_3"})}, "", false, done},
		{"refused", []ponder.Event{started, ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7", Refused: true, Content: "no"})}, "", true, failed},
		{"not let in", []ponder.Event{started, {Run: "run_1", Cause: "turn-7-1#1", Body: ponder.CallFinished{Outcome: ponder.Outcome{Error: "no", Class: llm.Auth}}},
			ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7", Refused: true, Content: "no"})}, "", true, notReady},
		{"no words of another model", []ponder.Event{started, {Run: "run_1", Cause: "turn-7-1#1", Body: ponder.CallFinished{Outcome: ponder.Outcome{Error: "no", Class: llm.Auth}}},
			{Run: "run_1", Cause: "turn-7-1#2", Body: ponder.CallFinished{}}, ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7", Refused: true, Content: "it gave an empty answer"})}, "", true, failed},
		{"withheld", []ponder.Event{started, {Run: "run_1", Cause: "turn-7-1#1", Body: ponder.CallFinished{Finish: llm.FinishFilter}}, said("say-7-1/1.1", "So"),
			ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7"})}, "So", true, incomplete},
		{"broken off before it went on", []ponder.Event{started, {Run: "run_1", Cause: "turn-7-1#1", Body: ponder.CallFinished{Finish: llm.FinishLength}},
			{Run: "run_1", Cause: "turn-7-2#1", Body: ponder.CallFinished{Finish: llm.FinishStop}}, said("say-7-2/1.1", "So."),
			ended(ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_7"})}, "So.", true, done},
		{"cancelled", []ponder.Event{started, {Run: "run_1", Body: ponder.RunFinished{Status: ponder.Cancelled}}}, "", true, failed},
		{"the run of something else", []ponder.Event{started, {Run: "run_2", Body: ponder.RunFinished{Status: ponder.Failed}}}, "", false, done},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn := turn{message: "evt_7", seq: 7}
			for _, ev := range tt.evs {
				turn.hears(sign{event: &ev})
			}
			code := done
			if turn.err != nil {
				code = codeOf(turn.err)
			}
			if turn.said.String() != tt.said || turn.over != tt.over || code != tt.code {
				t.Errorf("said %q, over %v, %v", turn.said.String(), turn.over, turn.err)
			}
		})
	}
}

// That a call is made again is said if that takes long, of calls of turns.
func TestTurnWaits(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		cause string
		retry time.Time
		want  string
	}{
		{"turn-7-1#1", now.Add(time.Minute), "p/m: overloaded; asking again in 1m0s"},
		{"turn-7-1#1", now.Add(time.Second), ""},
		{"turn-7-1#3", time.Time{}, ""},
		{"name-1#1", now.Add(time.Minute), ""},
	} {
		turn := turn{message: "evt_7", seq: 7}
		turn.hears(sign{event: &ponder.Event{Run: "run_1", Cause: tt.cause, Time: now, Body: ponder.CallFinished{
			Outcome: ponder.Outcome{Error: "p/m: overloaded", Class: llm.Transient, RetryAt: tt.retry},
		}}})
		if turn.delay != tt.want {
			t.Errorf("%s, %v: %q, want %q", tt.cause, tt.retry, turn.delay, tt.want)
		}
	}
}

func TestMusing(t *testing.T) {
	wish := func(seq ponder.Seq) ponder.Event {
		return ponder.Event{Seq: seq, Run: "run_1", Body: ponder.Progress{Stage: chat.DeepAsked}}
	}
	run := ponder.Event{Seq: 2, Run: "run_2", Body: ponder.RunStarted{Mode: deep.Name}}
	came := func(seq ponder.Seq, cause string) ponder.Event {
		return ponder.Event{Seq: seq, Run: "run_2", Cause: cause, Body: ponder.InnerMonologue{Tool: deep.Tool}}
	}
	for _, tt := range []struct {
		name string
		evs  []ponder.Event
		busy bool
	}{
		{"nothing", nil, false},
		{"asked", []ponder.Event{wish(1), run}, true},
		{"asked by the user", []ponder.Event{{Seq: 1, Body: ponder.Observation{Sensor: chat.DeepAsked}}}, true},
		{"came", []ponder.Event{wish(1), run, came(3, "muse-1/1.1")}, false},
		{"asked again meanwhile", []ponder.Event{wish(1), run, wish(3), came(4, "muse-1/1.1")}, true},
		{"and that came", []ponder.Event{wish(1), run, wish(3), came(4, "muse-1/1.1"), came(5, "muse-3/1.1")}, false},
		{"failed", []ponder.Event{wish(1), run, {Seq: 3, Cause: "failed-1/1.1", Body: ponder.Progress{Stage: chat.DeepFailed}}}, false},
		{"the run failed", []ponder.Event{wish(1), run, {Seq: 3, Run: "run_2", Body: ponder.RunFinished{Status: ponder.Failed}}}, false},
		{"condensed", []ponder.Event{wish(1), run, {Seq: 3, Run: "run_1", Cause: "noted-1/1.1", Body: ponder.InnerMonologue{}}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m musing
			for _, ev := range tt.evs {
				m.hears(ev)
			}
			if m.busy() != tt.busy {
				t.Errorf("busy: %v", m.busy())
			}
		})
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

// A process hears what another writes, from its beginning.
func TestCast(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a := &cli{App: &app.App{}, log: &logSink{}}
	if _, err := a.Config(); err != nil {
		t.Fatal(err)
	}
	c := a.Cast(t.Context(), "thr_1")
	if c == nil {
		t.Skip("the name of the socket would be too long here")
	}
	delta := func(key, text string) ponder.Delta {
		d := ponder.Delta{Key: key}
		d.Text = text
		return d
	}
	c.Add(delta("turn-1-1", "One."))
	c.Add(delta("think-1-1", "Secret."))
	c.Add(delta("turn-3-1", "It "))
	c.Add(delta("turn-3-1", "is "))
	heard := make(chan string, 10)
	if err := os.Rename(c.Listener.Addr().String(), c.Listener.Addr().String()+"0"); err != nil { // of another process
		t.Fatal(err)
	}
	a.Overhear(t.Context(), "thr_1", func(d ponder.Delta) { heard <- d.Key + ":" + d.Text })
	if got := <-heard; got != "turn-3-1:It is " {
		t.Errorf("heard %q first", got)
	}
	c.Add(delta("turn-3-1", "so."))
	if got := <-heard; got != "turn-3-1:so." {
		t.Errorf("heard %q then", got)
	}
	c.Close()
	c.Add(delta("turn-3-1", "Nobody hears this."))
	var none *app.DeltaBroadcaster
	none.Add(delta("turn-3-1", "Nor this."))
	none.Close()
}
