// Package knowledge has the tools knowledge_search and knowledge_read. They find sentences
// in files, folders and the memory, with their places, and read the text around them.
//
// search.go searches: files.go in files and memory.go in the memory. read.go reads, and
// quality.go judges pages. cache.go loads and indexes documents on the first use, and keeps
// them until they change or it needs the space. The same files and query give the same
// result.
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

const (
	Name     = toolname.KnowledgeSearch
	ReadName = toolname.KnowledgeRead
)

// Limits on input and output.
const (
	defaultLimit = 5
	maxLimit     = 20
	maxPaths     = 64
	maxExclude   = 2000
	maxLabel     = 200  // bytes of a title or a section
	maxContext   = 1200 // bytes of a passage
	maxReason    = 600  // bytes
	maxTopics    = 4
	maxSkipped   = 20
)

// The minimum score of a hit, relative to the best one, and the penalty of a hit for its
// similarity to an earlier one.
const (
	minScore  = 0.3
	diversity = 0.3
)

// Options configures the tools. The zero value is usable.
type Options struct {
	// Roots are the files and folders that may be searched. Input paths must be within
	// them. An input without paths searches all of them. If Roots is empty, any path may be
	// searched, so a model's tool must have Roots.
	Roots []string

	// Library is the memory, or nil.
	Library Library

	// Read limits the reading of documents.
	Read document.Options

	// MaxBytes limits the text in the cache, in bytes; zero means 512 MiB. The index takes
	// about as much again.
	MaxBytes int64

	// Now returns the time for judging pages. The default is time.Now.
	Now func() time.Time
}

// A Library is a searchable memory, such as *recall.Library.
type Library interface {
	Search(ctx context.Context, text string, o recall.SearchOptions) (recall.Result, error)
	Read(ctx context.Context, id string, o recall.ReadOptions) (recall.Excerpt, error)
}

//go:embed prompts/knowledge.md
var doc string

//go:embed prompts/read.md
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

// Tools returns knowledge_search and knowledge_read. They are safe for concurrent use.
func Tools(opts Options) []ponder.Tool {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 512 << 20
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &searcher{opts: opts, cache: newCache(opts)}
	return []ponder.Tool{ponder.NewTool(Name, doc, schema, s.searchAll), ponder.NewTool(ReadName, readDoc, readSchema, s.readPassage)}
}

type searcher struct {
	opts  Options
	cache *cache
}
