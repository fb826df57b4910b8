package session_test

import (
	"testing"

	"ponder"
	"ponder/mode/session"
)

func TestCertainty(t *testing.T) {
	half := session.Calibration{Cases: 25, Probability: func(claimed float64, b ponder.Basis) (float64, bool) {
		return claimed/2 + b.Support/10, true
	}}
	few := session.Calibration{Probability: func(float64, ponder.Basis) (float64, bool) { return 0, false }}
	start := ponder.Event{Thread: "thr_1", Run: "run_1", Body: ponder.RunStarted{Mode: session.Name, Input: "Why?"}}
	sum := ponder.Event{Thread: "thr_1", Run: "run_1", Body: ponder.Synthesis{Confidence: 0.9, Basis: ponder.Basis{Support: 1}}}
	silent := ponder.Event{Thread: "thr_1", Run: "run_1", Body: ponder.Synthesis{Confidence: 0.5, Assumed: true}}
	for _, tt := range []struct {
		name   string
		before session.Calibration
		after  session.Calibration
		events []ponder.Event
		text   string
		note   string
	}{
		{"nothing is claimed", half, session.Calibration{}, []ponder.Event{start}, "", "uncalibrated"},
		{"nothing is known", session.Calibration{}, session.Calibration{}, []ponder.Event{start, sum}, "0.90 (uncalibrated)", "uncalibrated"},
		{"too little is known", few, session.Calibration{}, []ponder.Event{start, sum}, "0.90 (uncalibrated)", "uncalibrated"},
		{"nobody says", half, session.Calibration{}, []ponder.Event{start, silent}, "", "uncalibrated"},
		{"nobody says any more", half, session.Calibration{}, []ponder.Event{start, sum, silent}, "", "uncalibrated"},
		{"known before", half, session.Calibration{}, []ponder.Event{start, sum}, "0.55 (claimed 0.90)", "25 resolved sessions"},
		{"known after", session.Calibration{}, half, []ponder.Event{start, sum}, "0.55 (claimed 0.90)", "25 resolved sessions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := session.NewView().Calibrate(tt.before)
			for _, ev := range tt.events {
				v = v.Apply(ev)
			}
			if tt.after.Probability != nil {
				v = v.Calibrate(tt.after)
			}
			got := v.Session.Certainty
			if got.String() != tt.text || got.Calibration != tt.note {
				t.Errorf("%q, %q; want %q, %q", got.String(), got.Calibration, tt.text, tt.note)
			}
			if _, ok := got.Shown(); ok != (tt.text != "") {
				t.Errorf("a number is shown: %t", ok)
			}
		})
	}
}
