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

// A ChatView is a terminal with a conversation. At the bottom are the unfinished text, the status
// and the input. Its methods are safe for concurrent use and do not wait for the terminal.
type ChatView struct {
	program *program
	options ChatViewOptions

	mu          sync.Mutex
	pending     []queuedText
	text        string
	open        bool
	partPrinted bool // part of it is printed
	gap         bool // an empty row follows that part
	status      string
	queue       []string
	editor      editor
	prompt      bool
	question    *questionBox // replaces the block; nil if none is open
}

type ChatViewOptions struct {
	Out   *os.File
	In    *os.File // keys; may be nil
	Style Style
	Hint  func(line string) Hint // helps with a partly typed line; may be nil

	// OnPress receives lines, [Interrupt] and [Leave]. It must not block or call the talk.
	OnPress func(Press)
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
	boxRecord // an answered question
)

// A queuedText is a text to print. A printed piece does not change.
type queuedText struct {
	what     Kind
	text     string
	question Question // of a boxRecord
}

// OpenChatView shows an empty talk until Close. Without keys, it has no prompt.
func OpenChatView(o ChatViewOptions) *ChatView {
	t := newChatView(o, o.In != nil && CanShow(o.In))
	t.program = openProgram(t, o.OnPress, o.Out, o.In, typingInterval)
	return t
}

func newChatView(o ChatViewOptions, prompt bool) *ChatView {
	return &ChatView{options: o, editor: newEditor("> ", false, o.Style), prompt: prompt}
}

const typingInterval = 40 * time.Millisecond

// Close ends the growing text and closes the terminal program.
func (t *ChatView) Close() {
	t.Show(Ended, "")
	t.program.Close()
}

// Show shows a text. Consecutive pieces form one text.
func (t *ChatView) Show(what Kind, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch what {
	case Piece:
		t.appendText(text)
	case Text:
		t.appendText(text)
		t.endText()
	case Ended:
		t.endText()
	default:
		t.pending = append(t.pending, queuedText{what: what, text: text})
	}
	t.program.requestPaint()
}

func (t *ChatView) appendText(text string) {
	t.open = true
	for done, rest := splitStable(t.text+text, t.options.Style); ; done, rest = splitStable(rest, t.options.Style) {
		if t.text = rest; done == "" {
			return
		}
		t.pending = append(t.pending, queuedText{what: Piece, text: done})
	}
}

func (t *ChatView) endText() {
	if t.open {
		t.pending = append(t.pending, queuedText{what: Piece, text: t.text}, queuedText{what: Ended})
		t.text, t.open = "", false
	}
}

func (t *ChatView) SetStatus(status string, queue []string) {
	t.mu.Lock()
	t.status, t.queue = status, queue
	t.mu.Unlock()
	t.program.requestPaint()
}

func (t *ChatView) takePrinted(size Size) (rows []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, it := range t.pending {
		rows = append(rows, t.textRows(it, size.innerWidth())...)
	}
	t.pending = nil
	return rows
}

// partRows returns the rows of the next part of the growing text.
func (t *ChatView) partRows(text string, width int) (rows []string) {
	rows = t.options.Style.withoutBars(markdownRows(text, width, t.options.Style))
	if len(rows) > 0 && t.partPrinted && (t.gap || strings.HasPrefix(text, "\n")) {
		rows = append([]string{""}, rows...)
	}
	return rows
}

func (t *ChatView) textRows(it queuedText, width int) (rows []string) {
	s := t.options.Style
	switch it.what {
	case Piece:
		if rows = t.partRows(it.text, width); len(rows) > 0 {
			t.partPrinted, t.gap = true, false
		}
		t.gap = t.gap || strings.HasSuffix(it.text, "\n\n") || strings.TrimSpace(it.text) == ""
		return rows
	case Ended:
		t.partPrinted, t.gap = false, false
	case boxRecord:
		return it.question.record(it.text, width, s)
	case Typed:
		for _, row := range wrapRows(s.safeText(it.text), width-2) {
			rows = append(rows, s.paint(boldStyle(), row))
		}
		rows = prefixRows("> ", "  ", rows, s)
	default:
		for _, row := range wrapRows(s.safeText(it.text), width) {
			rows = append(rows, s.paint(map[bool]lipgloss.Style{false: faintStyle(), true: toneStyle(Alarm)}[it.what == Failure], row))
		}
	}
	return append(rows, "")
}

func (t *ChatView) renderBlock(size Size) ([]string, cursorPos) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.question != nil {
		return t.questionRows(size), cursorPos{0, -1}
	}
	s, width := t.options.Style, size.innerWidth()
	rows := t.partRows(t.text, width)
	rows = rows[max(0, len(rows)-max(1, size.Height-8)):]
	if t.open && len(rows) > 0 {
		rows = append(rows, "")
	}
	status := t.status
	if text := t.editor.String(); t.options.Hint != nil && strings.HasPrefix(text, "/") {
		status = cmp.Or(t.options.Hint(text).Text, status)
	}
	for _, text := range t.queue {
		rows = append(rows, s.paint(faintStyle(), s.truncateCells("next: "+s.safeLine(text), width)))
	}
	if status = s.safeLine(status); status != "" {
		rows = append(rows, s.paint(faintStyle(), s.truncateCells(status, width)))
	}
	at := cursorPos{0, -1}
	if t.prompt {
		typed, place := t.editor.visibleRows(width-1, max(1, size.Height/3))
		at = cursorPos{len(rows) + place.row, place.column}
		rows = append(rows, typed...)
	}
	from := max(0, len(rows)-max(1, size.Height-2))
	return rows[from:], cursorPos{max(0, at.row-from), at.column}
}

func (t *ChatView) handleMsg(msg tea.Msg) *Press {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.handleMsgLocked(msg)
}

func (t *ChatView) handleMsgLocked(msg tea.Msg) *Press {
	if t.question != nil {
		return t.handleQuestionKey(msg)
	}
	e := &t.editor
	name, text := keyName(msg), e.String()
	switch {
	case text == "" && (name == Interrupt || name == Leave):
		return &Press{Key: name}
	case name == Interrupt:
		e.clear()
	case name == "enter":
		if !e.breakLine() {
			if line := e.takeText(); line != "" {
				return &Press{Key: Enter, Line: line}
			}
		}
	case name == "tab":
		if t.options.Hint != nil && !strings.Contains(text, "\n") {
			if full := t.options.Hint(text).Complete; full != "" {
				e.setText(full)
			}
		}
	case !e.moveVertical(msg):
		e.handleMsg(msg)
	}
	return nil
}
