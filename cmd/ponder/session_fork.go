package main

import (
	"context"
	"fmt"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/steering"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

// forkFlags are what `ponder session fork` is told beside the session.
type forkFlags struct {
	at           ponder.Seq
	paused       bool
	detach       bool
	model, title string
	internal     bool
	steer        steerFlags
}

func (a *cli) sessionForkCommand() *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Think on from within a session, another way",
		Long: `Make a session that begins as another did, up to an event, and goes its own way from
there; the other stays as it is. Without --at, that event is the newest, or, if the
session has ended, the newest before it began to conclude. The flags of
"session steer" say what is to be different. A session that had used up its time
needs more of it, or it answers again at once.`,
		Example: `ponder session fork last --for +10m
ponder session fork last --at 57 --correct "The contract was signed in 2021, not in 2019"
ponder session fork last --add "What if nobody pays?" --model openai/gpt-5.2 --detach`,
		Args: takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.paused && f.detach {
				return usagef("--paused and --detach contradict each other: one waits, the other thinks in the background")
			}
			return a.sessionFork(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(eventFlag{&f.at, 1}, "at", "begin with what there was up to the event of this `number`")
	flags.BoolVar(&f.paused, "paused", false, "do not go on yet")
	flags.BoolVar(&f.detach, "detach", false, "think in the background, and print the id")
	flags.StringVar(&f.model, "model", "", "go on with `provider/model`")
	flags.StringVar(&f.title, "title", "", "show this `text` for the fork in lists")
	flags.BoolVar(&f.internal, "internal", false, "with --json: internal events too")
	f.steer.add(flags)
	return cmd
}

func (a *cli) sessionFork(ctx context.Context, name string, f forkFlags) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	at, then, err := w.Cut(ctx, f.at)
	if err != nil {
		return err
	}
	s := then.View.Session
	commands, err := f.steer.commands(ctx, then)
	if err != nil {
		return err
	}
	for _, ev := range commands {
		s.Budget = app.Limited(s.Budget, steering.LimitsOf(ev.Body.(ponder.Steer)))
	}
	to := ponder.Thread{ID: ponder.ThreadID(ponder.NewID("thr")), Title: textkit.Truncate(textkit.OneLine(f.title), app.MaxTitle)}
	p := &app.SessionModels{}
	if !f.paused {
		if p, err = a.PrepareAgain(ctx, info, s, f.model); err != nil {
			return err
		}
	}
	if f.model != "" {
		if to.Model, err = a.ModelNamed(ctx, f.model); err != nil {
			return err
		}
	}
	if f.detach {
		if err := a.canDetach(); err != nil {
			return err
		}
	}
	if err := engine.Fork(ctx, store, w.Id, at, to, app.ForkInputs(s, f.paused, f.model, commands)...); err != nil {
		return err
	}
	a.note("session %s is forked from %s at event %d of %d, after %s", to.ID, w.Id, at, info.Head,
		then.SoFar())
	if what := littleLeft(s); what != "" && !f.paused {
		a.note("hardly any %s left to it, so it answers soon; --for, --tokens, --calls and --cost give it more", what)
	}
	return a.goOnWith(ctx, store, to.ID, p, f)
}

// goOnWith does with a fork as the flags say.
func (a *cli) goOnWith(ctx context.Context, store *sqlite.Store, id ponder.ThreadID, p *app.SessionModels, f forkFlags) error {
	w := a.viewing(store, id)
	w.internal = f.internal
	if f.detach {
		return a.detach(ctx, store, id)
	}
	if err := w.load(ctx); err != nil {
		return err
	}
	if f.paused {
		return w.leave(ctx, store)
	}
	t, err := a.Runner(ctx, store, p.Models, w.Sight(), w.onDelta)
	if err != nil {
		return err
	}
	defer t.Close(ctx)
	err = w.work(ctx, t)
	w.Keep(ctx, store)
	return w.end(ctx, err)
}

// leave prints the id of a fork that waits, having let it say what it does about
// wishes.
func (w *viewing) leave(ctx context.Context, store ponder.Store) error {
	if w.flags.json {
		if err := w.object(map[string]any{"id": w.Id}); err != nil {
			return err
		}
	} else {
		w.printf("%s\n", w.Id)
	}
	var sent []ponder.Event
	for ev, err := range store.Events(ctx, w.Id, 0) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.Id, err)
		}
		switch ev.Body.(type) {
		case ponder.SystemNote:
			sent = nil // wishes before it are those of the other
		case ponder.Steer:
			sent = append(sent, ev)
		}
	}
	if err := w.ackWhilePaused(ctx, store); err != nil {
		return err
	}
	return w.answers(ctx, sent)
}

// littleLeft says which limit of a session is as good as used up, but for what is
// kept for the answer.
func littleLeft(s session.Session) string {
	const most = 0.8 // of tokens and money
	switch b, u := s.Budget, s.Usage; {
	case b.Seconds > 0 && b.Seconds-s.Progress.Elapsed <= min(10, b.Seconds/10):
		return "time is"
	case b.Calls > 0 && u.Calls >= b.Calls-1:
		return "calls are"
	case b.Tokens > 0 && float64(u.Total) >= most*float64(b.Tokens):
		return "tokens are"
	case b.USD > 0 && u.USD >= most*b.USD:
		return "money is"
	}
	return ""
}
