package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/calibration"
	"ponder/mode/session"
)

func (a *cli) sessionResolveCommand() *cobra.Command {
	var outcome, note string
	cmd := &cobra.Command{
		Use:   "resolve ID",
		Short: "Record how the answer of a session turned out",
		Long: fmt.Sprintf(`Record how the answer of a session turned out: right, wrong, partly, or a number from
0 (wrong) to 1 (right). The newest outcome counts; "unknown" takes it back.

From %d sessions on whose outcome is known, Ponder learns what its confidences are
worth, and shows that; see "ponder usage --calibration".`, calibration.Wanted),
		Example: `ponder session resolve last --outcome right
ponder session resolve 01K --outcome partly --note "right about the cause, wrong about the date"
ponder session resolve last --outcome 0.8`,
		Args: takeID,
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

// maxNote is the most that is remembered with an outcome, in letters.
const maxNote = 2000

func (a *cli) sessionResolve(ctx context.Context, name, word, note string) error {
	outcome, err := outcomeOf(word)
	if err != nil {
		return err
	}
	if n := len([]rune(note)); n > maxNote {
		return usagef("--note: it has %s letters, and may have %s", textkit.Number(n), textkit.Number(maxNote))
	}
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	s := w.View.Session
	switch {
	case !s.Status.Ended():
		return usagef("session %s is %s: how it turns out can be said when it has ended", w.Id, statusOf(info))
	case s.Claimed == nil || s.Status != ponder.Completed:
		return usagef("session %s has no answer that could be right or wrong: it is %s", w.Id, s.Status)
	}
	_, err = store.Append(ctx, w.Id, 0, ponder.Event{Run: s.Run, Body: ponder.Resolved{Content: strings.TrimSpace(note), Ref: string(s.Run), Outcome: outcome}})
	if err != nil {
		return fmt.Errorf("resolve %s: %w", w.Id, err)
	}
	return a.nowStandsAt(ctx, store, s, outcome, note)
}

// nowStandsAt says what was recorded, and how things stand with it.
func (a *cli) nowStandsAt(ctx context.Context, store ponder.Store, s session.Session, outcome *float64, note string) error {
	list, err := app.ResolvedSessions(ctx, store, a.Owner())
	if err != nil {
		return err
	}
	m := calibration.Fit(app.CasesOf(list))
	if a.flags.json {
		return a.object(struct {
			ID      ponder.ThreadID `json:"id"`
			Run     ponder.RunID    `json:"run_id"`
			Outcome *float64        `json:"outcome"`
			Note    string          `json:"note,omitempty"`
			Claimed float64         `json:"confidence"`
			app.CalibrationStatus
		}{s.ID, s.Run, outcome, note, *s.Claimed, app.CalibrationStatusOf(m)})
	}
	a.printf("%s: %s (claimed %.2f)\n", clip(oneLine(s.Question), 80), outcomeText(outcome), *s.Claimed)
	if text := app.UncalibratedReason(m); text != "" {
		a.printf("%s\n", text)
	} else {
		a.printf("calibrated from %s: ponder usage --calibration\n", textkit.Count(m.Cases(), "resolved session", "resolved sessions"))
	}
	return nil
}

// outcomeOf reads how something turned out; nil if that is unknown.
func outcomeOf(word string) (*float64, error) {
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
		return nil, usagef("--outcome: %q is none of right, wrong, partly, unknown, nor a number from 0 to 1", clip(oneLine(word), 20))
	}
	return at(v)
}

func outcomeText(outcome *float64) string {
	switch {
	case outcome == nil:
		return "unknown"
	case *outcome == 1:
		return "right"
	case *outcome == 0:
		return "wrong"
	}
	return fmt.Sprintf("right in part (%.2g)", *outcome)
}
