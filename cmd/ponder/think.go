package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/notice"
	"ponder/internal/textkit"
	"ponder/store/sqlite"
)

type thinkFlags struct {
	budget         budgetFlags
	synthesisEvery string
	docs           []string
	model, title   string
	preset         string
	parallel       string
	toTheEnd       bool
	noEarlier      bool
	noMemory       bool
	noWeb          bool
	detach         bool
	internal       bool
	notice         noticeFlags
}

func (a *cli) thinkCommand() *cobra.Command {
	var f thinkFlags
	cmd := &cobra.Command{
		Use:   "think QUESTION",
		Short: "Think about a question and answer it",
		Long: `Think about a question and print the answer with its reasons. The session ends after five
minutes, or after the time of --for or another budget, or earlier if thinking yields nothing
new. With QUESTION -, the question is read from standard input.

On a terminal, the bottom lines show the state. ? lists the keys: pause, steer, answer now,
continue in the background. Ctrl-C pauses the session and prints the command to continue.

Sources are the files of --docs, the memory (see ponder remember) and the web, if a search
engine is configured. Without a model, the answer consists of quotations.

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 stopped by a budget, incomplete, paused,
or written without the requested model, 4 no model available (any partial answer is still
printed), 130 interrupted.`,
		Example: `ponder think "Why do large software projects run late?"
ponder think "What does this contract commit us to?" --docs ./contract --for 15m
ponder think "Should we move to microservices?" --preset moderate --parallel 4
ponder think - --cost 0.50 --model anthropic/claude-opus-4-6 < question.txt
ponder think "Is P equal to NP?" --for 2h --detach --notify desktop`,
		GroupID: groupThink,
		Args:    requireArgs(1, 1, `a question in quotes, or - to read it from standard input`),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runThink(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	f.budget.addFlags(flags)
	flags.StringVar(&f.synthesisEvery, "synthesis-every", "", "`time` between syntheses; twenty thoughts also trigger one (default 5m)")
	flags.StringVar(&f.preset, "preset", "", "`duration` without --for: quick (5m), moderate (30m) or deep (2h)")
	flags.StringVar(&f.parallel, "parallel", "", "`number` of questions to explore in parallel, up to 16 (default 1)")
	flags.BoolVar(&f.toTheEnd, "to-the-end", false, "use the whole time, even without new insights")
	flags.BoolVar(&f.noEarlier, "no-earlier", false, "do not use the conclusions of earlier sessions")
	flags.BoolVar(&f.noMemory, "no-memory", false, "do not search the memory")
	flags.BoolVar(&f.noWeb, "no-web", false, "do not search the web")
	flags.StringArrayVar(&f.docs, "docs", nil, "search the file or folder at `path`; may be repeated")
	flags.StringVar(&f.model, "model", "", "use only `provider/model`")
	flags.StringVar(&f.title, "title", "", "`title` of the session in lists")
	f.notice.addFlags(flags)
	flags.BoolVar(&f.detach, "detach", false, "run in the background and print the ID")
	flags.BoolVar(&f.internal, "internal", false, "with --json: include internal events")
	return cmd
}

func (a *cli) runThink(ctx context.Context, text string, f thinkFlags, given func(string) bool) error {
	question, err := a.readQuestion(ctx, text)
	if err != nil {
		return err
	}
	if _, err := a.Config(); err != nil {
		return err
	}
	r := app.StartRequest{
		Start: app.Start{Kind: ponder.KindSession, Question: question, Model: f.model, Title: f.title, NoMemory: f.noMemory, ToTheEnd: f.toTheEnd}, NoEarlier: f.noEarlier,
	}
	if err := f.readStart(&r.Start, given); err != nil {
		return err
	}
	if r.Docs, err = a.CheckDocs(ctx, "docs", f.docs); err != nil {
		return err
	}
	request, err := f.notice.startNotice(a)
	if err != nil {
		return err
	}
	says := ""
	if r.Memory, r.Web, says, err = a.DefaultSources(ctx, f.noMemory, f.noWeb); err != nil {
		return err
	}
	p, err := a.PrepareStart(ctx, r)
	if err != nil {
		return err
	}
	if err := p.AllowsCall(ctx); err != nil {
		return err
	}
	return a.startThread(ctx, p, startFlags{detach: f.detach, internal: f.internal, holdOutput: !f.detach, notes: []string{says}, extractiveNote: "; the answer consists of quotations", notice: request})
}

type startFlags struct {
	detach, internal, chunks bool
	holdOutput               bool // hold output back until there is a result
	extractiveNote           string
	notes                    []string
	output                   string
	notice                   notice.Request
}

func (a *cli) startThread(ctx context.Context, p *app.PreparedStart, f startFlags) error {
	if f.detach {
		if err := a.canDetach(); err != nil {
			return err
		}
	}
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	id, err := p.Start(ctx, store, store)
	if err != nil {
		return err
	}
	if err := a.RequestNotice(ctx, store, id, f.notice); err != nil {
		return err
	}
	w := a.newSessionScreen(store, id)
	w.internal, w.heldOutput.active = f.internal, f.holdOutput
	if p.Unaided {
		w.heldOutput.printNote(a, noModelText(p.Missed, f.extractiveNote))
	}
	for _, text := range f.notes {
		w.heldOutput.printNote(a, text)
	}
	if f.detach {
		return a.detachSession(ctx, store, id)
	}
	if f.chunks && a.flags.json {
		w.enableChunks()
	}
	return w.runLocally(ctx, store, p.SessionModels, p.Sources, p.Thread.Kind, f.output)
}

// runLocally thinks in this process and shows it. report names the file of a research's report, or is
// empty. It removes a thread that could not run. One that failed stays, as in a server.
func (w *sessionScreen) runLocally(ctx context.Context, store *sqlite.Store, p *app.SessionModels, what app.Sources, kind ponder.Kind, report string) error {
	t, err := w.Runner(ctx, store, p.Models, what, w.onDelta)
	if err != nil {
		return errors.Join(err, store.Remove(context.WithoutCancel(ctx), w.Id))
	}
	defer t.Close(ctx)
	w.heldOutput.printNote(w.cli, string(kind)+" "+string(w.Id))
	err = w.runSession(ctx, t)
	if err == nil {
		err = w.decidePlan(ctx, func(ctx context.Context) error { return w.runSession(ctx, t) })
	}
	switch {
	case errors.Is(err, errDetach):
		return w.detachRun(ctx, t)
	case !w.endedWithoutResult(ctx, err):
	case err == nil:
		w.SendNotices(ctx, store, w.Id)
		return w.failedAtStartError()
	case store.Remove(context.WithoutCancel(ctx), w.Id) != nil: // if removal fails, the session can resume later
		w.heldOutput.releaseAll()
	default:
		return unwrapStoreError(err)
	}
	w.Keep(ctx, store)
	defer w.SendNotices(ctx, store, w.Id)
	return w.finishWithReport(ctx, store, report, w.finishCommand(ctx, err))
}

// detachRun passes the session to a background process, which repeats calls in flight. It closes
// the runner.
func (w *sessionScreen) detachRun(ctx context.Context, t *app.Runner) error {
	if err := t.Close(ctx); err != nil {
		return w.explainInterruption(ctx, err)
	}
	return w.detachSession(ctx, w.Store, w.Id)
}

func (w *sessionScreen) failedAtStartError() error {
	err := w.failureError()
	return failure{exitCodeOf(err), fmt.Errorf("%w; it is kept: %s", err, w.formatCommand("session show", w.Id))}
}

func (w *sessionScreen) finishCommand(ctx context.Context, err error) error {
	if err != nil {
		return w.explainInterruption(ctx, err)
	}
	return w.printOutcome()
}

// unwrapStoreError returns the store's sentinel in err, if any, without the wrapping.
func unwrapStoreError(err error) error {
	if known := storeSentinel(err); known != nil {
		return known
	}
	return err
}

func storeSentinel(err error) error {
	for _, known := range []error{ponder.ErrFull, ponder.ErrDisk, ponder.ErrReadOnly, ponder.ErrDamaged, ponder.ErrLost} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

// endedWithoutResult reports whether a session failed before its first thought, or a research before
// its first source.
func (w *sessionScreen) endedWithoutResult(ctx context.Context, err error) bool {
	if len(w.View.Thoughts) > 0 || w.Research != nil && len(w.View.Sources) > 0 || w.View.Session.Status == ponder.Paused || ctx.Err() != nil {
		return false
	}
	if err != nil {
		return !errors.Is(err, ponder.ErrHeld) && !errors.Is(err, errDetach)
	}
	return w.View.Session.Status == ponder.Failed || w.Research != nil && !w.callSucceeded && w.isWithoutModel()
}

// explainInterruption explains the state of a session whose work returned an error.
func (w *sessionScreen) explainInterruption(ctx context.Context, err error) error {
	goOn := fmt.Sprintf("to continue: %s", w.resumeCommand())
	switch {
	case ctx.Err() != nil:
		w.printNote("stopped; %s", goOn)
		return failure{exitInterrupted, err}
	case errors.Is(err, ponder.ErrNoThread):
		return failure{exitFailed, fmt.Errorf("session %s was removed while it was running", w.Id)}
	case errors.Is(err, ponder.ErrFenced), errors.Is(err, ponder.ErrHeld):
		return failure{exitIncomplete, fmt.Errorf("another process runs this session; to watch it: %s", w.formatCommand("session watch", w.Id))}
	case errors.Is(err, ponder.ErrFull):
		return failure{exitIncomplete, fmt.Errorf("paused: the disk is full; free some space, then: %s", w.resumeCommand())}
	case errors.Is(err, ponder.ErrDisk):
		return failure{exitIncomplete, fmt.Errorf("paused: cannot write the database: disk error; repair the disk, then: %s", w.resumeCommand())}
	case errors.Is(err, ponder.ErrReadOnly):
		return failure{exitIncomplete, fmt.Errorf("paused: cannot write the database; make it writable, then: %s", w.resumeCommand())}
	}
	if errors.Is(err, ponder.ErrDamaged) || errors.Is(err, ponder.ErrLost) {
		return failure{exitFailed, fmt.Errorf("%s: %w", w.DBFile(), unwrapStoreError(err))}
	}
	return failure{exitIncomplete, fmt.Errorf("paused: %w; %s", err, goOn)}
}

// readQuestion returns the question. Text "-" reads standard input.
func (a *cli) readQuestion(ctx context.Context, text string) (string, error) {
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(a.cancelableInput(ctx), app.MaxQuestion+1))
		if err != nil {
			return "", fmt.Errorf("read the question from standard input: %w", err)
		}
		text = string(b)
	} else if c, _, err := a.sessionCommand().Find([]string{text}); err == nil && c.HasParent() && text != "" {
		return "", usagef("%q is a command of ponder session, and no question: use ponder session %s, or write a sentence", text, text)
	}
	return app.CheckQuestion(text)
}

type budgetFlags struct {
	time, tokens, cost, calls string
}

func (f *budgetFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.time, "for", "", "`time` to think, such as 90s, 30m or 2h, from 1s to 24h (default 5m)")
	flags.StringVar(&f.tokens, "tokens", "", "maximum `number` of tokens, such as 200000 or 200k")
	flags.StringVar(&f.cost, "cost", "", "maximum cost in US `dollars`, such as 0.50")
	flags.StringVar(&f.calls, "calls", "", "maximum `number` of model calls")
}

func (f *budgetFlags) readBudget(given func(string) bool) (b ponder.Budget, err error) {
	return b, readGivenFlags(given, []flagReader{
		{"for", func() (err error) { b.Time, err = parseDuration(f.time); return }},
		{"tokens", func() (err error) { b.Tokens, err = parseCount(f.tokens, config.MaxTokens); return }},
		{"calls", func() (err error) { b.Calls, err = parseCount(f.calls, app.MaxCalls); return }},
		{"cost", func() (err error) { b.Money, err = parseMoney(f.cost); return }},
	})
}

type flagReader struct {
	name string
	read func() error
}

func readGivenFlags(given func(string) bool, list []flagReader) error {
	for _, flag := range list {
		if !given(flag.name) {
			continue
		}
		if err := flag.read(); err != nil {
			return usagef("--%s: %w", flag.name, err)
		}
	}
	return nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := config.ParseDuration(text)
	if err == nil && (d < app.MinTime || d > app.MaxTime) || errors.Is(err, config.ErrTooLong) {
		err = fmt.Errorf("%s is not from %v to 24h", truncate(text, 20), app.MinTime)
	}
	return d, err
}

// parseCount parses a number with an optional suffix k or M.
func parseCount(text string, limit int) (int, error) {
	digits, unit := strings.NewReplacer("_", "", ",", "").Replace(strings.TrimSpace(text)), 1
	switch {
	case strings.HasSuffix(digits, "k"):
		digits, unit = strings.TrimSuffix(digits, "k"), 1000
	case strings.HasSuffix(digits, "M"):
		digits, unit = strings.TrimSuffix(digits, "M"), 1_000_000
	}
	n, err := strconv.Atoi(digits)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is not a whole number", truncate(text, 20))
	}
	if err != nil || n < 1 || n > limit/unit {
		return 0, fmt.Errorf("%s is not from 1 to %s", truncate(text, 20), textkit.Number(limit))
	}
	return n * unit, nil
}

func parseMoney(text string) (ponder.Money, error) {
	f, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(text), "$"), 64)
	if err != nil || math.IsNaN(f) {
		return 0, fmt.Errorf("%q is not an amount of US dollars, such as 0.50", truncate(text, 20))
	}
	if m := app.MoneyOf(f); m > 0 && f <= config.MaxDollars {
		return m, nil
	}
	return 0, fmt.Errorf("%s is not from 0.000001 to %s US dollars", truncate(text, 20), textkit.Number(config.MaxDollars))
}

func (f *thinkFlags) readStart(st *app.Start, given func(string) bool) (err error) {
	if given("preset") {
		var ok bool
		if st.Budget.Time, ok = app.Presets[f.preset]; !ok {
			return usagef("--preset: %q is unknown: use quick, moderate or deep", truncate(f.preset, 20))
		}
	}
	preset := st.Budget.Time
	if st.Budget, err = f.budget.readBudget(given); err != nil {
		return err
	}
	st.Budget.Time = cmp.Or(st.Budget.Time, preset)
	return readGivenFlags(given, []flagReader{
		{"synthesis-every", func() (err error) { st.Every, err = parseDuration(f.synthesisEvery); return }},
		{"parallel", func() (err error) { st.Parallel, err = parseCount(f.parallel, app.MaxParallel); return }},
	})
}
