// Package think is the tool think: a place where a model reasons within a turn. What
// it puts down there is kept as a thought of its conversation and shown to nobody.
//
// Mode chat does the tool itself; what it needs of the tool that a mind has
// registered is its Redact, which takes secrets out of thoughts before anything is
// stored or logged. In any other mode the tool does nothing, as it should.
//
// rules.md says when to think, and templates/ how to think in a field; templates.go
// puts them together with those of the user: *.md files, whose names are the names
// of the templates.
package think

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	"ponder"
	"ponder/internal/redact"
	"ponder/internal/toolname"
)

// Name is what the tool is called by, and the kind of its thoughts.
const Name = toolname.Think

// noted is what a thought returns: always the same. A thought that is returned would
// be read again with every later call of a model, so that tokens grew with the
// square of their number.
const noted = "Noted."

//go:embed think.md
var doc string

var schema = json.RawMessage(`{"type":"object","properties":{"thought":{"type":"string","description":"The thought content that the model wants to process internally"}},"required":["thought"]}`)

// Options say what is taken out of thoughts.
type Options struct {
	Redact *redact.Redactor // nil takes out secrets, and no patterns of the user
}

// New returns the tool. It is safe for concurrent use.
func New(opts Options) ponder.Tool {
	t := ponder.NewTool(Name, strings.TrimSpace(doc), schema, think)
	t.Redact = opts.Redact.JSON
	return t
}

// think does the tool. An empty thought is accepted, and nothing comes of it.
func think(_ context.Context, in struct {
	Thought *string `json:"thought"`
}) (string, error) {
	switch {
	case in.Thought == nil:
		return "", errors.New(Name + ": the arguments need a thought, as text")
	case strings.TrimSpace(*in.Thought) == "":
		return "", nil
	}
	return noted, nil
}

// Log writes an event to a log for developers, at level debug, if it is a thought
// that was put down with the tool.
func Log(ctx context.Context, logger *slog.Logger, ev ponder.Event) {
	if b, ok := ev.Body.(ponder.Thought); ok && b.Kind == Name && !ev.Erased {
		logger.DebugContext(ctx, "model thought", "thread", ev.Thread, "event", ev.ID, "thought", b.Content)
	}
}
