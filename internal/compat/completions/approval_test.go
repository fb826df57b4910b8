package completions_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/internal/taint"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/chat"
)

// TestTalkApproval checks that a history continues its conversation and answers its question whether
// the client sends the question of Ponder back, or drops it. The history adds nothing: an attachment
// would count as text of a stranger.
func TestTalkApproval(t *testing.T) {
	code := regexp.MustCompile("Answer `approve ([0-9A-Z]{6})`")
	for name, back := range map[string]func(answer string) string{
		"as shown": func(answer string) string { return answer },
		"without the question": func(answer string) string {
			own, _, _ := strings.Cut(answer, "**Ponder asks")
			return own
		},
		"without spaces":   func(answer string) string { return strings.Join(strings.Fields(answer), " ") },
		"without the turn": nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			runs := 0
			lamp := ponder.NewTool("lamp", "Switch on the lamp.", json.RawMessage(`{"type":"object"}`), func(context.Context, json.RawMessage) (string, error) {
				runs++
				return "It is bright.", nil
			})
			model := &llmtest.Model{ID: "test/model", Answer: func(req *llm.Request) (llm.Message, error) {
				last := req.Messages[len(req.Messages)-1].Parts
				if i := slices.IndexFunc(last, func(p llm.Part) bool { return p.Result != nil }); i >= 0 {
					return llm.Say(llm.Assistant, "It says: "+last[i].Result.Text), nil
				}
				return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c1", Name: "lamp", Input: json.RawMessage(`{"room":"kitchen"}`)}}}}, nil
			}}
			r := newChatRig(t, model, chat.Options{Tools: []llm.Tool{lamp.Tool}, Gate: func(chat.ToolUse) taint.Decision { return taint.Decision{Ask: "it acts"} }}, lamp)
			var thread ponder.ThreadID
			var history []map[string]string
			say := func(text string) string {
				history = append(history, map[string]string{"role": "user", "content": text})
				body := map[string]any{"messages": history, "conversationUniqueId": "lamp"}
				if len(r.opened) == 0 {
					body = map[string]any{"messages": history, "newUniqueId": "lamp"}
				}
				js, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				sent := r.sendCompletion(t.Context(), "mine", "", string(js))
				answer := sent.answerText()
				thread = sent.thread
				if back == nil {
					history = nil
				} else {
					history = append(history, map[string]string{"role": "assistant", "content": back(answer)})
				}
				return answer
			}
			asked := code.FindStringSubmatch(say("Switch on the lamp"))
			if asked == nil {
				t.Fatalf("%s: no question", name)
			}
			say("yes")
			if runs != 0 {
				t.Errorf("%s: ran without an approval", name)
			}
			if got := say("approve " + asked[1]); !strings.HasSuffix(got, "It is bright.") || runs != 1 {
				t.Errorf("%s: approved, ran %d times and told %q", name, runs, got)
			}
			if len(r.opened) != 1 {
				t.Errorf("%s: %d conversations", name, len(r.opened))
			}
			if n := r.countEvents(thread, func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.AttachmentAdded); return ok }); n != 0 {
				t.Errorf("%s: the conversation got %d attachments", name, n)
			}
		})
	}
}
