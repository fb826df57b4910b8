// Package claim checks the statements of a finished text against the quotes of its
// sources.
//
// [CleanCitations] first removes citations of sources that were not gathered. [Split]
// divides a text into claims, [Corpus.Verify] returns a [Finding] for each claim, and
// [Mark] writes the findings into the text. [ConflictsAbout] finds disagreements
// between sources. [QuoteIndex] only checks that quotations and figures occur in the
// cited quotes. The package calls no model; [Finding.ApplyVerdict] applies the answer of one
// within bounds.
//
// # Verdicts
//
//   - supported: a quote states the claim, with its subject, numbers, names, dates
//     and certainty
//   - qualified: quotes state a part, or state it less surely or of less
//   - contradicted: a quote states otherwise of the same thing at the same time
//   - unverified: no quote states it
//   - inference: the claim presents itself as a conclusion and rests on supported
//     claims
//
// A verdict is deterministic and errs toward less support. All functions are pure,
// safe for concurrent use, and bounded in time and memory for any input.
//
// # How a claim is checked
//
// A [Corpus] indexes the sentences of the quotes by word stems. A claim is aligned
// with each sentence that shares words with it. Words in the sentence count most;
// words in neighbouring sentences, headings, titles or elsewhere in the quote count
// less. Rare words weigh more, and the most frequent words of any text weigh little.
// Other inflections count in part, synonyms of package similarity almost fully. The
// best sentence counts, with up to two that supply most of the missing words.
//
// Then the check compares details that can be wrong although the words match:
//
//   - Numbers, as values with units: "1,500" equals "1.5 thousand". A rounded or
//     approximate number fits its exact value. The number must be in the sentence, or
//     near it and count the same thing.
//   - Dates, in words and digits. A year may come from the title or the publication
//     date, unless the sentence gives it to another event.
//   - Names: capitalized words and acronyms. A name that neither the quote nor its
//     context has is missing. German, with its capitalized nouns, counts clear names
//     only.
//   - Negations and antonyms.
//   - Agent and object, for two names around one word.
//   - The stance of the source (wrong, asked, quoted, believed, undone, limited by
//     "except" or "deputy"), and words that exclude each other, both by tables.
//   - The pairing of several numbers or dates in a sentence; by, to and per.
//   - Substituted words, and clauses without any support.
//   - Hedges ("may"), quantifiers (all, most, some), "only", and causes where the
//     source states only a link.
//
// The score is a logistic function of the supported share of the claim and of its
// missing details; scores are comparable between claims. The verdict follows the score
// with two exceptions. A claim with a missing number, date, name or negation is never
// supported. A claim is contradicted only if a sentence with most of its words states
// another number or date, or the opposite. A near number or weaker words give
// qualified.
//
// # Limits
//
// The check does not resolve pronouns beyond the title, sums, differences, relative
// times ("the next year") or paraphrases without common words, and does not judge
// sources. It reads English best, then German, French and Spanish; other languages
// have no negations or hedges. Between languages only names and numbers match. A judge
// should read the rest.
package claim

import (
	"time"

	"ponder"
)

// A Verdict is the relation of a claim to its quotes.
type Verdict string

const (
	Supported    Verdict = "supported"
	Qualified    Verdict = "qualified"
	Contradicted Verdict = "contradicted"
	Unverified   Verdict = "unverified"
	Inference    Verdict = "inference"
)

// A Quote is a passage of a source.
type Quote struct {
	ID        string // evidence ID, such as e1
	Text      string
	Context   string    // surrounding text of the source, such as heading and title; may resolve "it"
	Voice     string    // quotes with equal Voice are copies of one text, or of one source
	Published time.Time // zero if unknown
}

// A Sentence is a part of a text that Split found.
type Sentence struct {
	Text       string // without citations and marks of Markdown
	Start, End int    // byte range in the split text, citations included
	Cites      []string
	Factual    bool // false for a question, heading, greeting or remark about the answer that states nothing else
}

// A Finding is the result of checking one claim.
type Finding struct {
	Verdict Verdict
	Score   float64 // 0 to 1; comparable between claims
	Quotes  []ponder.Passage
	Against []ponder.Passage
	Reason  string // one line for users, such as "the source says 3,559, not 10,000"

	mismatch bool // a number, date, name, negation or clause differs from the quotes
	part     bool // the quotes have another word in place of one
}
