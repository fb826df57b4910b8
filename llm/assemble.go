package llm

import (
	"strings"
	"unicode"

	"ponder/internal/textkit"
)

// A TextAssembler assembles an answer written in rounds from streamed deltas and stored
// texts. It never shows a text twice or joins two attempts; the stored text wins. The
// zero value is ready. It is not safe for concurrent use.
type TextAssembler struct {
	// Eager shows a new attempt as soon as it diverges. Otherwise it stays hidden until
	// the round is stored.
	Eager bool

	text    []byte
	stored  int // bytes of stored text
	start   int // offset of the open round; stored if it is empty
	last    int
	round   int
	attempt int
	next    int    // bytes of the attempt received
	matched int    // bytes of the open round that the attempt repeated
	pending string // trailing space and incomplete runes
	hidden  bool   // after a gap or divergence
}

// An Edit removes Back bytes from the end of a text, then appends Text.
type Edit struct {
	Back int
	Text string
}

const roundGap = "\n\n"

// AddDelta adds a delta. Rounds and attempts count from 1; offset is the attempt's bytes
// before the delta. Late and repeated deltas change nothing. After a gap the attempt is
// hidden. Each round is trimmed.
func (a *TextAssembler) AddDelta(round, attempt, offset int, delta string) Edit {
	switch {
	case round <= a.last, round < a.round, round == a.round && attempt < a.attempt:
		return Edit{}
	case round > a.round, attempt > a.attempt:
		a.round, a.attempt = round, attempt
		a.next, a.matched, a.pending, a.hidden = 0, 0, "", false
	}
	a.hidden = a.hidden || offset > a.next
	known := a.next - offset
	if a.hidden || known >= len(delta) {
		return Edit{}
	}
	a.next += len(delta) - known
	delta = a.pending + delta[known:]
	words := strings.TrimRightFunc(delta[:textkit.WholeRunes(delta)], unicode.IsSpace)
	a.pending = delta[len(words):]
	if a.matched == 0 {
		words = strings.TrimLeftFunc(words, unicode.IsSpace)
	}
	return a.matchAttempt(words)
}

// matchAttempt appends the part of said that is new.
func (a *TextAssembler) matchAttempt(said string) Edit {
	shown := a.text[a.start:]
	n := min(len(shown)-a.matched, len(said))
	if string(shown[a.matched:a.matched+n]) == said[:n] {
		a.matched += len(said)
		return Edit{Text: a.appendText(said[n:])}
	}
	if !a.Eager {
		a.hidden = true
		return Edit{}
	}
	said = string(shown[:a.matched]) + said
	e := a.Drop()
	e.Text, a.matched, a.hidden = a.appendText(said), len(said), false
	return e
}

func (a *TextAssembler) appendText(words string) string {
	if words == "" {
		return ""
	}
	if a.start == len(a.text) && a.start > 0 {
		a.start += len(roundGap)
		words = roundGap + words
	}
	a.text = append(a.text, words...)
	return words
}

// Store sets a round's final text. Rounds must come in order; a repeated one changes
// nothing.
func (a *TextAssembler) Store(round int, text string) (e Edit) {
	if round <= a.last {
		return e
	}
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, string(a.text[a.start:]))
	if !ok {
		e, rest = a.Drop(), text
	}
	e.Text = a.appendText(rest)
	a.last, a.stored, a.start = round, len(a.text), len(a.text)
	a.matched, a.hidden = 0, true
	return e
}

// Drop removes text that is not stored.
func (a *TextAssembler) Drop() Edit {
	e := Edit{Back: len(a.text) - a.stored}
	a.text, a.start = a.text[:a.stored], a.stored
	a.matched, a.hidden = 0, true
	return e
}

// Text returns the shown text.
func (a *TextAssembler) Text() string { return string(a.text) }

// Stored returns the text of the stored rounds.
func (a *TextAssembler) Stored() string { return string(a.text[:a.stored]) }

// Open returns the shown text of the open round.
func (a *TextAssembler) Open() string { return string(a.text[a.start:]) }
