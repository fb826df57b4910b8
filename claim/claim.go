// Package claim checks what a finished text says against the quotes it rests on.
//
// Split takes a text apart into claims, Verify gives each a Finding, Conflicts shows
// where sources disagree, and Mark writes into the text what is not borne out. None of
// it needs a model. Where one was asked about a claim and its quotes, Finding.Judged
// takes in what it said, within bounds.
//
// # Verdicts
//
//	supported     a quote says it: its subject, its numbers, names, dates, and as surely
//	qualified     quotes say part of it, or say it less surely, or of less
//	contradicted  a quote says otherwise of the same thing at the same time
//	unverified    no quote says it
//	inference     it says of itself that it is concluded, and rests on what is supported
//
// A verdict is deterministic, and errs toward less. Everything is pure, safe for
// concurrent use, and bounded in time and memory, whatever the texts are.
package claim

import (
	"time"

	"ponder"
)

// A Verdict is how a claim stands to its quotes.
type Verdict string

// The verdicts.
const (
	Supported    Verdict = "supported"
	Qualified    Verdict = "qualified"
	Contradicted Verdict = "contradicted"
	Unverified   Verdict = "unverified"
	Inference    Verdict = "inference"
)

// A Quote is what a source says.
type Quote struct {
	ID        string // of the evidence: e1
	Text      string
	Context   string    // what stands around it in the source, such as its heading and title; may tell what "it" is
	Voice     string    // quotes of one voice are copies of one text, or of one source
	Published time.Time // zero if it is not known
}

// A Sentence is a part of a text that can be right or wrong, or not.
type Sentence struct {
	Text       string // without citations and marks of Markdown
	Start, End int    // bytes of the whole text that it was read from, citations included
	Cites      []string
	Factual    bool // it claims something: it is no question, heading, greeting, or talk about the answer itself
}

// A Finding is what came of checking a claim.
type Finding struct {
	Verdict Verdict
	Score   float64 // how well quotes bear it out, 0 to 1; meant to be compared over claims
	Quotes  []ponder.Passage
	Against []ponder.Passage
	Reason  string // one line for users: what was seen, such as "the source says 3,559, not 10,000"

	mismatch bool // a number, date, name or negation is not in the quotes as the claim has it
}
