// Package tui shows work in progress on a terminal, with bubbletea. Printed text scrolls by
// above a block of lines, which shows the state and takes what is typed.
//
// It knows nothing of modes. A [View] shows a [Frame] in its block and prints an [Item] for
// each event; [Render] and [RenderItem] are pure and draw them. A [Control] is a key that does
// something, and a [Press] is its use. A [Talk] holds a conversation in Markdown.
//
// Text may come from models: textkit.Clean removes what would steer a terminal from all text
// that is shown or typed here.
package tui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"ponder/internal/textkit"
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
		if width-indent < minWidth {
			indent, body = 0, row
		}
		rows[i] = row[:indent] + strings.Join(wrapped(body, width-indent), "\n"+strings.Repeat(" ", indent))
	}
	return strings.Join(rows, "\n")
}

// A Style is what a terminal is able to show.
type Style struct {
	Plain bool // no colours, and neither bold nor faint
	ASCII bool // no letters of our own beyond ASCII
}

// UTF8 reports whether the locale of an environment is one of UTF-8. Lookup
// returns a variable, or "".
func UTF8(lookup func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(lookup(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// glyphs are the letters that are no text.
type glyphs struct {
	full, empty string // of a bar
	rule        string
	more        string // at the end of what was cut
	dot         string // between parts of a line
	levels      []string
	states      [4]string // by State
}

func (s Style) glyphs() glyphs {
	if s.ASCII {
		return glyphs{"#", ".", "-", "...", " - ", strings.Split("_.-=+*#", ""), [4]string{"?", ">", "+", "x"}}
	}
	return glyphs{"█", "░", "─", "…", " · ", strings.Split("▁▂▃▄▅▆▇█", ""), [4]string{"○", "▸", "✓", "✗"}}
}

// typography turns letters of print into those of a typewriter.
var typography = strings.NewReplacer("…", "...", "–", "-", "—", "-", "‑", "-", "‘", "'", "’", "'", "“", `"`, "”", `"`, "•", "*", "→", "->",
	"←", "<-", "·", "-", "\u00a0", " ")

// text returns foreign text as it may be shown.
func (s Style) text(text string) string {
	if text = textkit.Clean(text); s.ASCII {
		text = typography.Replace(text)
	}
	return text
}

// maxLine is how much of a text can matter on one line, in bytes.
const maxLine = 4096

// line is text on one line.
func (s Style) line(text string) string {
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "")
	}
	return strings.Join(strings.Fields(s.text(text)), " ")
}

// clip cuts a line to a width in cells.
func (s Style) clip(text string, width int) string {
	if lipgloss.Width(text) <= width {
		return text
	}
	more := s.glyphs().more
	if width <= lipgloss.Width(more) {
		return ansi.Truncate(text, max(width, 0), "")
	}
	return strings.TrimRight(ansi.Truncate(text, width-lipgloss.Width(more), ""), " ") + more
}

// pad fills a line up to a width in cells.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-lipgloss.Width(text)))
}

// The looks of text. Colours are those of the terminal's own palette, so that they suit it.
func faint() lipgloss.Style  { return lipgloss.NewStyle().Faint(true) }
func bold() lipgloss.Style   { return lipgloss.NewStyle().Bold(true) }
func bright() lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Cyan) }
func green() lipgloss.Style  { return lipgloss.NewStyle().Foreground(lipgloss.Green) }

// paint returns text with a look, if the terminal can show it.
func (s Style) paint(look lipgloss.Style, text string) string {
	if s.Plain || text == "" {
		return text
	}
	return look.Render(text)
}

func lookOf(t Tone) lipgloss.Style {
	switch t {
	case Quiet:
		return faint()
	case Bright:
		return bright()
	case Strong:
		return green().Bold(true)
	case Alarm:
		return lipgloss.NewStyle().Foreground(lipgloss.Red)
	}
	return lipgloss.NewStyle().Foreground(lipgloss.Yellow)
}
