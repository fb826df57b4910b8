package main

import (
	"context"
	"fmt"

	"ponder"
	"ponder/internal/app"
	"ponder/store/sqlite"
)

func (a *cli) continueFork(ctx context.Context, store *sqlite.Store, id ponder.ThreadID, p *app.SessionModels, f forkFlags) error {
	w := a.newSessionScreen(store, id)
	w.internal = f.internal
	if f.detach {
		return a.detachSession(ctx, store, id)
	}
	if err := w.loadEvents(ctx); err != nil {
		return err
	}
	if f.paused {
		return w.printPausedFork(ctx, store)
	}
	t, err := a.Runner(ctx, store, p.Models, w.Sources(), w.onDelta)
	if err != nil {
		return err
	}
	defer t.Close(ctx)
	err = w.runSession(ctx, t)
	w.Keep(ctx, store)
	return w.finishWithReport(ctx, store, f.output, w.finishCommand(ctx, err))
}

// addForkCommand returns the commands to the newest fork up to ev.
func addForkCommand(sent []ponder.Event, ev ponder.Event) []ponder.Event {
	switch b := ev.Body.(type) {
	case ponder.SystemNote:
		if b.From != "" {
			return nil // earlier commands belong to the original
		}
	case ponder.Steer:
		return append(sent, ev)
	}
	return sent
}

func (w *sessionScreen) printPausedFork(ctx context.Context, store ponder.Store) error {
	if w.flags.json {
		if err := w.printJSON(map[string]any{"id": w.Id}); err != nil {
			return err
		}
	} else {
		w.printf("%s\n", w.Id)
	}
	var sent []ponder.Event
	for ev, err := range store.Events(ctx, w.Id, 0) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.Id, err)
		}
		sent = addForkCommand(sent, ev)
	}
	if err := w.AckWhilePaused(ctx, store); err != nil {
		return err
	}
	return w.printAcks(ctx, sent)
}
