package compat_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"testing/synctest"

	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

// TestExchangeApproval checks that the question of an exchange follows its answer, and that its code in the next exchange
// runs the call once.
func TestExchangeApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lamp := &protocoltest.Lamp{}
		r := protocoltest.New(t, lamp.Options(protocoltest.Options{}))
		say := func(owner, text string) string {
			job := r.Start(compat.Request{Owner: owner, Model: compat.Model{Kind: compat.Chat}, Standalone: true, Messages: []llm.Message{llm.Say(llm.User, text)}})
			parts := r.CollectParts(job, false)
			text = ""
			for _, p := range parts {
				if p.Kind == compat.Text {
					text += p.Text
				}
			}
			if end := parts[len(parts)-1].End; end.Text != text {
				t.Errorf("streamed %q, ended with %q", text, end.Text)
			}
			return text
		}
		code := protocoltest.CodeIn(say("", "Switch on the lamp"))
		if code == "" {
			t.Fatal("no question")
		}
		for _, text := range protocoltest.YesWords {
			say("", text)
		}
		say("anna", "approve "+code)
		if runs := lamp.Runs(); len(runs) != 0 {
			t.Fatalf("ran %q", runs)
		}
		if got := say("", "approve "+code); got != "Done: It is bright." {
			t.Errorf("approved, and told %q", got)
		}
		say("", "approve "+code)
		var ran, want any // the options of a run escape HTML
		if runs := lamp.Runs(); len(runs) != 1 || json.Unmarshal([]byte(runs[0]), &ran) != nil || json.Unmarshal([]byte(protocoltest.LampArgs), &want) != nil || !reflect.DeepEqual(ran, want) {
			t.Errorf("ran %q", runs)
		}
	})
}
