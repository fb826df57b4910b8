package research

import (
	"strconv"
	"time"
)

// The efforts.
const (
	trivial = "trivial"
	normal  = "normal"
	deep    = "deep"
)

// A piece is a passage that was gathered. Its id is e and N.
type piece struct {
	N       int      `json:"n"`
	Source  string   `json:"source"` // a path or a URL
	Title   string   `json:"title,omitempty"`
	Section string   `json:"section,omitempty"`
	Quote   string   `json:"quote"`             // exactly the content of its event
	Context string   `json:"context,omitempty"` // what stands around it, to read only
	Score   float64  `json:"score,omitempty"`   // of the search, 0 to 1: how well it fits what was asked
	Worth   float64  `json:"worth,omitempty"`   // of what is known of its source, 0 to 1: evidence.Weight; 1 if nothing is known
	Terms   []string `json:"terms,omitempty"`   // words of the query that are in it: lower case, sorted
	Query   string   `json:"query,omitempty"`   // that found it first
	Tool    string   `json:"tool,omitempty"`    // likewise
	Round   int      `json:"round,omitempty"`   // of looks; 0 while the answer is written

	URL       string    `json:"url,omitempty"`
	Kind      string    `json:"kind,omitempty"` // file, memory, document, post, journal, thread, page; fact: the user says it
	Author    string    `json:"author,omitempty"`
	Published time.Time `json:"published,omitzero"`
	Fetched   time.Time `json:"fetched,omitzero"`
	Cluster   string    `json:"cluster,omitempty"`   // the same for copies of one text: see voice
	Copy      string    `json:"copy,omitempty"`      // the id of the piece that it says again, word for word
	Voices    int       `json:"voices,omitempty"`    // independent sources that say the same, as its search said
	Known     bool      `json:"known,omitempty"`     // an older report had it
	Untrusted bool      `json:"untrusted,omitempty"` // strangers wrote it; it is tamed
	Addressed bool      `json:"addressed,omitempty"` // it is meant for programs, and is not quoted
}

// id returns what a piece is cited by.
func (p piece) id() string { return "e" + strconv.Itoa(p.N) }

// voice returns whose a piece is: copies of one text have one voice, whoever
// publishes them, and so have all passages of one source.
func (p piece) voice() string {
	if p.Cluster != "" {
		return p.Cluster
	}
	return p.Source
}

// quotable reports whether a piece may be quoted in an answer.
func (p piece) quotable() bool { return p.Copy == "" && !p.Addressed }

// weight is what a piece counts: how well it fits, times what its source is worth.
func (p piece) weight() float64 { return p.Score * p.Worth }
