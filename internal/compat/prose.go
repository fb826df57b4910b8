package compat

import (
	"strings"
	"unicode"
)

// between stands between the texts of two rounds of an answer.
const between = "\n\n"

// A Prose is an answer while it is being written. It makes of the pieces that a model
// writes, and of the texts that the log has in the end, one text that is only added to; if
// the log has other words than were heard, because a model was asked again or pieces were
// lost, all of it is said once more. The zero Prose has said nothing.
type Prose struct {
	sent  []byte // all that was said
	round string // the key of the call that writes
	base  int    // bytes of sent that the log has
	from  int    // where it begins in sent; base, until it has said something
	heard int    // bytes of its text that this attempt has come to
	blank string // space that is said before the next word
	deaf  bool   // nothing that is heard of it counts any more
}

// begin begins a round. What was said of the one before it and is not in the log came to
// nothing: the round is like another attempt at it.
func (p *Prose) begin(round string) {
	*p = Prose{sent: p.sent, round: round, base: p.base, from: p.from}
}

// Again begins another attempt at a round.
func (p *Prose) Again(round string) {
	if round == p.round {
		p.heard, p.blank, p.deaf = 0, "", false
	}
}

// Miss says that something of the round was not heard.
func (p *Prose) Miss() { p.deaf = true }

// Hear takes in a piece, and returns what is to be said. Space at the beginning and the
// end of a round is left out.
func (p *Prose) Hear(round, text string) string {
	if round != p.round {
		p.begin(round)
	}
	if p.deaf {
		return ""
	}
	if p.heard == 0 {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	word := strings.TrimRightFunc(text, unicode.IsSpace)
	if word == "" {
		p.blank += text
		return ""
	}
	said := p.blank + word
	p.blank = text[len(word):]
	old := p.sent[p.from:]
	old = old[min(len(old), p.heard):]
	n := min(len(old), len(said))
	if string(old[:n]) != said[:n] {
		p.deaf = true
		return ""
	}
	p.heard += len(said)
	return p.say(said[n:])
}

// say adds to the round.
func (p *Prose) say(text string) string {
	if text == "" {
		return ""
	}
	if start := len(p.sent); p.from == start && start > 0 {
		p.from += len(between)
		text = between + text
	}
	p.sent = append(p.sent, text...)
	return text
}

// Settle takes in what the log has of a round, and returns what is to be said of it that
// was not; replace says that it is to stand in the place of all that was said before.
func (p *Prose) Settle(round, text string) (say string, replace bool) {
	if round != p.round {
		p.begin(round)
	}
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, string(p.sent[p.from:]))
	if !ok {
		p.sent, p.from, replace = p.sent[:p.base], p.base, true
		rest = text
	}
	say = p.say(rest)
	if replace {
		say = string(p.sent)
	}
	p.deaf, p.base, p.from = true, len(p.sent), len(p.sent)
	return say, replace
}

// Dangling reports whether something was said that the log does not have.
func (p *Prose) Dangling() bool { return len(p.sent) > p.base }

// Settled returns what the log has of all that was said, and drops the rest.
func (p *Prose) Settled() string {
	p.sent, p.from = p.sent[:p.base], p.base
	return string(p.sent)
}
