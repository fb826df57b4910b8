package main

import (
	"context"
	"errors"
	"fmt"

	"ponder/internal/app"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/engine"
)

func (a *cli) threadForkCommand() *cobra.Command {
	var at ponder.Seq
	var title string
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Make a thread that begins as another did",
		Long: `Make a thread that begins with the events of another, up to one of them, and goes its
own way from there; the other stays as it is. Nobody works on it yet: a session is
paused, and "session resume" goes on; in a conversation the next message does. To think
on from within a session another way, "session fork" has more to offer.`,
		Example: `ponder thread fork last
ponder thread fork 01K --at 57 --title "The other supplier"
ponder ask --thread $(ponder thread fork last --at 12 --quiet) "And what if we wait?"`,
		Args: takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadFork(cmd.Context(), args[0], at, title)
		},
	}
	cmd.Flags().Var(eventFlag{&at, 1}, "at", "begin with what there was up to the event of this `number` (default the newest)")
	cmd.Flags().StringVar(&title, "title", "", "show this `text` for the fork in lists")
	return cmd
}

func (a *cli) threadFork(ctx context.Context, name string, at ponder.Seq, title string) error {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, name, "")
	if err != nil {
		return err
	}
	if at == 0 {
		at = info.Head
	}
	var before []ponder.Event
	for ev, err := range store.Events(ctx, info.ID, 0) {
		if err != nil {
			return fmt.Errorf("read %s: %w", info.ID, err)
		}
		if ev.Seq > at {
			break
		}
		before = append(before, ev)
	}
	to := ponder.Thread{ID: ponder.ThreadID(ponder.NewID("thr")), Title: clip(oneLine(title), app.MaxTitle)}
	halt := halts(info.Kind, before, "forked")
	for i := range halt {
		halt[i].Time, halt[i].Cause = ponder.Event{}.Time, ponder.NewID("fork")
	}
	err = engine.Fork(ctx, store, info.ID, at, to, halt...)
	switch {
	case errors.Is(err, ponder.ErrNoEvent) && info.Head == 0:
		return usagef("thread %s has no events to begin with", info.ID)
	case errors.Is(err, ponder.ErrNoEvent):
		return usagef("--at %d: thread %s has only %s", at, info.ID, textkit.Count(int(info.Head), "event", "events"))
	case err != nil:
		return err
	}
	if a.flags.json {
		return a.object(struct {
			ID   ponder.ThreadID `json:"id"`
			From ponder.ThreadID `json:"from_thread"`
			At   ponder.Seq      `json:"from_seq"`
		}{to.ID, info.ID, at})
	}
	a.printf("%s\n", to.ID)
	a.note("%s is forked from %s at event %d of %d", to.ID, info.ID, at, info.Head)
	return nil
}
