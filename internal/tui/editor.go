package tui

import (
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

type editor struct {
	area       textarea.Model
	single     bool // one line
	lines      []string
	recall     int    // index of the recalled text in lines; len(lines) if none
	unsentText string // text before the first recall

	size       Size // of the cached rows; zero to redraw, which is slow for long texts
	cachedRows []string
}

const (
	maxTyped     = 2000 // runes of a line
	maxDraft     = 64 << 10
	maxDraftRows = 5000 // of a draft
	maxHistory   = 50
)

func newEditor(prompt string, single bool, s Style) editor {
	area := textarea.New()
	area.ShowLineNumbers, area.DynamicHeight, area.MaxWidth, area.MaxContentHeight = false, true, 0, maxDraftRows
	area.CharLimit = maxDraft
	if single {
		area.CharLimit = maxTyped
	}
	area.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter"))
	area.KeyMap.InsertNewline.SetEnabled(!single)
	area.KeyMap.Paste.SetEnabled(false) // it runs a program
	area.SetStyles(textarea.Styles{})
	area.SetVirtualCursor(false)
	area.Focus()
	width := lipgloss.Width(prompt)
	area.SetPromptFunc(width, func(p textarea.PromptInfo) string {
		if p.LineNumber > 0 && !single {
			return strings.Repeat(" ", width)
		}
		return s.paint(boldStyle(), prompt)
	})
	return editor{area: area, single: single}
}

func (e *editor) String() string { return e.area.Value() }

func (e *editor) setText(text string) {
	e.area.SetValue(text)
	e.size = Size{}
}

func (e *editor) handleMsg(msg tea.Msg) {
	name := keyName(msg)
	if paste, ok := msg.(tea.PasteMsg); ok && e.single {
		msg = tea.PasteMsg{Content: strings.ReplaceAll(paste.Content, "\n", " ")}
	}
	e.size = Size{}
	for range e.letterRunes(name) {
		e.area, _ = e.area.Update(msg)
	}
}

// letterRunes returns the number of runes of the letter that key passes or deletes. The text area has
// no letters of several runes.
func (e *editor) letterRunes(key string) int {
	line, at, letter := []rune(strings.Split(e.area.Value(), "\n")[e.area.Line()]), e.area.Column(), ""
	switch key {
	case "right", "ctrl+f", "delete", "ctrl+d":
		letter, _ = ansi.FirstGraphemeCluster(string(line[at:]), ansi.GraphemeWidth)
	case "left", "ctrl+b", "backspace", "ctrl+h":
		for rest := string(line[:at]); rest != ""; rest = rest[len(letter):] {
			letter, _ = ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		}
	}
	return max(1, utf8.RuneCountInString(letter))
}

// breakLine replaces a backslash at the end of a line, before the cursor, by a line break. It
// reports whether there was one.
func (e *editor) breakLine() bool {
	line := strings.Split(e.area.Value(), "\n")[e.area.Line()]
	if e.single || !strings.HasSuffix(line, `\`) || e.area.Column() < utf8.RuneCountInString(line) {
		return false
	}
	e.handleMsg(tea.KeyPressMsg{Code: tea.KeyBackspace})
	e.area.InsertString("\n")
	e.size = Size{}
	return true
}

func (e *editor) takeText() string {
	text := strings.TrimSpace(e.String())
	if n := len(e.lines); text != "" && (n == 0 || e.lines[n-1] != text) {
		e.lines = append(e.lines, text)
		e.lines = e.lines[max(0, len(e.lines)-maxHistory):]
	}
	e.clear()
	return text
}

func (e *editor) clear() {
	e.setText("")
	e.recall = len(e.lines)
}

// moveVertical moves the cursor by a row or, beyond the edge, recalls the text before or after in
// the history. It reports whether msg is such a key.
func (e *editor) moveVertical(msg tea.Msg) bool {
	step, edge := 0, false
	at := e.area.LineInfo()
	switch keyName(msg) {
	case "up", "ctrl+p":
		step, edge = -1, e.area.Line() == 0 && at.RowOffset == 0
	case "down", "ctrl+n":
		step, edge = 1, e.area.Line() == e.area.LineCount()-1 && at.RowOffset+1 >= at.Height
	default:
		return false
	}
	next := e.recall + step
	switch {
	case !edge && !e.single:
		e.handleMsg(msg)
	case next < 0 || next > len(e.lines):
	default:
		if e.recall == len(e.lines) {
			e.unsentText = e.String()
		}
		if e.recall = next; next == len(e.lines) {
			e.setText(e.unsentText)
		} else {
			e.setText(e.lines[next])
		}
	}
	return true
}

// visibleRows returns at most n rows around the cursor, and its place, which may be after the last
// letter.
func (e *editor) visibleRows(width, n int) ([]string, cursorPos) {
	if size := (Size{width, max(n, 1)}); e.size != size {
		e.size, e.area.MaxHeight = size, size.Height
		e.area.SetWidth(width)
		e.cachedRows = strings.Split(e.area.View(), "\n")
		for i, row := range e.cachedRows {
			e.cachedRows[i] = strings.TrimRight(row, " ")
		}
	}
	at := e.area.Cursor()
	return slices.Clone(e.cachedRows), cursorPos{at.Y, min(at.X, max(0, width-1))}
}

// keyName returns the name of a key, such as "enter" or "ctrl+c"; empty for other messages.
func keyName(msg tea.Msg) string {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return ""
	}
	switch name := k.Keystroke(); name {
	case `ctrl+\`:
		return Interrupt
	case "ctrl+j":
		return "enter"
	default:
		return name
	}
}
