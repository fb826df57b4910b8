package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/calibration"
	"ponder/internal/report"
	"ponder/internal/textkit"
)

func (a *App) Reliability(ctx context.Context) (Reliability, error) {
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, ErrNothingYet) {
		return reliabilityOf(nil), nil
	}
	if err != nil {
		return Reliability{}, err
	}
	defer store.Close()
	list, err := ResolvedSessions(ctx, store, a.Owner())
	return reliabilityOf(list), err
}

type ForecastQuality struct {
	Brier       float64          `json:"brier"`
	ECE         float64          `json:"ece"`
	Chance      float64          `json:"ece_by_chance"` // expected of equally few perfect forecasts
	LogLoss     float64          `json:"log_loss"`
	Reliability []ReliabilityBin `json:"reliability,omitempty"`
}

type ReliabilityBin struct {
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Sessions  int     `json:"sessions"`
	Forecast  float64 `json:"mean_confidence"`
	Frequency float64 `json:"right"`
}

// forecastQuality returns nil without forecasts.
func forecastQuality(list []calibration.Forecast) *ForecastQuality {
	bins := calibration.Reliability(list)
	if len(bins) == 0 {
		return nil
	}
	m := &ForecastQuality{Brier: calibration.Brier(list), ECE: calibration.ECE(list), Chance: calibration.Chance(list), LogLoss: calibration.LogLoss(list)}
	for _, b := range bins {
		m.Reliability = append(m.Reliability, ReliabilityBin{b.Low, b.High, b.Count, b.P, b.Frequency})
	}
	return m
}

type Reliability struct {
	CalibrationStatus
	Uncalibrated string             `json:"-"`
	Right        int                `json:"right"`
	Wrong        int                `json:"wrong"`
	Partly       int                `json:"partly"`
	Claimed      *ForecastQuality   `json:"claimed,omitempty"`
	Calibrated   *ForecastQuality   `json:"calibrated,omitempty"`
	Worth        []CalibratedClaim  `json:"worth,omitempty"`
	Models       []ModelReliability `json:"models,omitempty"`
}

// A CalibratedClaim is a confidence with its calibration on an average basis.
type CalibratedClaim struct {
	Claimed    float64 `json:"confidence"`
	Calibrated float64 `json:"calibrated_confidence"`
}

type ModelReliability struct {
	Model      string           `json:"model"`
	Sessions   int              `json:"resolved_sessions"`
	Claimed    *ForecastQuality `json:"claimed,omitempty"`
	Calibrated *ForecastQuality `json:"calibrated,omitempty"`
}

func reliabilityOf(list []ResolvedSession) Reliability {
	cases := CasesOf(list)
	m := calibration.Fit(cases)
	claims, calibrated := calibration.Claims(cases), calibration.CrossValidate(cases)
	r := Reliability{CalibrationStatus: CalibrationStatusOf(m), Uncalibrated: UncalibratedReason(m), Claimed: forecastQuality(claims), Calibrated: forecastQuality(calibrated)}
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
		if p, ok := m.Estimate(claimed, meanBasis(cases)); ok {
			r.Worth = append(r.Worth, CalibratedClaim{claimed, p})
		}
	}
	r.Models = modelsOf(list, claims, calibrated)
	return r
}

func modelsOf(list []ResolvedSession, claims, calibrated []calibration.Forecast) (models []ModelReliability) {
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
		models = append(models, ModelReliability{name, len(of[name]), forecastQuality(pick(claims, of[name])), forecastQuality(pick(calibrated, of[name]))})
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

type CalibrationStatus struct {
	Calibration string `json:"calibration"`
	Resolved    int    `json:"resolved_sessions"`
	Wanted      int    `json:"wanted_sessions"`
}

func CalibrationStatusOf(m calibration.Map) CalibrationStatus {
	text := "uncalibrated"
	if m.IsCalibrated() {
		text = fmt.Sprintf("%d resolved sessions", m.Cases())
	}
	return CalibrationStatus{text, m.Cases(), calibration.MinCases}
}

// UncalibratedReason says why confidences are not calibrated, or returns "".
func UncalibratedReason(m calibration.Map) string {
	l := m.Missing()
	if l == (calibration.MissingCases{}) {
		return ""
	}
	text := fmt.Sprintf("uncalibrated: %d of %d resolved sessions", m.Cases(), calibration.MinCases)
	if m.Cases() >= calibration.MinCases {
		text = fmt.Sprintf("uncalibrated: %d resolved sessions", m.Cases())
	}
	switch {
	case m.Cases() == 0:
	case l.Right:
		text += ", none of them right"
	case l.Wrong:
		text += ", none of them wrong"
	}
	return text
}

type Resolution struct {
	ID      ponder.ThreadID `json:"id"`
	Run     ponder.RunID    `json:"run_id"`
	Outcome *float64        `json:"outcome"`
	Note    string          `json:"note,omitempty"`
	Claimed float64         `json:"confidence"`
	CalibrationStatus
	question string
	lacking  string // why confidences are not calibrated
}

// Text writes r for people. more is the command for details of calibration.
func (r Resolution) Text(more string) string {
	text := fmt.Sprintf("%s: %s (claimed %.2f)\n", textkit.Truncate(textkit.OneLine(r.question), 80), report.OutcomeText(r.Outcome), r.Claimed)
	if r.lacking != "" {
		return text + r.lacking + "\n"
	}
	return text + fmt.Sprintf("calibrated from %s: %s\n", textkit.Count(r.Resolved, "resolved session", "resolved sessions"), more)
}

// maxNote bounds the note of an outcome, in runes.
const maxNote = 2000

// ResolveSession records the outcome of a session; nil is unknown.
func (a *App) ResolveSession(ctx context.Context, name string, outcome *float64, note string) (r Resolution, err error) {
	if n := len([]rune(note)); n > maxNote {
		return r, Invalidf("note", "has %s letters; the maximum is %s", textkit.Number(n), textkit.Number(maxNote))
	}
	store, info, err := a.OpenThread(ctx, name, ponder.KindSession)
	if err != nil {
		return r, err
	}
	defer store.Close()
	w := a.SessionView(store, info.ID)
	if err := w.Read(ctx, 0); err != nil {
		return r, err
	}
	s := w.View.Session
	switch {
	case !s.Status.Ended():
		return r, Invalidf("", "session %s is %s: record its outcome after it has ended", info.ID, StatusText(info))
	case s.Claimed == nil || s.Status != ponder.Completed:
		return r, Invalidf("", "session %s has no answer to judge: it is %s", info.ID, s.Status)
	}
	_, err = store.Append(ctx, info.ID, 0, ponder.Event{Run: s.Run, Body: ponder.Resolution{Content: strings.TrimSpace(note), Ref: string(s.Run), Outcome: outcome}})
	if err != nil {
		return r, fmt.Errorf("resolve %s: %w", info.ID, err)
	}
	list, err := ResolvedSessions(ctx, store, a.Owner())
	if err != nil {
		return r, err
	}
	m := calibration.Fit(CasesOf(list))
	return Resolution{s.ID, s.Run, outcome, note, *s.Claimed, CalibrationStatusOf(m), s.Question, UncalibratedReason(m)}, nil
}
