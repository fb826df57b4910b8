package chat_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"ponder/llm"
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
