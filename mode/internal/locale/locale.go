// Package locale describes the date, the zone and the language of the user to models.
package locale

import (
	"fmt"
	"time"

	"ponder/internal/textkit"
)

// Locale is the part of a run's options that says where the user is. The options record it, so that
// a replay gives the same prompts on every machine.
type Locale struct {
	Zone     string `json:"zone,omitempty"`                // such as Europe/Berlin
	Offset   int    `json:"zone_offset_seconds,omitempty"` // east of UTC, at the start
	Language string `json:"language,omitempty"`            // in English, such as German
}

const maxName = 60

// Describe returns one line for a prompt: the date at a time in the zone, and the language to write.
// A zero time gives no date.
func (l Locale) Describe(at time.Time) string {
	line := "Write in the language of the question."
	if name := textkit.Line(l.Language, maxName); name != "" {
		line += " If it is unclear, write in " + name + ", the language of the user."
	}
	if at.IsZero() {
		return line
	}
	zone := utcOffset(l.Offset)
	if name := textkit.Line(l.Zone, maxName); name != "" && name != zone {
		zone = name + ", " + zone
	}
	return "Today is " + at.In(time.FixedZone("", l.Offset)).Format("Monday, 2 January 2006") + " (" + zone + "). " + line
}

// Clock returns a time of day in the zone, in whole minutes and not before at.
func (l Locale) Clock(at time.Time) string {
	return at.Add(time.Minute - time.Nanosecond).In(time.FixedZone("", l.Offset)).Format("15:04")
}

func utcOffset(seconds int) string {
	minutes := seconds / 60
	switch {
	case minutes == 0:
		return "UTC"
	case minutes < 0:
		return fmt.Sprintf("UTC-%02d:%02d", -minutes/60, -minutes%60)
	}
	return fmt.Sprintf("UTC+%02d:%02d", minutes/60, minutes%60)
}
