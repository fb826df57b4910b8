// Package claim checks what a finished text says against the quotes it rests on.
//
// Split takes a text apart into claims, Verify gives each a Finding, Conflicts shows
// where sources disagree, and Mark writes into the text what is not borne out. None of
// it needs a model. Where one was asked about a claim and its quotes, Finding.Judged
// takes in what it said, within bounds. Citations comes before all of that: it takes out
// of a text what names a source that was not gathered. A Wording asks less: whether
// quotations and figures are in what is cited, as they are written.
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
//
// # How a claim is checked
//
// A [Corpus] has the sentences of the quotes by the stems of their words. A claim is laid
// beside each sentence that has words of it. What the sentence itself has counts most;
// less what stands beside it, in the heading or title, and elsewhere in the quote. A word
// weighs the more the rarer it is in the quotes, and little if it is among the most
// frequent of any text; one with another ending counts in part, and one that package same
// knows to mean the same nearly whole. The best sentence is taken, and up to two that
// have most of what it lacks: quotes may bear a claim out together.
//
// Then everything is compared that a claim can be wrong in though its words are there:
//
//   - Numbers, as values with a unit: "1,500" is "1.5 thousand". One that is rounded, or
//     said to be about so much, fits what it is rounded from. A number must be in the
//     sentence, or near it and count the same thing.
//   - Dates, in words and digits. A year may come from the title, or from when the source
//     was published; one that the sentence says of something else does not count.
//   - Names: words with a capital and acronyms. One that is nowhere in the quote or its
//     context is missing. In German, where nouns have capitals, only what is clearly one.
//   - Negation: whether the words that it reaches are negated in the source, too; and
//     words that are the opposite of the source's.
//   - Who did what to whom, of two names around a word.
//   - What the source says it is: wrong, asked, quoted, believed, undone, of fewer ("except",
//     "deputy"), by words in tables; and words that exclude each other.
//   - Which of several numbers or dates of a sentence goes with what; by, to and per so much.
//   - Words of the source in the place of others, and clauses of which no quote has anything.
//   - Hedges ("may"), quantities (all, most, some), "only", and causes of what the source
//     only links.
//
// A score is a logistic function of the share of the claim that is borne out, and of what
// is missing; its weights, and what they were fitted on, are with them in the source. It
// can be compared over claims. A verdict is the score's, but that a claim is never
// supported of which a number, date, name or negation is not as in the quotes, and
// contradicted only if a sentence that has most of it says another number or date, or
// the opposite. A number that is near, or less sure words, make it qualified.
//
// # What it does not see
//
// What pronouns stand for, beyond the title; sums and differences of numbers; relative
// times ("the next year"); paraphrases without words in common; whether a source is
// right. It reads English best, then German, French and Spanish. In other languages it
// has no negations and hedges. Claim and quote must be in one language for more than
// names and numbers to match: the rest is unverified, and worth asking a judge.
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
	Factual    bool // something in it can be wrong; a question, heading, greeting or talk about the answer is not factual if nothing else is in it
}

// A Finding is what came of checking a claim.
type Finding struct {
	Verdict Verdict
	Score   float64 // how well quotes bear it out, 0 to 1; meant to be compared over claims
	Quotes  []ponder.Passage
	Against []ponder.Passage
	Reason  string // one line for users: what was seen, such as "the source says 3,559, not 10,000"

	mismatch bool // a number, date, name, negation or clause is not in the quotes as the claim has it
	part     bool // the quotes have another word in the place of one
}
