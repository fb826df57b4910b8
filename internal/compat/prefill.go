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
	decided bool
}

// trimPrefill returns text without the beginning, and whether more text can still complete it.
func trimPrefill(prefill, text string) (rest string, open bool) {
	prefill, text = strings.TrimLeft(prefill, " \n"), strings.TrimLeft(text, " \n")
	if rest, ok := strings.CutPrefix(text, prefill); ok {
		return rest, false
	}
	return text, strings.HasPrefix(prefill, text)
}

// trimParts returns the parts to send.
func (t *prefillTrimmer) trimParts(list []Part) (out []Part) {
	if t.prefill == "" {
		return list
	}
	for _, p := range list {
		switch {
		case p.Kind == Text && p.Again:
			t.held, t.decided = nil, false
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

func (t *prefillTrimmer) holdText(p Part) []Part {
	t.held = append(t.held, p)
	var text strings.Builder
	for _, h := range t.held {
		text.WriteString(h.Text)
	}
	rest, open := trimPrefill(t.prefill, text.String())
	if open {
		return nil
	}
	list := t.held
	t.held, t.decided = nil, true
	if len(rest) == len(strings.TrimLeft(text.String(), " \n")) { // no repetition
		return list
	}
	p.Text, p.Again = rest, list[0].Again
	if rest == "" && !p.Again {
		return nil
	}
	return []Part{p}
}

// trimText returns the text of a complete answer.
func (t *prefillTrimmer) trimText(text string) string {
	if rest, open := trimPrefill(t.prefill, text); t.prefill != "" && !open {
		if len(rest) < len(strings.TrimLeft(text, " \n")) {
			return rest
		}
	}
	return text
}
