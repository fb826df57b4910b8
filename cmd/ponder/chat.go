package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ponder"
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

// A chatting is a conversation that goes on with its user. Its methods are called
// from one goroutine.
type chatting struct {
	*conversation
	face    face
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
	s := &chatting{conversation: c, presses: make(chan tui.Press, 64), lines: make(chan tui.Press)}
	s.face = s.openFace(ctx)
	_, lines := s.face.(*lineFace)
	s.reserve.holds = lines && id == ""
	err = s.begin(ctx)
	if err == nil {
		err = s.loop(ctx)
	}
	if err == nil {
		err = s.unsaid(ctx)
	}
	s.face.close()
	s.leave(ctx)
	if err == nil && s.id != "" {
		s.note("to go on: %s", s.command("chat --thread", s.id))
	}
	return err
}

// press tells of what was typed.
func (s *chatting) press(p tui.Press) {
	select {
	case s.presses <- p:
	default: // as many are waiting already
	}
}

// begin shows where the conversation stands, and goes on with what was left.
func (s *chatting) begin(ctx context.Context) error {
	with := "T" + talkingWith(s.talking)[1:] + ". /help lists commands, ctrl+d leaves."
	s.reserve.show(func() { s.face.show(remark, with) })
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
func (s *chatting) unsaid(ctx context.Context) error {
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
func (s *chatting) listen(ctx context.Context) {
	sctx, cancel := context.WithCancel(ctx)
	s.updated, s.deaf = s.updates(sctx, s.heard), cancel
}

// loop talks until the user leaves.
func (s *chatting) loop(ctx context.Context) error {
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
func (s *chatting) linesNow() <-chan tui.Press {
	if s.now != nil || len(s.next) > 0 {
		return nil
	}
	return s.lines
}

// twice is how soon ctrl-c must be pressed again to leave.
const twice = 2 * time.Second

// pressed does what was typed, and reports whether it is time to go.
func (s *chatting) pressed(ctx context.Context, p tui.Press) (gone bool, err error) {
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
		s.face.show(remark, "ctrl+c once more leaves")
		return false, nil
	}
	gone, err = s.entered(ctx, p.Line)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ponder.ErrNoThread) {
		s.face.show(alarm, oneLine(err.Error()))
		err = nil
	}
	return gone, err
}

// stand shows how things stand.
func (s *chatting) stand() {
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
	s.face.stand(status, queue)
}

// openFace returns how the conversation is shown: on a terminal, if both ends are
// one.
func (s *chatting) openFace(ctx context.Context) face {
	in, isIn := s.in.(*os.File)
	out, isOut := s.paper()
	if isIn && isOut && !s.flags.json && tui.CanShow(in) && tui.CanShow(out) {
		return s.openScreen(out, in)
	}
	return s.openLines(ctx)
}
