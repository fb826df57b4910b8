package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/store/sqlite"
	"ponder/tool/think"
)

type askFlags struct {
	chatFlags
	attach   []string
	deep     bool
	internal bool
}

func (a *cli) askCommand() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   "ask TEXT",
		Short: "Send a message to a conversation and print the answer",
		Long: `Send a message to a conversation and print the answer. On a terminal, the answer appears
while the model writes it. With TEXT -, the message is read from standard input. Without
--thread or --continue, a new conversation starts.

The model can search the files of --docs and --knowledge, the memory (see ponder remember)
and the web, if a search engine is configured. It can also ask a slower model to reflect
in the background; the next message uses the result. With --deep, the slower model
reflects before the answer.

A tool call that acts, or that may send data out, runs only after your approval. On a
terminal, Ponder asks after the answer. Elsewhere it prints the question and the commands
that answer it on standard error, and the exit code is 3: see ponder approve.

Ctrl-C stops the answer.

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 incomplete answer or open question,
4 no model available, 130 stopped.`,
		Example: `ponder ask "Why is the sky blue?"
ponder ask --continue "And at sunset?"
ponder ask "What does this commit us to?" --attach contract.pdf --deep
git diff | ponder ask - --model anthropic/claude-opus-4-6`,
		GroupID: groupThink,
		Args:    requireArgs(1, 1, `a message in quotes, or - to read it from standard input`),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runAsk(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	f.addFlags(flags)
	flags.StringArrayVar(&f.attach, "attach", nil, "attach the `file` to the message; may be repeated")
	flags.BoolVar(&f.deep, "deep", false, "let a slower model reflect before the answer")
	flags.BoolVar(&f.internal, "internal", false, "with --json: include internal events")
	return cmd
}

func (a *cli) runAsk(ctx context.Context, text string, f askFlags, given func(string) bool) error {
	m, err := a.readMessage(ctx, text, f.attach)
	if err != nil {
		return err
	}
	t, err := f.chatSetup(ctx, a, given)
	if err != nil {
		return err
	}
	t.Sources.Patience = app.OncePatience
	if t.Extractive {
		a.printNote("%s", noModelText(t.Missed, "; the answer consists of quotations; `ponder doctor` explains how to set up a model"))
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	id, head, err := f.findConversation(ctx, a, store)
	if err != nil {
		return err
	}
	return a.askIn(ctx, store, askPlace{id: id, head: head}, t, m, f, func(context.Context, *askSession) {})
}

// An askPlace is the conversation of a message: an existing one, or a new one with the id next, if set.
type askPlace struct {
	id, next ponder.ThreadID
	head     ponder.Seq
}

// askIn sends a message to a conversation and prints the answer. answered runs after it.
func (a *cli) askIn(ctx context.Context, store *sqlite.Store, in askPlace, t app.ChatSetup, m message, f askFlags, answered func(context.Context, *askSession)) error {
	id, head := in.id, in.head
	if !a.IsTemporary() { // else no other process could make the calls
		t.Hold = new(app.BackgroundHold)
	}
	c, err := a.newConversation(ctx, store, id, t)
	if err != nil {
		return err
	}
	c.nextID = in.next
	defer c.closeConversation(ctx)
	if err := c.noteUnanswered(ctx); err != nil {
		return err
	}
	s := &askSession{conversation: c, lastSeq: head, internal: f.internal, out: a.answerUI(), heldOutput: heldOutput{active: id == ""}}
	for _, line := range m.omittedParts(t.ChatOptions(nil)) {
		s.heldOutput.printNote(a, line)
	}
	s.currentTurn.wholeRounds = !a.isTerminal()
	if f.deep {
		if err := s.reflectFirst(ctx, m); err != nil {
			s.out.Close()
			return s.discardUnanswered(ctx, err)
		}
	}
	err = s.runTurn(ctx, m)
	for err == nil && len(s.currentTurn.Questions) > 0 {
		if m, err = s.askQuestions(ctx); err == nil {
			s.out = a.answerUI()
			err = s.runTurn(ctx, m)
		}
	}
	s.out.Close()
	if err == nil {
		answered(ctx, s)
	}
	return s.discardUnanswered(ctx, err)
}

type askSession struct {
	*conversation
	lastSeq     ponder.Seq
	internal    bool
	out         chatUI
	heldOutput  heldOutput
	currentTurn printedTurn
	turnErr     error
	stopped     bool
}

func (s *askSession) runTurn(ctx context.Context, m message) error {
	t := &s.currentTurn
	s.setup.Hold.Start()
	ev, err := s.sendMessage(ctx, m)
	if err != nil {
		return err
	}
	*t = newPrintedTurn(ev.ID, ev.Seq, t.wholeRounds)
	stop := make(chan struct{}, 1)
	defer s.interrupts.setGraceful(func() { stop <- struct{}{} })()
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates, wont := s.followUpdates(sctx, s.listenAfter(ev)), s.checkUnavailable(sctx)
	tick, began := time.NewTicker(redrawInterval), time.Now()
	defer tick.Stop()
	for !t.IsOver() {
		var err error
		select {
		case u := <-updates:
			err = s.applyUpdate(u)
		case r := <-s.workResults:
			err = s.onWorkDone(r)
		case <-s.retryTimer:
			err = s.startWork(ctx)
		case <-stop:
			s.turnErr = failure{code: exitInterrupted}
		case err := <-wont:
			if !t.modelWrote {
				s.turnErr = err
			}
		case <-tick.C:
			s.showWait(time.Since(began))
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err := errors.Join(err, s.stopTurn(ctx)); err != nil {
			return err
		}
	}
	s.out.Close()
	s.cleanupThoughts(ctx, ev.Seq)
	if t.Omitted != "" {
		s.printNote("%s", t.Omitted)
	}
	if s.turnErr == nil {
		return t.answerError()
	}
	if exitCodeOf(s.turnErr) == exitInterrupted {
		s.heldOutput.releaseAll()
		s.printNote("stopped; to continue: %s", s.formatCommand("ask TEXT --thread", s.id))
	}
	return s.turnErr
}

// waitNoticeDelay is the time without text after which a notice says that the answer is pending.
const waitNoticeDelay = 2 * time.Second

func (s *askSession) showWait(took time.Duration) {
	switch t := &s.currentTurn; {
	case took < waitNoticeDelay || t.shown:
	case t.modelWrote:
		s.out.SetStatus("the model is thinking: "+textkit.Clock(took), nil)
	default:
		s.out.SetStatus("waiting for the model: "+textkit.Clock(took), nil)
	}
}

func (s *askSession) stopTurn(ctx context.Context) error {
	if s.turnErr == nil || s.currentTurn.Run == "" || s.stopped {
		return nil
	}
	s.stopped = true
	return s.cancelTurn(ctx, s.currentTurn.Run, s.currentTurn.unstoredText())
}

// checkUnavailable sends the reason if certainly no model will answer. The turn itself keeps trying for
// longer.
func (s *askSession) checkUnavailable(ctx context.Context) <-chan error {
	wont := make(chan error, 1)
	go func() {
		if err := s.setup.Check(ctx); err != nil {
			wont <- err
		}
	}()
	return wont
}

// listenAfter returns the event after which to listen; a new thread shows all its events.
func (s *askSession) listenAfter(ev ponder.Event) ponder.Seq {
	if s.isNew {
		return s.lastSeq
	}
	return max(s.lastSeq, ev.Seq-1)
}

func (s *askSession) applyUpdate(u turnUpdate) error {
	if u.err != nil {
		return u.err
	}
	text := s.currentTurn.applyUpdate(u)
	if text != "" || s.currentTurn.hasReply() {
		s.heldOutput.releaseAll()
	}
	if delay := s.currentTurn.retryNotice; delay != "" {
		s.currentTurn.retryNotice = ""
		s.out.SetStatus("", nil)
		s.printNote("%s", delay)
	}
	if ev := u.event; ev != nil {
		s.lastSeq = ev.Seq
		s.reflections.Apply(*ev)
		think.Log(context.Background(), slog.Default(), *ev)
		if s.flags.json && (!ev.Internal || s.internal) {
			return s.heldOutput.printJSON(s.cli, ev)
		}
	}
	if s.flags.json || text == "" {
		return nil
	}
	s.out.SetStatus("", nil)
	s.out.Show(tui.Piece, text)
	return nil
}

// reflectFirst has the message reflected on before sending it.
func (s *askSession) reflectFirst(ctx context.Context, m message) error {
	reflection, err := s.requestReflection(ctx, m.text, m.text)
	if err != nil {
		return err
	}
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.lastSeq == 0 || !s.isNew {
		s.lastSeq = reflection.Seq - 1
	}
	s.heldOutput.printNote(s.cli, "reflecting before the answer")
	updates, tick, began := s.followUpdates(sctx, s.lastSeq), time.NewTicker(redrawInterval), time.Now()
	defer tick.Stop()
	defer s.out.SetStatus("", nil)
	came, refused := false, ""
	for s.reflections.Done < reflection.Seq {
		select {
		case u := <-updates:
			if err := s.applyUpdate(u); err != nil {
				return err
			}
			if u.event != nil {
				switch b := u.event.Body.(type) {
				case ponder.InnerMonologue:
					came = true
				case ponder.Progress:
					if b.Stage == app.DeepRefused {
						refused = b.Content
					}
				}
			}
		case r := <-s.workResults:
			if err := s.onWorkDone(r); err != nil {
				return err
			}
		case <-s.retryTimer:
			if err := s.startWork(ctx); err != nil {
				return err
			}
		case <-tick.C:
			s.out.SetStatus("reflecting before the answer: "+textkit.Clock(time.Since(began)), nil)
		case <-ctx.Done():
			_ = s.cancelTurn(context.WithoutCancel(ctx), "", "")
			return ctx.Err()
		}
	}
	switch {
	case refused != "":
		s.heldOutput.printNote(s.cli, "answering without a reflection: "+refused)
	case !came:
		s.heldOutput.printNote(s.cli, fmt.Sprintf("the reflection produced nothing; `ponder thread show %s --internal` shows why", s.id))
	}
	return nil
}

func (s *askSession) discardUnanswered(ctx context.Context, err error) error {
	if err == nil || !s.heldOutput.active || exitCodeOf(err) == exitInterrupted {
		s.heldOutput.releaseAll()
		return err
	}
	if s.runner.Close(ctx) == nil {
		s.working = false
		_ = s.removeIfNew(ctx) // if that fails, the user can continue it
	}
	return err
}
