package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

// A user's question comes before equally urgent ones, only the user ranks it, and it is not dropped
// for models' questions.
func TestCommandRecords(t *testing.T) {
	ask := func(do ponder.SteerOp, text, id string, priority int) ponder.Steer {
		args, err := json.Marshal(ponder.SteerArgs{Question: id, Priority: priority})
		if err != nil {
			t.Fatal(err)
		}
		return ponder.Steer{Do: do, Content: text, Args: args}
	}
	raised := func(n, priority int) []modelQuestion { // by a model
		return []modelQuestion{{Text: fmt.Sprintf("Where lies place%d, by way of road%d?", n, n*n), Priority: priority}}
	}
	tests := []struct {
		name string
		do   func(*state)
		want string
	}{
		{"as urgent as others", func(s *state) {
			s.addQuestions(raised(1, 8), false)
			s.applySteer("", ask(ponder.AddQuestion, "Who made the waves?", "", 0))
		}, "q2"},
		{"less urgent than others", func(s *state) {
			s.applySteer("", ask(ponder.AddQuestion, "Who made the waves?", "", 8))
			s.addQuestions(raised(1, 9), false)
		}, "q2"},
		{"ranked down by a model", func(s *state) {
			s.applySteer("", ask(ponder.AddQuestion, "Who made the waves?", "", 8))
			s.addQuestions(raised(1, 7), false)
			s.applyRanks([]questionRank{{id: "q1", priority: 2}})
		}, "q1"},
		{"ranked by the user", func(s *state) {
			s.addQuestions(raised(1, 5), false)
			s.addQuestions(raised(2, 6), false)
			s.applySteer("", ask(ponder.RankQuestion, "", "q1", 9))
			s.applyRanks([]questionRank{{id: "q1", priority: 1}})
		}, "q1"},
		{"ranked down by the user, and asked again by a model", func(s *state) {
			s.addQuestions(raised(1, 9), false)
			s.addQuestions(raised(2, 6), false)
			s.applySteer("", ask(ponder.RankQuestion, "", "q1", 2))
			s.addQuestions(raised(1, 10), false)
		}, "q2"},
		{"asked by a model, then by the user", func(s *state) {
			s.addQuestions(raised(1, 8), false)
			s.applySteer("", ask(ponder.AddQuestion, raised(1, 0)[0].Text, "", 8))
			s.applyRanks([]questionRank{{id: "q1", priority: 1}})
			s.addQuestions(raised(2, 8), false)
		}, "q1"},
		{"among too many", func(s *state) {
			s.applySteer("", ask(ponder.AddQuestion, "Who made the waves?", "", 1))
			for n := range maxOpen {
				s.addQuestions(raised(n, 5), false)
			}
			for len(s.Open) > 1 {
				s.Focus = s.chooseFoci(1)[0]
				s.markExplored("")
			}
		}, "q1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newState(ponder.Run{ID: testRun, Input: "What is the sea?"})
			tt.do(s)
			if got := s.chooseFoci(1)[0].Question; got != tt.want {
				t.Errorf("next is %q, want %q", got, tt.want)
			}
		})
	}
}

// collectAcks sends commands at positions of the log and returns the acknowledgements.
func collectAcks(t *testing.T, o Options, inputs map[int]ponder.Body, answer func(ponder.Action) ponder.Body) (*driver, []ponder.Progress) {
	t.Helper()
	d := newDriver(t, "What is the sea?", o, 2*time.Minute, answer)
	d.inputs = inputs
	d.runToEnd()
	var acks []ponder.Progress
	for _, b := range bodiesOf[ponder.Progress](d) {
		if b.Stage == "steered" {
			acks = append(acks, b)
		}
	}
	return d, acks
}

func newSteer(do ponder.SteerOp, content string, args ponder.SteerArgs) ponder.Body {
	js, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return ponder.Steer{Do: do, Content: content, Args: js}
}

func TestCommands(t *testing.T) {
	// The log: 1 focus, 2 call, 3-5 thoughts, 6 focus, 7 call, 8-10 thoughts, 11 call, 12 question
	// q1, 13 focus.
	for _, tt := range []struct {
		name      string
		at        int
		b         ponder.Body
		want      string
		refused   bool
		cancelled []string
		check     func(*testing.T, *driver)
	}{
		{name: "add", at: 3, b: newSteer(ponder.AddQuestion, "Who made the waves?", ponder.SteerArgs{Priority: 9}), want: "question q1 is added with priority 9", check: func(t *testing.T, d *driver) {
			if b := bodiesOf[ponder.SubQuestion](d)[0]; b.By != "user" || b.Parent != "" || b.Priority != 9 {
				t.Errorf("%+v", b)
			}
			if text := d.callByKey("thoughts-3").Request.Messages[0].Text(); !strings.Contains(text, "Current focus: Who made the waves?") {
				t.Errorf("its turn is not next:\n%s", text)
			}
		}},
		{name: "add nothing", at: 3, b: newSteer(ponder.AddQuestion, " ", ponder.SteerArgs{}), want: "no question given", refused: true},
		{name: "add with a wrong priority", at: 3, b: newSteer(ponder.AddQuestion, "Who?", ponder.SteerArgs{Priority: 11}), want: "priority 11 is out of range; use 1 to 10", refused: true},
		{name: "drop what is thought about", at: 13, b: newSteer(ponder.DropQuestion, "", ponder.SteerArgs{Question: "Q1"}), want: "question q1 is dropped", cancelled: []string{"thoughts-3"}, check: func(t *testing.T, d *driver) {
			if text := d.callByKey("thoughts-4").Request.Messages[0].Text(); strings.Contains(text, "side 1") {
				t.Errorf("it is still there:\n%s", text)
			}
		}},
		{name: "drop what is not there", at: 13, b: newSteer(ponder.DropQuestion, "", ponder.SteerArgs{Question: "q7"}), want: `there is no question "q7"`, refused: true},
		{name: "rank", at: 13, b: newSteer(ponder.RankQuestion, "", ponder.SteerArgs{Question: "q1", Priority: 2}), want: "question q1 has priority 2"},
		{name: "rank beyond", at: 13, b: newSteer(ponder.RankQuestion, "", ponder.SteerArgs{Question: "q1", Priority: 0}), want: "priority 0 is out of range; use 1 to 10", refused: true},
		{name: "correct", at: 6, b: newSteer(ponder.Correct, "The sea is not blue.", ponder.SteerArgs{}), want: "correction c1 is in force", cancelled: []string{"thoughts-2"}, check: func(t *testing.T, d *driver) {
			if text := d.callByKey("thoughts-3").Request.Messages[0].Text(); !strings.Contains(text, "- [c1] The sea is not blue.") {
				t.Errorf("the next call does not know:\n%s", text)
			}
			flagged := false
			for _, b := range bodiesOf[ponder.Thought](d) {
				flagged = flagged || b.Content == "The sea is blue." && slices.Equal(b.Against, []string{"c1"})
			}
			if !flagged {
				t.Error("what contradicts it is not flagged")
			}
		}},
		{name: "correct while questions are asked for", at: 10, b: newSteer(ponder.Correct, "The sea is not blue.", ponder.SteerArgs{}), want: "correction c1 is in force", cancelled: []string{"questions-1"}},
		{name: "pin what is not there", at: 3, b: newSteer(ponder.PinSource, "", ponder.SteerArgs{Source: "/etc/passwd"}), want: "/etc/passwd is not one of the documents of the session", refused: true},
		{name: "pin beside the documents", at: 3, b: newSteer(ponder.PinSource, "", ponder.SteerArgs{Source: "/docs/../etc/passwd"}), want: "/docs/../etc/passwd is not one of the documents of the session", refused: true},
		{name: "budget", at: 3, b: ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(`{"calls":100,"time_ns":60000000000}`)}, want: "the limits are changed: 1m0s, 100 calls"},
		{name: "budget of nothing", at: 3, b: ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(`{}`)}, want: "no limit is set", refused: true},
		{name: "answer now", at: 3, b: ponder.Steer{Do: ponder.AnswerNow}, want: "the answer is being written", cancelled: []string{"thoughts-2"}},
		{name: "no such order", at: 3, b: ponder.Steer{Do: "dance"}, want: "unknown command: dance", refused: true},
		{name: "free words", at: 3, b: ponder.Steer{Content: "Who made the waves?"}, want: "question q1 is added with priority 8"},
		{name: "arguments of another kind", at: 3, b: ponder.Steer{Do: ponder.PinSource, Args: json.RawMessage(`[]`)}, want: "invalid arguments", refused: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, acks := collectAcks(t, Options{}, map[int]ponder.Body{tt.at: tt.b}, func(a ponder.Action) ponder.Body {
				if keyOf(a) == "thoughts-4" {
					return textAnswer(`{"thoughts":[{"thought":"The sea is blue.","confidence":0.6}]}`)
				}
				return defaultAnswer(a)
			})
			if len(acks) != 1 || acks[0].Content != tt.want || acks[0].Refused != tt.refused || !slices.Equal(acks[0].Cancelled, tt.cancelled) {
				t.Errorf("acknowledged %+v", acks)
			}
			if tt.check != nil {
				tt.check(t, d)
			}
			if d.fin.Status != ponder.Completed {
				t.Errorf("finished %+v", d.fin)
			}
		})
	}
}

// A banned source is not quoted, and calls with it are repeated.
func TestBan(t *testing.T) {
	d, acks := collectAcks(t, Options{Docs: []string{"/docs"}}, map[int]ponder.Body{6: newSteer(ponder.BanSource, "", ponder.SteerArgs{Source: "e1"})}, func(a ponder.Action) ponder.Body {
		if do, ok := a.(ponder.Do); ok {
			return libraryHits(do, 40)
		}
		return defaultAnswer(a)
	})
	if len(acks) != 1 || acks[0].Content != "/docs/0.md is excluded" || !slices.Equal(acks[0].Cancelled, []string{"thoughts-1"}) {
		t.Fatalf("acknowledged %+v", acks)
	}
	late := false
	for _, ev := range d.log {
		if b, ok := ev.Body.(ponder.Progress); ok && b.Stage == "steered" {
			late = true
		}
		if b, ok := ev.Body.(ponder.Evidence); ok && late && b.Source == "/docs/0.md" {
			t.Errorf("%+v", b)
		}
	}
	for _, a := range d.actions[2:] {
		if c, ok := a.(ponder.Call); ok && strings.Contains(c.Request.Messages[0].Text(), "(Doc 0)") {
			t.Errorf("%s quotes it:\n%s", c.Key, c.Request.Messages[0].Text())
		}
	}
}

func TestCommandsInAPause(t *testing.T) {
	d := newDriver(t, "What is the sea?", Options{}, time.Minute, defaultAnswer)
	d.inputs = map[int]ponder.Body{3: ponder.RunPaused{}, 4: newSteer(ponder.Correct, "The sea is not blue.", ponder.SteerArgs{}), 5: ponder.Steer{Do: ponder.AnswerNow}, 6: ponder.RunResumed{}}
	d.runToEnd()
	var got []string
	for _, b := range bodiesOf[ponder.Progress](d) {
		if b.Stage == "steered" {
			got = append(got, fmt.Sprint(b.Content, b.Cancelled))
		}
	}
	want := []string{"correction c1 is in force[]", "the answer will be written when the session resumes[]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A command during the final answer is refused with the reason.
func TestLateCommands(t *testing.T) {
	d := newDriver(t, "What is the sea?", Options{}, time.Second, defaultAnswer)
	d.inputs = map[int]ponder.Body{5: newSteer(ponder.AddQuestion, "Who made the waves?", ponder.SteerArgs{})}
	d.runToEnd()
	late := slices.IndexFunc(d.log, func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.BudgetSpent); return ok })
	d = newDriver(t, "What is the sea?", Options{}, time.Second, defaultAnswer)
	d.inputs = map[int]ponder.Body{
		late + 1: newSteer(ponder.AddQuestion, "Who made the waves?", ponder.SteerArgs{}),
		late + 2: ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(`{"calls":100}`)},
	}
	d.runToEnd()
	var got []string
	for _, b := range bodiesOf[ponder.Progress](d) {
		if b.Stage == "steered" {
			got = append(got, fmt.Sprint(b.Content, b.Refused))
		}
	}
	want := []string{"the session is writing its answer: time limit of 1s reachedtrue", "the budget is spent and the answer is being writtentrue"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
