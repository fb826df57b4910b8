package tui

import (
	"os"
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
)

// A Talk is a terminal on which a conversation is held: what was said scrolls by
// above, and at the bottom stand the line that is being written, how things stand,
// and what is being typed. Its methods are safe for concurrent use, and do not wait
// for the terminal.
type Talk struct {
	*stage
	options TalkOptions

	mu      sync.Mutex
	waiting []saying // not printed yet
	prose   Prose    // of the text that is being written, up to what was printed
	line    string   // of it that is not whole
	open    bool     // a text is being written
	status  string
	queue   []string // messages that wait
	desk    composer
	prompt  bool // something can be typed
}

// TalkOptions say how a [Talk] uses its terminal.
type TalkOptions struct {
	Out   *os.File // the terminal
	In    *os.File // where keys come from; nil if they do not
	Style Style
	Hint  func(line string) Hint // helps with a line that is being typed; may be nil

	// Entered is told of what was typed, and of [Interrupt] and [Leave]. It must
	// return at once, and not call the talk.
	Entered func(Press)
}

// The keys of a [Press] of a talk beside Interrupt.
const (
	Enter = "enter"  // Line was typed
	Leave = "ctrl+d" // nothing was typed, and nothing will be
)

// A saying is something that is to be printed.
type saying struct {
	text string
	who  voice
}

// A voice says whose text is printed, and so how.
type voice int

const (
	theirs voice = iota // a line of a text that is written, as it goes on
	ended               // that text has ended
	mine                // what was typed
	remark              // of the program
	alarm
	whole // Markdown that is there as a whole
)

// OpenTalk shows an empty talk until Close. Where there are no keys, there is no
// prompt.
func OpenTalk(o TalkOptions) *Talk {
	if o.In != nil && !CanShow(o.In) {
		o.In = nil
	}
	t := newTalk(o, &terminal{out: o.Out, in: o.In}, func() Size { return sizeOf(o.Out) })
	t.stage.open()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prompt = t.tty.keys()
	t.stir(true)
	return t
}

func newTalk(o TalkOptions, tty *terminal, size func() Size) *Talk {
	t := &Talk{options: o, desk: composer{draft: draftOf("")}, prompt: true}
	t.stage = newStage(tty, size, talkScene{t})
	return t
}

// longest is how many bytes a line may have before it is broken though it goes on.
const longest = 4000

// Write adds to the text that is being written.
func (t *Talk) Write(text string) {
	t.mu.Lock()
	t.open = true
	t.line += text
	for {
		whole, rest, ok := strings.Cut(t.line, "\n")
		if !ok {
			break
		}
		t.waiting, t.line = append(t.waiting, saying{whole, theirs}), rest
	}
	for len(t.line) > longest {
		cut := strings.LastIndexByte(t.line[:longest], ' ') + 1
		if cut == 0 {
			cut = len(strings.ToValidUTF8(t.line[:longest], ""))
		}
		t.waiting, t.line = append(t.waiting, saying{t.line[:cut], theirs}), t.line[cut:]
	}
	t.mu.Unlock()
	t.stir(true)
}

// End ends the text that is being written.
func (t *Talk) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open {
		return
	}
	if t.line != "" {
		t.waiting = append(t.waiting, saying{t.line, theirs})
	}
	t.waiting = append(t.waiting, saying{"", ended})
	t.line, t.open = "", false
	t.stir(true)
}

// Said prints what was typed, or Print a Markdown text as a whole, or Remark and Alarm
// a remark of the program.
func (t *Talk) Said(text string)   { t.print(text, mine) }
func (t *Talk) Print(text string)  { t.print(text, whole) }
func (t *Talk) Remark(text string) { t.print(text, remark) }
func (t *Talk) Alarm(text string)  { t.print(text, alarm) }

func (t *Talk) print(text string, who voice) {
	t.mu.Lock()
	t.waiting = append(t.waiting, saying{text, who})
	t.mu.Unlock()
	t.stir(true)
}

// Status says in a few words what goes on; empty: nothing.
func (t *Talk) Status(text string) {
	t.mu.Lock()
	t.status = text
	t.mu.Unlock()
	t.stir(false)
}

// Queue says which messages wait to be answered.
func (t *Talk) Queue(list []string) {
	t.mu.Lock()
	t.queue = list
	t.mu.Unlock()
	t.stir(false)
}

// talkScene is a talk as its stage sees it.
type talkScene struct{ talk *Talk }

func (s talkScene) printed(size Size) (rows []string) {
	t := s.talk
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, it := range t.waiting {
		rows = append(rows, t.rows(it, size.inner())...)
	}
	t.waiting = nil
	return rows
}

// rows returns what is printed of a saying.
func (t *Talk) rows(it saying, width int) (rows []string) {
	s := t.options.Style
	switch it.who {
	case theirs:
		t.prose, rows = t.prose.Line(it.text, width, s)
	case ended:
		rows = append(t.prose.Rest(width, s), "")
		t.prose = Prose{}
	case whole:
		var p Prose
		for line := range strings.Lines(it.text) {
			var more []string
			p, more = p.Line(line, width, s)
			rows = append(rows, more...)
		}
		rows = append(append(rows, p.Rest(width, s)...), "")
	case mine:
		for line := range strings.SplitSeq(s.text(it.text), "\n") {
			for _, row := range wrapped(strings.ReplaceAll(line, "\t", "    "), width-2) {
				rows = append(rows, bold().on(row, s))
			}
		}
		rows = append(prefixed("> ", "  ", rows, s), "")
	default:
		tone := faint()
		if it.who == alarm {
			tone = inkOf(Alarm)
		}
		for line := range strings.SplitSeq(s.text(it.text), "\n") {
			for _, row := range wrapped(strings.ReplaceAll(line, "\t", "    "), width) {
				rows = append(rows, tone.on(row, s))
			}
		}
		rows = append(rows, "")
	}
	return rows
}

func (s talkScene) block(size Size) ([]string, spot) {
	t := s.talk
	t.mu.Lock()
	defer t.mu.Unlock()
	style, width := t.options.Style, size.inner()
	var rows []string
	if t.line != "" || len(t.prose.table) > 0 {
		rows = t.prose.Peek(t.line, width, style)
		rows = rows[max(0, len(rows)-max(1, size.Height-8)):]
	}
	if t.open && len(rows) > 0 {
		rows = append(rows, "")
	}
	foot, at := t.desk.rows(t, width, max(1, size.Height/3))
	at.row += len(rows)
	rows = append(rows, foot...)
	for i := range rows {
		if lipgloss.Width(rows[i]) > width {
			rows[i] = style.clip(rows[i], width)
		}
	}
	return rows, at
}

func (s talkScene) typed(k key) {
	t := s.talk
	t.mu.Lock()
	next, press := t.desk.press(k, t.options.Hint)
	t.desk = next
	t.mu.Unlock()
	if press != nil && t.options.Entered != nil {
		t.options.Entered(*press)
	}
}
