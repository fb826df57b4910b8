package main

import (
	"fmt"

	"ponder/internal/calibration"
)

// wanting says what is missing to be calibrated, and what to do about it; empty if
// nothing is.
func (a *cli) wanting(m calibration.Map) string {
	l := m.Lacking()
	if l == (calibration.Lacking{}) {
		return ""
	}
	text := fmt.Sprintf("uncalibrated: %d of %d resolved sessions", m.Cases(), calibration.Wanted)
	if m.Cases() >= calibration.Wanted {
		text = fmt.Sprintf("uncalibrated: %d resolved sessions", m.Cases())
	}
	switch {
	case m.Cases() == 0:
	case l.Right:
		text += ", and none of them was right"
	case l.Wrong:
		text += ", and none of them was wrong"
	}
	return text
}
