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
	content content
	pressed func(Press)
	tea     *tea.Program
	out     *output
	in      *os.File
	before  *term.State // of in
	pace    time.Duration

	wake   chan struct{} // something to print or draw
	stops  chan struct{}
	backs  chan struct{}
	ending chan struct{}
	ended  chan struct{}
	once   sync.Once
	prints atomic.Int32
	end    func()

	mu    sync.Mutex
	size  Size
	blank bool
	rows  []string // last drawn rows of the block
	at    spot
}

// content is shown by a program, from several goroutines.
type content interface {
	printed(size Size) []string
	block(size Size) ([]string, spot)
	// typed handles a [tea.KeyPressMsg] or a clean [tea.PasteMsg], and returns its press or
	// nil.
	typed(msg tea.Msg) *Press
}

// A spot is the place of the cursor in a block. A negative column hides it.
type spot struct{ row, column int }

const (
	framesPerSecond = 30
	closeTime       = time.Second            // for a blocked terminal
	lookEvery       = 300 * time.Millisecond // between checks for the foreground
	maxPaste        = 256 << 10
)

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

func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// stir requests a paint. It does not block.
func (p *program) stir() { ring(p.wake) }

type refresh struct{}

// run prints and suspends until Close.
func (p *program) run() {
	p.tea.Send(tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset}) // other terminals ignore it
	for {
		select {
		case <-p.wake:
			p.print()
			p.wait(p.pace)
			p.out.release()
		case <-p.stops:
			if !p.suspend(true) {
				return
			}
		case <-p.backs: // the shell had the terminal
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

// print prints waiting rows and redraws the block. Bubbletea inserts rows only above a drawn
// block, at most as many as fit there.
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
		p.tea.Send(tea.Println(cmp.Or(strings.Join(rows[:n], "\n"), " "))()) // bubbletea drops an empty row
		rows = rows[n:]
	}
	p.tea.Send(refresh{})
}

func (p *program) setBlank(blank bool) {
	p.mu.Lock()
	p.blank = blank
	p.mu.Unlock()
	p.tea.Send(refresh{})
	p.tea.Send(refresh{}) // once it is accepted, the first has been handled
}

// suspend releases the terminal until the process is in the foreground, and reports success. If
// stop is set, it stops the process first.
func (p *program) suspend(stop bool) (taken bool) {
	p.print()
	p.setBlank(true)
	_ = p.tea.ReleaseTerminal()
	p.out.show()
	if stop {
		select {
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
		if p.wait(lookEvery) { // only a foreground process may change the terminal
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

// filter cleans input, and follows the cursor when a narrower terminal wraps lines.
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

// cleaned removes control characters from input; nil if nothing is left.
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
	// After printing, bubbletea restores the cursor only if the block has changed.
	v.Content = strings.Join(p.rows, "\n") + map[bool]string{true: " "}[p.prints.Load()%2 == 1]
	if p.at.column < 0 {
		p.at.row = 0 // so that a narrower terminal does not move it
	}
	p.out.hide(p.at.column < 0)
	v.Cursor = &tea.Cursor{Position: tea.Position{X: max(0, p.at.column), Y: p.at.row}, Shape: -1} // keep the terminal's shape
	return v
}
