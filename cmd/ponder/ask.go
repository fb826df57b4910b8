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
	"ponder/tool/think"
)

type askFlags struct {
	talkFlags
	attach   []string
	deep     bool
	internal bool
}

func (a *cli) askCommand() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   "ask TEXT",
		Short: "Say something in a conversation, and print the answer",
		Long: `Say something in a conversation, and print the answer, on a terminal as it is written.
TEXT - is read from standard input. It begins a new conversation, unless --thread or
--continue names one.

The model may look into what --docs and --knowledge name, what is remembered (see ponder
remember), and the web, if a search engine is configured. It may set a slower model
thinking, which goes on in the background after the answer, and is there for the next
message. With --deep, that comes first.

Ctrl-C stops the answer.

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 the answer broke off, 4 no model, or it
will not answer, 130 stopped.`,
		Example: `ponder ask "Why is the sky blue?"
ponder ask --continue "And at sunset?"
ponder ask "What does this commit us to?" --attach contract.pdf --deep
git diff | ponder ask - --model anthropic/claude-opus-4-6`,
		GroupID: groupThink,
		Args:    take(1, 1, `a message in quotes, or - to read it from standard input`),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ask(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	f.add(flags)
	flags.StringArrayVar(&f.attach, "attach", nil, "put the `file` beside the message; may be repeated")
	flags.BoolVar(&f.deep, "deep", false, "have a slower model think about it first, and wait for that")
	flags.BoolVar(&f.internal, "internal", false, "with --json: internal events too")
	return cmd
}

func (a *cli) ask(ctx context.Context, text string, f askFlags, given func(string) bool) error {
	m, err := a.message(ctx, text, f.attach)
	if err != nil {
		return err
	}
	t, err := f.talking(ctx, a, given)
	if err != nil {
		return err
	}
	t.Sources.Patience = app.OncePatience
	if t.Extractive {
		a.note("%s", noModel(t.Missed, "; what is found is quoted; `ponder doctor` says how to have a model"))
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	id, head, err := f.begin(ctx, a, store)
	if err != nil {
		return err
	}
	c, err := a.converse(ctx, store, id, t)
	if err != nil {
		return err
	}
	defer c.leave(ctx)
	if err := c.noteOpen(ctx); err != nil {
		return err
	}
	s := &asking{conversation: c, heard: head, internal: f.internal, out: a.answerUI(), reserve: reserve{holds: id == ""}}
	for _, line := range m.leftOut(t.ChatOptions(nil)) {
		s.reserve.note(a, line)
	}
	s.turnNow.atOnce = !a.onTerminal()
	if f.deep {
		if err := s.thinkFirst(ctx, m); err != nil {
			s.out.Close()
			return s.unsaid(ctx, err)
		}
	}
	err = s.turn(ctx, m)
	s.out.Close()
	return s.unsaid(ctx, err)
}

type asking struct {
	*conversation
	heard    ponder.Seq
	internal bool
	out      chatUI
	reserve  reserve
	turnNow  turn
	why      error
	stopped  bool
}

func (s *asking) turn(ctx context.Context, m message) error {
	t := &s.turnNow
	ev, err := s.say(ctx, m)
	if err != nil {
		return err
	}
	*t = newTurn(ev.ID, ev.Seq, t.atOnce)
	stop := make(chan struct{}, 1)
	defer s.brake.toRest(func() { stop <- struct{}{} })()
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates, wont := s.updates(sctx, s.from(ev)), s.wont(sctx)
	tick, began := time.NewTicker(tickEvery), time.Now()
	defer tick.Stop()
	for !t.Over() {
		var err error
		select {
		case u := <-updates:
			err = s.shows(u)
		case r := <-s.worked:
			err = s.onWorkDone(r)
		case <-s.retry:
			err = s.work(ctx)
		case <-stop:
			s.why = failure{code: interrupted}
		case err := <-wont:
			if !t.spoke {
				s.why = err
			}
		case <-tick.C:
			s.waits(time.Since(began))
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err := errors.Join(err, s.stopTurn(ctx)); err != nil {
			return err
		}
	}
	s.out.Close()
	s.tidy(ctx, ev.Seq)
	if s.why == nil {
		return t.failure()
	}
	if codeOf(s.why) == interrupted {
		s.reserve.release()
		s.note("stopped; to go on: %s", s.command("ask TEXT --thread", s.id))
	}
	return s.why
}

// slowAfter is the time without text after which a notice says that the answer is pending.
const slowAfter = 2 * time.Second

func (s *asking) waits(took time.Duration) {
	switch t := &s.turnNow; {
	case took < slowAfter || t.shown:
	case t.spoke:
		s.out.SetStatus("the model thinks: "+textkit.Clock(took), nil)
	default:
		s.out.SetStatus("waiting for the model: "+textkit.Clock(took), nil)
	}
}

func (s *asking) stopTurn(ctx context.Context) error {
	if s.why == nil || s.turnNow.Run == "" || s.stopped {
		return nil
	}
	s.stopped = true
	return s.stop(ctx, s.turnNow.Run, s.turnNow.open())
}

// wont sends the reason if certainly no model will answer. The turn itself keeps trying for
// longer.
func (s *asking) wont(ctx context.Context) <-chan error {
	wont := make(chan error, 1)
	go func() {
		if err := s.talking.Check(ctx); err != nil {
			wont <- err
		}
	}()
	return wont
}

// from returns the event after which to listen; a new thread shows all its events.
func (s *asking) from(ev ponder.Event) ponder.Seq {
	if s.fresh {
		return s.heard
	}
	return max(s.heard, ev.Seq-1)
}

func (s *asking) shows(u turnUpdate) error {
	if u.err != nil {
		return u.err
	}
	text := s.turnNow.apply(u)
	if text != "" || s.turnNow.replied() {
		s.reserve.release()
	}
	if delay := s.turnNow.delay; delay != "" {
		s.turnNow.delay = ""
		s.out.SetStatus("", nil)
		s.note("%s", delay)
	}
	if ev := u.event; ev != nil {
		s.heard = ev.Seq
		s.muses.Apply(*ev)
		think.Log(context.Background(), slog.Default(), *ev)
		if s.flags.json && (!ev.Internal || s.internal) {
			return s.reserve.object(s.cli, ev)
		}
	}
	if s.flags.json || text == "" {
		return nil
	}
	s.out.SetStatus("", nil)
	s.out.Show(tui.Piece, text)
	return nil
}

// thinkFirst has the message reflected on before sending it.
func (s *asking) thinkFirst(ctx context.Context, m message) error {
	wish, err := s.reflect(ctx, m.text, m.text)
	if err != nil {
		return err
	}
	sctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.heard == 0 || !s.fresh {
		s.heard = wish.Seq - 1
	}
	s.reserve.note(s.cli, "thinking about it first")
	updates, tick, began := s.updates(sctx, s.heard), time.NewTicker(tickEvery), time.Now()
	defer tick.Stop()
	defer s.out.SetStatus("", nil)
	came := false
	for s.muses.Done < wish.Seq {
		select {
		case u := <-updates:
			if err := s.shows(u); err != nil {
				return err
			}
			if u.event != nil {
				_, ok := u.event.Body.(ponder.InnerMonologue)
				came = came || ok
			}
		case r := <-s.worked:
			if err := s.onWorkDone(r); err != nil {
				return err
			}
		case <-s.retry:
			if err := s.work(ctx); err != nil {
				return err
			}
		case <-tick.C:
			s.out.SetStatus("thinking about it first: "+textkit.Clock(time.Since(began)), nil)
		case <-ctx.Done():
			_ = s.stop(context.WithoutCancel(ctx), "", "")
			return ctx.Err()
		}
	}
	if !came {
		s.reserve.note(s.cli, fmt.Sprintf("nothing came of thinking about it first; `ponder thread show %s --internal` says why", s.id))
	}
	return nil
}

func (s *asking) unsaid(ctx context.Context, err error) error {
	if err == nil || !s.reserve.holds || codeOf(err) == interrupted {
		s.reserve.release()
		return err
	}
	if s.thinker.Close(ctx) == nil {
		s.working = false
		_ = s.drop(ctx) // if that fails, the user can continue it
	}
	return err
}
