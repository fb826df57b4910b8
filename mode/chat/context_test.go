package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/llmtest"
	"ponder/mode/chat"
)

func TestLeftOut(t *testing.T) {
	const limit = 2880 // bytes of a message in a window of 2000 tokens
	for _, tt := range []struct {
		name, text string
		opts       chat.Options
		want       int
	}{
		{name: "nothing", opts: chat.Options{Window: 2000}},
		{name: "just enough room", text: strings.Repeat("a", limit), opts: chat.Options{Window: 2000}},
		{name: "a byte too much", text: strings.Repeat("a", limit+1), opts: chat.Options{Window: 2000}, want: 1},
		{name: "whole letters", text: strings.Repeat("ä", 500_000), opts: chat.Options{Window: 2000}, want: 1_000_000 - limit},
		{name: "the default window", text: strings.Repeat("a", 1_000_000), want: 1_000_000 - 46_080},
		{name: "no model", text: strings.Repeat("a", 1_000_000), opts: chat.Options{WithoutModel: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.opts.OmittedBytes(tt.text); got != tt.want {
				t.Errorf("%d bytes are left out, want %d", got, tt.want)
			}
			if tt.opts.WithoutModel {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				told := ""
				model := fakeModel{answer: func(req *llm.Request) (llm.Message, error) {
					told = lastUserText(req)
					return sayMessage("yes"), nil
				}}
				runChat(t, tt.opts, model, nil, tt.text)
				mark := fmt.Sprintf("[… %d bytes are left out here …]", tt.want)
				if got := strings.Contains(told, mark); got != (tt.want > 0) {
					t.Errorf("the prompt contains %q: %t", mark, got)
				}
			})
		})
	}
}

// The turns of a conversation, with tools and reflections, read the prefix from the cache of a provider with
// marks.
func TestTurnsAreReadFromCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cached := anthropic.New(anthropic.Config{HTTP: &http.Client{Transport: new(llmtest.PromptCache)}, Key: "k"}).Model("claude-sonnet-4-5")
		var used llm.Usage
		calls := 0
		model := fakeModel{answer: func(req *llm.Request) (llm.Message, error) {
			res, err := llm.Collect(cached.Generate(t.Context(), req))
			if err != nil {
				t.Error(err)
				return llm.Message{}, err
			}
			if calls++; calls > 3 {
				used = used.Add(res.Usage)
			}
			if last := req.Messages[len(req.Messages)-1]; strings.HasPrefix(last.Text(), "look") {
				return llm.Message{Parts: []llm.Part{{Text: "I look."}, {Call: &llm.ToolCall{ID: fmt.Sprint("c", calls), Name: "look", Input: json.RawMessage("{}")}}}}, nil
			}
			return sayMessage(strings.Repeat("It is so. ", 40)), nil
		}}
		tool := ponder.NewTool("look", "Look.", nil, func(context.Context, struct{}) (string, error) { return strings.Repeat("Seen. ", 100), nil })
		var messages []string
		for i := range 8 { // each waits for an hour of heartbeats
			messages = append(messages, []string{"look ", "tell "}[i%2]+fmt.Sprintf("at %d: %s", i, strings.Repeat("more ", 50)))
		}
		runChat(t, chat.Options{System: strings.Repeat("Talk. ", 100), Tools: []llm.Tool{tool.Tool}}, model, []ponder.Tool{tool}, messages...)
		t.Logf("%d calls: %d bytes read, %d written, %d neither", calls, used.CacheRead, used.CacheWrite, used.Input)
		if all := used.Input + used.CacheRead + used.CacheWrite; calls < 12 || 100*used.CacheRead < 75*all {
			t.Errorf("%d calls: %d of %d bytes are read from the cache", calls, used.CacheRead, all)
		}
	})
}
