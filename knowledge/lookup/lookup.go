// Package lookup has the results of the tools that look things up: passages of documents and
// of the memory, results of a search of the web, and passages of its pages. The tools encode
// them as JSON, which logs keep and models read; the modes decode them.
//
// A stored result may be damaged, or have another form. [Decode] leaves out what it cannot
// read. It bounds nothing: its caller does.
package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

// A Hit is a passage that a search found.
type Hit struct {
	ID      string   `json:"id,omitempty"`
	Kind    string   `json:"kind,omitempty"` // file, memory, document, post, journal, thread, page
	Source  string   `json:"source"`
	Title   string   `json:"title"`
	Section string   `json:"section,omitempty"`
	Page    int      `json:"page,omitempty"`
	Quote   string   `json:"quote"`
	Start   int      `json:"start"`
	End     int      `json:"end"`
	Hash    string   `json:"hash"`
	Score   float64  `json:"score"`
	Terms   []string `json:"terms"`  // words of the query that are in it
	Topics  []string `json:"topics"` // what else it is about
	Context string   `json:"context,omitempty"`

	Item      string    `json:"item,omitempty"` // the id of what is remembered
	URL       string    `json:"url,omitempty"`
	Author    string    `json:"author,omitempty"`
	Speaker   string    `json:"speaker,omitempty"`
	Published time.Time `json:"published,omitzero"`
	Tags      []string  `json:"tags,omitempty"`
	Original  string    `json:"original,omitempty"` // SHA-256 of the original that is kept
	Similar   int       `json:"similar,omitempty"`  // how many more say nearly the same, and are left out
	Untrusted bool      `json:"untrusted,omitempty"`

	Quality []ponder.Signal `json:"quality,omitempty"` // of a page: what is known of how good it is

	// Of a page, as a mode keeps it; no tool says so of a passage.
	Fetched  time.Time `json:"fetched,omitzero"`
	Provider string    `json:"provider,omitempty"`
	Cluster  string    `json:"cluster,omitempty"`
	Voices   int       `json:"voices,omitempty"`
}

// maxKey bounds a key, in bytes.
const maxKey = 80

// Key returns the id of a hit, or its place if it has none.
func (h Hit) Key() string {
	if h.ID != "" && len(h.ID) <= maxKey {
		return h.ID
	}
	return textkit.TruncateBytes(fmt.Sprintf("%s#%d", h.Source, h.Start), maxKey)
}

// Sound reports whether a hit can be cited.
func (h Hit) Sound() bool {
	return h.Source != "" && strings.TrimSpace(h.Quote) != "" && h.Start >= 0 && h.End-h.Start == len(h.Quote)
}

// Found is the result of a search of documents and of the memory.
type Found struct {
	Hits      List[Hit]     `json:"hits"`
	Skipped   List[Skipped] `json:"skipped"`
	More      int           `json:"skipped_more,omitempty"` // how many more were skipped
	Documents int           `json:"documents"`
	Sentences int           `json:"sentences"`
	Memory    *Memory       `json:"memory,omitempty"` // if that was looked into
	Failed    []string      `json:"failed,omitempty"` // what could not be looked into, and why
	Notice    string        `json:"notice,omitempty"` // if strangers wrote some of it
}

// Skipped is a file that was not read, and why.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Memory says how the memory was searched.
type Memory struct {
	Documents  int     `json:"documents"`
	Confidence float64 `json:"confidence"` // 0 to 1: that the best hits answer the query
	Says       string  `json:"says,omitempty"`
}

// WebFound is the result of a search of the web.
type WebFound struct {
	Untrusted bool            `json:"untrusted"`
	Notice    string          `json:"notice"`
	Results   List[WebResult] `json:"results"`
	Next      int             `json:"next,omitempty"` // the offset of what follows
	Failed    []Failure       `json:"failed,omitempty"`
	Age       int             `json:"kept_seconds,omitempty"` // how old the oldest answer is that was kept
	Says      string          `json:"says,omitempty"`         // why there are none
}

// A Failure is a provider that did not answer, and why.
type Failure struct {
	Provider string `json:"provider"`
	Error    string `json:"error"`
}

// A WebResult is a page that a search of the web found.
type WebResult struct {
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Snippet string  `json:"snippet"`
	Score   float64 `json:"score"`
	Known
	Provider string `json:"provider,omitempty"`
	Original string `json:"original,omitempty"` // where the snippet is kept
}

// Known is what is known of a page.
type Known struct {
	Kind      string          `json:"kind"` // page
	Untrusted bool            `json:"untrusted"`
	Author    string          `json:"author,omitempty"`
	Published time.Time       `json:"published,omitzero"`
	Cluster   string          `json:"cluster,omitempty"`
	Voices    int             `json:"voices,omitempty"`
	Quality   []ponder.Signal `json:"quality,omitempty"`
}

// A Page is a page of the web, with its text or with passages of it.
type Page struct {
	Notice string `json:"notice"`
	URL    string `json:"url"`             // where it is
	Asked  string `json:"asked,omitempty"` // if that is elsewhere
	Title  string `json:"title"`
	Site   string `json:"site,omitempty"`
	Known
	Language string    `json:"language,omitempty"`
	Type     string    `json:"type,omitempty"`
	Fetched  time.Time `json:"fetched,omitzero"`
	Original string    `json:"original,omitempty"` // SHA-256 of the bytes that were fetched
	Bytes    int       `json:"bytes"`              // of the text

	Hits List[Hit] `json:"hits,omitempty"` // with a query
	Says string    `json:"says,omitempty"` // why there are none

	Text  string `json:"text,omitempty"` // without one
	Start int    `json:"start,omitempty"`
	End   int    `json:"end,omitempty"`
	Next  int    `json:"next,omitempty"` // the offset of what follows
	Cut   bool   `json:"truncated,omitempty"`
}

// Remembered is the result of a search of what a persona remembers.
type Remembered struct {
	Context   string         `json:"context"`
	Truncated bool           `json:"truncated,omitempty"`
	Sources   List[Recalled] `json:"sources"`
	Says      string         `json:"says,omitempty"` // why there are none
}

// Recalled is something remembered that the context was made of.
type Recalled struct {
	ID        string   `json:"id"`
	Place     string   `json:"place"` // of what was found in it
	Kind      string   `json:"kind"`
	Memory    string   `json:"memory"` // the part that bears on the query
	Relevance float64  `json:"relevanceScore"`
	Metadata  Metadata `json:"metadata"`
}

// Metadata is where something remembered is from.
type Metadata struct {
	Source     string    `json:"source,omitempty"`
	ExternalID string    `json:"external_id,omitempty"`
	Link       string    `json:"link,omitempty"`
	Author     string    `json:"author,omitempty"`
	Date       time.Time `json:"date,omitzero"`
	Tags       []string  `json:"tags,omitempty"`
}

// A List is a list that leaves out elements of another form when it is decoded.
type List[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *List[T]) UnmarshalJSON(js []byte) error {
	var raw []json.RawMessage
	_ = json.Unmarshal(js, &raw) // what is no list has no elements
	*l = nil
	for _, one := range raw {
		var e T
		if json.Unmarshal(one, &e) == nil {
			*l = append(*l, e)
		}
	}
	return nil
}

// Decode reads the result of a tool into a type of this package. Fields of another form are
// left as they are. It reports whether there is a result.
func Decode(js string, into any) bool {
	var form *json.UnmarshalTypeError
	err := json.Unmarshal([]byte(js), into)
	return err == nil || errors.As(err, &form)
}
