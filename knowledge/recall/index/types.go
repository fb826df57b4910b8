package index

import (
	"errors"
	"time"

	"ponder/internal/textkit/lexical"
)

// ErrNone is what asking for a passage or document gives that is not there.
var ErrNone = errors.New("not in the index")

// A Doc is a document to be indexed.
type Doc struct {
	ID int64 // greater than 0; the caller's

	// What filters ask for. Any may be zero.
	Owner, Kind, Source string
	Tags                []string
	Date                time.Time

	// Title and Names, of the author or of who speaks, are found as if each
	// passage said them.
	Title string
	Names []string

	// Language is what the words are stemmed by. "" has it detected; what cannot
	// be is taken for English.
	Language lexical.Language

	// Passages follow each other and leave nothing out, so that their texts
	// together are the document's.
	Passages []Passage
}

// A Passage is a part of a document that is found as one.
type Passage struct {
	Start, End int // bytes of the document's text
	Page       int // from 1; 0 is none
	Heading    string
	Speaker    string // of what somebody says, who
	Text       string
}

// A Query is what is looked for. The zero Query finds nothing.
type Query struct {
	Terms   []Term
	Phrases []string // a passage must have each, word for word but for case and accents
	Filter  Filter

	// Feedback adds words that the best passages have in common. It finds more
	// of a subject, and is worse where a question has one answer.
	Feedback bool

	// Neighbours and Whole are the shares of the scores of the passages around
	// it, and of the best of its document, that a passage's score has on top of its
	// own. They are for conversations, in which one turn asks and another answers:
	// see [ConversationNeighbours].
	Neighbours, Whole float64

	// Typos takes a word that nobody wrote for the nearest that somebody did.
	Typos bool
}

// What Neighbours and Whole should be where turns of conversations and meetings
// are looked for.
const (
	ConversationNeighbours = 0.4
	ConversationWhole      = 0.5
)

// A Term is a word that is looked for. If Word has several words, they are terms
// with the same properties.
type Term struct {
	Word   string
	Prefix bool    // any word that begins so
	Must   bool    // no passage without it is found
	Not    bool    // no passage with it is found
	Weight float64 // how much it counts; 0 is 1
}

// A Filter says which documents are looked at. The zero Filter has all.
type Filter struct {
	Owner    string
	Kinds    []string  // any of these
	Sources  []string  // any of these; "prefix*" is all that begin so
	Tags     []string  // all of these
	From, To time.Time // From <= date < To; a document without a date is in no range
	Docs     []int64   // any of these
}

// A Hit is a passage that was found.
type Hit struct {
	Doc     int64
	Passage int64 // its number

	// Score ranks the hits of one search.
	Score float64

	// Relevance, from 0 to 1, means the same from query to query: see the package
	// comment.
	Relevance float64

	// Words are those of the query that the passage has, as the query has them.
	Words []string

	// Corrected has the words of the query that were taken for others, and these.
	Corrected map[string]string
}

// Stats says what an index has.
type Stats struct {
	Docs, Passages int
	Segments       int
	Languages      []lexical.Language // most passages first
}
