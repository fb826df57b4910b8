package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ponder/internal/textkit"

	"ponder/internal/app"
	"ponder/internal/calibration"
)

// A measured is how good forecasts were, as programs are shown it.
type measured struct {
	Brier       float64          `json:"brier"`
	ECE         float64          `json:"ece"`
	Chance      float64          `json:"ece_by_chance"` // of perfect forecasts, as few as these
	LogLoss     float64          `json:"log_loss"`
	Reliability []reliabilityRow `json:"reliability,omitempty"`
}

type reliabilityRow struct {
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Sessions  int     `json:"sessions"`
	Forecast  float64 `json:"mean_confidence"`
	Frequency float64 `json:"right"`
}

// measure returns nil for no forecasts.
func measure(list []calibration.Forecast) *measured {
	bins := calibration.Reliability(list)
	if len(bins) == 0 {
		return nil
	}
	m := &measured{Brier: calibration.Brier(list), ECE: calibration.ECE(list), Chance: calibration.Chance(list), LogLoss: calibration.LogLoss(list)}
	for _, b := range bins {
		m.Reliability = append(m.Reliability, reliabilityRow{b.Low, b.High, b.Count, b.P, b.Frequency})
	}
	return m
}

// A reliability is what is known of the confidences of sessions.
type reliability struct {
	learned
	Right      int       `json:"right"`
	Wrong      int       `json:"wrong"`
	Partly     int       `json:"partly"`
	Claimed    *measured `json:"claimed,omitempty"`
	Calibrated *measured `json:"calibrated,omitempty"` // cross-validated
	Worth      []worth   `json:"worth,omitempty"`
	Models     []byModel `json:"models,omitempty"` // if there are several
}

// A worth says what a claim is worth on an average basis.
type worth struct {
	Claimed    float64 `json:"confidence"`
	Calibrated float64 `json:"calibrated_confidence"`
}

type byModel struct {
	Model      string    `json:"model"`
	Sessions   int       `json:"resolved_sessions"`
	Claimed    *measured `json:"claimed,omitempty"`
	Calibrated *measured `json:"calibrated,omitempty"`
}

func reliabilityOf(list []app.ResolvedSession) (reliability, calibration.Map) {
	cases := app.CasesOf(list)
	m := calibration.Fit(cases)
	claims, calibrated := calibration.Claims(cases), calibration.CrossValidate(cases)
	r := reliability{learned: learnedOf(m), Claimed: measure(claims), Calibrated: measure(calibrated)}
	for _, c := range cases {
		switch c.Outcome {
		case 1:
			r.Right++
		case 0:
			r.Wrong++
		default:
			r.Partly++
		}
	}
	for _, claimed := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99} {
		if p, ok := m.Of(claimed, meanBasis(cases)); ok {
			r.Worth = append(r.Worth, worth{claimed, p})
		}
	}
	r.Models = modelsOf(list, claims, calibrated)
	return r, m
}

// modelsOf measures each model by itself, if there are several.
func modelsOf(list []app.ResolvedSession, claims, calibrated []calibration.Forecast) (models []byModel) {
	of := make(map[string][]int)
	var names []string
	for i, s := range list {
		if of[s.Model] == nil {
			names = append(names, s.Model)
		}
		of[s.Model] = append(of[s.Model], i)
	}
	if len(names) < 2 {
		return nil
	}
	slices.Sort(names)
	pick := func(all []calibration.Forecast, places []int) (some []calibration.Forecast) {
		for _, i := range places {
			some = append(some, all[i])
		}
		return some
	}
	for _, name := range names {
		models = append(models, byModel{name, len(of[name]), measure(pick(claims, of[name])), measure(pick(calibrated, of[name]))})
	}
	return models
}

func meanBasis(cases []calibration.Case) (mean calibration.Basis) {
	n := float64(len(cases))
	for _, c := range cases {
		mean.Agreement += c.Basis.Agreement / n
		mean.Support += c.Basis.Support / n
		mean.Contradiction += c.Basis.Contradiction / n
		mean.Stability += c.Basis.Stability / n
	}
	return mean
}

// usageCalibration says what the confidences of sessions are worth.
func (a *cli) usageCalibration(ctx context.Context) error {
	var list []app.ResolvedSession
	store, err := a.OpenReadOnly(ctx)
	switch {
	case err == nil:
		defer store.Close()
		if list, err = app.ResolvedSessions(ctx, store, a.Owner()); err != nil {
			return err
		}
	case !errors.Is(err, app.ErrNothingYet):
		return err
	}
	r, m := reliabilityOf(list)
	if a.flags.json {
		return a.object(r)
	}
	if text := a.wanting(m); text != "" {
		a.printf("%s\n", text)
		a.note("say how more sessions turned out: ponder session resolve ID --outcome right|wrong|partly")
	}
	if r.Claimed != nil {
		a.reliability(r)
	}
	return nil
}

func (a *cli) reliability(r reliability) {
	a.printf("%s: %d right, %d wrong, %d in part\n", textkit.Count(r.Resolved, "resolved session", "resolved sessions"), r.Right, r.Wrong, r.Partly)
	a.printf("\nWhat was claimed, and how often that was right:\n\n")
	a.reliabilityTable(r.Claimed.Reliability)
	if r.Calibrated != nil {
		a.printf("\nCalibrated, each session by a map that was learned from others:\n\n")
		a.reliabilityTable(r.Calibrated.Reliability)
	}
	a.printf("\n")
	rows := [][]string{{"", "BRIER", "ECE", "(BY CHANCE)", "LOG LOSS"}, scoreRow("claimed", r.Claimed)}
	if r.Calibrated != nil {
		rows = append(rows, scoreRow("calibrated", r.Calibrated))
	}
	a.table(rows)
	if len(r.Claimed.Reliability) == 1 {
		a.printf("\nAll claims are in one group, so their ECE measures only the mean: how far what was said on\naverage is from how often that was right.\n")
	}
	if len(r.Worth) > 0 {
		a.printf("\nWhat a claim is worth, all else being average:\n\n")
		head, below := []string{"claimed"}, []string{"calibrated"}
		for _, w := range r.Worth {
			head, below = append(head, share(w.Claimed)), append(below, share(w.Calibrated))
		}
		a.table([][]string{head, below})
	}
	a.modelsTable(r.Models)
}

func scoreRow(name string, m *measured) []string {
	return []string{name, fmt.Sprintf("%.3f", m.Brier), fmt.Sprintf("%.3f", m.ECE), fmt.Sprintf("(%.3f)", m.Chance), fmt.Sprintf("%.3f", m.LogLoss)}
}

func share(v float64) string { return fmt.Sprintf("%.2f", v) }

// reliabilityTable prints a chart: a bar for how often it was right, and a mark for
// what was said.
func (a *cli) reliabilityTable(bins []reliabilityRow) {
	rows := [][]string{{"CONFIDENCE", "SESSIONS", "SAID", "RIGHT", "█ right  ┃ said"}}
	for _, b := range bins {
		span := share(b.Low)
		if high := share(b.High); high != span {
			span += " to " + high
		}
		rows = append(rows, []string{span, textkit.Number(b.Sessions), share(b.Forecast), share(b.Frequency), bar(b.Frequency, b.Forecast)})
	}
	a.table(rows)
}

const barCells = 30

func bar(right, said float64) string {
	cells := []rune(strings.Repeat("█", int(right*barCells+0.5)))
	for len(cells) < barCells {
		cells = append(cells, '·')
	}
	cells[min(barCells-1, max(0, int(said*barCells)))] = '┃'
	return string(cells)
}

func (a *cli) modelsTable(models []byModel) {
	if len(models) == 0 {
		return
	}
	rows := [][]string{{"MODEL", "SESSIONS", "BRIER", "ECE", "BRIER CALIBRATED", "ECE CALIBRATED"}}
	for _, m := range models {
		row := []string{oneLine(m.Model), textkit.Number(m.Sessions), "", "", "", ""}
		for i, s := range []*measured{m.Claimed, m.Calibrated} {
			if s != nil {
				row[2+2*i], row[3+2*i] = fmt.Sprintf("%.3f", s.Brier), fmt.Sprintf("%.3f", s.ECE)
			}
		}
		rows = append(rows, row)
	}
	a.printf("\n")
	a.table(rows)
}
