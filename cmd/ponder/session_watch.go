package main

import (
	"context"

	"github.com/spf13/cobra"

	"ponder"
)

func (a *cli) sessionWatchCommand() *cobra.Command {
	var after ponder.Seq
	var internal bool
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Look on while another process thinks",
		Long: `Show what a session has thought, and what it thinks until it ends or is paused.
Keys pause it, steer it and ask for its answer, as they do where it is thought; ? shows
them. Ctrl-C and d leave it to itself.`,
		Example: "ponder session watch last\nponder session watch last --json --after 120",
		Args:    takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionWatch(cmd.Context(), args[0], after, internal)
		},
	}
	cmd.Flags().Var(eventFlag{&after, 0}, "after", "begin after the event of this `number`")
	cmd.Flags().BoolVar(&internal, "internal", false, "with --json: internal events too")
	return cmd
}

func (a *cli) sessionWatch(ctx context.Context, name string, after ponder.Seq, internal bool) error {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, name, ponder.KindSession)
	if err != nil {
		return err
	}
	w := a.viewing(store, info.ID)
	w.internal = internal
	if after > 0 {
		if err := w.Read(ctx, after); err != nil {
			return err
		}
	}
	return w.watched(w.watch(ctx))
}
