package main

import (
	"context"
	"log/slog"
	"strings"

	"ponder"
	"ponder/knowledge/recall"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

// threadSource is the source of what is remembered of threads.
const threadSource = "ponder"

// keep remembers what a session has come to, so that it can be recalled. That it
// cannot is no failure of the session.
func (w *viewing) keep(ctx context.Context, store *sqlite.Store) {
	s := w.view.Session
	if s.Status != ponder.Completed || strings.TrimSpace(s.Final) == "" {
		return
	}
	err := w.keepSession(context.WithoutCancel(ctx), store, s)
	if err != nil {
		slog.Warn("the session is not remembered", "thread", w.id, "error", err)
	}
}

func (w *viewing) keepSession(ctx context.Context, store *sqlite.Store, s session.Session) error {
	shelf, err := w.LibraryIn(ctx, store)
	if err != nil {
		return err
	}
	defer shelf.Release()
	it := recall.Item{
		Kind: recall.KindThread, Title: clip(oneLine(s.Question), maxTitle), Text: s.Question + "\n\n" + s.Final,
		Source: threadSource, ExternalID: string(w.id),
	}
	if s.Completed != nil {
		it.Date = *s.Completed
	}
	_, err = shelf.Remember(ctx, it)
	return err
}
