// Package memory has the tools personaMemorySearch and remember, for the memory of a
// persona.
//
// search.go searches and remember.go stores. A persona answers from the result of a search.
// It has memories with the raw content behind each, separate raw posts, and instructions
// for the answer.
package memory

import (
	"cmp"
	"context"
	_ "embed"
	"time"

	"ponder"
	"ponder/internal/toolname"
	"ponder/knowledge/recall"
)

const (
	SearchName   = toolname.PersonaMemory
	RememberName = toolname.Remember
)

// Options configures the tools.
type Options struct {
	// Context returns up to n memories of a persona for a query: text for a model, and its
	// hits. See PersonaContext of *recall.Library. If it is nil, there is no
	// personaMemorySearch.
	Context func(ctx context.Context, persona, query string, n int) (string, []recall.Hit, error)

	// Keep stores items, like Remember of a *recall.Library. If it is nil, there is no tool
	// remember.
	Keep func(ctx context.Context, items ...recall.Item) ([]recall.Item, error)

	// Approve, if set, is called before an item is stored. The model gets its error. Text
	// of strangers may lead a model to remember something, so a user should approve, or the
	// model should not have the tool.
	Approve func(ctx context.Context, it recall.Item) error

	// Persona selects the memory; empty is the owner's.
	Persona string

	// Source is the stored source of a memory; the default is "model".
	Source string
}

var (
	//go:embed prompts/search.md
	searchDoc string
	//go:embed prompts/remember.md
	rememberDoc string
)

// New returns the tools for which the options have functions. They are safe for concurrent
// use. Remembering the same text again has no effect.
func New(opts Options) (tools []ponder.Tool) {
	opts.Source = cmp.Or(opts.Source, "model")
	if opts.Context != nil {
		tools = append(tools, ponder.NewTool(SearchName, searchDoc, searchSchema, opts.searchMemory))
	}
	if opts.Keep != nil {
		tools = append(tools, ponder.NewTool(RememberName, rememberDoc, rememberSchema, opts.rememberItem))
	}
	return tools
}

// storedTime returns a time in its stored form: in UTC, to the second. It returns the zero time
// for years that JSON cannot encode.
func storedTime(t time.Time) time.Time {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Second)
}
