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
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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

// sequences finds what colours a terminal, moves its cursor or names its window
// (ECMA-48), in the forms of seven and eight bits. What begins as a string and does not
// end on its line is only its beginning.
var sequences = regexp.MustCompile(`(?:\x1b+\[|\x{9b})[0-?]{0,32}[ -/]{0,4}[@-~]?` + // CSI
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])(?:[^\n\x07\x1b\x{80}-\x{9f}]*(?:\x07|\x1b\\|\x{9c})|(?:[0-9]{1,4};)?)` + // OSC and its like
	`|\x1b(?:[#%()*+./-][0-~]|[=>6-8DEHMNOZc\\|}~])`)

// Clean returns text that a terminal shows and does not obey: without control
// characters, escape sequences and marks that reverse the direction of text.
// Lines and tabs stay.
func Clean(text string) string {
	if strings.IndexByte(text, 0x1b) >= 0 || strings.IndexByte(text, 0xc2) >= 0 { // the first byte of C1
		text = sequences.ReplaceAllString(text, "")
	}
	return strings.Map(func(r rune) rune {
		if obeyed(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)
}

// stringBegins matches a string of an escape sequence that has not ended.
var stringBegins = regexp.MustCompile(`^(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\n\x07\x1b\x{80}-\x{9f}]*$`)

// Whole returns how many bytes of the beginning of a text are cleaned by themselves as
// they are in the whole: an escape sequence at the end, which may go on in what
// follows, is not among them.
func Whole(text string) int {
	const longest = 256 // bytes of a sequence that is waited for
	from := max(0, len(text)-longest)
	i := strings.LastIndexAny(text[from:], "\x1b\u0090\u0098\u009b\u009d\u009e\u009f")
	if i < 0 {
		return len(text)
	}
	i += from
	at := sequences.FindStringIndex(text[i:])
	if stringBegins.MatchString(text[i:]) {
		return i
	}
	if at == nil && len(text)-i > 2 || at != nil && at[1] < len(text)-i {
		return len(text)
	}
	return i
}

// obeyed reports whether a terminal does something at a character beside showing it.
func obeyed(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f
}

// Escape writes each character that a terminal would obey as JSON writes it, \u009b.
// JSON stays the same JSON.
func Escape(text []byte) []byte {
	if !bytes.ContainsFunc(text, obeyed) {
		return text
	}
	var out []byte
	for _, r := range string(text) {
		if obeyed(r) {
			out = fmt.Appendf(out, "\\u%04x", r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

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
		parts := strings.Split(lipgloss.Wrap(body, width-indent, ""), "\n")
		for j := range parts {
			parts[j] = strings.TrimRight(parts[j], " ")
		}
		rows[i] = row[:indent] + strings.Join(parts, "\n"+strings.Repeat(" ", indent))
	}
	return strings.Join(rows, "\n")
}

// Clock returns a duration as people read it: 0:07, 12:30, 1:02:03.
func Clock(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	h, m, s := s/3600, s/60%60, s%60
	if h > 0 {
		return itoa(h) + ":" + two(m) + ":" + two(s)
	}
	return itoa(m) + ":" + two(s)
}
