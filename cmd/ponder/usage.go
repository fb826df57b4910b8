package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/internal/textkit"

	"ponder/internal/app"

	"github.com/spf13/cobra"

	"ponder"
)

func (a *cli) usageCommand() *cobra.Command {
	var by, since string
	var calibrated bool
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Say what models have cost",
		Long: `Say what model calls have cost. What was removed still counts. With --calibration: say
what the confidences of sessions are worth, measured by those whose outcome is known.`,
		Example: "ponder usage\nponder usage --by model --since 7d\nponder usage --by thread --json\nponder usage --calibration",
		GroupID: groupLook,
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if calibrated {
				if cmd.Flags().Changed("by") || cmd.Flags().Changed("since") {
					return usagef("--calibration: it is neither of a time nor summed up --by anything")
				}
				return a.usageCalibration(cmd.Context())
			}
			return a.usage(cmd.Context(), ponder.GroupBy(by), since)
		},
	}
	cmd.Flags().StringVar(&by, "by", "day", "sum up by day, mode, model, thread or role")
	cmd.Flags().StringVar(&since, "since", "", "only since a `time`: 24h, 7d or 2026-11-01")
	cmd.Flags().BoolVar(&calibrated, "calibration", false, "say what confidences are worth")
	return cmd
}

func (a *cli) usage(ctx context.Context, by ponder.GroupBy, since string) error {
	all := []ponder.GroupBy{ponder.ByDay, ponder.ByMode, ponder.ByModel, ponder.ByThread, ponder.ByRole}
	if !slices.Contains(all, by) {
		return usagef("--by: %q is none of day, mode, model, thread, role", clip(string(by), 20))
	}
	from, err := sinceOf(since, time.Now())
	if err != nil {
		return err
	}
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		a.note("no model has been asked yet")
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	rows, err := store.Usage(ctx, by, from)
	if err != nil {
		return fmt.Errorf("sum up usage: %w", err)
	}
	if a.flags.json {
		for _, r := range rows {
			if err := a.object(r); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		a.note("no model has been asked in that time")
		return nil
	}
	a.usageTable(by, rows)
	return nil
}

func (a *cli) usageTable(by ponder.GroupBy, rows []ponder.UsageRow) {
	table := [][]string{{strings.ToUpper(string(by)), "CALLS", "FAILED", "TOKENS IN", "TOKENS OUT", "COST"}}
	total := ponder.UsageRow{Key: "all"}
	for _, r := range rows {
		table = append(table, usageRow(r))
		total.Calls, total.Failed, total.Unknown, total.Money = total.Calls+r.Calls, total.Failed+r.Failed, total.Unknown+r.Unknown, total.Money+r.Money
		total.Usage.Input += r.Usage.Total() - r.Usage.Output
		total.Usage.Output += r.Usage.Output
	}
	if len(rows) > 1 {
		table = append(table, usageRow(total))
	}
	a.table(table)
	if total.Unknown > 0 {
		a.note("%s of unknown price: set it with `ponder settings models.price.MODEL.input USD`, or run `ponder model refresh`", textkit.Count(total.Unknown, "call is", "calls are"))
	}
}

func usageRow(r ponder.UsageRow) []string {
	key := r.Key
	if key == "" {
		key = "(none)"
	}
	return []string{key, textkit.Number(r.Calls), textkit.Number(r.Failed), textkit.Number(r.Usage.Total() - r.Usage.Output), textkit.Number(r.Usage.Output),
		strings.TrimPrefix(app.USD(r.Money.USD(), r.Usage.Total(), r.Calls, r.Unknown), "cost ")}
}

// sinceOf reads "24h", "7d" or a date.
func sinceOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, usagef("--since: %q is neither a length of time, such as 24h or 7d, nor a date, such as 2026-11-01", clip(text, 20))
}
