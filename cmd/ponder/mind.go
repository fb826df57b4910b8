package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/mindlog"
	"ponder/internal/textkit"
)

func (a *cli) mindCommand() *cobra.Command {
	return groupCommands(&cobra.Command{
		Use:   "mind",
		Short: "Run and inspect the subconscious",
		Long: `Run and inspect the subconscious. At each tick, sensors read mail, calendars, files, this
machine, feeds, repositories and Ponder's own threads. Four roles examine the new
observations, and Ponder merges their findings into entries. Repeated entries grow
stronger; others fade. Ponder thinks important entries through and reports each one once.
Without new observations, Ponder asks no model and spends nothing.`,
		Example: `ponder mind tick --dry-run
ponder mind run
ponder mind show
ponder mind log --since 24h`,
		GroupID: groupThink,
	}, a.mindRunCommand(), a.mindTickCommand(), a.mindShowCommand(), a.mindLogCommand(), a.mindExplainCommand(),
		a.mindResolveCommand(), a.mindForgetCommand(), a.mindRollbackCommand(), a.mindSensorsCommand())
}

func (a *cli) mindShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show the entries of the subconscious",
		Long: `Show the active threads, patterns, hunches, insights and escalations, and the state of the
roles. Strengths are current values. --json prints one object: active_threads, patterns,
hunches, insights, escalation_history, thread_state.`,
		Example: "ponder mind show\nponder mind show --json",
		Args:    requireNoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.mindShow(cmd.Context(), time.Now()) },
	}
}

func (a *cli) mindShow(ctx context.Context, now time.Time) error {
	s, err := mindlog.Show(ctx, a.App, now)
	none := errors.Is(err, mindlog.ErrNone)
	switch {
	case err != nil && !none:
		return err
	case a.flags.json:
		text, err := s.State.MarshalMind()
		if err == nil {
			_, err = a.out.Write(append(textkit.Escape(text), '\n'))
		}
		return err
	case none:
		a.printNote("%s", a.errorLine(err))
		return nil
	}
	a.printf("%s", s.Text(!a.flags.quiet))
	a.printNotes(s.Cooldown(a.Settings.Mind.Cooldown))
	return nil
}

func (a *cli) mindLogCommand() *cobra.Command {
	var n int
	var since string
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show what each tick did, changed and cost",
		Long: `Show for each tick the roles that ran, the cost, and the changes with their reasons. Also
show escalations, decisions and deliveries, and your commands resolve, forget and
rollback. The newest row is last.`,
		Example: "ponder mind log\nponder mind log --since 24h\nponder mind log -n 1 --json",
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.mindLog(cmd.Context(), n, since, time.Now())
		},
	}
	cmd.Flags().IntVarP(&n, "number", "n", 20, "maximum number of newest rows; with --since, unlimited by default")
	cmd.Flags().StringVar(&since, "since", "", "only since this `time`: 24h, 7d or 2026-11-01")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if n < 1 {
			return usagef("-n: must be 1 or more")
		}
		if since != "" && !cmd.Flags().Changed("number") {
			n = 0
		}
		return nil
	}
	return cmd
}

// mindLog shows the newest n rows since a time; all if n is zero.
func (a *cli) mindLog(ctx context.Context, n int, since string, now time.Time) error {
	from, err := parseSince(since, now)
	if err != nil {
		return err
	}
	m, err := mindlog.Open(ctx, a.App)
	if errors.Is(err, mindlog.ErrNone) {
		a.printNote("%s", a.errorLine(err))
		return nil
	}
	if err != nil {
		return err
	}
	rows := slices.DeleteFunc(m.Rows(), func(r mindlog.Row) bool { return r.At.Before(from) })
	if n > 0 && len(rows) > n {
		rows = rows[len(rows)-n:]
	}
	if len(rows) == 0 {
		a.printNote("no ticks in that time")
	}
	for _, r := range rows {
		if err := a.printResult(r, r.String()); err != nil {
			return err
		}
	}
	a.printNotes(m.Remarks(a.App, now)...)
	if len(a.Settings.Mind.Actions) > 0 {
		if text := app.HeldBackText(m.View, now); text != "" {
			a.printNote("actions: %s", text)
		}
	}
	return nil
}

func (a *cli) mindExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ENTRY",
		Short: "Show the events behind an entry",
		Long: `Show the events behind an entry: the observations, the findings of each role, and the
decisions of the merge with their reasons. Removed entries can be explained too. An ENTRY
may be shortened as long as it stays unique.`,
		Example: "ponder mind explain e3\nponder mind explain e3 --json",
		Args:    requireArgs(1, 1, "the ID of an entry: `ponder mind show` lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := mindlog.Open(cmd.Context(), a.App)
			if err != nil {
				return err
			}
			x, err := m.Explain(args[0], time.Now())
			if err != nil {
				return err
			}
			return a.printResult(x, x.Text())
		},
	}
}

func (a *cli) mindResolveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resolve [ENTRY|TEXT]",
		Short: "Mark a topic as settled until there are new facts",
		Long: `Mark a topic as settled: an entry, or a topic in your own words. The subconscious raises
it again only when there are new facts. Without an argument, list all settled topics.`,
		Example: "ponder mind resolve e3\nponder mind resolve \"the invoice of the printer\"\nponder mind resolve",
		Args:    requireArgs(0, 1, "the ID of an entry, or a topic in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.mindListSettled(cmd.Context(), time.Now())
			}
			return a.mindResolve(cmd.Context(), args[0], time.Now())
		},
	}
}

func (a *cli) mindListSettled(ctx context.Context, now time.Time) error {
	m, err := mindlog.Open(ctx, a.App)
	if errors.Is(err, mindlog.ErrNone) {
		a.printNote("%s", a.errorLine(err))
		return nil
	}
	if err != nil {
		return err
	}
	if len(m.Internal.Settled) == 0 {
		a.printNote("no topic is settled: `ponder mind resolve ENTRY` settles one")
	}
	for _, s := range m.Internal.Settled {
		how := "resolved"
		if s.Forgotten {
			how = "forgotten"
		}
		if err := a.printResult(s, fmt.Sprintf("%s, %s: %s\n", how, textkit.Ago(s.At, now), oneLine(s.Text))); err != nil {
			return err
		}
	}
	return nil
}

func (a *cli) mindResolve(ctx context.Context, what string, now time.Time) error {
	row, removed, err := mindlog.Resolve(ctx, a.App, what, now)
	if err != nil {
		return err
	}
	if err := a.printMindRow(row); err != nil || a.flags.json {
		return err
	}
	for _, e := range removed {
		a.printf("removed %s %s\n", e.ID, oneLine(e.Summary))
	}
	return nil
}

func (a *cli) printMindRow(row mindlog.Row) error {
	return a.printResult(row, oneLine(row.Said())+"\n")
}

func (a *cli) mindForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "forget ENTRY",
		Short:   "Remove an entry for good",
		Long:    "Remove an entry for good: the subconscious never raises its topic again. The observations\nand findings stay in the log.",
		Example: "ponder mind forget e3",
		Args:    requireArgs(1, 1, "the ID of an entry: `ponder mind show` lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			row, err := mindlog.Forget(cmd.Context(), a.App, args[0], time.Now())
			if err != nil {
				return err
			}
			return a.printMindRow(row)
		},
	}
}

func (a *cli) mindRollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rollback TICK",
		Short: "Restore the entries from before a tick",
		Long: `Restore the entries from before a tick. The rollback erases nothing: the log keeps all
ticks and the rollback itself. Settled topics, delivered escalations and the positions of
sensors do not change.`,
		Example: "ponder mind rollback 12",
		Args:    requireArgs(1, 1, "the number of a tick: `ponder mind log` shows them"),
		RunE:    runWithArg(a.mindRollback),
	}
}

func (a *cli) mindRollback(ctx context.Context, word string) error {
	tick, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(word), "#"))
	if err != nil || tick < 1 {
		return usagef("%q is not the number of a tick: `ponder mind log` shows them", truncate(oneLine(word), 20))
	}
	row, err := mindlog.Rollback(ctx, a.App, tick)
	if err != nil {
		return err
	}
	return a.printMindRow(row)
}

func (a *cli) mindSensorsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sensors",
		Short: "Test the sensors and show their first observations",
		Long: `Test the sensors: show whether each works, and its first observations. Nothing is saved,
so the next tick reports the same observations.`,
		Example: "ponder mind sensors\nponder mind sensors --json",
		Args:    requireNoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.mindTestSensors(cmd.Context(), time.Now()) },
	}
}

func (a *cli) mindTestSensors(ctx context.Context, now time.Time) error {
	list, err := a.TrySensors(ctx, now)
	if err != nil {
		return err
	}
	failed := 0
	for _, t := range list {
		if t.Error != "" {
			failed++
		}
		if err := a.printResult(t, t.Text()); err != nil {
			return err
		}
	}
	if failed > 0 && ctx.Err() == nil {
		return fmt.Errorf("%s failed", textkit.Count(failed, "sensor", "sensors"))
	}
	return ctx.Err()
}

func (a *cli) mindDryRun(ctx context.Context, all bool, now time.Time) error {
	run, err := a.DryRunMind(ctx, all, now)
	if err != nil {
		return err
	}
	a.printTrouble(run.Trouble)
	total := 0
	for _, r := range run.Requests {
		total += r.Tokens
		if err := a.printResult(r, r.Text()); err != nil {
			return err
		}
	}
	if !a.flags.json {
		a.printf("In all, about %s of input. Ponder asked no model and saved nothing.\n", textkit.Count(total, "token", "tokens"))
	}
	return nil
}
