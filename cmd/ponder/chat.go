package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

func (a *cli) chatCommand() *cobra.Command {
	var f talkFlags
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Hold a conversation",
		Long: `Hold a conversation on the terminal. Answers come as they are written. A line that ends
in \ goes on in the next one, and what is pasted stays together; arrow keys bring back
what was typed before. A message that is typed during an answer is answered next.

/help lists the commands, such as /deep, which has a slower model think in the background,
/model, /think, /cost and /export. Ctrl-C stops the answer; twice at an empty prompt, or
Ctrl-D, leaves. What goes on in the background then goes on without the program.

Where standard input is not a terminal, each line is a message. If none is answered, the
exit code is that of ponder ask, and nothing is kept.`,
		Example: `ponder chat
ponder chat --docs ./contract --model anthropic/claude-opus-4-6
ponder chat --continue`,
		GroupID: groupThink,
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.chat(cmd.Context(), f, cmd.Flags().Changed)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// A chatSession is an interactive conversation. One goroutine calls its methods.
type chatSession struct {
	*conversation
	ui      chatUI
	presses chan tui.Press
	lines   chan tui.Press // for lines of a file

	updated <-chan turnUpdate // nil before the thread exists
	deaf    func()
	heard   ponder.Seq
	now     *activeTurn // nil between turns
	next    []queuedMessage
	drawn   []string  // attachments added by others during the turn
	armed   time.Time // last ctrl-c with nothing to stop
	leaving bool      // once the queue is empty
	files   message   // attached to the next message
	rearm   func()    // re-enables ctrl-c where it is a signal; may be nil

	reserve reserve // of output beside messages, when reading a file
	failed  error
}

type activeTurn struct {
	turn
	stopping bool
	stopped  bool
}

func (a *cli) chat(ctx context.Context, f talkFlags, given func(string) bool) error {
	t, err := f.talking(ctx, a, given)
	if err != nil {
		return err
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	id, _, err := f.begin(ctx, a, store)
	if err != nil {
		return err
	}
	c, err := a.converse(ctx, store, id, t)
	if err != nil {
		return err
	}
	s := &chatSession{conversation: c, presses: make(chan tui.Press, 64), lines: make(chan tui.Press)}
	s.ui = s.openUI(ctx)
	s.reserve.holds = s.isLines() && id == ""
	err = s.begin(ctx)
	if err == nil {
		err = s.loop(ctx)
	}
	if err == nil {
		err = s.unsaid(ctx)
	}
	s.ui.Close()
	s.leave(ctx)
	if err == nil && s.id != "" {
		s.note("to go on: %s", s.command("chat --thread", s.id))
	}
	return err
}

func (s *chatSession) isLines() bool {
	_, lines := s.ui.(*lineUI)
	return lines
}

// press queues a key press. It does not block.
func (s *chatSession) press(p tui.Press) {
	select {
	case s.presses <- p:
	default: // the queue is full
	}
}

func (s *chatSession) begin(ctx context.Context) error {
	with := "T" + talkingWith(s.talking)[1:] + ". /help lists commands, ctrl+d leaves."
	s.reserve.show(func() { s.ui.Show(tui.Remark, with) })
	if s.id == "" {
		return nil
	}
	open, err := s.reread(ctx)
	if err != nil {
		return err
	}
	s.listen(ctx)
	if s.next = open; len(open) > 0 || s.muses.Busy() {
		if err := s.work(ctx); err != nil {
			return err
		}
		s.turnNext(ctx)
	}
	return nil
}

func (s *chatSession) unsaid(ctx context.Context) error {
	gone := s.reserve.holds && s.failed != nil && s.thinker.Close(ctx) == nil
	if gone {
		s.working = false
		gone = s.drop(ctx) == nil // if that fails, the user can continue it
	}
	if !gone {
		s.reserve.release()
		return nil
	}
	return failure{code: codeOf(s.failed)} // already reported
}

func (s *chatSession) listen(ctx context.Context) {
	sctx, cancel := context.WithCancel(ctx)
	s.updated, s.deaf = s.updates(sctx, s.heard), cancel
}

func (s *chatSession) loop(ctx context.Context) error {
	defer func() {
		if s.deaf != nil {
			s.deaf()
		}
	}()
	for {
		s.stand()
		var err error
		select {
		case u := <-s.updated:
			err = s.update(ctx, u)
		case r := <-s.worked:
			err = s.onWorkDone(r)
		case <-s.retry:
			err = s.work(ctx)
		case p := <-s.presses:
			gone := false
			if gone, err = s.pressed(ctx, p); gone {
				return err
			}
		case p := <-s.linesNow():
			gone := false
			if gone, err = s.pressed(ctx, p); gone {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if s.leaving && s.now == nil && len(s.next) == 0 {
			return nil
		}
	}
}

// linesNow returns the source of lines; nil while a turn runs or waits.
func (s *chatSession) linesNow() <-chan tui.Press {
	if s.now != nil || len(s.next) > 0 {
		return nil
	}
	return s.lines
}

// twice is how soon a second ctrl-c leaves.
const twice = 2 * time.Second

func (s *chatSession) pressed(ctx context.Context, p tui.Press) (gone bool, err error) {
	switch p.Key {
	case tui.Leave:
		return true, nil
	case eof:
		s.leaving = true
		return false, nil
	case tui.Interrupt:
		if s.brake.isHung() {
			return true, nil
		}
		if s.now != nil {
			s.now.stopping = true
			return false, s.stopNow(ctx)
		}
		if time.Since(s.armed) < twice {
			return true, nil
		}
		s.armed = time.Now()
		s.ui.Show(tui.Remark, "ctrl+c once more leaves")
		return false, nil
	}
	gone, err = s.entered(ctx, p.Line)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ponder.ErrNoThread) {
		s.ui.Show(tui.Failure, oneLine(err.Error()))
		err = nil
	}
	return gone, err
}

func (s *chatSession) stand() {
	status := ""
	switch {
	case s.now != nil && !s.now.shown && s.retry != nil:
		status = "another process answers"
	case s.now != nil && s.now.stopping:
		status = "stopping"
	case s.now != nil && !s.now.shown:
		status = "…"
	}
	if s.muses.Busy() {
		if status != "" {
			status += " · "
		}
		status += "thinking in the background"
	}
	var queue []string
	for _, w := range s.next {
		queue = append(queue, w.Text)
	}
	s.ui.SetStatus(status, queue)
}

func (s *chatSession) openUI(ctx context.Context) chatUI {
	in, isIn := s.in.(*os.File)
	out, isOut := s.paper()
	if isIn && isOut && !s.flags.json && tui.CanShow(in) && tui.CanShow(out) {
		ui := s.openTalk(tui.TalkOptions{Out: out, In: in, Style: s.style(), Hint: hintCommand, Entered: s.press})
		rest := s.brake.toRest(func() { s.press(tui.Press{Key: tui.Leave}) })
		undo := ui.undo
		ui.undo = func() { rest(); undo() }
		return ui
	}
	undo := func() {}
	s.rearm = func() { undo = s.brake.toRest(func() { s.press(tui.Press{Key: tui.Interrupt}) }) }
	s.rearm()
	go s.readLines(ctx, s.in)
	return &lineUI{cli: s.cli, undo: func() { undo() }}
}

type chatUI interface {
	Show(what tui.Kind, text string)
	// SetStatus shows the activity and the queued messages.
	SetStatus(status string, queue []string)
	Close() // idempotent
}

const markStopped = "stopped"

const eof = "eof"

func (a *cli) answerUI() chatUI {
	if out, ok := a.paper(); ok && !a.flags.json && tui.CanShow(out) {
		return a.openTalk(tui.TalkOptions{Out: out, Style: a.style()})
	}
	return &lineUI{cli: a, bar: a.newProgressBar()}
}

type terminalUI struct {
	*tui.Talk
	undo func()
}

// openTalk takes the terminal until Close and shows log lines there.
func (a *cli) openTalk(o tui.TalkOptions) *terminalUI {
	talk, log, last := tui.OpenTalk(o), a.log, a.brake.last
	log.mu.Lock()
	defer log.mu.Unlock()
	before := log.out
	log.out = notices{talk}
	a.brake.last = talk.Close
	return &terminalUI{talk, func() {
		log.mu.Lock()
		defer log.mu.Unlock()
		log.out, a.brake.last = before, last
	}}
}

func (u *terminalUI) Close() {
	u.Talk.Close()
	u.undo()
}

type notices struct{ talk *tui.Talk }

func (n notices) Write(b []byte) (int, error) {
	n.talk.Show(tui.Remark, strings.TrimSpace(strings.TrimPrefix(string(b), "ponder: ")))
	return len(b), nil
}

// A lineUI prints answers as they grow, and no input.
type lineUI struct {
	cli  *cli
	bar  *progressBar
	undo func() // may be nil
	last byte
}

func (u *lineUI) Show(what tui.Kind, text string) {
	switch what {
	case tui.Typed:
	case tui.Remark:
		u.cli.note("%s", text)
	case tui.Failure:
		u.cli.say("%s", text)
	case tui.Ended:
		if u.last != '\n' && u.last != 0 {
			u.print("\n")
		}
		u.last = 0
	default:
		u.print(textkit.Clean(text))
		if what == tui.Text {
			u.Show(tui.Ended, "")
		}
	}
}

// print prints a piece of a result. With --json, results are events, so it prints nothing.
func (u *lineUI) print(text string) {
	if text == "" || u.cli.flags.json {
		return
	}
	u.last = text[len(text)-1]
	_, _ = io.WriteString(u.cli.out, text) // [results] keeps the error for the end
}

func (u *lineUI) SetStatus(status string, _ []string) {
	if status == "" {
		u.bar.clear()
	} else {
		u.bar.draw(progress{-1, status})
	}
}

func (u *lineUI) Close() {
	u.bar.clear()
	u.Show(tui.Ended, "")
	if u.undo != nil {
		u.undo()
	}
}

// readLines sends each line once the previous one is done. A trailing backslash joins lines.
func (s *chatSession) readLines(ctx context.Context, in io.Reader) {
	send := func(p tui.Press) bool {
		select {
		case s.lines <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, app.MaxMessage)
	text := ""
	for lines.Scan() {
		line := strings.ToValidUTF8(lines.Text(), "")
		if head, ok := strings.CutSuffix(line, `\`); ok {
			text += head + "\n"
			continue
		}
		if !send(tui.Press{Key: tui.Enter, Line: strings.TrimSpace(text + line)}) {
			return
		}
		text = ""
	}
	if text = strings.TrimSpace(text); text != "" && !send(tui.Press{Key: tui.Enter, Line: text}) {
		return
	}
	if err := lines.Err(); err != nil {
		s.cli.say("standard input: %v", err)
	}
	send(tui.Press{Key: eof})
}
