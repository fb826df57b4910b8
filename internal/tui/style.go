package tui

import (
	"fmt"
	"image/color"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"ponder/internal/textkit"
)

func itoa(n int) string { return strconv.Itoa(n) }

func two(n int) string { return fmt.Sprintf("%02d", n) }

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
	if width <= 0 {
		return ""
	}
	if lipgloss.Width(text) <= width {
		return text
	}
	more := s.glyphs().more
	if len(more) >= width && s.ASCII {
		return lipgloss.NewStyle().MaxWidth(width).Render(text)
	}
	return strings.TrimRight(lipgloss.NewStyle().MaxWidth(width-lipgloss.Width(more)).Render(text), " ") + more
}

// pad fills a line up to a width in cells.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-lipgloss.Width(text)))
}

// ink is how text looks. Its zero value leaves it alone.
type ink struct {
	bold, faint, italic bool
	color               color.Color
}

// The inks. Colours are those of the terminal's own palette, so that they suit it.
func faint() ink  { return ink{faint: true} }
func bold() ink   { return ink{bold: true} }
func bright() ink { return ink{color: lipgloss.Cyan} }

func (k ink) on(text string, s Style) string {
	if s.Plain || k == (ink{}) || text == "" {
		return text
	}
	style := lipgloss.NewStyle().Bold(k.bold).Faint(k.faint).Italic(k.italic)
	if k.color != nil {
		style = style.Foreground(k.color)
	}
	return style.Render(text)
}

func inkOf(t Tone) ink {
	switch t {
	case Quiet:
		return faint()
	case Bright:
		return bright()
	case Strong:
		return ink{bold: true, color: lipgloss.Green}
	case Alarm:
		return ink{color: lipgloss.Red}
	}
	return ink{color: lipgloss.Yellow}
}
