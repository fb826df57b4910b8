package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/steering"
	"ponder/mode/session"
)

func (a *cli) sessionSteerCommand() *cobra.Command {
	var f steerFlags
	cmd := &cobra.Command{
		Use:   "steer ID",
		Short: "Tell a session what to think about, what is wrong, or to answer now",
		Long: `Tell a session or a research that goes on or is paused what you wish: questions to add,
to drop or to rank; a fact to hold for true; sources to prefer or to leave out; other
limits; or to answer now. Wishes are obeyed in the order of the command line. It says of
each what it has done, at which event that took effect, and what was cancelled for it; or
why it is refused.

Exit codes: 0 done, 1 one was refused, 2 wrong usage.`,
		Example: `ponder session steer last --add "What does it cost to wait?" --priority 9
ponder session steer last --drop q3 --rank q5=10
ponder session steer last --correct "The contract was signed in 2021, not in 2019"
ponder session steer last --pin ./contract/annex.md --ban ./contract/draft.md
ponder session steer last --for +10m --calls 200
ponder session steer last --answer-now`,
		Args: takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(f.requests) == 0 {
				return usagef("nothing is wished for: --add, --drop, --rank, --correct, --pin, --ban, --for, --tokens, --calls, --cost or --answer-now; `ponder session steer --help` has examples")
			}
			return a.sessionSteer(cmd.Context(), args[0], f)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().SortFlags = false
	return cmd
}

func (a *cli) sessionSteer(ctx context.Context, name string, f steerFlags) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	switch {
	case info.Status.Ended():
		return w.tooLate()
	case w.View.Session.Run == "":
		return usagef("session %s has no question to think about", w.Id)
	}
	commands, err := f.commands(ctx, &w.SessionView)
	if err != nil {
		return err
	}
	sent, err := ponder.SendCommands(ctx, store, w.Id, commands...)
	if errors.Is(err, ponder.ErrEnded) {
		if err := w.load(ctx); err != nil {
			return err
		}
		return w.tooLate()
	}
	if err != nil {
		return fmt.Errorf("steer %s: %w", w.Id, err)
	}
	if err := w.AckWhilePaused(ctx, store); err != nil {
		return err
	}
	return w.answers(ctx, sent)
}

// tooLate says that the session has ended before it could be steered.
func (w *viewing) tooLate() error {
	s := w.View.Session
	when := ""
	if s.Completed != nil {
		when = " " + textkit.Ago(*s.Completed, time.Now())
	}
	return usagef("session %s was %s%s, which is too late to steer it; to think on from within it: %s",
		w.Id, s.Status, when, w.command("session fork", w.Id))
}

// restTime is how long nobody holds a session until it is taken to be at rest.
const restTime = 500 * time.Millisecond

// answers waits for what the session says about wishes that were sent, and prints
// it. What it says nothing about because it is at rest, it obeys when it goes on.
func (w *viewing) answers(ctx context.Context, sent []ponder.Event) error {
	acks := make(ackCollector)
	waiting := w.awaitAcks(ctx, sent, acks)
	code := done
	for _, ev := range sent {
		ack, ok := acks[ev.ID]
		if w.flags.json {
			_ = w.object(ev) // what cannot be printed is told at the end
			if ok {
				_ = w.object(ack)
			}
		}
		b, _ := ack.Body.(ponder.Progress)
		line := ""
		switch {
		case ok:
			line = steering.AckText(ack, b)
		case w.View.Session.Status.Ended():
			line, b.Refused = "refused: "+steering.Words(ev)+": the session had come to its end", true
		case waiting == nil:
			line = fmt.Sprintf("noted at event %d: %s: it takes effect when the session goes on", ev.Seq, steering.Words(ev))
		default:
			line = fmt.Sprintf("noted at event %d: %s: nothing was heard of it yet", ev.Seq, steering.Words(ev))
		}
		if b.Refused {
			code = failed
		}
		if !w.flags.json {
			w.printf("%s\n", line)
		}
	}
	switch {
	case waiting != nil:
		return waiting
	case code != done:
		return failure{code: code}
	case w.View.Session.Status == ponder.Paused || len(acks) < len(sent):
		w.note("to go on: %s", w.goOn())
	}
	return nil
}

// awaitAcks reads what comes until all wishes are acknowledged, the session has
// ended, or nobody holds it.
func (w *viewing) awaitAcks(ctx context.Context, sent []ponder.Event, acks ackCollector) error {
	var resting time.Time
	err := w.waitFor(ctx, func(info ponder.Info) bool {
		if w.drain(ctx, acks) != nil {
			return false // waitFor meets it too
		}
		switch {
		case acks.all(sent), w.View.Session.Status.Ended():
			return true
		case info.Held:
			resting = time.Time{}
		case info.Status == ponder.Paused:
			return true
		case resting.IsZero():
			resting = time.Now()
		}
		return !resting.IsZero() && time.Since(resting) > restTime
	})
	return errors.Join(err, w.drain(context.WithoutCancel(ctx), acks))
}

// An ackCollector keeps the acknowledgements of commands, by the ids of those.
type ackCollector map[string]ponder.Event

func (c ackCollector) event(ev ponder.Event, _ session.View) {
	if b, ok := ev.Body.(ponder.Progress); ok && b.Stage == ponder.StageSteered {
		c[b.Ref] = ev
	}
}
func (ackCollector) tick(session.View, string) {}
func (ackCollector) close()                    {}

func (c ackCollector) all(sent []ponder.Event) bool {
	return !slices.ContainsFunc(sent, func(ev ponder.Event) bool { return c[ev.ID].ID == "" })
}
