package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/llm"
	"ponder/mode/chat"
)

// refuseAbove returns a model that takes requests of so many bytes. With told, its refusal says so.
func refuseAbove(limit int, told bool, answer func(*llm.Request) llm.Message) (fakeModel, *[]int) {
	var accepted []int
	return fakeModel{answer: func(req *llm.Request) (llm.Message, error) {
		if n := req.Size(); n > limit {
			e := &llm.Error{Class: llm.TooLong, Model: "fake/speaker", Message: "too long"}
			if told {
				e.Room = limit * 3 / 4
			}
			return llm.Message{}, e
		}
		accepted = append(accepted, req.Size())
		return answer(req), nil
	}}, &accepted
}

func contextNotes(evs []ponder.Event) (list []string) {
	for _, ev := range evs {
		if b, ok := ev.Body.(ponder.SystemNote); ok && b.Reason == chat.OmittedNote && !ev.Internal {
			list = append(list, b.Content)
		}
	}
	return list
}

// A conversation that outgrows the model continues with less, whether or not a refusal names the limit.
// Each answer is to the newest message, and a note names the missing part.
func TestConversationOutgrowsModel(t *testing.T) {
	for _, limit := range []int{2_000, 5_000, 9_000, 30_000} {
		for _, told := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d bytes, told %t", limit, told), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					model, accepted := refuseAbove(limit, told, func(req *llm.Request) llm.Message {
						return sayMessage(lastUserText(req)[:10] + strings.Repeat(" word", 40))
					})
					var messages []string
					for i := range 40 {
						messages = append(messages, fmt.Sprintf("message %02d %s", i, strings.Repeat("x", 300)))
					}
					mind := runChat(t, chat.Options{System: "Talk."}, model, nil, messages...)
					got := listAnswers(mind.Events())
					for i, text := range got {
						if !strings.HasPrefix(text, fmt.Sprintf("message %02d", i)) {
							t.Errorf("answer %d is %q", i, text)
						}
					}
					if len(got) != len(messages) {
						t.Fatalf("%d answers, want %d", len(got), len(messages))
					}
					if last := (*accepted)[len(*accepted)-1]; last < limit/4 {
						t.Errorf("the last request has %d of %d bytes", last, limit)
					}
					missing := false
					for _, ev := range mind.Events() {
						b, ok := ev.Body.(ponder.CallFinished)
						missing = missing || ok && b.Class == llm.TooLong
					}
					notes, summed := contextNotes(mind.Events()), false
					for _, ev := range mind.Events() {
						_, ok := ev.Body.(ponder.Summary)
						summed = summed || ok
					}
					if missing && (len(notes) == 0 || !summed || !strings.Contains(notes[0], "oldest message") || !strings.Contains(notes[0], "of this conversation")) {
						t.Errorf("after a refusal: notes %q, summed up %t", notes, summed)
					}
					if !missing && len(notes) > 0 {
						t.Errorf("nothing was refused, but there are notes: %q", notes)
					}
				})
			})
		}
	}
}

// A long result, a long message and many tools give way to the answer.
func TestTurnOutgrowsModel(t *testing.T) {
	var tools []llm.Tool
	for i := range 6 {
		tools = append(tools, llm.Tool{Name: fmt.Sprintf("tool%d", i), Doc: strings.Repeat("It does something. ", 40), Schema: json.RawMessage(`{"type":"object"}`)})
	}
	for name, tt := range map[string]struct {
		message string
		file    string
		tools   []llm.Tool
		calls   bool
		note    string
	}{
		"a long message": {message: strings.Repeat("a long story ", 3000), note: "bytes in the middle of long texts"},
		"a file":         {message: "and?", file: strings.Repeat("a long story ", 3000), note: "bytes in the middle of long texts"},
		"many tools":     {message: "hello", tools: tools, note: " tools ("},
		"a long result":  {message: "search", tools: tools[:1], calls: true, note: "bytes in the middle of long texts"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				model, _ := refuseAbove(4_000, true, func(req *llm.Request) llm.Message {
					if tt.calls && len(toolResults(req)) == 0 {
						return callMessage("tool0", "{}")
					}
					if tt.calls && !strings.Contains(strings.Join(toolResults(req), ""), "left out here") {
						t.Error("the model does not know that the result is cut")
					}
					if all := fmt.Sprint(req.Messages); tt.file != "" && lastUserText(req) == "and?" && !strings.Contains(all, "a long story") {
						t.Errorf("the model sees nothing of the file: %.300s", all)
					}
					return sayMessage("done")
				})
				search := ponder.Tool{Tool: llm.Tool{Name: "tool0"}, Do: func(context.Context, json.RawMessage) (string, error) {
					return strings.Repeat("a row of a table\n", 1000), nil
				}}
				mind := runChat(t, chat.Options{System: "Talk.", Tools: tt.tools}, model, []ponder.Tool{search})
				if tt.file != "" {
					mind.Put("", "file", ponder.AttachmentAdded{Name: "story.txt", Content: tt.file})
				}
				for i, text := range []string{tt.message, "and again"} {
					mind.Put("", fmt.Sprintf("say-%d", i), ponder.UserMessage{Content: text})
					waitIdle()
				}
				answers := listAnswers(mind.Events())
				if len(answers) != 2 || answers[0] != "done" {
					t.Fatalf("answers %q", answers)
				}
				if notes := contextNotes(mind.Events()); len(notes) == 0 || !strings.Contains(notes[0], tt.note) {
					t.Errorf("notes %q, want one with %q", notes, tt.note)
				}
			})
		})
	}
}

// A model for which even the least is too much fails the turn with its own words.
func TestNothingFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, _ := refuseAbove(10, false, nil)
		mind := runChat(t, chat.Options{System: "Talk."}, model, nil, "hello")
		calls := 0
		for _, ev := range mind.Events() {
			if _, ok := ev.Body.(ponder.CallFinished); ok {
				calls++
			}
			if b, ok := ev.Body.(ponder.RunFinished); ok && (b.Status != ponder.Failed || !strings.Contains(b.Reason, "too long")) {
				t.Errorf("the run ended as %s: %s", b.Status, b.Reason)
			}
		}
		if calls == 0 || calls > 15 {
			t.Errorf("%d calls", calls)
		}
	})
}
