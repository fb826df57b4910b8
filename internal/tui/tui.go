// Package tui shows work in progress on a terminal, with bubbletea. Printed text scrolls by
// above a block of lines, which shows the state and takes input.
//
// A [View] shows a [Frame] in its block and prints an [Item] for each event; the pure functions
// [Render] and [RenderItem] draw them. A [Control] is a key with an action, and a [Press] is
// its use. A [ChatView] holds a conversation in Markdown.
//
// textkit.Clean removes control sequences from all text that is shown or typed here.
package tui

import (
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"ponder/internal/textkit"
)

// A Frame is the state of the work.
type Frame struct {
	Title   string
	State   string  // one or two words: "thinking", "pausing"
	Share   float64 // of the nearest budget, 0 to 1; negative without a budget
	Budget  string  // "1:12 of 5:00"
	Left    string  // "3:48 left"
	Foci    []string
	Writing string   // text being written: "312 letters"
	Counts  []string // "12 thoughts"
	Spent   []string // "9 calls"
	Chart   Chart
	Tree    Tree
	Names   map[string]string // names of controls that differ now, by key: "p" is "resume"
}

type Chart struct {
	Label  string
	Values []float64
	Note   string
}

// An Item is a printed event.
type Item struct {
	At   time.Duration // since the start; negative: hidden
	Kind string        // "insight", "question"
	Mark string
	Text string
	Tone Tone
}

type Tone int

const (
	Normal Tone = iota
	Quiet
	Bright
	Strong
	Alarm // errors
	// Kinds of thought, each with its own colour.
	Exploration
	Critique
	Connection
	Insight
)

// ThoughtTone returns the tone of a kind of thought, or [Normal].
func ThoughtTone(kind string) Tone {
	switch kind {
	case "exploration":
		return Exploration
	case "critique":
		return Critique
	case "connection":
		return Connection
	case "insight":
		return Insight
	}
	return Normal
}

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
		rows[i] = row[:indent] + strings.Join(wrapRows(body, width-indent), "\n"+strings.Repeat(" ", indent))
	}
	return strings.Join(rows, "\n")
}

type Style struct {
	Plain bool // no colours, bold or faint
	ASCII bool // only ASCII in our own text
}

// UTF8 reports whether the locale uses UTF-8. lookup returns a variable or "".
func UTF8(lookup func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(lookup(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

type glyphs struct {
	full, empty string
	rule        string
	more        string
	dot         string // separates parts of a line
	levels      []string
	states      [4]string // by State
}

func (s Style) glyphSet() glyphs {
	if s.ASCII {
		return glyphs{"#", ".", "-", "...", " - ", strings.Split("_.-=+*#", ""), [4]string{"?", ">", "+", "x"}}
	}
	return glyphs{"█", "░", "─", "…", " · ", strings.Split("▁▂▃▄▅▆▇█", ""), [4]string{"○", "▸", "✓", "✗"}}
}

// typography replaces typographic characters by ASCII.
var typography = strings.NewReplacer("…", "...", "–", "-", "—", "-", "‑", "-", "‘", "'", "’", "'", "“", `"`, "”", `"`, "•", "*", "→", "->",
	"←", "<-", "·", "-", "\u00a0", " ")

// safeText returns foreign text that is safe to show.
func (s Style) safeText(text string) string {
	if text = textkit.Clean(text); s.ASCII {
		text = typography.Replace(text)
	}
	return text
}

const maxLine = 4096 // bytes

func (s Style) safeLine(text string) string {
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "")
	}
	return strings.Join(strings.Fields(s.safeText(text)), " ")
}

func (s Style) truncateCells(text string, width int) string {
	if lipgloss.Width(text) <= width {
		return text
	}
	more := s.glyphSet().more
	if width <= lipgloss.Width(more) {
		return ansi.Truncate(text, max(width, 0), "")
	}
	return strings.TrimRight(ansi.Truncate(text, width-lipgloss.Width(more), ""), " ") + more
}

func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-lipgloss.Width(text)))
}

// Colours of the 256-colour palette, with a contrast of at least 3.8 on white and on black. A
// terminal with 16 colours shows the nearest ones, which differ for the four kinds of thought.
const (
	red    = "160"
	orange = "130"
	green  = "28"
	teal   = "30"
	blue   = "27"
	purple = "133"
	pink   = "162"
	olive  = "100"
)

func colour(code string) lipgloss.Style {
	return lipgloss.NewStyle().Foreground(lipgloss.Color(code))
}

func faintStyle() lipgloss.Style  { return lipgloss.NewStyle().Faint(true) }
func boldStyle() lipgloss.Style   { return lipgloss.NewStyle().Bold(true) }
func brightStyle() lipgloss.Style { return colour(teal) }
func greenStyle() lipgloss.Style  { return colour(green) }

func (s Style) paint(look lipgloss.Style, text string) string {
	if s.Plain || text == "" {
		return text
	}
	return look.Render(text)
}

func toneStyle(t Tone) lipgloss.Style {
	switch t {
	case Quiet:
		return faintStyle()
	case Bright:
		return brightStyle()
	case Strong:
		return greenStyle().Bold(true)
	case Alarm:
		return colour(red)
	case Exploration:
		return colour(blue)
	case Critique:
		return colour(orange)
	case Connection:
		return colour(purple)
	case Insight:
		return colour(pink)
	}
	return colour(olive)
}
