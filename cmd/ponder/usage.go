package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/internal/report"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
)

func (a *cli) usageCommand() *cobra.Command {
	var by, since string
	var calibrated bool
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show the cost of model calls",
		Long: `Show the cost of model calls. Removed threads still count. With --calibration, show how
well the confidences of sessions match the known outcomes.`,
		Example: "ponder usage\nponder usage --by model --since 7d\nponder usage --by thread --json\nponder usage --calibration",
		GroupID: groupLook,
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if calibrated {
				if cmd.Flags().Changed("by") || cmd.Flags().Changed("since") {
					return usagef("--calibration cannot be combined with --by or --since")
				}
				return a.usageCalibration(cmd.Context())
			}
			return a.showUsage(cmd.Context(), ponder.GroupBy(by), since)
		},
	}
	cmd.Flags().StringVar(&by, "by", "day", "sum by this `column`: day, mode, model, thread or role")
	cmd.Flags().StringVar(&since, "since", "", "only since this `time`: 24h, 7d or 2026-11-01")
	cmd.Flags().BoolVar(&calibrated, "calibration", false, "show the calibration of confidences")
	return cmd
}

func (a *cli) showUsage(ctx context.Context, by ponder.GroupBy, since string) error {
	all := []ponder.GroupBy{ponder.ByDay, ponder.ByMode, ponder.ByModel, ponder.ByThread, ponder.ByRole}
	if !slices.Contains(all, by) {
		return usagef("--by: %q is unknown: use day, mode, model, thread or role", truncate(string(by), 20))
	}
	from, err := parseSince(since, time.Now())
	if err != nil {
		return err
	}
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		a.printNote("%s", cmp.Or(a.missingDatabase(err), "no model calls yet"))
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	rows, err := store.Usage(ctx, by, from)
	if err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	if a.flags.json {
		for _, r := range rows {
			if err := a.printJSON(r); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		a.printNote("no model calls in this period")
		return nil
	}
	if by == ponder.ByThread {
		if err := shortenThreads(ctx, store, rows); err != nil {
			return err
		}
	}
	a.usageTable(by, rows)
	return nil
}

// shortenThreads replaces the IDs of rows by short ones. Removed threads keep theirs.
func shortenThreads(ctx context.Context, threads ponder.Threads, rows []ponder.UsageRow) error {
	for i, row := range rows {
		id := ponder.ThreadID(row.Key)
		if _, err := threads.Thread(ctx, id); err != nil || row.Key == "" {
			continue
		}
		short, err := app.ShortID(ctx, threads, id)
		if err != nil {
			return err
		}
		rows[i].Key = short
	}
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
	a.printTable(table)
	if total.Unknown > 0 {
		a.printNote("%s of unknown price: set the price with `ponder settings models.price.MODEL.input USD`, or run `ponder model refresh`", textkit.Count(total.Unknown, "call is", "calls are"))
	}
}

func usageRow(r ponder.UsageRow) []string {
	key := r.Key
	if key == "" {
		key = "(none)"
	}
	return []string{key, textkit.Number(r.Calls), textkit.Number(r.Failed), textkit.Number(r.Usage.Total() - r.Usage.Output), textkit.Number(r.Usage.Output),
		strings.TrimPrefix(report.USD(r.Money.USD(), r.Usage.Total(), r.Calls, r.Unknown), "cost ")}
}

// parseSince parses "24h", "7d" or a date.
func parseSince(text string, now time.Time) (time.Time, error) {
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
	return time.Time{}, usagef("--since: %q is not a time: use a duration such as 24h or 7d, or a date such as 2026-11-01", truncate(text, 20))
}

func (a *cli) usageCalibration(ctx context.Context) error {
	r, err := a.Reliability(ctx)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(r)
	}
	if r.Uncalibrated != "" {
		a.printf("%s\n", r.Uncalibrated)
		a.printNote("to record more outcomes: ponder session resolve ID --outcome right|wrong|partly")
	}
	if r.Claimed != nil {
		a.printReliability(r)
	}
	return nil
}

func (a *cli) printReliability(r app.Reliability) {
	a.printf("%s: %d right, %d wrong, %d partly right\n", textkit.Count(r.Resolved, "resolved session", "resolved sessions"), r.Right, r.Wrong, r.Partly)
	a.printf("\nClaimed confidence and share of right answers:\n\n")
	a.reliabilityTable(r.Claimed.Reliability)
	if r.Calibrated != nil {
		a.printf("\nCalibrated confidence; the map for each session is learned from the others:\n\n")
		a.reliabilityTable(r.Calibrated.Reliability)
	}
	a.printf("\n")
	rows := [][]string{{"", "BRIER", "ECE", "(BY CHANCE)", "LOG LOSS"}, scoreRow("claimed", r.Claimed)}
	if r.Calibrated != nil {
		rows = append(rows, scoreRow("calibrated", r.Calibrated))
	}
	a.printTable(rows)
	if len(r.Claimed.Reliability) == 1 {
		a.printf("\nAll claims are in one group. Their ECE is only the difference between the mean claim and\nthe share of right answers.\n")
	}
	if len(r.Worth) > 0 {
		a.printf("\nCalibrated value of a claim, if all else is average:\n\n")
		head, below := []string{"claimed"}, []string{"calibrated"}
		for _, w := range r.Worth {
			head, below = append(head, formatShare(w.Claimed)), append(below, formatShare(w.Calibrated))
		}
		a.printTable([][]string{head, below})
	}
	a.modelsTable(r.Models)
}

func scoreRow(name string, m *app.ForecastQuality) []string {
	return []string{name, fmt.Sprintf("%.3f", m.Brier), fmt.Sprintf("%.3f", m.ECE), fmt.Sprintf("(%.3f)", m.Chance), fmt.Sprintf("%.3f", m.LogLoss)}
}

func formatShare(v float64) string { return fmt.Sprintf("%.2f", v) }

// reliabilityTable prints a bar for the observed frequency and a mark for the claimed one.
func (a *cli) reliabilityTable(bins []app.ReliabilityBin) {
	rows := [][]string{{"CONFIDENCE", "SESSIONS", "SAID", "RIGHT", "█ right  ┃ said"}}
	for _, b := range bins {
		span := formatShare(b.Low)
		if high := formatShare(b.High); high != span {
			span += " to " + high
		}
		rows = append(rows, []string{span, textkit.Number(b.Sessions), formatShare(b.Forecast), formatShare(b.Frequency), reliabilityBar(b.Frequency, b.Forecast)})
	}
	a.printTable(rows)
}

const barCells = 30

func reliabilityBar(right, said float64) string {
	cells := []rune(strings.Repeat("█", int(right*barCells+0.5)))
	for len(cells) < barCells {
		cells = append(cells, '·')
	}
	cells[min(barCells-1, max(0, int(said*barCells)))] = '┃'
	return string(cells)
}

func (a *cli) modelsTable(models []app.ModelReliability) {
	if len(models) == 0 {
		return
	}
	rows := [][]string{{"MODEL", "SESSIONS", "BRIER", "ECE", "BRIER CALIBRATED", "ECE CALIBRATED"}}
	for _, m := range models {
		row := []string{oneLine(m.Model), textkit.Number(m.Sessions), "", "", "", ""}
		for i, s := range []*app.ForecastQuality{m.Claimed, m.Calibrated} {
			if s != nil {
				row[2+2*i], row[3+2*i] = fmt.Sprintf("%.3f", s.Brier), fmt.Sprintf("%.3f", s.ECE)
			}
		}
		rows = append(rows, row)
	}
	a.printf("\n")
	a.printTable(rows)
}
