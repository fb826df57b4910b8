package session

import (
	"fmt"

	"ponder"
)

// A Calibration says how often claims such as those of a session turned out to be
// right. The zero Calibration knows nothing: what is claimed is uncalibrated.
type Calibration struct {
	// Of returns the share of answers that were right among those of such a claim
	// and basis, from 0 to 1; false if too little is known. It may be nil.
	Of func(claimed float64, basis ponder.Basis) (p float64, ok bool)

	// Cases is how many resolved sessions it was learned from.
	Cases int
}

// Certainty is how sure a session is of what it has come to by now: of its newest
// synthesis.
type Certainty struct {
	Claimed     *float64 `json:"confidence,omitempty"`            // what the model claims, 0 to 1; nil if there is no synthesis, or it claims nothing
	Calibrated  *float64 `json:"calibrated_confidence,omitempty"` // what such claims are worth; nil if that is not known
	Calibration string   `json:"calibration"`                     // "uncalibrated", or "25 resolved sessions"
}

const uncalibrated = "uncalibrated"

// Shown returns the number to show where there is room for one: the calibrated
// confidence, or what is claimed if there is none; false if nothing is claimed.
func (c Certainty) Shown() (float64, bool) {
	switch {
	case c.Calibrated != nil:
		return *c.Calibrated, true
	case c.Claimed != nil:
		return *c.Claimed, true
	}
	return 0, false
}

// String returns it as people are shown it, such as "0.71 (claimed 0.90)" or
// "0.90 (uncalibrated)"; empty if nothing is claimed.
func (c Certainty) String() string {
	switch {
	case c.Claimed == nil:
		return ""
	case c.Calibrated == nil:
		return fmt.Sprintf("%.2f (%s)", *c.Claimed, uncalibrated)
	}
	return fmt.Sprintf("%.2f (claimed %.2f)", *c.Calibrated, *c.Claimed)
}

// Calibrate returns the view with what it claims, now and after later events,
// measured by c.
func (v View) Calibrate(c Calibration) View {
	v.fold.calibration = c
	v.claim(v.Session.Claimed)
	return v
}

// claim sets what is claimed now. The basis of that is in the fold.
func (v *View) claim(claimed *float64) {
	if claimed == nil {
		v.Session.Certainty = Certainty{Calibration: uncalibrated}
		return
	}
	v.Session.Certainty = v.fold.calibration.Certainty(*claimed, v.fold.basis)
}

// Certainty returns what a claim on such a basis is worth.
func (c Calibration) Certainty(claimed float64, basis ponder.Basis) Certainty {
	s := Certainty{Claimed: &claimed, Calibration: uncalibrated}
	if c.Of == nil {
		return s
	}
	if p, ok := c.Of(claimed, basis); ok {
		s.Calibrated, s.Calibration = &p, fmt.Sprintf("%d resolved sessions", c.Cases)
	}
	return s
}
