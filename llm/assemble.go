package llm

import (
	"strings"
	"unicode"

	"ponder/internal/textkit"
)

// A TextAssembler assembles the text of an answer that a model writes in rounds: from the
// deltas that arrive of each round, and from the text that is stored of it in the end. It
// never shows a text twice and never joins two attempts. Whatever arrives, its text in the
// end is that of the stored rounds. The zero value is ready. It is not safe for concurrent
// use.
type TextAssembler struct {
	// Eager replaces a round as soon as another attempt at it uses other words. If false,
	// such an attempt is not shown before the round is stored.
	Eager bool

	text    []byte // that is shown
	stored  int    // bytes of text that are stored
	start   int    // where the words of the open round begin; stored, if there are none
	last    int    // the newest round that is stored
	round   int    // that is being written
	attempt int    // at it
	next    int    // bytes of the attempt that have arrived
	matched int    // bytes of the open round that the attempt has repeated
	held    string // behind them, until it is the beginning of a word: space, and a part of a letter
	muted   bool   // the attempt has a gap, or other words than are shown
}

// An Edit is a change at the end of a text: Back bytes are taken back, then Text is added.
type Edit struct {
	Back int
	Text string
}

// roundGap separates the texts of two rounds.
const roundGap = "\n\n"

// Hear takes a delta of an attempt at a round. Rounds and attempts count from 1; offset is
// how many bytes of text the attempt wrote before. A late delta and a repeated one change
// nothing; behind a gap, nothing more of the attempt is shown. Space around a round is left
// out.
func (a *TextAssembler) Hear(round, attempt, offset int, delta string) Edit {
	switch {
	case round <= a.last, round < a.round, round == a.round && attempt < a.attempt:
		return Edit{}
	case round > a.round, attempt > a.attempt:
		a.round, a.attempt = round, attempt
		a.next, a.matched, a.held, a.muted = 0, 0, "", false
	}
	a.muted = a.muted || offset > a.next
	known := a.next - offset
	if a.muted || known >= len(delta) {
		return Edit{}
	}
	a.next += len(delta) - known
	delta = a.held + delta[known:]
	words := strings.TrimRightFunc(delta[:textkit.WholeRunes(delta)], unicode.IsSpace)
	a.held = delta[len(words):]
	if a.matched == 0 {
		words = strings.TrimLeftFunc(words, unicode.IsSpace)
	}
	return a.match(words)
}

// match shows what an attempt says behind the words that it has repeated.
func (a *TextAssembler) match(said string) Edit {
	shown := a.text[a.start:]
	n := min(len(shown)-a.matched, len(said))
	if string(shown[a.matched:a.matched+n]) == said[:n] {
		a.matched += len(said)
		return Edit{Text: a.add(said[n:])}
	}
	if !a.Eager {
		a.muted = true
		return Edit{}
	}
	said = string(shown[:a.matched]) + said
	e := a.Drop()
	e.Text, a.matched, a.muted = a.add(said), len(said), false
	return e
}

// add adds to the open round, and returns what that adds to the text.
func (a *TextAssembler) add(words string) string {
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

// Store takes the text that is stored of a round, and shows what is missing of it. Rounds
// are stored in their order, each once: a repeated one changes nothing.
func (a *TextAssembler) Store(round int, text string) (e Edit) {
	if round <= a.last {
		return e
	}
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, string(a.text[a.start:]))
	if !ok {
		e, rest = a.Drop(), text
	}
	e.Text = a.add(rest)
	a.last, a.stored, a.start = round, len(a.text), len(a.text)
	a.matched, a.muted = 0, true
	return e
}

// Drop takes back what is not stored.
func (a *TextAssembler) Drop() Edit {
	e := Edit{Back: len(a.text) - a.stored}
	a.text, a.start = a.text[:a.stored], a.stored
	a.matched, a.muted = 0, true
	return e
}

// Text returns what is shown.
func (a *TextAssembler) Text() string { return string(a.text) }

// Stored returns what is shown of the rounds that are stored.
func (a *TextAssembler) Stored() string { return string(a.text[:a.stored]) }

// Open returns what is shown of the round that is not stored.
func (a *TextAssembler) Open() string { return string(a.text[a.start:]) }
