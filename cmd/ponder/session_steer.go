package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/steering"
	"ponder/internal/textkit"
)

func (a *cli) sessionSteerCommand() *cobra.Command {
	var f steerFlags
	cmd := &cobra.Command{
		Use:   "steer ID [SENTENCE]",
		Short: "Change the questions, sources or limits of a session",
		Long: `Steer a running or paused session or research with a sentence or with flags. Add, drop or
rank questions, correct a fact, prefer or exclude sources, change the limits, request the
answer, or undo the newest change. Ponder applies the changes in their order. For each
change it prints the result, the event at which it took effect, and any cancelled calls; or
the reason of a refusal.

A sentence is in plain words, in English, German or a language of your model. Rules convert
it into the changes, or else the cheap model of the session. Ponder prints the meaning. If it
does not understand the whole sentence, nothing is changed. One undo reverts all changes of
a sentence.

Exit codes: 0 done, 1 a change was refused, 2 wrong usage.`,
		Example: `ponder session steer last "ten more minutes, and stop at 50 cents"
ponder session steer last "focus on costs" --dry-run
ponder session steer last --undo
ponder session steer last --add "What does it cost to wait?" --priority 9
ponder session steer last --drop q3 --rank q5=10
ponder session steer last --correct "The contract was signed in 2021, not in 2019"
ponder session steer last --pin ./contract/annex.md --ban ./contract/draft.md
ponder session steer last --for +10m --calls 200
ponder session steer last --answer-now`,
		Args: requireArgs(1, 2, `one ID, or "last", and a sentence in quotes`),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 2 && len(f.requests) > 0:
				return usagef("a sentence and flags cannot be combined: use one of them")
			case len(args) == 2:
				f.sentence = args[1]
			case len(f.requests) == 0:
				return usagef("nothing to change: write a sentence, or use --add, --drop, --rank, --correct, --pin, --ban, --for, --tokens, --calls, --cost, --answer-now or --undo; see `ponder session steer --help`")
			}
			return a.sessionSteer(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	f.addFlags(flags)
	flags.Var(steerFlag{"bool", f.addUndo}, "undo", "revert the newest change")
	flags.Lookup("undo").NoOptDefVal = "true"
	flags.BoolVar(&f.dryRun, "dry-run", false, "only print the meaning of the sentence or the flags")
	flags.SortFlags = false
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
		return w.endedError()
	case w.View.Session.Run == "":
		return usagef("session %s has no question; start a new one with `ponder think QUESTION`", w.Id)
	}
	commands, err := w.steerEvents(ctx, info, f)
	if len(commands) == 0 {
		return err
	}
	sent, sendErr := ponder.SendCommands(ctx, store, w.Id, commands...)
	if err != nil || f.dryRun {
		return err // the log has the sentence and the cost of its interpretation
	}
	err = sendErr
	if errors.Is(err, ponder.ErrEnded) {
		if err := w.loadEvents(ctx); err != nil {
			return err
		}
		return w.endedError()
	}
	if err != nil {
		return fmt.Errorf("steer %s: %w", w.Id, err)
	}
	if err := w.AckWhilePaused(ctx, store); err != nil {
		return err
	}
	return w.printAcks(ctx, sent)
}

// endedError returns the error of a command after the end of the session.
func (w *sessionScreen) endedError() error {
	s := w.View.Session
	when := ""
	if s.Completed != nil {
		when = " " + textkit.Ago(*s.Completed, time.Now())
	}
	return usagef("session %s was %s%s, so it is too late to steer it; to continue in a fork: %s",
		w.Id, s.Status, when, w.formatCommand("session fork", w.Id))
}

// idleGrace is the time without a holder after which a session counts as paused.
const idleGrace = 500 * time.Millisecond

// printAcks waits for the acknowledgements of sent commands and prints them. A session without a
// holder applies the others when it resumes.
func (w *sessionScreen) printAcks(ctx context.Context, sent []ponder.Event) error {
	if w.flags.json {
		for _, ev := range sent[:len(sent)-len(withoutSentences(sent))] { // the sentence precedes its commands
			_ = w.printJSON(ev) // [outputWriter] keeps the error for the end
		}
	}
	sent = withoutSentences(sent)
	acks := make(ackCollector)
	waiting := w.awaitAcks(ctx, sent, acks)
	code := exitDone
	for _, ev := range sent {
		ack, ok := acks[ev.ID]
		if w.flags.json {
			_ = w.printJSON(ev) // [outputWriter] keeps the error for the end
			if ok {
				_ = w.printJSON(ack)
			}
		}
		b, _ := ack.Body.(ponder.Progress)
		line := ""
		switch {
		case ok:
			line = steering.AckText(ack, b)
		case w.View.Session.Status.Ended():
			line, b.Refused = "refused: "+steering.Words(ev)+": the session had ended", true
		case waiting == nil:
			line = fmt.Sprintf("noted at event %d: %s: it takes effect when the session resumes", ev.Seq, steering.Words(ev))
		default:
			line = fmt.Sprintf("noted at event %d: %s: not yet acknowledged", ev.Seq, steering.Words(ev))
		}
		if b.Refused {
			code = exitFailed
		}
		if !w.flags.json {
			w.printf("%s\n", line)
		}
	}
	switch {
	case waiting != nil:
		return waiting
	case code != exitDone:
		return failure{code: code}
	case w.View.Session.Status == ponder.Paused || len(acks) < len(sent):
		w.printNote("to continue: %s", w.resumeCommand())
	}
	return nil
}

// awaitAcks reads events until all commands are acknowledged, the session ends, or nothing
// holds it.
func (w *sessionScreen) awaitAcks(ctx context.Context, sent []ponder.Event, acks ackCollector) error {
	var resting time.Time
	err := w.waitFor(ctx, func(info ponder.Info) bool {
		if w.applyNewEvents(ctx, acks) != nil {
			return false // waitFor meets it too
		}
		switch {
		case acks.hasAll(sent), w.View.Session.Status.Ended():
			return true
		case info.Held:
			resting = time.Time{}
		case info.Status == ponder.Paused:
			return true
		case resting.IsZero():
			resting = time.Now()
		}
		return !resting.IsZero() && time.Since(resting) > idleGrace
	})
	return errors.Join(err, w.applyNewEvents(context.WithoutCancel(ctx), acks))
}

type ackCollector map[string]ponder.Event

func (c ackCollector) showEvent(ev ponder.Event, _ app.View) {
	if b, ok := ev.Body.(ponder.Progress); ok && b.Stage == ponder.StageSteered {
		c[b.Ref] = ev
	}
}
func (ackCollector) showState(app.View, string) {}
func (ackCollector) close()                     {}

func (c ackCollector) hasAll(sent []ponder.Event) bool {
	return !slices.ContainsFunc(sent, func(ev ponder.Event) bool { return c[ev.ID].ID == "" })
}

type steerFlags struct {
	requests []steering.Request
	sentence string
	dryRun   bool
}

// steerFlagOf maps operations to flags, and fields with separate flags to those.
var (
	steerFlagOf = map[ponder.SteerOp]string{
		ponder.AddQuestion: "add", ponder.DropQuestion: "drop", ponder.RankQuestion: "rank", ponder.Correct: "correct",
		ponder.PinSource: "pin", ponder.BanSource: "ban", ponder.SetPersona: "persona", ponder.AnswerNow: "answer-now", steering.Undo: "undo",
	}
	steerFlagOfField = map[string]string{"duration_minutes": "for", "max_tokens": "tokens", "max_calls": "calls", "max_cost_usd": "cost"}
)

// addFlags adds the flags. All but one may be repeated.
func (f *steerFlags) addFlags(flags *pflag.FlagSet) {
	for _, flag := range []struct {
		name, usage string
		read        func(string) error
	}{
		{"add", "add this `question`; may be repeated", f.textParser(ponder.AddQuestion, contentField)},
		{"priority", "priority of the preceding --add, a `number` from 1 to 10 (default 8)", f.setPriority},
		{"drop", "drop the `question` with this ID, such as q3", f.textParser(ponder.DropQuestion, questionField)},
		{"rank", "change the priority of a question: `id=number`, such as q3=9", f.addRank},
		{"correct", "accept this `fact` as true, against earlier thoughts", f.textParser(ponder.Correct, contentField)},
		{"pin", "prefer this `source`: a file, a folder, a URL or the id of a quotation", f.textParser(ponder.PinSource, sourceField)},
		{"ban", "exclude this `source` from now on", f.textParser(ponder.BanSource, sourceField)},
		{"persona", "research only: answer as the persona with this `name`", f.textParser(ponder.SetPersona, personaField)},
		{"for", "total `time` to think, such as 30m; +10m adds ten minutes", limitFlag(f, parseDuration, timeField)},
		{"tokens", "maximum total `number` of tokens; +NUMBER adds tokens", limitFlag(f, countUpTo(config.MaxTokens), tokensField)},
		{"calls", "maximum total `number` of model calls; +NUMBER adds calls", limitFlag(f, countUpTo(steering.MaxCalls), callsField)},
		{"cost", "maximum total cost in US `dollars`; +DOLLARS adds to it", limitFlag(f, parseMoney, moneyField)},
	} {
		flags.Var(steerFlag{"text", flag.read}, flag.name, flag.usage)
	}
	flags.Var(steerFlag{"bool", f.addAnswerNow}, "answer-now", "stop thinking and answer now")
	flags.Lookup("answer-now").NoOptDefVal = "true"
}

// A steerFlag is a [pflag.Value] that appends to the requests in order.
type steerFlag struct {
	kind string
	read func(string) error
}

func (steerFlag) String() string          { return "" }
func (f steerFlag) Type() string          { return f.kind }
func (f steerFlag) Set(text string) error { return f.read(text) }

func contentField(r *steering.Request) *string  { return &r.Content }
func questionField(r *steering.Request) *string { return &r.Question }
func sourceField(r *steering.Request) *string   { return &r.Source }
func personaField(r *steering.Request) *string  { return &r.Persona }

func (f *steerFlags) addRequest(r steering.Request) error {
	f.requests = append(f.requests, r)
	return steering.Check(f.requests[len(f.requests)-1:])
}

// textParser returns the parser of a flag that sets a text field.
func (f *steerFlags) textParser(do ponder.SteerOp, field func(*steering.Request) *string) func(string) error {
	return func(text string) error {
		r := steering.Request{Order: do}
		*field(&r) = text
		return f.addRequest(r)
	}
}

func (f *steerFlags) setPriority(text string) error {
	n, err := parsePriority(text)
	i := len(f.requests) - 1
	switch {
	case err != nil:
		return err
	case i < 0 || f.requests[i].Order != ponder.AddQuestion:
		return errors.New("it needs a preceding --add")
	}
	f.requests[i].Priority = n
	return nil
}

func (f *steerFlags) addRank(text string) error {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return errors.New("it needs a question and a priority, such as q3=9")
	}
	n, err := parsePriority(text[i+1:])
	if err != nil {
		return err
	}
	return f.addRequest(steering.Request{Order: ponder.RankQuestion, Question: text[:i], Priority: n})
}

func (f *steerFlags) addUndo(text string) error { return f.addSwitch(steering.Undo, text) }

func (f *steerFlags) addAnswerNow(text string) error { return f.addSwitch(ponder.AnswerNow, text) }

func (f *steerFlags) addSwitch(do ponder.SteerOp, text string) error {
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is invalid: use true or false", textkit.Truncate(text, 20))
	}
	if yes {
		return f.addRequest(steering.Request{Order: do})
	}
	return nil
}

// limitFlag returns the parser of a limit. All limits join one request, at the position of the
// first.
func limitFlag[N ~int | ~int64](f *steerFlags, read func(string) (N, error), field func(*ponder.Budget) *N) func(string) error {
	return func(text string) error {
		rest, more := strings.CutPrefix(strings.TrimSpace(text), "+")
		n, err := read(rest)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(f.requests, func(r steering.Request) bool { return r.Order == ponder.SetBudget })
		if i < 0 {
			i, f.requests = len(f.requests), append(f.requests, steering.Request{Order: ponder.SetBudget})
		}
		r := &f.requests[i]
		*field(&r.Limits), *field(&r.More) = n, 0
		if more {
			*field(&r.Limits), *field(&r.More) = 0, n
		}
		return nil
	}
}

func countUpTo(limit int) func(string) (int, error) {
	return func(text string) (int, error) { return parseCount(text, limit) }
}

func timeField(b *ponder.Budget) *time.Duration { return &b.Time }
func tokensField(b *ponder.Budget) *int         { return &b.Tokens }
func callsField(b *ponder.Budget) *int          { return &b.Calls }
func moneyField(b *ponder.Budget) *ponder.Money { return &b.Money }

// commandEvents returns the events for a session. Its error names the flag of a command that does
// not fit it.
func (f *steerFlags) commandEvents(ctx context.Context, w *app.SessionView) (list []ponder.Event, err error) {
	requests := slices.Clone(f.requests)
	for i := range requests {
		r := &requests[i]
		r.Source = resolveSource(w.View, textkit.OneLine(r.Source))
		if r.Order == ponder.SetPersona && w.Research != nil {
			p, err := w.App.PersonaVoice(ctx, textkit.OneLine(r.Persona))
			if err != nil {
				return nil, err
			}
			r.Persona, r.Content = p.Name, p.Voice
		}
	}
	commands, err := steering.ViewOf(w.View, w.Research != nil).Commands(requests)
	var wrong steering.Errors
	if errors.As(err, &wrong) {
		r := requests[wrong[0].Index]
		return nil, usagef("--%s: %s", cmp.Or(steerFlagOfField[wrong[0].Field], steerFlagOf[r.Order]), wrong[0].Message)
	}
	steering.JoinGroup(commands, ponder.NewID("steer"))
	for _, b := range commands {
		list = append(list, ponder.Event{Run: w.View.Session.Run, Body: b})
	}
	return list, err
}

type forkFlags struct {
	at           ponder.Seq
	paused       bool
	detach       bool
	model, title string
	output       string // of a report; set by other commands
	internal     bool
	steer        steerFlags
}

func (a *cli) sessionForkCommand() *cobra.Command {
	var f forkFlags
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Fork a session and continue it with changes",
		Long: `Create a session with the events of another one up to --at, and continue from there. The
other session does not change. The default of --at is the newest event, or, if the session
has ended, the newest event before its conclusion. The flags of "session steer" set the
changes. If the session has spent its time, add more with --for; otherwise the fork answers
at once.`,
		Example: `ponder session fork last --for +10m
ponder session fork last --at 57 --correct "The contract was signed in 2021, not in 2019"
ponder session fork last --add "What if nobody pays?" --model openai/gpt-5.2 --detach`,
		Args: requireID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.paused && f.detach {
				return usagef("--paused and --detach cannot be combined: use one")
			}
			return a.sessionFork(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(eventFlag{&f.at, 1}, "at", "fork after the event with this `number`")
	flags.BoolVar(&f.paused, "paused", false, "create the fork without starting it")
	flags.BoolVar(&f.detach, "detach", false, "run in the background and print the ID")
	flags.StringVar(&f.model, "model", "", "continue with `provider/model`")
	flags.StringVar(&f.title, "title", "", "`title` of the fork in lists")
	flags.BoolVar(&f.internal, "internal", false, "with --json: include internal events")
	f.steer.addFlags(flags)
	return cmd
}

func (a *cli) sessionFork(ctx context.Context, name string, f forkFlags) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	p, err := w.PrepareFork(ctx, info, app.Fork{At: f.at, Model: f.model, Title: f.title, Paused: f.paused}, func(then *app.SessionView) ([]ponder.Event, error) {
		return f.steer.commandEvents(ctx, then)
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
	a.printNote("session %s is forked from %s at event %d of %d, after %s", id, w.Id, p.At, info.Head, p.Then.SoFar())
	if what := p.LittleLeft(); what != "" && !f.paused {
		a.printNote("hardly any %s left, so the fork answers soon; add more with --for, --tokens, --calls or --cost", what)
	}
	return a.continueFork(ctx, store, id, p.Models, f)
}
