package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"ponder/internal/textkit"
)

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
