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

// A chatSession is a conversation that goes on with its user. Its methods are called
// from one goroutine.
type chatSession struct {
	*conversation
	ui      chatUI
	presses chan tui.Press
	lines   chan tui.Press // where they come from a file

	updated <-chan turnUpdate // nil before the thread is there
	deaf    func()            // ends it
	heard   ponder.Seq
	now     *activeTurn     // nil if none goes on
	next    []queuedMessage // that are answered next
	drawn   []string        // put beside the conversation during the turn
	armed   time.Time       // when ctrl-c was pressed where there was nothing to stop
	leaving bool            // once what waits is answered
	files   message         // put beside the next message
	rearm   func()          // has ctrl-c tell of itself again, where it is a signal; or nil

	reserve reserve // of what is shown beside messages, where they come from a file
	failed  error   // why the last turn had no answer
}

// An activeTurn is a turn that goes on.
type activeTurn struct {
	turn
	stopping bool
	stopped  bool
}

// chat is the command.
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

// isLines reports whether messages are lines of a file.
func (s *chatSession) isLines() bool {
	_, lines := s.ui.(*lineUI)
	return lines
}

// press tells of what was typed.
func (s *chatSession) press(p tui.Press) {
	select {
	case s.presses <- p:
	default: // as many are waiting already
	}
}

// begin shows where the conversation stands, and goes on with what was left.
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

// unsaid removes a conversation that was begun and in which nothing was answered, and
// returns the failure that it was.
func (s *chatSession) unsaid(ctx context.Context) error {
	gone := s.reserve.holds && s.failed != nil && s.thinker.Close(ctx) == nil
	if gone {
		s.working = false
		gone = s.drop(ctx) == nil // else it can just as well be gone on with
	}
	if !gone {
		s.reserve.release()
		return nil
	}
	return failure{code: codeOf(s.failed)} // which was told
}

// listen hears what comes from now on.
func (s *chatSession) listen(ctx context.Context) {
	sctx, cancel := context.WithCancel(ctx)
	s.updated, s.deaf = s.updates(sctx, s.heard), cancel
}

// loop talks until the user leaves.
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

// linesNow returns where the next line comes from, once it is its turn.
func (s *chatSession) linesNow() <-chan tui.Press {
	if s.now != nil || len(s.next) > 0 {
		return nil
	}
	return s.lines
}

// twice is how soon ctrl-c must be pressed again to leave.
const twice = 2 * time.Second

// pressed does what was typed, and reports whether it is time to go.
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

// stand shows how things stand.
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

// openUI returns how the conversation is shown: on a terminal, if both ends are one.
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

// A chatUI shows a conversation, or one answer.
type chatUI interface {
	Show(what tui.Kind, text string)
	// SetStatus shows what happens, and which messages wait.
	SetStatus(status string, queue []string)
	Close() // doing so twice does no harm
}

// markStopped is shown below an answer that was stopped.
const markStopped = "stopped"

// eof is the key of a press that means that no more messages come.
const eof = "eof"

// answerUI returns how an answer is shown: on a terminal, as Markdown.
func (a *cli) answerUI() chatUI {
	if out, ok := a.paper(); ok && !a.flags.json && tui.CanShow(out) {
		return a.openTalk(tui.TalkOptions{Out: out, Style: a.style()})
	}
	return &lineUI{cli: a, bar: a.newProgressBar()}
}

// A terminalUI is a terminal.
type terminalUI struct {
	*tui.Talk
	undo func()
}

// openTalk takes the terminal until Close. Lines that are logged meanwhile are shown there.
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

// notices shows lines on a terminal that a conversation is held on.
type notices struct{ talk *tui.Talk }

func (n notices) Write(b []byte) (int, error) {
	n.talk.Show(tui.Remark, strings.TrimSpace(strings.TrimPrefix(string(b), "ponder: ")))
	return len(b), nil
}

// A lineUI prints answers as they come, and nothing of what was typed.
type lineUI struct {
	cli  *cli
	bar  *progressBar
	undo func() // may be nil
	last byte   // of the answer that was printed; zero at its begin
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

// print prints a piece of a result; as JSON, results are events.
func (u *lineUI) print(text string) {
	if text == "" || u.cli.flags.json {
		return
	}
	u.last = text[len(text)-1]
	_, _ = io.WriteString(u.cli.out, text) // what cannot be printed is told at the end
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

// readLines sends the lines of a reader, each once what was there before is done. One
// that ends in a backslash goes on.
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
