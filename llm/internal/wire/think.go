package wire

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"

	// maxLead is how many bytes of space there may be before the tag.
	maxLead = 64
)

// Think splits reasoning from answer in text that opens with <think>. A tag
// anywhere else is text. The zero value is ready; do not use it on an answer
// that was asked to be JSON.
type Think struct {
	// Open says that the model's template swallows the opening tag, so that
	// text begins as reasoning.
	Open bool

	state thinkState
	held  string // what may be part of a tag
}

type thinkState int

const (
	atStart thinkState = iota
	inThought
	afterThought // between the closing tag and the answer
	inAnswer
)

// Push takes a piece of text and returns what of it, and of what was held back
// before, is reasoning and what is answer.
func (t *Think) Push(text string) (reasoning, answer string) {
	if t.state == inAnswer {
		return "", text
	}
	if t.state == atStart && t.Open {
		t.state = inThought
	}
	text, t.held = t.held+text, ""
	if t.state == atStart {
		trimmed := strings.TrimLeft(text, " \t\r\n")
		switch {
		case len(text)-len(trimmed) > maxLead:
			t.state = inAnswer
			return "", text
		case strings.HasPrefix(trimmed, thinkOpen):
			t.state = inThought
			text = trimmed[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, trimmed):
			t.held = text
			return "", ""
		default:
			t.state = inAnswer
			return "", text
		}
	}
	if t.state == inThought {
		before, after, found := strings.Cut(text, thinkClose)
		if !found {
			keep := partial(text, thinkClose)
			t.held = text[len(text)-keep:]
			return text[:len(text)-keep], ""
		}
		t.state = afterThought
		reasoning, text = before, after
	}
	if text = strings.TrimLeft(text, "\r\n"); text != "" {
		t.state = inAnswer
	}
	return reasoning, text
}

// Flush returns what was held back when the text has ended.
func (t *Think) Flush() (reasoning, answer string) {
	held := t.held
	t.held = ""
	if t.state == inThought {
		return held, ""
	}
	return "", held
}

// partial returns the length of the longest end of text that begins tag.
func partial(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}
