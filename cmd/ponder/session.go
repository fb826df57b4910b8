package main

import (
	"context"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/store/sqlite"
)

func (a *cli) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Look at sessions and research, pause them and go on",
		Long: `Look at thinking sessions and research, pause them and go on. An ID may be shortened as
long as it stays unique, with or without thr_; "last" is the newest of them.`,
		Example: `ponder session list
ponder session resume last
ponder session export last --format markdown -o report.md`,
		GroupID: groupThink,
		Args:    cobra.ArbitraryArgs,
		RunE:    onlyGroups,
	}
	cmd.AddCommand(a.sessionListCommand(), a.sessionShowCommand(), a.sessionWatchCommand(), a.sessionPauseCommand(),
		a.sessionResumeCommand(), a.sessionCancelCommand(), a.sessionExportCommand(), a.sessionSteerCommand(), a.sessionForkCommand(),
		a.sessionCompareCommand(), a.sessionResolveCommand())
	for _, sub := range cmd.Commands() {
		if sub.ValidArgsFunction == nil && sub.Name() != "list" {
			sub.ValidArgsFunction = a.completeThreads(ponder.KindSession)
		}
	}
	return cmd
}

// takeID is the argument of commands about one session or thread.
func takeID(cmd *cobra.Command, args []string) error {
	return take(1, 1, `one id, or "last"`)(cmd, args)
}

// openSession opens the database to write, and loads the session that a user means. The
// caller closes the store.
func (a *cli) openSession(ctx context.Context, name string) (*viewing, ponder.Info, *sqlite.Store, error) {
	store, info, err := a.OpenThread(ctx, name, ponder.KindSession)
	if err != nil {
		return nil, info, nil, err
	}
	w := a.viewing(store, info.ID)
	if err := w.load(ctx); err != nil {
		store.Close()
		return nil, info, nil, err
	}
	return w, info, store, nil
}

// loadSession loads the session that a user means from a store.
func (a *cli) loadSession(ctx context.Context, store ponder.Store, name string) (*viewing, ponder.Info, error) {
	info, err := a.FindThread(ctx, store, name, ponder.KindSession)
	if err != nil {
		return nil, info, err
	}
	w := a.viewing(store, info.ID)
	if err := w.load(ctx); err != nil {
		return nil, info, err
	}
	return w, info, nil
}

func (a *cli) sessionCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B",
		Short: "Show in what two sessions differ",
		Long: `Show where two sessions part, and in what they differ: the answer, how sure it is, what
only one of them found and explored, what they were told, time and cost. They may
be forks of each other or not. What says the same in other words counts as the same, as
far as that can be told without a model.`,
		Example: "ponder session compare 01K7A 01K7B\nponder session compare 01K7A last --json",
		Args:    take(2, 2, "two ids"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.CompareSessions(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return a.result(c, c.Text(a.width()))
		},
	}
}
