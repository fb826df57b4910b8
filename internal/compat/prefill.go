package compat

import (
	"bytes"
	"encoding/json"
	"strings"

	"ponder"
	"ponder/llm"
)

// A client may send the beginning of the answer as the last message. Few models still continue a
// message of the assistant, so Ponder asks for the rest in words, and removes a repeated beginning.

// continueText asks for the rest of the message before it.
const continueText = "Continue your last message exactly where it ends. Write only what follows. Do not repeat any of it, and do not begin anew."

// prefillText returns the beginning of the answer, or "".
func (a Request) prefillText() string {
	if m := a.lastMessage(); m.Role == llm.Assistant && len(a.Messages) > 1 && a.Model.Kind == Chat {
		return m.Text()
	}
	return ""
}

// withContinuation returns the messages with continueText if they end with a beginning of the answer.
func (a Request) withContinuation() []llm.Message {
	if a.prefillText() == "" {
		return a.Messages
	}
	return append(a.Messages[:len(a.Messages):len(a.Messages)], llm.Say(llm.User, continueText))
}

// prefillOf returns the beginning of the answer of a stored exchange, or "".
func prefillOf(b ponder.RunStarted) string {
	if !bytes.Contains(b.Options, []byte(continueText)) {
		return ""
	}
	var in struct {
		Request struct{ Messages []llm.Message }
	}
	if json.Unmarshal(b.Options, &in) != nil {
		return ""
	}
	list := in.Request.Messages
	if n := len(list); n > 1 && list[n-1].Text() == continueText && list[n-2].Role == llm.Assistant {
		return list[n-2].Text()
	}
	return ""
}

// A prefillTrimmer removes the beginning from an answer that repeats it. The zero value removes
// nothing.
type prefillTrimmer struct {
	prefill string
	held    []Part // while they may repeat the beginning
	matched int    // bytes of the beginning that they repeat
	decided bool
}

// trimParts returns the parts to send.
func (t *prefillTrimmer) trimParts(list []Part) (out []Part) {
	if t.prefill == "" {
		return list
	}
	for _, p := range list {
		switch {
		case p.Kind == Text && p.Again:
			t.held, t.matched, t.decided = nil, 0, false
			out = append(out, t.holdText(p)...)
		case p.Kind == Text && !t.decided:
			out = append(out, t.holdText(p)...)
		case p.Kind == TextEnd:
			out = append(out, t.held...)
			t.held, t.decided = nil, true
			p.Text = t.trimText(p.Text)
			out = append(out, p)
		default:
			out = append(out, p)
		}
	}
	return out
}

// holdText holds a part while the text may repeat the beginning, and then returns the parts to send.
func (t *prefillTrimmer) holdText(p Part) []Part {
	t.held = append(t.held, p)
	text, left := p.Text, strings.TrimLeft(t.prefill, prefillSpace)[t.matched:]
	if t.matched == 0 {
		text = strings.TrimLeft(text, prefillSpace)
	}
	if len(text) < len(left) && strings.HasPrefix(left, text) {
		t.matched += len(text)
		return nil
	}
	list := t.held
	t.held, t.decided = nil, true
	rest, repeated := strings.CutPrefix(text, left)
	if !repeated {
		return list
	}
	p.Text, p.Again = rest, list[0].Again
	if rest == "" && !p.Again {
		return nil
	}
	return []Part{p}
}

const prefillSpace = " \n"

// trimText returns the text of a complete answer.
func (t *prefillTrimmer) trimText(text string) string {
	if t.prefill == "" {
		return text
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(text, prefillSpace), strings.TrimLeft(t.prefill, prefillSpace)); ok {
		return rest
	}
	return text
}
