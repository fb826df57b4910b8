package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/store/sqlite"
)

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
	p, err := w.PrepareFork(ctx, info, app.Fork{At: f.at, Model: f.model, Title: f.title, Paused: f.paused}, func(then *app.SessionView) ([]ponder.Event, error) {
		return f.steer.commands(ctx, then)
	})
	if err != nil {
		return err
	}
	if f.detach {
		if err := a.canDetach(); err != nil {
			return err
		}
	}
	id := ponder.ThreadID(ponder.NewID("thr"))
	if err := p.Fork(ctx, store, id); err != nil {
		return err
	}
	a.note("session %s is forked from %s at event %d of %d, after %s", id, w.Id, p.At, info.Head, p.Then.SoFar())
	if what := p.LittleLeft(); what != "" && !f.paused {
		a.note("hardly any %s left to it, so it answers soon; --for, --tokens, --calls and --cost give it more", what)
	}
	return a.goOnWith(ctx, store, id, p.Models, f)
}

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
	if err := w.AckWhilePaused(ctx, store); err != nil {
		return err
	}
	return w.answers(ctx, sent)
}
