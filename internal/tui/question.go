package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// A Question asks the user for an approval, in a box that no text of a model can draw.
type Question struct {
	Head []string // what is asked and why; wrapped
	Text string   // what an approval permits, exactly; the user must have seen all of it
	Left string   // printed if the user leaves the question open
}

// Keys of a [Press] that answer a question.
const (
	Approve  = "approve"
	Deny     = "deny"
	Postpone = "postpone" // the question stays open
)

// quietTime is how long no key may have been pressed before a key answers a question. Keys that
// were meant for something else come before.
const quietTime = 700 * time.Millisecond

// A questionBox is an open question on the screen.
type questionBox struct {
	Question
	armed time.Time // from when on keys answer; zero before the box is drawn
	from  int       // the first visible row of the text
	shown int       // rows of the text, counted from its start, that the user has seen
	rows  int       // rows of the text
	page  int       // visible rows of the text
}

// Ask shows a question until the user answers it. The answer is a [Press].
func (t *ChatView) Ask(q Question) {
	t.mu.Lock()
	t.question = &questionBox{Question: q}
	t.mu.Unlock()
	t.program.requestPaint()
}

// boxBar begins each row of a box.
func (s Style) boxBar() string {
	if s.ASCII {
		return "!! "
	}
	return "┃ "
}

// withoutBars returns rows of other text that cannot be mistaken for a box.
func (s Style) withoutBars(rows []string) []string {
	for i, row := range rows {
		if s.ASCII && strings.HasPrefix(strings.TrimSpace(ansi.Strip(row)), "!!") {
			row = strings.Replace(row, "!!", "! !", 1)
		}
		rows[i] = strings.ReplaceAll(row, "┃", "│")
	}
	return rows
}

func (s Style) boxRows(rows []string, look lipgloss.Style) (out []string) {
	bar := s.paint(colour(orange).Bold(true), s.boxBar())
	for _, row := range rows {
		out = append(out, bar+s.paint(look, row))
	}
	return out
}

// headRows returns the rows above the text.
func (q Question) headRows(width int, s Style) (rows []string) {
	for _, line := range q.Head {
		rows = append(rows, wrapRows(s.safeText(line), width-3)...)
	}
	return rows
}

// exactRows returns the rows of the text. Without UTF-8, it escapes all other characters.
func (q Question) exactRows(width int, s Style) (rows []string) {
	text := q.Text
	if s.ASCII {
		var b strings.Builder
		for _, r := range text {
			switch {
			case r < 0x80:
				b.WriteRune(r)
			case r > 0xFFFF:
				fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
			default:
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		}
		text = b.String()
	}
	for line := range strings.SplitSeq(text, "\n") {
		for row := range strings.SplitSeq(ansi.Hardwrap(line, max(width-5, 1), true), "\n") {
			rows = append(rows, "  "+row)
		}
	}
	return rows
}

// record returns the rows of a whole box, with how the user answered it.
func (q Question) record(answer string, width int, s Style) []string {
	rows := s.boxRows(q.headRows(width, s), boldStyle())
	rows = append(rows, s.boxRows(q.exactRows(width, s), lipgloss.NewStyle())...)
	rows = append(rows, s.boxRows(wrapRows(q.answerText(answer), width-3), boldStyle())...)
	return append(rows, "")
}

func (q Question) answerText(answer string) string {
	switch answer {
	case Approve:
		return "approved"
	case Deny:
		return "denied"
	}
	return q.Left
}

// render returns the visible rows, at most n if the head permits.
func (b *questionBox) render(width, n int, s Style) []string {
	if b.armed.IsZero() {
		b.armed = time.Now().Add(quietTime)
	}
	head, text := b.headRows(width, s), b.exactRows(width, s)
	if len(text) != b.rows { // another width
		b.rows, b.from, b.shown = len(text), 0, 0
	}
	b.page = max(1, n-len(head)-1)
	b.from = max(0, min(b.from, b.rows-b.page))
	to := min(b.rows, b.from+b.page)
	if b.from <= b.shown {
		b.shown = max(b.shown, to)
	}
	rows := s.boxRows(head, boldStyle())
	rows = append(rows, s.boxRows(text[b.from:to], lipgloss.NewStyle())...)
	var keys string
	switch {
	case time.Now().Before(b.armed):
		keys = s.glyphSet().more
	case b.shown < b.rows:
		keys = fmt.Sprintf("space: read on (rows %d to %d of %d)   n: do not run it   esc: later", b.from+1, to, b.rows)
	case b.rows > b.page:
		keys = fmt.Sprintf("y: run it   n: do not run it   esc: later   arrows: rows %d to %d of %d", b.from+1, to, b.rows)
	default:
		keys = "y: run it   n: do not run it   esc: later"
	}
	return append(rows, s.boxRows([]string{s.truncateCells(keys, width-3)}, boldStyle())...)
}

// handleMsg returns the answer of a key, or "". Only a single key after a quiet time answers, and
// only after the user has seen the whole text; a paste never does.
func (b *questionBox) handleMsg(msg tea.Msg) string {
	name := keyName(msg)
	if name == Interrupt {
		return Postpone
	}
	if b.armed.IsZero() {
		return ""
	}
	if time.Now().Before(b.armed) || name == "" {
		b.armed = time.Now().Add(quietTime)
		return ""
	}
	key, _ := msg.(tea.KeyPressMsg)
	switch strings.ToLower(key.Text) {
	case "y":
		if b.shown >= b.rows {
			return Approve
		}
	case "n":
		return Deny
	}
	switch name {
	case "space", "pgdown":
		b.from += b.page
	case "down":
		b.from++
	case "up":
		b.from = max(0, b.from-1)
	case "pgup":
		b.from = max(0, b.from-b.page)
	case "esc", Leave:
		return Postpone
	case "enter": // the answer is no by default
		return Deny
	}
	return ""
}

// handleQuestionKey requires t.mu.
func (t *ChatView) handleQuestionKey(msg tea.Msg) *Press {
	answer := t.question.handleMsg(msg)
	if answer == "" {
		time.AfterFunc(quietTime, t.program.requestPaint)
		return nil
	}
	t.pending = append(t.pending, queuedText{what: boxRecord, text: answer, question: t.question.Question})
	t.question = nil
	t.program.requestPaint()
	return &Press{Key: answer}
}

// questionRows requires t.mu.
func (t *ChatView) questionRows(size Size) []string {
	first := t.question.armed.IsZero()
	rows := t.question.render(size.innerWidth(), max(1, size.Height-2), t.options.Style)
	if first {
		time.AfterFunc(quietTime, t.program.requestPaint)
	}
	return rows
}
