package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/placement"
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
	if err := w.ackWhilePaused(ctx, store); err != nil {
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

// ackWhilePaused lets a session that is paused, and that no process holds, say what it
// does about wishes.
func (w *viewing) ackWhilePaused(ctx context.Context, store ponder.Store) error {
	info, err := store.Thread(ctx, w.Id)
	if err != nil {
		return fmt.Errorf("look after %s: %w", w.Id, err)
	}
	if info.Held || info.Status != ponder.Paused {
		return nil
	}
	mind, err := engine.New(engine.Config{Store: store, Modes: quiet(app.Modes(app.ChatSetup{}, nil)), Node: placement.Self()})
	if err != nil {
		return err
	}
	if err := mind.Open(ctx); err != nil {
		return fmt.Errorf("steer %s: %w", w.Id, err)
	}
	return errors.Join(w.quietly(ctx, mind, info.Head), mind.Close(context.WithoutCancel(ctx)))
}

// quietly holds the session for as long as it is paused and has something to say.
// Should it be resumed after head, it is let go, for whoever did that to think.
func (w *viewing) quietly(ctx context.Context, mind *engine.Engine, head ponder.Seq) error {
	hold, letGo := context.WithCancel(ctx)
	defer letGo()
	go func() {
		for ev, err := range ponder.Follow(hold, w.Store, w.Id, head) {
			if err != nil {
				return
			}
			if _, ok := ev.Body.(ponder.RunResumed); ok {
				letGo()
				return
			}
		}
	}()
	err := mind.Work(hold, w.Id)
	if errors.Is(err, ponder.ErrHeld) || hold.Err() != nil && ctx.Err() == nil {
		return nil // its holder hears of the wishes
	}
	return err
}

// quiet returns modes that do as those given, but ask nothing and use nothing.
func quiet(list []ponder.Mode) []ponder.Mode {
	list = slices.Clone(list)
	for i, m := range list {
		list[i].Wakes = nil
		list[i].Start = func(r ponder.Run) ponder.State { return writesOnly{m.Start(r)} }
		if m.Load != nil {
			list[i].Load = func(r ponder.Run, js []byte) (ponder.State, error) {
				s, err := m.Load(r, js)
				return writesOnly{s}, err
			}
		}
	}
	return list
}

// A writesOnly wants only what of another's wants is to be written.
type writesOnly struct{ ponder.State }

func (s writesOnly) Apply(ev ponder.Event) ponder.State { return writesOnly{s.State.Apply(ev)} }

func (s writesOnly) Next(now ponder.Moment) (do []ponder.Action) {
	for _, want := range s.State.Next(now) {
		if _, ok := want.(ponder.Write); ok {
			do = append(do, want)
		}
	}
	return do
}

// MarshalJSON implements [json.Marshaler]: a checkpoint is that of the state.
func (s writesOnly) MarshalJSON() ([]byte, error) { return json.Marshal(s.State) }

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
			line = verdict(ack, b)
		case w.View.Session.Status.Ended():
			line, b.Refused = "refused: "+steerWords(ev)+": the session had come to its end", true
		case waiting == nil:
			line = fmt.Sprintf("noted at event %d: %s: it takes effect when the session goes on", ev.Seq, steerWords(ev))
		default:
			line = fmt.Sprintf("noted at event %d: %s: nothing was heard of it yet", ev.Seq, steerWords(ev))
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

// verdict says what became of a wish.
func verdict(ack ponder.Event, b ponder.Progress) string {
	if b.Refused {
		return fmt.Sprintf("refused at event %d: %s", ack.Seq, textkit.OneLine(b.Content))
	}
	line := fmt.Sprintf("since event %d: %s", ack.Seq, textkit.OneLine(b.Content))
	if n := len(b.Cancelled); n > 0 {
		line += fmt.Sprintf("; cancelled in flight: %s", textkit.OneLine(strings.Join(b.Cancelled, ", ")))
	}
	return line
}

// steerWords returns a command in words, with its values.
func steerWords(ev ponder.Event) string {
	b, _ := ev.Body.(ponder.Steer)
	var args ponder.SteerArgs
	_ = json.Unmarshal(b.Args, &args) // what is of another form has no words
	words := []string{strings.ReplaceAll(string(b.Do), "_", " "), args.Question, args.Source, b.Content}
	if b.Do == ponder.SetPersona && args.Name != "" {
		words = []string{"persona", args.Name} // its voice is long
	}
	text := textkit.Truncate(textkit.OneLine(strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")), 80)
	if args.Priority != 0 {
		text += fmt.Sprintf(", priority %d", args.Priority)
	}
	if limits := limitWords(steering.LimitsOf(b)); len(limits) > 0 {
		text += ": " + strings.Join(limits, ", ")
	}
	return text
}

// limitWords returns limits in words.
func limitWords(b ponder.Budget) (words []string) {
	if b.Time > 0 {
		words = append(words, b.Time.Round(time.Millisecond).String())
	}
	if b.Calls > 0 {
		words = append(words, textkit.Count(b.Calls, "call", "calls"))
	}
	if b.Tokens > 0 {
		words = append(words, textkit.Count(b.Tokens, "token", "tokens"))
	}
	if b.Money > 0 {
		words = append(words, b.Money.String())
	}
	return words
}
