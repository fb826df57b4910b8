package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ponder"
)

func (a *cli) sessionPauseCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "pause ID",
		Short:   "Let a session come to rest",
		Example: "ponder session pause last",
		Args:    takeID,
		RunE:    withArg(a.sessionPause),
	}
}

func (a *cli) sessionPause(ctx context.Context, name string) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	switch {
	case info.Status.Ended():
		return usagef("session %s is %s already", w.Id, info.Status)
	case info.Status == ponder.Thinking:
		if err := w.wish(ctx, "pause", ponder.RunPaused{Reason: "paused by the user"}); err != nil {
			return err
		}
	}
	if err := w.waitFor(ctx, func(i ponder.Info) bool { return !i.Held }); err != nil {
		return err
	}
	a.note("%s is paused; to go on: %s", w.Id, w.goOn())
	return nil
}

// wish tells the session to do something, unless it has ended by now.
func (w *viewing) wish(ctx context.Context, do string, body ponder.Body) error {
	_, err := ponder.SendCommands(ctx, w.Store, w.Id, ponder.Event{Run: w.View.Session.Run, Body: body})
	switch {
	case errors.Is(err, ponder.ErrEnded):
		return usagef("session %s has ended meanwhile; to see it: ponder session show %s", w.Id, w.Id)
	case err != nil:
		return fmt.Errorf("%s %s: %w", do, w.Id, err)
	}
	return nil
}

// obeyTime is how long a process that holds a session has to do as it is told.
const obeyTime = 15 * time.Second

// waitFor waits until what is known of the session satisfies ok.
func (w *viewing) waitFor(ctx context.Context, ok func(ponder.Info) bool) error {
	done, err := poll(ctx, obeyTime, func() (bool, error) {
		info, err := w.Store.Thread(ctx, w.Id)
		if err != nil {
			return false, fmt.Errorf("look after %s: %w", w.Id, err)
		}
		return ok(info), nil
	})
	if !done && err == nil {
		err = fmt.Errorf("the process that holds %s does not answer: it may have stopped; look again with: ponder session show %s", w.Id, w.Id)
	}
	return err
}
