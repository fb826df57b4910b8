// Package knowledge is the tool knowledge_search: it finds sentences in files
// and folders, with their places.
//
// Documents are read and indexed when they are first asked for, and kept until
// they change or others need the room. The same files and the same query give
// the same result.
package knowledge

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ponder"
	"ponder/document"
)

// Name is what the tool is called by.
const Name = "knowledge_search"

// Bounds on input and output.
const (
	defaultLimit = 5
	maxLimit     = 20
	maxPaths     = 64
	maxExclude   = 2000
	maxLabel     = 200 // bytes of a title or a section
	maxContext   = 600 // bytes
	maxTopics    = 4
	maxSkipped   = 20
)

// What a search leaves out: hits that score less than this part of the best, and
// how far a hit is pushed back by its likeness to one before it.
const (
	leastScore = 0.3
	diversity  = 0.3
)

// Options say what may be searched. The zero value is good.
type Options struct {
	// Roots are the files and folders that may be searched: paths of an input
	// must be in one of them, and an input without paths searches them all. If
	// empty, any path may be searched: give a model only a tool with Roots.
	Roots []string

	// Read bounds what is read.
	Read document.Options

	// MaxBytes is how much text is kept for the next search, in bytes; 512 MiB if
	// zero. Its index takes about as much again.
	MaxBytes int64
}

//go:embed knowledge.md
var doc string

var schema = json.RawMessage(`{
  "type": "object",
  "properties": {
    "query": {"type": "string", "description": "What to look for, in the words a document would use."},
    "paths": {"type": "array", "items": {"type": "string"}, "description": "Files and folders to look into, as absolute paths."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "The most hits to return; 5 if left out."},
    "exclude": {"type": "array", "items": {"type": "string"}, "description": "The ids of hits that are known already."},
    "prefer": {"type": "array", "items": {"type": "string"}, "description": "Sources whose hits count twice as much: paths or names of files, or paths of folders."},
    "without": {"type": "array", "items": {"type": "string"}, "description": "Sources to leave out, named in the same way."}
  },
  "required": ["query"],
  "additionalProperties": false
}`)

// New returns the tool. It is safe for concurrent use.
func New(opts Options) ponder.Tool {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 512 << 20
	}
	s := &searcher{opts: opts, cache: newCache(opts)}
	return ponder.NewTool(Name, doc, schema, s.search)
}

type searcher struct {
	opts  Options
	cache *cache
}

type input struct {
	Query   string   `json:"query"`
	Paths   []string `json:"paths"`
	Limit   int      `json:"limit"`
	Exclude []string `json:"exclude"`
	Prefer  []string `json:"prefer"`
	Without []string `json:"without"`
}

// result is what the tool returns, as JSON.
type result struct {
	Hits      []hit              `json:"hits"`
	Skipped   []document.Skipped `json:"skipped"`
	More      int                `json:"skipped_more,omitempty"` // how many more were skipped
	Documents int                `json:"documents"`
	Sentences int                `json:"sentences"`
}

type hit struct {
	ID      string   `json:"id"`
	Source  string   `json:"source"`
	Title   string   `json:"title"`
	Section string   `json:"section,omitempty"`
	Quote   string   `json:"quote"`
	Start   int      `json:"start"`
	End     int      `json:"end"`
	Hash    string   `json:"hash"`
	Score   float64  `json:"score"`
	Terms   []string `json:"terms"`
	Topics  []string `json:"topics"`
	Context string   `json:"context,omitempty"`
}

func (s *searcher) search(ctx context.Context, in input) (string, error) {
	if strings.TrimSpace(in.Query) == "" {
		return "", errors.New("knowledge_search: query is empty")
	}
	if len(in.Exclude) > maxExclude {
		in.Exclude = in.Exclude[len(in.Exclude)-maxExclude:]
	}
	paths, err := s.allowed(in.Paths)
	if err != nil {
		return "", fmt.Errorf("knowledge_search: %w", err)
	}
	docs, skipped, err := s.cache.load(ctx, paths)
	if err != nil {
		return "", fmt.Errorf("knowledge_search: %w", err)
	}
	r := result{
		Hits: []hit{}, Skipped: append([]document.Skipped{}, skipped[:min(len(skipped), maxSkipped)]...), More: max(0, len(skipped)-maxSkipped),
		Documents: len(docs.Documents()), Sentences: docs.Sentences(),
	}
	limit := in.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	for _, h := range find(docs, in, min(limit, maxLimit)) {
		r.Hits = append(r.Hits, newHit(docs, h, in.Query))
	}
	return encode(r)
}

// find searches, and heeds which sources are wanted.
func find(docs *document.Collection, in input, limit int) []document.Hit {
	opts, n := document.SearchOptions{Exclude: in.Exclude, Least: leastScore, Diversity: diversity}, limit
	if len(in.Prefer)+len(in.Without) > 0 {
		n = wider * limit
	}
	found := docs.Search(in.Query, n, opts)
	if n == limit {
		return found
	}
	found = slices.DeleteFunc(found, func(h document.Hit) bool { return among(h.Document.Source, in.Without) })
	for i, h := range found {
		if among(h.Document.Source, in.Prefer) {
			found[i].Score = min(1, preferred*h.Score)
		}
	}
	slices.SortStableFunc(found, func(a, b document.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return found[:min(limit, len(found))]
}

// How sources are preferred.
const (
	wider     = 4 // times as many hits are looked at
	preferred = 2 // times their score
)

// among reports whether a source is one of those named: by its path, its name or
// the path of a folder it is in.
func among(source string, names []string) bool {
	for _, name := range names[:min(len(names), maxPaths)] {
		clean := filepath.Clean(name)
		if source == name || source == clean || filepath.Base(source) == name || strings.HasPrefix(source, strings.TrimSuffix(clean, string(filepath.Separator))+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

func newHit(docs *document.Collection, h document.Hit, query string) hit {
	return hit{
		ID: h.ID(), Source: h.Document.Source, Title: clip(h.Document.Title, maxLabel), Section: clip(h.Section(), maxLabel),
		Quote: h.Quote, Start: h.Start, End: h.End, Hash: h.Document.Hash, Score: float64(int(h.Score*1000)) / 1000,
		Terms: append([]string{}, h.Terms...), Topics: append([]string{}, docs.Topics(h, query, maxTopics)...),
		Context: around(h),
	}
}

// around returns the sentences before and after a hit.
func around(h document.Hit) string {
	before, after := h.Around()
	before, after = clip(before, maxContext/2), clip(after, maxContext/2)
	if before == "" || after == "" {
		return before + after
	}
	return before + " … " + after
}

// clip returns the beginning of s, at most most bytes, and a mark if it is cut.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}

func encode(r result) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return "", fmt.Errorf("knowledge_search: encode result: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
