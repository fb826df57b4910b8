package placement

import (
	"context"
	"log/slog"
)

// dbosLogger returns a logger that passes warnings and drops those about normal ends of periods
// and about the shutdown after ctx.
func quiet(ctx context.Context, l *slog.Logger) *slog.Logger {
	return slog.New(warnings{l.With("from", "dbos").Handler(), ctx.Done()})
}

// expectedWarning is the message of DBOS for its conflict error.
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
