package tui

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"ponder/internal/textkit"
)

// A program is a bubbletea program with a block of lines below printed rows. It can suspend
// itself.
type program struct {
	content       content
	onPress       func(Press)
	tea           *tea.Program
	out           *output
	in            *os.File
	before        *term.State // of in
	colours       colorprofile.Profile
	frameInterval time.Duration

	wake      chan struct{} // something to print or draw
	stops     chan struct{}
	continues chan struct{}
	closing   chan struct{}
	ended     chan struct{}
	once      sync.Once
	prints    atomic.Int32
	end       func()

	mu    sync.Mutex
	size  Size
	blank bool
	rows  []string // last drawn rows of the block
	at    cursorPos
}

// content is shown by a program, from several goroutines.
type content interface {
	takePrinted(size Size) []string
	renderBlock(size Size) ([]string, cursorPos)
	// handleMsg handles a [tea.KeyPressMsg] or a clean [tea.PasteMsg], and returns its press or
	// nil.
	handleMsg(msg tea.Msg) *Press
}

// A cursorPos is the place of the cursor in a block. A negative column hides it.
type cursorPos struct{ row, column int }

const (
	framesPerSecond        = 30
	closeTime              = time.Second            // for a blocked terminal
	foregroundPollInterval = 300 * time.Millisecond // between checks for the foreground
	maxPaste               = 256 << 10
)

func newProgram(c content, pressed func(Press), out *output, in *os.File, pace time.Duration, options ...tea.ProgramOption) *program {
	p := &program{
		content: c, onPress: pressed, out: out, in: in, frameInterval: pace, size: Size{80, 24}, wake: make(chan struct{}, 1), stops: make(chan struct{}, 1),
		continues: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}), colours: colourProfile(os.Environ()),
	}
	p.end = sync.OnceFunc(func() { close(p.ended) })
	p.tea = tea.NewProgram(p, append([]tea.ProgramOption{
		tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond), tea.WithColorProfile(p.colours), tea.WithFilter(p.filterMsg),
	}, options...)...)
	return p
}

// colourProfile returns the profile of 256 colours where the terminal has them, else of 16.
func colourProfile(env []string) colorprofile.Profile {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if name == "TERM" && strings.Contains(value, "256color") || name == "COLORTERM" && (value == "truecolor" || value == "24bit") {
			return colorprofile.ANSI256
		}
	}
	return colorprofile.ANSI
}

// reduceColours replaces the colours of printed text by those of a profile. Bubbletea does so only
// for the block.
func reduceColours(text string, to colorprofile.Profile) string {
	var b strings.Builder
	_, _ = (&colorprofile.Writer{Forward: &b, Profile: to}).WriteString(text) // a builder returns no error
	return b.String()
}

func openProgram(c content, pressed func(Press), out, in *os.File, pace time.Duration) *program {
	if in != nil && !CanShow(in) {
		in = nil
	}
	input := tea.WithInput(nil)
	if in != nil {
		input = tea.WithInput(in)
	}
	p := newProgram(c, pressed, newOutput(out, out, in != nil), in, pace, input)
	if in != nil {
		p.before, _ = term.GetState(int(in.Fd()))
	}
	undo := watchStopSignals(func() { trySignal(p.stops) }, func() { trySignal(p.continues) })
	p.startLoops(undo)
	return p
}

func (p *program) startLoops(undo func()) {
	go func() {
		_, err := p.tea.Run()
		undo()
		p.out.restoreCursor()
		p.end()
		if errors.Is(err, tea.ErrProgramPanic) {
			panic(err) // the terminal is restored and the stack printed
		}
	}()
	go p.run()
	p.requestPaint()
}

func trySignal(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// requestPaint requests a paint. It does not block.
func (p *program) requestPaint() { trySignal(p.wake) }

type refreshMsg struct{}

// run prints and suspends until Close.
func (p *program) run() {
	p.tea.Send(tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset}) // other terminals ignore it
	for {
		select {
		case <-p.wake:
			p.printRows()
			p.waitOrClose(p.frameInterval)
			p.out.releaseHeld()
		case <-p.stops:
			if !p.suspendTerminal(true) {
				return
			}
		case <-p.continues: // the shell had the terminal
			if !p.suspendTerminal(false) {
				return
			}
		case <-p.closing:
			p.printRows()
			p.setBlank(true)
			p.tea.Quit()
			return
		}
	}
}

func (p *program) waitOrClose(d time.Duration) (closed bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-p.closing:
		return true
	}
}

// printRows prints waiting rows and redraws the block. Bubbletea inserts rows only above a drawn
// block, at most as many as fit there.
func (p *program) printRows() {
	select {
	case <-p.out.ready:
	case <-p.ended:
		return
	}
	p.mu.Lock()
	size, room := p.size, max(1, p.size.Height-len(p.rows)-1)
	p.mu.Unlock()
	rows := p.content.takePrinted(size)
	if len(rows) > 0 {
		p.prints.Add(1)
	}
	for len(rows) > 0 {
		n := min(len(rows), room)
		p.tea.Send(tea.Println(cmp.Or(reduceColours(strings.Join(rows[:n], "\n"), p.colours), " "))()) // bubbletea drops an empty row
		rows = rows[n:]
	}
	p.tea.Send(refreshMsg{})
}

func (p *program) setBlank(blank bool) {
	p.mu.Lock()
	p.blank = blank
	p.mu.Unlock()
	p.tea.Send(refreshMsg{})
	p.tea.Send(refreshMsg{}) // once it is accepted, the first has been handled
}

// suspendTerminal releases the terminal until the process is in the foreground, and reports success. If
// stop is set, it stops the process first.
func (p *program) suspendTerminal(stop bool) (taken bool) {
	p.printRows()
	p.setBlank(true)
	_ = p.tea.ReleaseTerminal()
	p.out.restoreCursor()
	if stop {
		select {
		case <-p.continues:
		default:
		}
		stopProcess()
		select {
		case <-p.continues:
		case <-p.closing:
		}
	}
	for p.out.File != nil && !isForeground(p.out.File) {
		if p.waitOrClose(foregroundPollInterval) { // only a foreground process may change the terminal
			p.end()
			return false
		}
	}
	_ = p.tea.RestoreTerminal()
	p.setBlank(false)
	return true
}

// Close removes the block, keeps printed rows, and releases the terminal. It abandons a blocked
// terminal after closeTime.
func (p *program) Close() {
	p.once.Do(func() { close(p.closing) })
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		if p.before != nil {
			_ = term.Restore(int(p.in.Fd()), p.before)
		}
	}
}

// filterMsg cleans input, and follows the cursor when a narrower terminal wraps lines.
func (p *program) filterMsg(_ tea.Model, msg tea.Msg) tea.Msg {
	size, ok := msg.(tea.WindowSizeMsg)
	if !ok {
		return cleanMsg(msg)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if size.Width < p.size.Width {
		p.out.moveUp(p.foldsAbove(size.Width))
	}
	p.size = Size{max(size.Width, minWidth+1), max(size.Height, 2)}
	return size
}

// cleanMsg removes control characters from input; nil if nothing is left.
func cleanMsg(msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		text := strings.NewReplacer("\r", "\n", "\t", " ").Replace(msg.Content[:min(len(msg.Content), maxPaste)])
		return tea.PasteMsg{Content: textkit.Clean(strings.ToValidUTF8(text, ""))}
	case tea.KeyPressMsg:
		if typed := msg.Text; typed != "" {
			if msg.Text = textkit.Clean(typed); msg.Text == "" {
				return nil
			}
		}
		return msg
	}
	return msg
}

func (p *program) foldsAbove(width int) int {
	if len(p.rows) == 0 {
		return 0
	}
	above := append(p.rows[:p.at.row:p.at.row], ansi.Truncate(p.rows[p.at.row], max(0, p.at.column), "")+"x")
	return strings.Count(ansi.Hardwrap(strings.Join(above, "\n"), width, true), "\n") - p.at.row
}

func (p *program) Init() tea.Cmd { return nil }

func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
		if keyName(msg) == "ctrl+z" {
			requestSuspend()
		} else if press := p.content.handleMsg(msg); press != nil && p.onPress != nil {
			p.onPress(*press)
		}
	}
	return p, nil
}

func (p *program) View() (v tea.View) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows, p.at = nil, cursorPos{0, -1}
	if !p.blank {
		p.rows, p.at = p.content.renderBlock(p.size)
	}
	// After printing, bubbletea restores the cursor only if the block has changed.
	v.Content = strings.Join(p.rows, "\n") + map[bool]string{true: " "}[p.prints.Load()%2 == 1]
	if p.at.column < 0 {
		p.at.row = 0 // so that a narrower terminal does not move it
	}
	p.out.setCursorHidden(p.at.column < 0)
	v.Cursor = &tea.Cursor{Position: tea.Position{X: max(0, p.at.column), Y: p.at.row}, Shape: -1} // keep the terminal's shape
	return v
}
