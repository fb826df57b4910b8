package placement

import (
	"context"
	"log/slog"
)

// dbosLogger returns a logger that passes warnings and drops those about normal ends of periods
// and about the shutdown after ctx.
func dbosLogger(ctx context.Context, l *slog.Logger) *slog.Logger {
	return slog.New(warningHandler{l.With("from", "dbos").Handler(), ctx.Done()})
}

// expectedWarning is the message of DBOS for its conflict error.
const expectedWarning = "Workflow ID conflict detected. Waiting for existing workflow to complete"

type warningHandler struct {
	slog.Handler
	ending <-chan struct{}
}

func (w warningHandler) Enabled(ctx context.Context, level slog.Level) bool {
	select {
	case <-w.ending:
		return false
	default:
	}
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warningHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == expectedWarning {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

func (w warningHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warningHandler{w.Handler.WithAttrs(attrs), w.ending}
}

func (w warningHandler) WithGroup(name string) slog.Handler {
	return warningHandler{w.Handler.WithGroup(name), w.ending}
}
