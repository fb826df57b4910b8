// Package think has the tool think, with which a model reasons within a turn. Its thoughts
// are stored in the conversation, and no user sees them.
//
// Mode chat handles the tool itself. It needs only Redact of the registered tool, which
// removes secrets before anything is stored or logged. In other modes the tool has no
// effect.
//
// rules.md says when to think, and templates/ how to think in a field. templates.go
// combines them with the *.md files of the user. The name of a file is the name of its
// template.
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

// Name is the name of the tool, and the kind of its thoughts.
const Name = toolname.Think

// result is the constant result of a thought. A result with the thought would double its
// tokens in each later request.
const result = "Noted."

//go:embed prompts/think.md
var doc string

var schema = json.RawMessage(`{"type":"object","properties":{"thought":{"type":"string","description":"The thought content that the model wants to process internally"}},"required":["thought"]}`)

// Options configures the removal of secrets.
type Options struct {
	Redact *redact.Redactor // nil removes secrets, without the user's patterns
}

// New returns the tool. It is safe for concurrent use.
func New(opts Options) ponder.Tool {
	t := ponder.NewTool(Name, strings.TrimSpace(doc), schema, think)
	t.Redact = opts.Redact.JSON
	return t
}

// think implements the tool. It accepts an empty thought.
func think(_ context.Context, in struct {
	Thought *string `json:"thought"`
}) (string, error) {
	switch {
	case in.Thought == nil:
		return "", errors.New(Name + ": the arguments need a thought, as text")
	case strings.TrimSpace(*in.Thought) == "":
		return "", nil
	}
	return result, nil
}

// Log logs a thought of the tool at level debug. It ignores other events.
func Log(ctx context.Context, logger *slog.Logger, ev ponder.Event) {
	if b, ok := ev.Body.(ponder.Thought); ok && b.Kind == Name && !ev.Erased {
		logger.DebugContext(ctx, "model thought", "thread", ev.Thread, "event", ev.ID, "thought", b.Content)
	}
}
