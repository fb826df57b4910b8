package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/store/sqlite"
)

func (a *cli) sessionCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "cancel ID",
		Short:   "End a session without an answer",
		Long:    "End a session without an answer. What it has thought is kept.",
		Example: "ponder session cancel last",
		Args:    takeID,
		RunE:    withArg(a.sessionCancel),
	}
}

func (a *cli) sessionCancel(ctx context.Context, name string) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	if info.Status.Ended() {
		return usagef("session %s is %s already", w.Id, info.Status)
	}
	if err := w.wish(ctx, "cancel", ponder.Steer{Do: ponder.Cancel}); err != nil {
		return err
	}
	if !info.Held {
		if err := w.settle(ctx, store); err != nil {
			return err
		}
	}
	if err := w.waitFor(ctx, func(i ponder.Info) bool { return i.Status.Ended() }); err != nil {
		return err
	}
	a.note("%s is cancelled; what it has thought: %s", w.Id, a.command("session show", w.Id))
	return nil
}

// settle holds the session for as long as it takes to obey an order, which takes
// no model. It is no error if another process has come to hold it.
func (w *viewing) settle(ctx context.Context, store *sqlite.Store) error {
	t, err := w.Runner(ctx, store, nil, app.Sources{}, nil)
	if err != nil {
		return err
	}
	defer t.Close(ctx)
	if err := t.Work(ctx, w.Id); err != nil && !errors.Is(err, ponder.ErrHeld) {
		return err
	}
	return nil
}
