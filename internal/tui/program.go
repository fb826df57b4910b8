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

// A program is a bubbletea program with a block of lines at the bottom of a terminal, below
// the rows that were printed. It suspends itself and gives the terminal back.
type program struct {
	content content
	pressed func(Press) // may be nil
	tea     *tea.Program
	out     *output
	in      *os.File    // nil if no keys come
	before  *term.State // of in
	pace    time.Duration

	wake   chan struct{} // there is something to print or to draw
	stops  chan struct{} // the process is to stop for a while
	backs  chan struct{} // the process continues
	ending chan struct{} // closed by Close
	ended  chan struct{} // closed when the terminal is given back
	once   sync.Once
	prints atomic.Int32 // of rows
	end    func()       // closes ended

	mu    sync.Mutex
	size  Size
	blank bool     // the block is not drawn
	rows  []string // of the block, as drawn last
	at    spot     // of the cursor
}

// content is what a program shows. Its methods are called from several goroutines.
type content interface {
	// printed returns rows that are to scroll by, once.
	printed(size Size) []string
	// block returns the rows at the bottom, and the place of the cursor.
	block(size Size) ([]string, spot)
	// typed takes a [tea.KeyPressMsg] or a [tea.PasteMsg] of clean text, and returns the press
	// that it makes, if it does.
	typed(msg tea.Msg) *Press
}

// A spot is the place of the cursor in a block. The cursor is hidden if the column is negative.
type spot struct{ row, column int }

const (
	framesPerSecond = 30
	closeTime       = time.Second            // for a terminal that takes no output
	lookEvery       = 300 * time.Millisecond // between checks whether the process is in the foreground
	maxPaste        = 256 << 10
)

// newProgram returns a program that prints and draws again at most once per pace.
func newProgram(c content, pressed func(Press), out *output, in *os.File, pace time.Duration, options ...tea.ProgramOption) *program {
	p := &program{
		content: c, pressed: pressed, out: out, in: in, pace: pace, size: Size{80, 24}, wake: make(chan struct{}, 1), stops: make(chan struct{}, 1),
		backs: make(chan struct{}, 1), ending: make(chan struct{}), ended: make(chan struct{}),
	}
	p.end = sync.OnceFunc(func() { close(p.ended) })
	p.tea = tea.NewProgram(p, append([]tea.ProgramOption{
		tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond), tea.WithColorProfile(colorprofile.ANSI), tea.WithFilter(p.filter),
	}, options...)...)
	return p
}

// openProgram starts a program on a terminal.
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
	undo := attend(func() { ring(p.stops) }, func() { ring(p.backs) })
	p.start(undo)
	return p
}

func (p *program) start(undo func()) {
	go func() {
		_, err := p.tea.Run()
		undo()
		p.out.show()
		p.end()
		if errors.Is(err, tea.ErrProgramPanic) {
			panic(err) // the terminal is restored and the stack printed
		}
	}()
	go p.run()
	p.stir()
}

// ring sends to a listener, unless a signal waits already.
func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// stir asks for printing and drawing. It does not wait.
func (p *program) stir() { ring(p.wake) }

// A refresh has the block drawn again.
type refresh struct{}

// run prints and suspends until the program is closed.
func (p *program) run() {
	p.tea.Send(tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset}) // a terminal without it ignores it
	for {
		select {
		case <-p.wake:
			p.print()
			p.wait(p.pace)
			p.out.release() // if no frame followed
		case <-p.stops:
			if !p.suspend(true) {
				return
			}
		case <-p.backs: // the shell had the terminal meanwhile
			if !p.suspend(false) {
				return
			}
		case <-p.ending:
			p.print()
			p.setBlank(true)
			p.tea.Quit()
			return
		}
	}
}

// wait waits, and reports whether the program was closed meanwhile.
func (p *program) wait(d time.Duration) (closed bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false
	case <-p.ending:
		return true
	}
}

// print prints the rows that wait, and draws the block again. Bubbletea can insert rows once it
// has drawn a block, and as many as there are above the block.
func (p *program) print() {
	select {
	case <-p.out.ready:
	case <-p.ended:
		return
	}
	p.mu.Lock()
	size, room := p.size, max(1, p.size.Height-len(p.rows)-1)
	p.mu.Unlock()
	rows := p.content.printed(size)
	if len(rows) > 0 {
		p.prints.Add(1)
	}
	for len(rows) > 0 {
		n := min(len(rows), room)
		p.tea.Send(tea.Println(cmp.Or(strings.Join(rows[:n], "\n"), " "))()) // an empty row is no row to bubbletea
		rows = rows[n:]
	}
	p.tea.Send(refresh{})
}

// setBlank clears the block or draws it again.
func (p *program) setBlank(blank bool) {
	p.mu.Lock()
	p.blank = blank
	p.mu.Unlock()
	p.tea.Send(refresh{})
	p.tea.Send(refresh{}) // once it is taken, the first has been handled
}

// suspend gives the terminal back until the process is in the foreground again, and reports
// whether it is. It stops the process, unless it was stopped already.
func (p *program) suspend(stop bool) (taken bool) {
	p.print()
	p.setBlank(true)
	_ = p.tea.ReleaseTerminal()
	p.out.show()
	if stop {
		select { // of before
		case <-p.backs:
		default:
		}
		stopNow()
		select {
		case <-p.backs:
		case <-p.ending:
		}
	}
	for p.out.File != nil && !foreground(p.out.File) {
		if p.wait(lookEvery) { // only a process in the foreground may change the terminal
			p.end()
			return false
		}
	}
	_ = p.tea.RestoreTerminal()
	p.setBlank(false)
	return true
}

// Close removes the block, leaves the printed rows, and gives the terminal back. A terminal
// that takes no output is left as it is after a second.
func (p *program) Close() {
	p.once.Do(func() { close(p.ending) })
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

// filter cleans typed text, and follows the cursor to the line that a narrower terminal has
// moved it to.
func (p *program) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	size, ok := msg.(tea.WindowSizeMsg)
	if !ok {
		return cleaned(msg)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if size.Width < p.size.Width {
		p.out.moveUp(p.foldsAbove(size.Width))
	}
	p.size = Size{max(size.Width, minWidth+1), max(size.Height, 2)}
	return size
}

// cleaned returns a message without the characters of typed text that would steer a terminal;
// nil if none are left.
func cleaned(msg tea.Msg) tea.Msg {
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

// foldsAbove returns how many lines a terminal of a width adds above the cursor.
func (p *program) foldsAbove(width int) int {
	if len(p.rows) == 0 {
		return 0
	}
	above := append(p.rows[:p.at.row:p.at.row], ansi.Truncate(p.rows[p.at.row], max(0, p.at.column), "")+"x")
	return strings.Count(ansi.Hardwrap(strings.Join(above, "\n"), width, true), "\n") - p.at.row
}

// Init is of [tea.Model], as are Update and View.
func (p *program) Init() tea.Cmd { return nil }

func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
		if nameOf(msg) == "ctrl+z" {
			askToStop()
		} else if press := p.content.typed(msg); press != nil && p.pressed != nil {
			p.pressed(*press)
		}
	}
	return p, nil
}

func (p *program) View() (v tea.View) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows, p.at = nil, spot{0, -1}
	if !p.blank {
		p.rows, p.at = p.content.block(p.size)
	}
	// Bubbletea puts the cursor back after rows were printed if the block has changed.
	v.Content = strings.Join(p.rows, "\n") + map[bool]string{true: " "}[p.prints.Load()%2 == 1]
	if p.at.column < 0 {
		p.at.row = 0 // so that a narrower terminal moves it nowhere
	}
	p.out.hide(p.at.column < 0)
	v.Cursor = &tea.Cursor{Position: tea.Position{X: max(0, p.at.column), Y: p.at.row}, Shape: -1} // the shape of the terminal
	return v
}
