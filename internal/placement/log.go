package placement

import (
	"context"
	"log/slog"
)

// quiet returns the logger for DBOS: what it warns of, save what it says about each
// workflow that ends as ours do, and about being shut down once ctx is done.
func quiet(ctx context.Context, l *slog.Logger) *slog.Logger {
	return slog.New(warnings{l.With("from", "dbos").Handler(), ctx.Done()})
}

// expected is what DBOS says about a workflow that ends with its conflict error.
const expected = "Workflow ID conflict detected. Waiting for existing workflow to complete"

type warnings struct {
	slog.Handler
	ending <-chan struct{}
}

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	select {
	case <-w.ending:
		return false
	default:
	}
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == expected {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs), w.ending}
}

func (w warnings) WithGroup(name string) slog.Handler {
	return warnings{w.Handler.WithGroup(name), w.ending}
}
