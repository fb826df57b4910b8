package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/schedule"
	"ponder/internal/textkit"
)

type scheduleFlags struct {
	noticeFlags
	budget                  budgetFlags
	every, rounds           string
	docs                    []string
	model, title, persona   string
	noMemory, noWeb, always bool
}

func (a *cli) researchScheduleCommand() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "schedule QUESTION",
		Short: "Research a question again and again",
		Long: `Research a question now and then after each time of --every. Each report begins with the
changes since the last one. --notify notifies you of the first report and of changes, with
--always of each report.

"ponder serve" and "ponder mind run" start the runs: keep one of them running. After a time
without them, one run catches up on all that were missed.`,
		Example: `ponder research schedule "What is new in battery recycling?" --every 1d --notify desktop
ponder research schedule "Does our contract allow this?" --every 1w --docs ./contract --no-web
ponder research schedule list
ponder research schedule remove sch_01K`,
		Args: requireArgs(1, 1, `a question in quotes, or - to read it from standard input`),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.addSchedule(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.every, "every", "", "`time` between two runs, such as 6h, 1d or 2w")
	f.budget.addFlags(flags)
	flags.Lookup("for").Usage = "maximum `time` of a run, such as 90s or 10m (default 3m)"
	flags.StringVar(&f.rounds, "rounds", "", "maximum `number` of rounds of a run")
	flags.StringVar(&f.persona, "persona", "", "answer as the persona with this `name`")
	flags.BoolVar(&f.noMemory, "no-memory", false, "do not search the memory")
	flags.BoolVar(&f.noWeb, "no-web", false, "do not search the web")
	flags.StringArrayVar(&f.docs, "docs", nil, "search the file or folder at `path`; may be repeated")
	flags.StringVar(&f.model, "model", "", "use only `provider/model`")
	flags.StringVar(&f.title, "title", "", "`title` of the runs in lists")
	f.noticeFlags.addFlags(flags)
	flags.BoolVar(&f.always, "always", false, "notify after each run, also without changes")
	cmd.AddCommand(a.scheduleListCommand(), a.scheduleRemoveCommand())
	return cmd
}

func (a *cli) addSchedule(ctx context.Context, text string, f scheduleFlags, given func(string) bool) error {
	s := schedule.Schedule{Model: f.model, Title: f.title, Persona: f.persona, NoMemory: f.noMemory, NoWeb: f.noWeb, Always: f.always}
	var err error
	if s.Question, err = a.readQuestion(ctx, text); err != nil {
		return err
	}
	if !given("every") {
		return usagef("no time between the runs: use --every, such as --every 1d")
	}
	if s.Every, err = schedule.ParseEvery(f.every); err != nil {
		return usagef("--every: %w", err)
	}
	if _, err := a.Config(); err != nil {
		return err
	}
	if s.Budget, err = f.budget.readBudget(given); err != nil {
		return err
	}
	if given("rounds") {
		if s.Rounds, err = parseCount(f.rounds, maxScheduledRounds); err != nil {
			return usagef("--rounds: %w", err)
		}
	}
	if s.Docs, err = a.CheckDocs(ctx, "docs", f.docs); err != nil {
		return err
	}
	if _, err := a.PersonaVoice(ctx, f.persona); err != nil {
		return err
	}
	r, err := f.startNotice(a)
	if err != nil {
		return err
	}
	if f.always && r.Channels == nil {
		return usagef("--always needs --notify: name a channel, such as --notify desktop")
	}
	s.Notify, s.Answer, s.Tty = r.Channels, r.Answer, r.Terminal
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	if s, err = a.AddSchedule(ctx, store, s); err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(s)
	}
	a.printf("%s\n", s.ID)
	if _, ok := a.findServer(ctx); ok {
		a.printNote("every %s, from now on; `ponder serve` runs it", schedule.EveryText(s.Every))
		return nil
	}
	a.printNote("every %s, while `ponder serve` or `ponder mind run` is running", schedule.EveryText(s.Every))
	return nil
}

const maxScheduledRounds = 20

func (a *cli) scheduleListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List scheduled research",
		Example: "ponder research schedule list\nponder research schedule list --json",
		Args:    requireNoArgs,
		RunE:    runWithoutArgs(a.listSchedules),
	}
}

func (a *cli) listSchedules(ctx context.Context) error {
	store, err := a.OpenExisting(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		a.printNote("nothing is scheduled: start with `ponder research schedule QUESTION --every 1d`")
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	list, err := a.Schedules(ctx, store)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.printNote("nothing is scheduled: start with `ponder research schedule QUESTION --every 1d`")
	}
	rows := [][]string{{"ID", "EVERY", "NEXT", "RUNS", "LAST", "QUESTION"}}
	for _, s := range list {
		if a.flags.json {
			if err := a.printJSON(s); err != nil {
				return err
			}
			continue
		}
		last := string(s.Last)
		if s.Error != "" {
			last = "not started: " + truncate(oneLine(s.Error), 60)
		}
		rows = append(rows, []string{s.ID, schedule.EveryText(s.Every), nextRunText(s.Next, time.Now()), fmt.Sprint(s.Runs), last, truncate(oneLine(s.Question), 60)})
	}
	if len(rows) > 1 {
		a.printTable(rows)
	}
	return nil
}

func nextRunText(next, now time.Time) string {
	if !next.After(now) {
		return "due"
	}
	return "in " + textkit.Clock(next.Sub(now))
}

func (a *cli) scheduleRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove ID",
		Short:   "Remove scheduled research",
		Long:    "Remove scheduled research. The reports of earlier runs stay.",
		Example: "ponder research schedule remove sch_01K",
		Args:    requireArgs(1, 1, "the ID of a schedule"),
		RunE:    runWithArg(a.removeSchedule),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
			store, err := a.OpenReadOnly(cmd.Context())
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			defer store.Close()
			list, _ := a.Schedules(cmd.Context(), store) // an error offers nothing
			for _, s := range list {
				words = append(words, cobra.CompletionWithDesc(s.ID, truncate(oneLine(s.Question), 60)))
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func (a *cli) removeSchedule(ctx context.Context, name string) error {
	store, err := a.OpenExisting(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := a.RemoveSchedule(ctx, store, name)
	if err != nil {
		return err
	}
	a.printNote("removed %s: %s", s.ID, truncate(oneLine(s.Question), 60))
	return nil
}

func (a *cli) researchFollowUpCommand() *cobra.Command {
	var f researchFlags
	cmd := &cobra.Command{
		Use:   "follow-up ID",
		Short: "Research a question again and report the changes",
		Long: `Research the question of an earlier research again, in the same sources. The report begins
with the changes: new, dropped and changed claims, sources and conflicts. Ponder compares the
reports without a model.`,
		Example: `ponder research follow-up last
ponder research follow-up 01K --docs ./new-contract -o changes.html`,
		Args:              requireID,
		ValidArgsFunction: a.completeThreads("research"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.researchFollowUp(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	f.addFlags(cmd.Flags())
	return cmd
}

// researchFollowUp searches the places of the older research, so that a private question stays private.
func (a *cli) researchFollowUp(ctx context.Context, name string, f researchFlags, given func(string) bool) error {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return err
	}
	w, info, err := a.loadSession(ctx, store, name)
	store.Close()
	if err != nil {
		return err
	}
	if w.Research == nil {
		return usagef("%s is a %s, not a research", info.ID, info.Kind)
	}
	r := w.Research.View.Research
	f.since = string(info.ID)
	f.noMemory, f.noWeb = f.noMemory || !r.Setup.Memory, f.noWeb || !r.Setup.Web
	if !given("docs") {
		f.docs = r.Setup.Docs
	}
	if !given("persona") {
		f.persona = r.Persona.Name
	}
	return a.runResearch(ctx, r.Question, f, given)
}
