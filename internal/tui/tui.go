// Package tui shows work that goes on, on a terminal: what has come up scrolls
// by above, and a block of lines at the bottom says how it stands.
//
// It knows nothing of modes. A caller fills in a [Frame] for the block and an
// [Item] for each thing that came up. [Render] and [RenderItem] are pure and say
// how they look. A [Control] is a key that does something; what was typed becomes
// a [Press]. A [View] puts all of it on a terminal and gives the terminal back.
//
// Text may come from models: [Clean] takes out what would steer a terminal, and
// is applied to all text shown here and to all that is typed.
package tui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// A Frame is how things stand.
type Frame struct {
	Title   string
	State   string   // a word or two: "thinking", "pausing"
	Share   float64  // of the nearest budget, 0 to 1; negative if there is none
	Budget  string   // "1:12 of 5:00"
	Left    string   // of it: "3:48 left"
	Foci    []string // what is being thought about, oldest first
	Writing string   // how much models have been writing: "312 letters"
	Counts  []string // "12 thoughts"
	Spent   []string // "9 calls"
	Chart   Chart
	Tree    Tree
	Names   map[string]string // of controls, by their keys, that do something else now: "p" is "resume"
}

// A Chart is a series of values from 0 to 1, oldest first.
type Chart struct {
	Label  string
	Values []float64
	Note   string // what to say of it: "0.41 to 0.62, converging"
}

// An Item is something that came up.
type Item struct {
	At   time.Duration // since the beginning; negative: not shown
	Kind string        // "insight", "question"
	Mark string        // "0.72", or empty
	Text string
	Tone Tone
}

// A Tone says how an item looks.
type Tone int

// The tones.
const (
	Normal Tone = iota
	Quiet       // remarks
	Bright      // questions
	Strong      // syntheses
	Alarm       // what went wrong
)

// Wrap breaks lines that have more than width cells, between words. What goes on
// stands below where its line began, behind a bullet if that has one.
func Wrap(text string, width int) string {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		if lipgloss.Width(row) <= width {
			continue
		}
		body := strings.TrimLeft(row, " ")
		body = strings.TrimPrefix(strings.TrimPrefix(body, "- "), "* ")
		indent := len(row) - len(body)
		if width-indent < least {
			indent, body = 0, row
		}
		rows[i] = row[:indent] + strings.Join(wrapped(body, width-indent), "\n"+strings.Repeat(" ", indent))
	}
	return strings.Join(rows, "\n")
}
