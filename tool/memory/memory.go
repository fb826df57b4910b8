// Package memory is the tools personaMemorySearch and remember: they ask what a
// persona remembers, and have something remembered.
//
// search.go asks and remember.go keeps. What is asked comes in the form that a
// persona answers from: memories, each with the raw content it was distilled from,
// apart from raw posts, and how to answer from them.
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

// The names that the tools are called by.
const (
	SearchName   = toolname.PersonaMemory
	RememberName = toolname.Remember
)

// Options say what the tools work with.
type Options struct {
	// Context returns what a persona remembers of a query, at most n items, as it is
	// put before a model, and what that was made of; as that of a *recall.Library.
	// If nil there is no personaMemorySearch.
	Context func(ctx context.Context, persona, query string, n int) (string, []recall.Hit, error)

	// Keep keeps items, as Remember of a *recall.Library does. If nil there is no
	// tool that remembers.
	Keep func(ctx context.Context, items ...recall.Item) ([]recall.Item, error)

	// Approve, if set, is asked before something is kept. Its error is told to the
	// model. A model that reads what strangers write may be led to remember what
	// they want: have a user approve, or do not give it the tool.
	Approve func(ctx context.Context, it recall.Item) error

	// Persona is whose memory it is; empty is that of the owner.
	Persona string

	// Source is what is noted of where a memory is from; "model" if empty.
	Source string
}

var (
	//go:embed search.md
	searchDoc string
	//go:embed remember.md
	rememberDoc string
)

// New returns the tools that the options have what is needed for. They are safe for
// concurrent use. To remember the same twice does no harm.
func New(opts Options) (tools []ponder.Tool) {
	opts.Source = cmp.Or(opts.Source, "model")
	if opts.Context != nil {
		tools = append(tools, ponder.NewTool(SearchName, searchDoc, searchSchema, opts.search))
	}
	if opts.Keep != nil {
		tools = append(tools, ponder.NewTool(RememberName, rememberDoc, rememberSchema, opts.remember))
	}
	return tools
}

// stamp returns a time as it is written: to the second, in UTC.
func stamp(t time.Time) time.Time {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Second)
}
