package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/steering"
	"ponder/internal/tui"
	"ponder/mode/session"
	"ponder/store/memory"
)

func TestDecide(t *testing.T) {
	thinking, paused := keyContext{status: ponder.Thinking, here: true}, keyContext{status: ponder.Paused, here: true}
	watching, resting := keyContext{status: ponder.Thinking}, keyContext{status: ponder.Paused}
	hurried, launching, over := thinking, resting, keyContext{status: ponder.Completed, here: true}
	hurried.concluding, launching.launching = true, true
	for _, tt := range []struct {
		key  string
		st   keyContext
		want keyAction
		says bool
	}{
		{tui.Interrupt, thinking, actionPauseAndLeave, false},
		{tui.Interrupt, paused, actionLeave, false},
		{tui.Interrupt, launching, actionLeave, false},
		{tui.Interrupt, over, actionNone, true},
		{pauseKey, thinking, actionPause, false},
		{pauseKey, paused, actionResume, false},
		{pauseKey, watching, actionPause, false},
		{pauseKey, resting, actionResume, false},
		{pauseKey, launching, actionNone, true},
		{pauseKey, over, actionNone, true},
		{steerKey, thinking, actionSteer, false},
		{steerKey, resting, actionSteer, false},
		{answerKey, thinking, actionAnswer, false},
		{answerKey, hurried, actionNone, true},
		{answerKey, paused, actionAnswerAndResume, false},
		{answerKey, watching, actionAnswer, false},
		{detachKey, thinking, actionDetach, false},
		{detachKey, paused, actionLeave, false},
		{detachKey, watching, actionLeave, false},
		{"z", thinking, actionNone, false},
	} {
		if got, why := decideKeyAction(tui.Press{Key: tt.key}, tt.st); got != tt.want || (why != "") != tt.says {
			t.Errorf("%s at %+v: %v %q, want %v", tt.key, tt.st, got, why, tt.want)
		}
	}
}

// The view reports a command that it cannot send, unless it is stopping.
func TestCommandNotSent(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		want string
	}{
		{"a thread that is gone", t.Context(), "ponder: not sent: send command to thr_1: thread thr_1: no such thread\n"},
		{"Ctrl-C twice", stopped, ""},
	} {
		var log strings.Builder
		w := &sessionScreen{cli: &cli{App: &app.App{}, log: &logSink{out: &log}}, SessionView: app.SessionView{Store: memory.New(), Id: "thr_1", View: session.NewView()}}
		l := &liveScreen{sessionScreen: w, ui: quietUI{}, runner: &app.Runner{}}
		if l.postCommand(tt.ctx, ponder.RunPaused{}) || log.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, log.String(), tt.want)
		}
	}
}

func TestReadSteer(t *testing.T) {
	v := session.NewView()
	v.Session.Run = "run_1"
	v.Session.Budget.Seconds = 600
	v.Questions = []session.Question{{ID: "q3", Text: "Who paid?", Priority: 4}}
	for _, tt := range []struct {
		line string
		want string // operation, content and arguments; or the error
	}{
		{"add Who  paid for it?", `add_question "Who paid for it?" `},
		{"Who paid for it?", `add_question "Who paid for it?" `},
		{"ADD a", `add_question "a" `},
		{"add 9 What does it cost?", `add_question "What does it cost?" {"priority":9}`},
		{"add 10  a", `add_question "a" {"priority":10}`},
		{"add 9", `add_question "9" `},
		{"add 11 men or 12?", `add_question "11 men or 12?" `},
		{"add 7% of what?", `add_question "7% of what?" `},
		{"9 or more?", `add_question "9 or more?" `},
		{"drop q3", `drop_question "" {"question":"q3"}`},
		{"drop who paid?", `drop_question "" {"question":"q3"}`},
		{"rank q3 9", `rank_question "" {"question":"q3","priority":9}`},
		{"rank q3=9", `rank_question "" {"question":"q3","priority":9}`},
		{"rank who paid? 9", `rank_question "" {"question":"q3","priority":9}`},
		{"correct It was 1317.", `correct "It was 1317." `},
		{"pin e7", `pin_source "" {"source":"e7"}`},
		{"ban https://a.example/b c", `ban_source "" {"source":"https://a.example/b c"}`},
		{"for 30m", `budget "" {"time_ns":1800000000000}`},
		{"for +10m", `budget "" {"time_ns":1200000000000}`},
		{"calls 100", `budget "" {"calls":100}`},
		{"tokens 50k", `budget "" {"tokens":50000}`},
		{"cost 0.50", `budget "" {"micro_usd":500000}`},
		{"answer", `answer_now "" `},
		{"answer it", "answer takes nothing"},
		{"add", "say add QUESTION: think about this too"},
		{"rank q3", "say which question and how urgent it is: rank q3 9"},
		{"rank q3 11", `rank: "11" is no priority from 1 to 10`},
		{"for ever", "for: "},
		{"calls +5", "the session has no such limit yet"},
		{"drop q9", `has no question "q9"`},
		{"dorp q3", `unknown command "dorp"; use one of: add, drop`},
	} {
		f, err := readSteer(tt.line)
		var list []ponder.Event
		if err == nil {
			list, err = f.commandEvents(t.Context(), &app.SessionView{View: v})
		}
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", tt.line, err, tt.want)
			}
			continue
		}
		b := list[0].Body.(ponder.Steer)
		js, _ := json.Marshal(b.Content)
		if got := string(b.Do) + " " + string(js) + " " + string(b.Args); got != tt.want || len(list) != 1 {
			t.Errorf("%s: %s, want %s", tt.line, got, tt.want)
		}
	}
}

func someQuestions() []tui.Branch {
	return []tui.Branch{
		{ID: "q3", Mark: "p4", Text: "Who paid?"}, {ID: "q31", Mark: "p9", Text: "Who was paid?"}, {ID: "q4", Text: "When?", State: tui.Done},
	}
}

func TestHintSteer(t *testing.T) {
	for _, tt := range []struct {
		line string
		want tui.Hint
	}{
		{"c", tui.Hint{Text: "correct FACT · calls 100 · cost 0.50"}},
		{"ca", tui.Hint{Text: "calls 100: most calls in all; +20 is so many more", Complete: "calls "}},
		{"an", tui.Hint{Text: "answer: stop thinking, and answer from what there is", Complete: "answer"}},
		{"add Wh", tui.Hint{Text: "add QUESTION: think about this too; add 9 QUESTION says how urgent it is, from 1 to 10"}},
		{"drop ", tui.Hint{Text: "q3 Who paid? · q31 Who was paid?"}},
		{"drop q31", tui.Hint{Text: "q31 Who was paid?", Complete: "drop q31"}},
		{"rank Q31", tui.Hint{Text: "q31 Who was paid?", Complete: "rank q31 "}},
		{"rank q3 ", tui.Hint{Text: "q3 p4  Who paid?"}},
		{"drop q4", tui.Hint{Text: "drop q3: leave out a question"}},
		{"what if", tui.Hint{Text: "a question that ends in ? is added; any sentence works; or begin with: add drop rank correct pin ban for calls tokens cost answer undo"}},
	} {
		if d := cmp.Diff(tt.want, hintSteer(tt.line, someQuestions())); d != "" {
			t.Errorf("%s: %s", tt.line, d)
		}
	}
}

// The list of commands has each steering verb, with a description.
func TestLineCommands(t *testing.T) {
	list := lineCommands()
	for i, v := range steerVerbs() {
		if list[i].Usage != v.usageText() || list[i].About == "" {
			t.Errorf("%s: %+v", v.name, list[i])
		}
	}
	if hint := hintSteer("", nil).Text; !strings.Contains(hint, "? explains") {
		t.Errorf("the hint does not name the list: %q", hint)
	}
}

func FuzzReadSteer(f *testing.F) {
	f.Add("add \x1b[31mWhat?\u202e", "rank q3 9")
	f.Fuzz(func(t *testing.T, line, rest string) {
		for _, line := range []string{line, line + " " + rest} {
			hintSteer(line, someQuestions())
			flags, err := readSteer(line)
			if err != nil {
				continue
			}
			commands, _ := steering.View{}.Commands(flags.requests)
			for _, c := range commands {
				var args ponder.SteerArgs
				_ = json.Unmarshal(c.Args, &args)
				for _, text := range []string{c.Content, args.Question, args.Source} {
					if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }) {
						t.Errorf("%q: a control character in %q", line, text)
					}
				}
			}
		}
	})
}
