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
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Hold a conversation",
		Long: `Hold a conversation on the terminal. Answers come as they are written. A line that ends
in \ goes on in the next one, and what is pasted stays together; arrow keys bring back
what was typed before. A message that is typed during an answer is answered next.

/help lists the commands, such as /deep, which has a slower model think in the background,
/model, /think, /cost and /export. A tool call that acts, or that may send data out, runs
only after your approval: Ponder asks in a box that no answer can draw. Ctrl-C stops the answer; twice at an empty prompt, or
Ctrl-D, leaves. What goes on in the background then goes on without the program.

Where standard input is not a terminal, each line is a message. If none is answered, the
exit code is that of ponder ask, and nothing is kept.`,
		Example: `ponder chat
ponder chat --docs ./contract --model anthropic/claude-opus-4-6
ponder chat --continue`,
		GroupID: groupThink,
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runChat(cmd.Context(), f, cmd.Flags().Changed)
		},
	}
	f.addFlags(cmd.Flags())
	return cmd
}

// A chatSession is an interactive conversation. One goroutine calls its methods.
type chatSession struct {
	*conversation
	ui      chatUI
	presses chan tui.Press
	lines   chan tui.Press // for lines of a file

	updated            <-chan turnUpdate // nil before the thread exists
	stopListening      func()
	lastSeq            ponder.Seq
	active             *activeTurn // nil between turns
	queue              []queuedMessage
	pendingAttachments []string   // attachments added by others during the turn
	deepAsked          ponder.Seq // of a pending /deep, or 0
	deepNotice         string     // how it ended, while an answer delays the notice
	interruptedAt      time.Time  // last ctrl-c with nothing to stop
	leaveWhenIdle      bool       // once the queue is empty
	nextMessage        message    // attached to the next message
	questions          []app.Approval
	decisions          []ponder.ApprovalDecision // answers to earlier questions of the turn
	rearm              func()                    // re-enables ctrl-c where it is a signal; may be nil

	heldOutput heldOutput // of output beside messages, when reading a file
	turnErr    error
}

type activeTurn struct {
	printedTurn
	stopping bool
	stopped  bool
}

func (a *cli) runChat(ctx context.Context, f chatFlags, given func(string) bool) error {
	t, err := f.chatSetup(ctx, a, given)
	if err != nil {
		return err
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	id, _, err := f.findConversation(ctx, a, store)
	if err != nil {
		return err
	}
	c, err := a.newConversation(ctx, store, id, t)
	if err != nil {
		return err
	}
	s := &chatSession{conversation: c, presses: make(chan tui.Press, 64), lines: make(chan tui.Press)}
	s.ui = s.openUI(ctx)
	s.heldOutput.active = s.readsLines() && id == ""
	err = s.startChat(ctx)
	if err == nil {
		err = s.runLoop(ctx)
	}
	if err == nil {
		err = s.discardUnanswered(ctx)
	}
	s.ui.Close()
	s.closeConversation(ctx)
	if err == nil && s.id != "" {
		s.printNote("to go on: %s", s.formatCommand("chat --thread", s.id))
	}
	return err
}

func (s *chatSession) readsLines() bool {
	_, lines := s.ui.(*lineUI)
	return lines
}

// queuePress queues a key press. It does not block.
func (s *chatSession) queuePress(p tui.Press) {
	select {
	case s.presses <- p:
	default: // the queue is full
	}
}

func (s *chatSession) startChat(ctx context.Context) error {
	with := "T" + modelBanner(s.setup)[1:] + ". /help lists commands, ctrl+d leaves."
	s.heldOutput.runOrHold(func() { s.ui.Show(tui.Remark, with) })
	if s.id == "" {
		return nil
	}
	open, err := s.showHistory(ctx)
	if err != nil {
		return err
	}
	s.startListening(ctx)
	if s.queue = open; len(open) > 0 || s.reflections.Busy() {
		if err := s.startWork(ctx); err != nil {
			return err
		}
		s.startQueued(ctx)
		return nil
	}
	s.questions, err = app.ThreadApprovals(ctx, s.store, s.id)
	s.askNext()
	return err
}

func (s *chatSession) discardUnanswered(ctx context.Context) error {
	gone := s.heldOutput.active && s.turnErr != nil && s.runner.Close(ctx) == nil
	if gone {
		s.working = false
		gone = s.removeIfNew(ctx) == nil // if that fails, the user can continue it
	}
	if !gone {
		s.heldOutput.releaseAll()
		return nil
	}
	return failure{code: exitCodeOf(s.turnErr)} // already reported
}

func (s *chatSession) startListening(ctx context.Context) {
	sctx, cancel := context.WithCancel(ctx)
	s.updated, s.stopListening = s.followUpdates(sctx, s.lastSeq), cancel
}

func (s *chatSession) runLoop(ctx context.Context) error {
	defer func() {
		if s.stopListening != nil {
			s.stopListening()
		}
	}()
	for {
		s.updateStatus()
		var err error
		select {
		case u := <-s.updated:
			err = s.applyUpdate(ctx, u)
		case r := <-s.workResults:
			err = s.onWorkDone(r)
		case <-s.retryTimer:
			err = s.startWork(ctx)
		case p := <-s.presses:
			gone := false
			if gone, err = s.handlePress(ctx, p); gone {
				return err
			}
		case p := <-s.readyLines():
			gone := false
			if gone, err = s.handlePress(ctx, p); gone {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if s.leaveWhenIdle && s.active == nil && len(s.queue) == 0 {
			return nil
		}
	}
}

// readyLines returns the source of lines; nil while a turn runs or waits.
func (s *chatSession) readyLines() <-chan tui.Press {
	if s.active != nil || len(s.queue) > 0 {
		return nil
	}
	return s.lines
}

// leavePressWindow is how soon a second ctrl-c leaves.
const leavePressWindow = 2 * time.Second

func (s *chatSession) handlePress(ctx context.Context, p tui.Press) (gone bool, err error) {
	switch p.Key {
	case tui.Leave:
		return true, nil
	case tui.Approve, tui.Deny, tui.Postpone:
		return false, s.decide(ctx, p.Key)
	case eof:
		s.leaveWhenIdle = true
		return false, nil
	case tui.Interrupt:
		if s.interrupts.hasHungUp() {
			return true, nil
		}
		if s.active != nil {
			s.active.stopping = true
			return false, s.cancelStoppingTurn(ctx)
		}
		if time.Since(s.interruptedAt) < leavePressWindow {
			return true, nil
		}
		s.interruptedAt = time.Now()
		s.ui.Show(tui.Remark, "ctrl+c once more leaves")
		return false, nil
	}
	gone, err = s.handleLine(ctx, p.Line)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ponder.ErrNoThread) {
		s.ui.Show(tui.Failure, oneLine(err.Error()))
		err = nil
	}
	return gone, err
}

func (s *chatSession) updateStatus() {
	status := ""
	switch {
	case s.active != nil && !s.active.shown && s.retryTimer != nil:
		status = "another process answers"
	case s.active != nil && s.active.stopping:
		status = "stopping"
	case s.active != nil && !s.active.shown:
		status = "…"
	}
	if s.reflections.Busy() {
		if status != "" {
			status += " · "
		}
		status += "thinking in the background"
	}
	var queue []string
	for _, w := range s.queue {
		queue = append(queue, w.Text)
	}
	s.ui.SetStatus(status, queue)
}

func (s *chatSession) openUI(ctx context.Context) chatUI {
	in, isIn := s.in.(*os.File)
	out, isOut := s.outputFile()
	if isIn && isOut && !s.flags.json && tui.CanShow(in) && tui.CanShow(out) {
		ui := s.openChatView(tui.ChatViewOptions{Out: out, In: in, Style: s.viewStyle(), Hint: hintCommand, OnPress: s.queuePress})
		rest := s.interrupts.setGraceful(func() { s.queuePress(tui.Press{Key: tui.Leave}) })
		undo := ui.undo
		ui.undo = func() { rest(); undo() }
		return ui
	}
	undo := func() {}
	s.rearm = func() { undo = s.interrupts.setGraceful(func() { s.queuePress(tui.Press{Key: tui.Interrupt}) }) }
	s.rearm()
	go s.readLines(ctx, s.in)
	return &lineUI{cli: s.cli, undo: func() { undo() }}
}

type chatUI interface {
	Show(what tui.Kind, text string)
	Ask(q tui.Question)
	// SetStatus shows the activity and the queued messages.
	SetStatus(status string, queue []string)
	Close() // idempotent
}

const markStopped = "stopped"

const eof = "eof"

func (a *cli) answerUI() chatUI {
	if out, ok := a.outputFile(); ok && !a.flags.json && tui.CanShow(out) {
		return a.openChatView(tui.ChatViewOptions{Out: out, Style: a.viewStyle()})
	}
	return &lineUI{cli: a, bar: a.newProgressBar()}
}

type terminalUI struct {
	*tui.ChatView
	undo func()
}

// openChatView takes the terminal until Close and shows log lines there.
func (a *cli) openChatView(o tui.ChatViewOptions) *terminalUI {
	talk, log, last := tui.OpenChatView(o), a.log, a.interrupts.beforeExit
	log.mu.Lock()
	defer log.mu.Unlock()
	before := log.out
	log.out = notices{talk}
	a.interrupts.beforeExit = talk.Close
	return &terminalUI{talk, func() {
		log.mu.Lock()
		defer log.mu.Unlock()
		log.out, a.interrupts.beforeExit = before, last
	}}
}

func (u *terminalUI) Close() {
	u.ChatView.Close()
	u.undo()
}

type notices struct{ talk *tui.ChatView }

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
		u.cli.printNote("%s", text)
	case tui.Failure:
		u.cli.printMessage("%s", text)
	case tui.Ended:
		if u.last != '\n' && u.last != 0 {
			u.printText("\n")
		}
		u.last = 0
	default:
		u.printText(textkit.Clean(text))
		if what == tui.Text {
			u.Show(tui.Ended, "")
		}
	}
}

// printText prints a piece of a result. With --json, results are events, so it prints nothing.
func (u *lineUI) printText(text string) {
	if text == "" || u.cli.flags.json {
		return
	}
	u.last = text[len(text)-1]
	_, _ = io.WriteString(u.cli.out, text) // [outputWriter] keeps the error for the end
}

// Ask prints a question. [parseDecision] takes the answer.
func (u *lineUI) Ask(q tui.Question) {
	u.bar.clear()
	u.Show(tui.Ended, "")
	u.cli.printMessage("%s\n%s\n%s", strings.Join(q.Head, "\n"), q.Text, q.Left)
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
		s.cli.printMessage("standard input: %v", err)
	}
	send(tui.Press{Key: eof})
}
