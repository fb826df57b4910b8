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
	const most = 2880 // bytes of a message in a window of 2000 tokens
	for _, tt := range []struct {
		name, text string
		opts       chat.Options
		want       int
	}{
		{name: "nothing", opts: chat.Options{Window: 2000}},
		{name: "just enough room", text: strings.Repeat("a", most), opts: chat.Options{Window: 2000}},
		{name: "a byte too much", text: strings.Repeat("a", most+1), opts: chat.Options{Window: 2000}, want: 1},
		{name: "whole letters", text: strings.Repeat("ä", 500_000), opts: chat.Options{Window: 2000}, want: 1_000_000 - most},
		{name: "the default window", text: strings.Repeat("a", 1_000_000), want: 1_000_000 - 46_080},
		{name: "no model", text: strings.Repeat("a", 1_000_000), opts: chat.Options{WithoutModel: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.opts.LeftOut(tt.text); got != tt.want {
				t.Errorf("%d bytes are left out, want %d", got, tt.want)
			}
			if tt.opts.WithoutModel {
				return
			}
			synctest.Test(t, func(t *testing.T) {
				told := ""
				model := speaker{answer: func(req *llm.Request) (llm.Message, error) {
					told = heard(req)
					return says("yes"), nil
				}}
				talk(t, tt.opts, model, nil, tt.text)
				mark := fmt.Sprintf("[… %d bytes are left out here …]", tt.want)
				if got := strings.Contains(told, mark); got != (tt.want > 0) {
					t.Errorf("that the model is told %q is %t", mark, got)
				}
			})
		})
	}
}
