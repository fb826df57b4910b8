package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/steering"
	"ponder/mode/research"
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
	at, then, err := w.cut(ctx, f.at)
	if err != nil {
		return err
	}
	s := then.view.Session
	commands, err := f.steer.commands(ctx, then)
	if err != nil {
		return err
	}
	for _, ev := range commands {
		s.Budget = limited(s.Budget, steering.LimitsOf(ev.Body.(ponder.Steer)))
	}
	to := ponder.Thread{ID: ponder.ThreadID(ponder.NewID("thr")), Title: clip(oneLine(f.title), maxTitle)}
	p := &app.SessionModels{}
	if !f.paused {
		if p, err = a.prepareAgain(ctx, info, s, f.model); err != nil {
			return err
		}
	}
	if f.model != "" {
		if to.Model, err = a.modelNamed(ctx, f.model); err != nil {
			return err
		}
	}
	if f.detach {
		if err := a.canDetach(); err != nil {
			return err
		}
	}
	if err := engine.Fork(ctx, store, w.id, at, to, f.begin(s, commands)...); err != nil {
		return err
	}
	a.note("session %s is forked from %s at event %d of %d, after %s", to.ID, w.id, at, info.Head,
		then.soFar())
	if what := littleLeft(s); what != "" && !f.paused {
		a.note("hardly any %s left to it, so it answers soon; --for, --tokens, --calls and --cost give it more", what)
	}
	return a.goOnWith(ctx, store, to.ID, p, f)
}

// limited returns limits in which those of a budget that are set replace others.
func limited(l session.Limits, b ponder.Budget) session.Limits {
	l.Seconds = cmp.Or(b.Time.Seconds(), l.Seconds)
	l.Calls, l.Tokens, l.USD = cmp.Or(b.Calls, l.Calls), cmp.Or(b.Tokens, l.Tokens), cmp.Or(b.Money.USD(), l.USD)
	return l
}

// modelNamed returns the full name of the model that a user names.
func (a *cli) modelNamed(ctx context.Context, name string) (string, error) {
	l, err := a.ModelSet(ctx, name)
	if err != nil {
		return "", err
	}
	models, err := l.Chains(ponder.Slow)
	if err != nil {
		return "", err
	}
	return models[ponder.Slow][0].Name(), nil
}

// begin returns what a fork is told at once: to go on or to wait, and the commands.
// If another model is to think, what the first was being asked is asked anew.
func (f *forkFlags) begin(s session.Session, commands []ponder.Event) (list []ponder.Event) {
	const why = "forked"
	if s.Status == ponder.Thinking && (f.paused || f.model != "") {
		list = append(list, ponder.Event{Run: s.Run, Body: ponder.RunPaused{Reason: why}})
	}
	if !f.paused && (s.Status == ponder.Paused || f.model != "") {
		list = append(list, ponder.Event{Run: s.Run, Body: ponder.RunResumed{Reason: why}})
	}
	for _, w := range commands {
		w.Cause = ponder.NewID("steer")
		list = append(list, w)
	}
	return list
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
	t, err := a.thinker(ctx, store, p.Models, w.sight(), w.onDelta)
	if err != nil {
		return err
	}
	defer t.close(ctx)
	err = w.work(ctx, t)
	w.keep(ctx, store)
	return w.end(ctx, err)
}

// leave prints the id of a fork that waits, having let it say what it does about
// wishes.
func (w *viewing) leave(ctx context.Context, store ponder.Store) error {
	if w.flags.json {
		if err := w.object(map[string]any{"id": w.id}); err != nil {
			return err
		}
	} else {
		w.printf("%s\n", w.id)
	}
	var sent []ponder.Event
	for ev, err := range store.Events(ctx, w.id, 0) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.id, err)
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

// cut returns the event to fork a session at, and the session as it was then. Zero
// means the newest that leaves something to think about.
func (w *viewing) cut(ctx context.Context, at ponder.Seq) (ponder.Seq, *viewing, error) {
	run := w.view.Session.Run
	began, concluded, err := conclusion(ctx, w.store, w.id, run)
	switch {
	case err != nil:
		return 0, nil, err
	case run == "":
		return 0, nil, app.Invalidf("at", "session %s has no question to think about", w.id)
	case at > w.seen:
		return 0, nil, app.Invalidf("at", "session %s has only %d events", w.id, w.seen)
	case at != 0:
	case w.view.Session.Status.Ended():
		at = max(began, concluded)
	default:
		at = w.seen
	}
	then := w.viewing(w.store, w.id)
	if err := then.loadTo(ctx, at); err != nil {
		return 0, nil, err
	}
	switch s := then.view.Session; {
	case s.Run == "":
		return 0, nil, app.Invalidf("at", "the session began later, with event %d", began)
	case s.Status.Ended():
		return 0, nil, app.Invalidf("at", "the session had ended there (run_finished): fork it before, such as at %d", concluded)
	}
	return at, then, nil
}

// conclusion returns the event that a run began with, and the newest one before it
// was decided that it concludes: by a budget, by a user, or by what came of a call.
func conclusion(ctx context.Context, log ponder.Log, id ponder.ThreadID, run ponder.RunID) (began, before ponder.Seq, err error) {
	var result ponder.Seq // the newest that the session has seen
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return began, 0, fmt.Errorf("read %s: %w", id, err)
		}
		mine := ev.Run == run
		switch b := ev.Body.(type) {
		case ponder.RunStarted:
			if mine {
				began, result = ev.Seq, ev.Seq+1
			}
		case ponder.BudgetSpent:
			if mine {
				return began, ev.Seq - 1, nil
			}
		case ponder.Steer:
			if (b.Do == ponder.Cancel || b.Do == ponder.AnswerNow) && began > 0 && run.Within(ev.Run) {
				return began, ev.Seq - 1, nil
			}
		case ponder.CallFinished:
			if mine && !b.Dropped && b.RetryAt.IsZero() {
				result = ev.Seq
			}
		case ponder.ToolResult:
			if mine && !b.Dropped {
				result = ev.Seq
			}
		case ponder.CallStarted:
			if mine && (session.WritesAnswer(ev.Cause) || research.WritesAnswer(ev.Cause)) {
				return began, result - 1, nil
			}
		case ponder.Synthesis:
			if mine && b.Final {
				return began, result - 1, nil
			}
		case ponder.RunFinished:
			if mine {
				return began, result - 1, nil
			}
		}
	}
	return began, result - 1, nil
}
