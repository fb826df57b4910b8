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
		Short: "Show, pause, resume and steer sessions and research",
		Long: `Show, pause, resume and steer thinking sessions and research. An ID may be shortened as
long as it stays unique, with or without thr_; "last" is the newest session or research.`,
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
	return requireArgs(1, 1, `one ID, or "last"`)(cmd, args)
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
		Short: "Compare two sessions",
		Long: `Show where two sessions diverge and how they differ: answer, confidence, findings and
questions of only one of them, steering, time and cost. Two unrelated sessions can be
compared too. Statements with the same meaning count as equal, as far as Ponder can
recognize this without a model.`,
		Example: "ponder session compare 01K7A 01K7B\nponder session compare 01K7A last --json",
		Args:    requireArgs(2, 2, "two IDs"),
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
		Short: "Watch a session that another process runs",
		Long: `Show the thoughts of a session so far, and new ones until it ends or pauses. Keys pause
the session, steer it and request its answer, as in ponder think; ? lists the keys. Ctrl-C
and d stop watching; the session continues.`,
		Example: "ponder session watch last\nponder session watch last --json --after 120",
		Args:    requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionWatch(cmd.Context(), args[0], after, internal)
		},
	}
	cmd.Flags().Var(eventFlag{&after, 0}, "after", "start after the event with this `number`")
	cmd.Flags().BoolVar(&internal, "internal", false, "with --json: include internal events")
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
		Short: "Record whether the answer of a session was right",
		Long: fmt.Sprintf(`Record whether the answer of a session was right: right, wrong, partly, or a number from
0 (wrong) to 1 (right). The newest outcome counts; "unknown" withdraws it.

With %d or more known outcomes, Ponder calibrates its confidences and shows the result;
see "ponder usage --calibration".`, calibration.MinCases),
		Example: `ponder session resolve last --outcome right
ponder session resolve 01K --outcome partly --note "right about the cause, wrong about the date"
ponder session resolve last --outcome 0.8`,
		Args: requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("outcome") {
				return usagef("no outcome given: use --outcome right, wrong, partly, or a number from 0 to 1")
			}
			return a.sessionResolve(cmd.Context(), args[0], outcome, note)
		},
	}
	cmd.Flags().StringVar(&outcome, "outcome", "", "`outcome`: right, wrong, partly, unknown, or a number from 0 to 1")
	cmd.Flags().StringVar(&note, "note", "", "`text` to store with the outcome")
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
		return nil, usagef("--outcome: %q is unknown: use right, wrong, partly, unknown, or a number from 0 to 1", truncate(oneLine(word), 20))
	}
	return at(v)
}
