package session

import (
	"fmt"

	"ponder"
)

// Calibration tells how often claims of a given confidence were right. The zero value knows
// nothing: claims are uncalibrated.
type Calibration struct {
	// Probability returns the share of right answers among similar claims, from 0 to 1, or false without
	// enough data. It may be nil.
	Probability func(claimed float64, basis ponder.Basis) (p float64, ok bool)

	// Cases is the number of resolved sessions behind it.
	Cases int
}

// Certainty is the confidence of a session's newest synthesis.
type Certainty struct {
	Claimed     *float64 `json:"confidence,omitempty"`            // the model's claim, 0 to 1; nil without a synthesis or claim
	Calibrated  *float64 `json:"calibrated_confidence,omitempty"` // nil if unknown
	Calibration string   `json:"calibration"`                     // "uncalibrated", or "25 resolved sessions"
}

const uncalibrated = "uncalibrated"

// Shown returns the calibrated confidence, else the claimed one; false if nothing is claimed.
func (c Certainty) Shown() (float64, bool) {
	switch {
	case c.Calibrated != nil:
		return *c.Calibrated, true
	case c.Claimed != nil:
		return *c.Claimed, true
	}
	return 0, false
}

// String formats c as "0.71 (claimed 0.90)" or "0.90 (uncalibrated)"; "" if nothing is claimed.
func (c Certainty) String() string {
	switch {
	case c.Claimed == nil:
		return ""
	case c.Calibrated == nil:
		return fmt.Sprintf("%.2f (%s)", *c.Claimed, uncalibrated)
	}
	return fmt.Sprintf("%.2f (claimed %.2f)", *c.Calibrated, *c.Claimed)
}

// Calibrate returns the view with its claims, current and future, calibrated by c.
func (v View) Calibrate(c Calibration) View {
	v.fold.calibration = c
	v.setCertainty(v.Session.Claimed)
	return v
}

func (v *View) setCertainty(claimed *float64) {
	if claimed == nil {
		v.Session.Certainty = Certainty{Calibration: uncalibrated}
		return
	}
	v.Session.Certainty = v.fold.calibration.Certainty(*claimed, v.fold.basis)
}

// Certainty calibrates a claim with a basis.
func (c Calibration) Certainty(claimed float64, basis ponder.Basis) Certainty {
	s := Certainty{Claimed: &claimed, Calibration: uncalibrated}
	if c.Probability == nil {
		return s
	}
	if p, ok := c.Probability(claimed, basis); ok {
		s.Calibrated, s.Calibration = &p, fmt.Sprintf("%d resolved sessions", c.Cases)
	}
	return s
}
