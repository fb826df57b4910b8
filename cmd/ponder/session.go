package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/calibration"
	"ponder/store/sqlite"
)

func (a *cli) sessionCommand() *cobra.Command {
	cmd := groupCommands(&cobra.Command{
		Use:   "session",
		Short: "Look at sessions and research, pause them and go on",
		Long: `Look at thinking sessions and research, pause them and go on. An ID may be shortened as
long as it stays unique, with or without thr_; "last" is the newest of them.`,
		Example: `ponder session list
ponder session resume last
ponder session export last --format markdown -o report.md`,
		GroupID: groupThink,
	}, a.sessionListCommand(), a.sessionShowCommand(), a.sessionWatchCommand(), a.sessionPauseCommand(),
		a.sessionResumeCommand(), a.sessionCancelCommand(), a.sessionExportCommand(), a.sessionSteerCommand(), a.sessionForkCommand(),
		a.sessionCompareCommand(), a.sessionResolveCommand())
	for _, sub := range cmd.Commands() {
		if sub.ValidArgsFunction == nil && sub.Name() != "list" {
			sub.ValidArgsFunction = a.completeThreads(ponder.KindSession)
		}
	}
	return cmd
}

func requireID(cmd *cobra.Command, args []string) error {
	return requireArgs(1, 1, `one id, or "last"`)(cmd, args)
}

// openSession opens a writable store and loads a session. The caller closes the store.
func (a *cli) openSession(ctx context.Context, name string) (*sessionScreen, ponder.Info, *sqlite.Store, error) {
	store, info, err := a.OpenThread(ctx, name, ponder.KindSession)
	if err != nil {
		return nil, info, nil, err
	}
	w := a.newSessionScreen(store, info.ID)
	if err := w.loadEvents(ctx); err != nil {
		store.Close()
		return nil, info, nil, err
	}
	return w, info, store, nil
}

func (a *cli) loadSession(ctx context.Context, store ponder.Store, name string) (*sessionScreen, ponder.Info, error) {
	info, err := a.FindThread(ctx, store, name, ponder.KindSession)
	if err != nil {
		return nil, info, err
	}
	w := a.newSessionScreen(store, info.ID)
	if err := w.loadEvents(ctx); err != nil {
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
		Args:    requireArgs(2, 2, "two ids"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.CompareSessions(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return a.printResult(c, c.Text(a.resultWidth()))
		},
	}
}

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
		Args:    requireID,
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
	w := a.newSessionScreen(store, info.ID)
	w.internal = internal
	if after > 0 {
		if err := w.Read(ctx, after); err != nil {
			return err
		}
	}
	return w.watchOutcome(w.watchSession(ctx))
}

func (a *cli) sessionResolveCommand() *cobra.Command {
	var outcome, note string
	cmd := &cobra.Command{
		Use:   "resolve ID",
		Short: "Record how the answer of a session turned out",
		Long: fmt.Sprintf(`Record how the answer of a session turned out: right, wrong, partly, or a number from
0 (wrong) to 1 (right). The newest outcome counts; "unknown" takes it back.

From %d sessions on whose outcome is known, Ponder learns what its confidences are
worth, and shows that; see "ponder usage --calibration".`, calibration.MinCases),
		Example: `ponder session resolve last --outcome right
ponder session resolve 01K --outcome partly --note "right about the cause, wrong about the date"
ponder session resolve last --outcome 0.8`,
		Args: requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("outcome") {
				return usagef("say how it turned out: --outcome right, wrong, partly, or a number from 0 to 1")
			}
			return a.sessionResolve(cmd.Context(), args[0], outcome, note)
		},
	}
	cmd.Flags().StringVar(&outcome, "outcome", "", "`how` it turned out: right, wrong, partly, unknown, or a number from 0 to 1")
	cmd.Flags().StringVar(&note, "note", "", "`text` to remember with it")
	return cmd
}

func (a *cli) sessionResolve(ctx context.Context, name, word, note string) error {
	outcome, err := parseOutcome(word)
	if err != nil {
		return err
	}
	r, err := a.ResolveSession(ctx, name, outcome, note)
	if err != nil {
		return err
	}
	return a.printResult(r, r.Text("ponder usage --calibration"))
}

func parseOutcome(word string) (*float64, error) {
	at := func(v float64) (*float64, error) { return &v, nil }
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "right":
		return at(1)
	case "wrong":
		return at(0)
	case "partly":
		return at(0.5)
	case "unknown":
		return nil, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1 {
		return nil, usagef("--outcome: %q is none of right, wrong, partly, unknown, nor a number from 0 to 1", truncate(oneLine(word), 20))
	}
	return at(v)
}
