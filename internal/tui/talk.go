package tui

import (
	"cmp"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// A Talk is a terminal with a conversation. At the bottom are the unfinished text, the status
// and the input. Its methods are safe for concurrent use and do not wait for the terminal.
type Talk struct {
	program *program
	options TalkOptions

	mu      sync.Mutex
	waiting []saying
	text    string
	open    bool
	begun   bool // part of it is printed
	gap     bool // an empty row follows that part
	status  string
	queue   []string
	editor  editor
	prompt  bool
}

type TalkOptions struct {
	Out   *os.File
	In    *os.File // keys; may be nil
	Style Style
	Hint  func(line string) Hint // helps with a partly typed line; may be nil

	// Entered receives lines, [Interrupt] and [Leave]. It must not block or call the talk.
	Entered func(Press)
}

const (
	Enter = "enter"
	Leave = "ctrl+d" // end of input
)

type Kind int

// The kinds.
const (
	Piece Kind = iota // part of a growing Markdown text
	Ended
	Text
	Typed
	Remark
	Failure
)

// A saying is a text to print. A printed piece does not change.
type saying struct {
	what Kind
	text string
}

// OpenTalk shows an empty talk until Close. Without keys, it has no prompt.
func OpenTalk(o TalkOptions) *Talk {
	t := newTalk(o, o.In != nil && CanShow(o.In))
	t.program = openProgram(t, o.Entered, o.Out, o.In, typedEvery)
	return t
}

func newTalk(o TalkOptions, prompt bool) *Talk {
	return &Talk{options: o, editor: newEditor("> ", false, o.Style), prompt: prompt}
}

const typedEvery = 40 * time.Millisecond

// Close ends the growing text and closes the terminal program.
func (t *Talk) Close() {
	t.Show(Ended, "")
	t.program.Close()
}

// Show shows a text. Consecutive pieces form one text.
func (t *Talk) Show(what Kind, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch what {
	case Piece:
		t.write(text)
	case Text:
		t.write(text)
		t.end()
	case Ended:
		t.end()
	default:
		t.waiting = append(t.waiting, saying{what, text})
	}
	t.program.stir()
}

func (t *Talk) write(text string) {
	t.open = true
	for done, rest := settled(t.text+text, t.options.Style); ; done, rest = settled(rest, t.options.Style) {
		if t.text = rest; done == "" {
			return
		}
		t.waiting = append(t.waiting, saying{Piece, done})
	}
}

func (t *Talk) end() {
	if t.open {
		t.waiting = append(t.waiting, saying{Piece, t.text}, saying{what: Ended})
		t.text, t.open = "", false
	}
}

func (t *Talk) SetStatus(status string, queue []string) {
	t.mu.Lock()
	t.status, t.queue = status, queue
	t.mu.Unlock()
	t.program.stir()
}

func (t *Talk) printed(size Size) (rows []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, it := range t.waiting {
		rows = append(rows, t.rows(it, size.inner())...)
	}
	t.waiting = nil
	return rows
}

// part returns the rows of the next part of the growing text.
func (t *Talk) part(text string, width int) (rows []string) {
	rows = markdownRows(text, width, t.options.Style)
	if len(rows) > 0 && t.begun && (t.gap || strings.HasPrefix(text, "\n")) {
		rows = append([]string{""}, rows...)
	}
	return rows
}

func (t *Talk) rows(it saying, width int) (rows []string) {
	s := t.options.Style
	switch it.what {
	case Piece:
		if rows = t.part(it.text, width); len(rows) > 0 {
			t.begun, t.gap = true, false
		}
		t.gap = t.gap || strings.HasSuffix(it.text, "\n\n") || strings.TrimSpace(it.text) == ""
		return rows
	case Ended:
		t.begun, t.gap = false, false
	case Typed:
		for _, row := range wrapped(s.text(it.text), width-2) {
			rows = append(rows, s.paint(bold(), row))
		}
		rows = prefixed("> ", "  ", rows, s)
	default:
		for _, row := range wrapped(s.text(it.text), width) {
			rows = append(rows, s.paint(map[bool]lipgloss.Style{false: faint(), true: lookOf(Alarm)}[it.what == Failure], row))
		}
	}
	return append(rows, "")
}

func (t *Talk) block(size Size) ([]string, spot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, width := t.options.Style, size.inner()
	rows := t.part(t.text, width)
	rows = rows[max(0, len(rows)-max(1, size.Height-8)):]
	if t.open && len(rows) > 0 {
		rows = append(rows, "")
	}
	status := t.status
	if text := t.editor.String(); t.options.Hint != nil && strings.HasPrefix(text, "/") {
		status = cmp.Or(t.options.Hint(text).Text, status)
	}
	for _, text := range t.queue {
		rows = append(rows, s.paint(faint(), s.clip("next: "+s.line(text), width)))
	}
	if status = s.line(status); status != "" {
		rows = append(rows, s.paint(faint(), s.clip(status, width)))
	}
	at := spot{0, -1}
	if t.prompt {
		typed, place := t.editor.rows(width-1, max(1, size.Height/3))
		at = spot{len(rows) + place.row, place.column}
		rows = append(rows, typed...)
	}
	from := max(0, len(rows)-max(1, size.Height-2))
	return rows[from:], spot{max(0, at.row-from), at.column}
}

func (t *Talk) typed(msg tea.Msg) *Press {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.press(msg)
}

func (t *Talk) press(msg tea.Msg) *Press {
	e := &t.editor
	name, text := nameOf(msg), e.String()
	switch {
	case text == "" && (name == Interrupt || name == Leave):
		return &Press{Key: name}
	case name == Interrupt:
		e.clear()
	case name == "enter":
		if !e.breakLine() {
			if line := e.take(); line != "" {
				return &Press{Key: Enter, Line: line}
			}
		}
	case name == "tab":
		if t.options.Hint != nil && !strings.Contains(text, "\n") {
			if full := t.options.Hint(text).Complete; full != "" {
				e.set(full)
			}
		}
	case !e.vertical(msg):
		e.press(msg)
	}
	return nil
}
