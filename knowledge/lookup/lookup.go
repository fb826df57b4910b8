// Package lookup defines the JSON results of the lookup tools: passages of documents and
// memory, web search results, and pages. Tools encode them for logs and models; modes
// decode them. [Decode] skips unreadable parts of stored results and enforces no bounds.
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

// A Hit is a passage found by a search.
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
	Terms   []string `json:"terms"`             // query words in it
	Topics  []string `json:"topics"`            // its other subjects
	Context string   `json:"context,omitempty"` // the passage with the quote, if longer; in older logs, the neighbouring sentences

	Item      string    `json:"item,omitempty"` // memory item ID
	URL       string    `json:"url,omitempty"`
	Author    string    `json:"author,omitempty"`
	Speaker   string    `json:"speaker,omitempty"`
	Published time.Time `json:"published,omitzero"`
	Tags      []string  `json:"tags,omitempty"`
	Original  string    `json:"original,omitempty"` // SHA-256 of the stored original
	Similar   int       `json:"similar,omitempty"`  // omitted near duplicates
	Untrusted bool      `json:"untrusted,omitempty"`

	Quality []ponder.Signal `json:"quality,omitempty"` // of a page

	// Page metadata set by a mode; tools leave it out of passages.
	Fetched  time.Time `json:"fetched,omitzero"`
	Provider string    `json:"provider,omitempty"`
	Cluster  string    `json:"cluster,omitempty"`
	Voices   int       `json:"voices,omitempty"`
}

// maxKey is the maximum length of a key in bytes.
const maxKey = 80

// Key returns the hit's ID, or its source and offset.
func (h Hit) Key() string {
	if h.ID != "" && len(h.ID) <= maxKey {
		return h.ID
	}
	return textkit.TruncateBytes(fmt.Sprintf("%s#%d", h.Source, h.Start), maxKey)
}

// Sound reports whether a hit can be cited: it has a source, a quote and matching
// offsets.
func (h Hit) Sound() bool {
	return h.Source != "" && strings.TrimSpace(h.Quote) != "" && h.Start >= 0 && h.End-h.Start == len(h.Quote)
}

// Found is the result of a search of documents and memory.
type Found struct {
	Hits      List[Hit]         `json:"hits"`
	Skipped   List[SkippedFile] `json:"skipped"`
	More      int               `json:"skipped_more,omitempty"` // further skipped files
	Documents int               `json:"documents"`
	Sentences int               `json:"sentences"`
	Memory    *Memory           `json:"memory,omitempty"` // nil if memory was not searched
	Failed    []string          `json:"failed,omitempty"` // failed sources with reasons
	Notice    string            `json:"notice,omitempty"` // set if it contains untrusted text
}

// SkippedFile is a file that was not read.
type SkippedFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Memory describes a search of the memory.
type Memory struct {
	Documents  int     `json:"documents"`
	Confidence float64 `json:"confidence"` // 0 to 1: probability that the best hits answer the query
	Says       string  `json:"says,omitempty"`
}

// WebFound is the result of a web search.
type WebFound struct {
	Untrusted bool            `json:"untrusted"`
	Notice    string          `json:"notice"`
	Results   List[WebResult] `json:"results"`
	Next      int             `json:"next,omitempty"` // offset of the next results
	Failed    []Failure       `json:"failed,omitempty"`
	Age       int             `json:"kept_seconds,omitempty"` // age of the oldest cached answer
	Says      string          `json:"says,omitempty"`         // reason for an empty result
}

// A Failure is a provider that did not answer.
type Failure struct {
	Provider string `json:"provider"`
	Error    string `json:"error"`
}

// A WebResult is a page that a web search found.
type WebResult struct {
	URL     string  `json:"url"`
	Title   string  `json:"title"`
	Snippet string  `json:"snippet"`
	Score   float64 `json:"score"`
	Known
	Provider string `json:"provider,omitempty"`
	Original string `json:"original,omitempty"` // stored snippet
}

// Known is the metadata of a page.
type Known struct {
	Kind      string          `json:"kind"` // always page
	Untrusted bool            `json:"untrusted"`
	Author    string          `json:"author,omitempty"`
	Published time.Time       `json:"published,omitzero"`
	Cluster   string          `json:"cluster,omitempty"`
	Voices    int             `json:"voices,omitempty"`
	Quality   []ponder.Signal `json:"quality,omitempty"`
}

// A Page is a web page with its text, or with passages for a query.
type Page struct {
	Notice string `json:"notice"`
	URL    string `json:"url"`             // final address
	Asked  string `json:"asked,omitempty"` // requested address, if different
	Title  string `json:"title"`
	Site   string `json:"site,omitempty"`
	Known
	Language string    `json:"language,omitempty"`
	Type     string    `json:"type,omitempty"`
	Fetched  time.Time `json:"fetched,omitzero"`
	Original string    `json:"original,omitempty"` // SHA-256 of the fetched bytes
	Bytes    int       `json:"bytes"`              // of the text

	Hits List[Hit] `json:"hits,omitempty"` // with a query
	Says string    `json:"says,omitempty"` // reason for no hits

	Text  string `json:"text,omitempty"` // without a query
	Start int    `json:"start,omitempty"`
	End   int    `json:"end,omitempty"`
	Next  int    `json:"next,omitempty"` // offset of the rest
	Cut   bool   `json:"truncated,omitempty"`
}

// PersonaMemory is the result of a search of a persona's memory.
type PersonaMemory struct {
	Context   string             `json:"context"`
	Truncated bool               `json:"truncated,omitempty"`
	Sources   List[RecalledItem] `json:"sources"`
	Says      string             `json:"says,omitempty"` // reason for an empty result
}

// RecalledItem is a memory item in the context.
type RecalledItem struct {
	ID        string   `json:"id"`
	Place     string   `json:"place"` // of the match in the item
	Kind      string   `json:"kind"`
	Memory    string   `json:"memory"` // the relevant part
	Relevance float64  `json:"relevanceScore"`
	Metadata  Metadata `json:"metadata"`
}

// Metadata is the origin of a memory item.
type Metadata struct {
	Source     string    `json:"source,omitempty"`
	ExternalID string    `json:"external_id,omitempty"`
	Link       string    `json:"link,omitempty"`
	Author     string    `json:"author,omitempty"`
	Date       time.Time `json:"date,omitzero"`
	Tags       []string  `json:"tags,omitempty"`
}

// A List is a slice that skips malformed elements when decoded.
type List[T any] []T

func (l *List[T]) UnmarshalJSON(js []byte) error {
	var raw []json.RawMessage
	_ = json.Unmarshal(js, &raw) // not a list: no elements
	*l = nil
	for _, one := range raw {
		var e T
		if json.Unmarshal(one, &e) == nil {
			*l = append(*l, e)
		}
	}
	return nil
}

// Decode decodes a tool result into a type of this package. Fields of another type
// stay unchanged. It reports whether js is valid JSON.
func Decode(js string, into any) bool {
	var form *json.UnmarshalTypeError
	err := json.Unmarshal([]byte(js), into)
	return err == nil || errors.As(err, &form)
}
