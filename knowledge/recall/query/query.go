package query

import (
	"ponder/internal/textkit"
	"strings"
	"time"
)

// Bounds on what is read of a query. What is behind them is not read.
const (
	maxBytes  = 4 << 10
	maxTokens = 512
)

// A Query is what a text asks for. What it does not ask for is zero.
type Query struct {
	Text    string   // what is left to look for: without operators, expressions of time and anchors
	Words   []Word   // of Text and of what was taken from it, in their order, without words that say nothing
	Phrases []string // to be found as they are; their words are among Words too
	People  []string // who is named, as written, each once

	Time   Range
	Anchor *Anchor // an event that Time would be known by
	Recent bool    // asks for what is newest

	Kinds, Sources, Tags []string // asked for with operators: any of Kinds, any of Sources, all of Tags

	Class      Class
	Confidence float64 // 0 to 1, of Class
	Why        string  // a sentence for users: what Class was told by
}

// A Word is a word to look for.
type Word struct {
	Text   string // as written; behind a minus it may be several
	Prefix bool   // what begins with it
	Must   bool   // nothing without it
	Not    bool   // nothing with it
	Time   bool   // it is of an expression of time or an anchor, and only worth much if that fails
	Event  bool   // it is of the event of an anchor: less than what is asked for, but said beside it
}

// A Range is a span of time: From <= t < To. Zero is open.
type Range struct {
	From, To time.Time
	Text     string // what said so, as written; several with ", " between
	Strict   bool   // said with operators: nothing else is wanted. If not, it may be what the texts are about rather than when they were written
}

// IsZero reports whether the range has neither beginning nor end.
func (r Range) IsZero() bool { return r.From.IsZero() && r.To.IsZero() }

// Holds reports whether t is in the range.
func (r Range) Holds(t time.Time) bool {
	return (r.From.IsZero() || !t.Before(r.From)) && (r.To.IsZero() || t.Before(r.To))
}

// An Anchor is an event whose time is not known from the query: "before the
// launch".
type Anchor struct {
	Relation string // before, after or around
	Event    string // "launch", "I moved to Berlin"
	Text     string // all of it as written
}

// A Class is what kind of thing a query asks for.
type Class string

// The classes.
const (
	Fact     Class = "fact"     // a thing that one passage says
	Temporal Class = "temporal" // when something was, or what was at some time
	Person   Class = "person"   // somebody, or what they said, want, did or were told
	Overview Class = "overview" // what there is on a subject
	HowTo    Class = "howto"    // how something is done
)

// Parse returns what a text asks for. now is the time at which it asks, whose
// location is where its days begin. It never fails: what it does not understand
// is left in Text.
func Parse(text string, now time.Time) Query {
	p := newParser(strings.ToValidUTF8(textkit.Prefix(text, maxBytes), "\uFFFD"), now)
	p.operators()
	p.times()
	p.anchors()
	p.people()
	p.rest()
	p.classify()
	return p.q
}
