package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"ponder"
)

// threadWorkCommand is what a command that ends leaves a conversation to, in which
// something goes on in the background.
func (a *cli) threadWorkCommand() *cobra.Command {
	var f talkFlags
	cmd := &cobra.Command{
		Use:     "work ID",
		Short:   "Do what is left to do on a conversation",
		Example: "ponder thread work last",
		Hidden:  true,
		Args:    takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadWork(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	f.addSight(cmd.Flags())
	return cmd
}

func (a *cli) threadWork(ctx context.Context, name string, f talkFlags, given func(string) bool) error {
	t, err := f.talking(ctx, a, given)
	if err != nil {
		return err
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, name, ponder.KindConversation)
	if err != nil {
		return err
	}
	told := a.Cast(ctx, info.ID)
	defer told.Close()
	thinker, err := a.ChatRunner(ctx, store, t, told.Add)
	if err != nil {
		return err
	}
	defer thinker.Close(ctx)
	if err := thinker.Work(ctx, info.ID); err != nil && !errors.Is(err, ponder.ErrHeld) {
		return err
	}
	return nil
}
