// Package knowledge is the tools knowledge_search and knowledge_read: they find
// sentences in files and folders and in what is remembered, with their places, and
// read what stands around them.
//
// search.go searches, files.go in files and memory.go in what is remembered;
// read.go reads. quality.go says of pages how good they are. cache.go keeps documents: they are read and indexed when they are
// first asked for, and kept until they change or others need the room. The same
// files and the same query give the same result.
package knowledge

import (
	"context"
	_ "embed"
	"encoding/json"
	"time"

	"ponder"
	"ponder/internal/toolname"
	"ponder/knowledge/document"
	"ponder/knowledge/recall"
)

// The names that the tools are called by.
const (
	Name     = toolname.KnowledgeSearch
	ReadName = toolname.KnowledgeRead
)

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

	// Library is what is remembered. If nil, nothing is.
	Library Library

	// Read bounds what is read.
	Read document.Options

	// MaxBytes is how much text is kept for the next search, in bytes; 512 MiB if
	// zero. Its index takes about as much again.
	MaxBytes int64

	// Now is the time at which pages are judged; time.Now if nil.
	Now func() time.Time
}

// A Library is what is remembered. *recall.Library is one.
type Library interface {
	Search(ctx context.Context, text string, o recall.SearchOptions) (recall.Result, error)
	Read(ctx context.Context, id string, o recall.ReadOptions) (recall.Excerpt, error)
}

//go:embed knowledge.md
var doc string

//go:embed read.md
var readDoc string

var schema = json.RawMessage(`{
  "type": "object",
  "properties": {
    "query": {"type": "string", "description": "What to look for, in the words a document would use."},
    "paths": {"type": "array", "items": {"type": "string"}, "description": "Files and folders to look into, as absolute paths."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "The most hits to return; 5 if left out."},
    "exclude": {"type": "array", "items": {"type": "string"}, "description": "The ids of hits that are known already."},
    "prefer": {"type": "array", "items": {"type": "string"}, "description": "Sources whose hits count twice as much: paths or names of files, or paths of folders."},
    "without": {"type": "array", "items": {"type": "string"}, "description": "Sources to leave out, named in the same way."},
    "memory": {"type": "boolean", "description": "Whether to look into what is remembered. If left out: only if no paths are named. Without paths, true looks into nothing else."},
    "kinds": {"type": "array", "items": {"type": "string", "enum": ["memory", "document", "post", "journal", "thread"]}, "description": "Of what is remembered, only these kinds."},
    "sources": {"type": "array", "items": {"type": "string"}, "description": "Of what is remembered, only what is from these: a path, a URL or a name such as twitter; a star at the end stands for all that begin so."},
    "tags": {"type": "array", "items": {"type": "string"}, "description": "Of what is remembered, only what has all of these tags."},
    "from": {"type": "string", "description": "Of what is remembered, only what is dated since: 2024, 2024-03 or 2024-03-01."},
    "to": {"type": "string", "description": "Of what is remembered, only what is dated until the end of: 2024, 2024-03 or 2024-03-01."}
  },
  "required": ["query"],
  "additionalProperties": false
}`)

var readSchema = json.RawMessage(`{
  "type": "object",
  "properties": {
    "id": {"type": "string", "maxLength": 200, "description": "The id of a hit, an item, or what earlier and later of the result before say."},
    "before": {"type": "integer", "minimum": 0, "maximum": 16384, "description": "Bytes to read before the place; 600 if left out."},
    "after": {"type": "integer", "minimum": 0, "maximum": 16384, "description": "Bytes to read after it; 2000 if left out."}
  },
  "required": ["id"],
  "additionalProperties": false
}`)

// Tools returns the tool that searches and the one that reads what it found. They
// are safe for concurrent use.
func Tools(opts Options) []ponder.Tool {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 512 << 20
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &searcher{opts: opts, cache: newCache(opts)}
	return []ponder.Tool{ponder.NewTool(Name, doc, schema, s.search), ponder.NewTool(ReadName, readDoc, readSchema, s.read)}
}

type searcher struct {
	opts  Options
	cache *cache
}
