package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/eval"
	"ponder/internal/fileio"
	"ponder/internal/quota"
	"ponder/internal/textkit"
)

type evalFlags struct {
	variants             []string
	samples, parallel    string
	model, judge, rubric string
	time, cost, calls    string
	seed                 uint64
	fresh                bool
	output               string
}

func (a *cli) evalCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval FILE",
		Short: "Measure whether thinking improves answers",
		Long: `Answer the questions of FILE with several variants, several times each, and score the
answers by checks and by a judge. The report shows which variant is better, by how much,
with what uncertainty, and at what cost. It marks differences that are not significant.

FILE has one question per line, as JSON:

  {"id": "q1", "question": "What is 6 * 7?", "checks": [{"number": 42}]}
  {"id": "q2", "question": "Which town is the capital of France?", "reference": "Paris"}

Variants are plain (one call of the fast model), think (with the tool think), deep (with
a reflection of the slow model before the answer), session:TIME (a thinking session) and
model=PROVIDER/MODEL (one call of that model). The first variant is the baseline. A
variant may name its model: think@PROVIDER/MODEL.

Ponder saves each answer at once, as a thread, in a database beside FILE or in --db. After
Ctrl-C, or when a budget is spent, run the same command again to continue. docs/eval.md
explains the numbers.

Exit codes: 0 measured, 1 failed, 2 wrong usage, 3 stopped by a budget, 4 no model
available, 130 interrupted.`,
		Example: `ponder eval questions.jsonl
ponder eval questions.jsonl --variant plain,think,deep --samples 5 -o report.md
ponder eval questions.jsonl --variant plain,session:1m --judge anthropic/claude-opus-4-6 --cost 5
ponder eval questions.jsonl --variant plain,model=openai/gpt-5.2 --json`,
		GroupID: groupSetUp,
		Args:    requireArgs(1, 1, "a file with questions"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEval(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.variants, "variant", []string{"plain", "think", "deep"}, "`variants` to compare, separated by commas; the first is the baseline")
	flags.StringVar(&f.samples, "samples", "3", "answer each question this `number` of times")
	flags.StringVar(&f.model, "model", "", "answer with `provider/model`, unless a variant names another")
	flags.StringVar(&f.judge, "judge", "", "compare pairs of answers with `provider/model`")
	flags.StringVar(&f.rubric, "rubric", "", "give the judge the instructions in this `file` instead of the default ones")
	flags.StringVar(&f.time, "for", "", "start no new answer after this `time`, such as 30m")
	flags.StringVar(&f.cost, "cost", "", "maximum cost in US `dollars`, such as 2.50")
	flags.StringVar(&f.calls, "calls", "", "maximum `number` of model calls")
	flags.StringVar(&f.parallel, "parallel", "4", "answer this `number` of questions at a time, up to 16")
	flags.Uint64Var(&f.seed, "seed", 1, "`seed` of the resampling")
	flags.BoolVar(&f.fresh, "fresh", false, "discard stored answers and start again")
	flags.StringVarP(&f.output, "output", "o", "", "write a report in Markdown to this `file`")
	return cmd
}

const maxSamples = 100

func (f *evalFlags) buildPlan(file string) (p eval.Plan, err error) {
	p = eval.Plan{File: file, Model: f.model, Judge: f.judge, Seed: f.seed, Fresh: f.fresh}
	if p.Strategies, err = eval.ParseStrategies(f.variants, parseDuration); err != nil {
		return p, err
	}
	for _, flag := range []struct {
		name, text string
		read       func(string) error
	}{
		{"samples", f.samples, func(s string) (err error) { p.Samples, err = parseCount(s, maxSamples); return }},
		{"parallel", f.parallel, func(s string) (err error) { p.Parallel, err = parseCount(s, app.MaxParallel); return }},
		{"for", f.time, func(s string) (err error) { p.Limits.Time, err = parseDuration(s); return }},
		{"cost", f.cost, func(s string) (err error) { p.Limits.Money, err = parseMoney(s); return }},
		{"calls", f.calls, func(s string) (err error) { p.Limits.Calls, err = parseCount(s, app.MaxCalls); return }},
	} {
		if flag.text == "" {
			continue
		}
		if err := flag.read(flag.text); err != nil {
			return p, usagef("--%s: %w", flag.name, err)
		}
	}
	if f.rubric != "" {
		p.Rubric, err = eval.ReadRubric(f.rubric)
	}
	return p, err
}

type evaluation struct {
	*cli
	*eval.Runner
	output    string
	bar       *progressBar
	printedAt time.Time
}

func (a *cli) runEval(ctx context.Context, file string, f evalFlags) error {
	if _, err := a.Config(); err != nil {
		return err
	}
	p, err := f.buildPlan(file)
	if err != nil {
		return err
	}
	if err := p.Read(ctx); err != nil {
		return err
	}
	e := &evaluation{cli: a, output: f.output, bar: a.newProgressBar(), printedAt: time.Now()}
	p.OnAnswer = func(r eval.Answer) error {
		return a.printIfJSON(struct {
			Type string `json:"type"`
			eval.Answer
		}{"answer", r})
	}
	p.OnVerdict = func(v eval.Verdict) error {
		return a.printIfJSON(struct {
			Type string `json:"type"`
			eval.Verdict
		}{"verdict", v})
	}
	p.OnProgress = e.showProgress
	if e.Runner, err = eval.New(ctx, a.App, p); err != nil {
		return err
	}
	defer e.Close(ctx)
	why := e.Run(ctx)
	e.bar.clear()
	if ctx.Err() != nil {
		a.printNote("stopped; to continue, run the same command again")
		return failure{exitInterrupted, ctx.Err()}
	}
	if why != nil && !errors.Is(why, quota.ErrSpent) {
		return why
	}
	if err := e.printReport(); err != nil {
		return err
	}
	if why != nil {
		return failure{exitIncomplete, fmt.Errorf("%w, with %s of %s missing; to continue with a new budget, run the same command again", why,
			textkit.Number(e.Missing()), textkit.Count(e.Plan.Answers(), "answer", "answers"))}
	}
	return nil
}

func (a *cli) printIfJSON(v any) error {
	if !a.flags.json {
		return nil
	}
	return a.printJSON(v)
}

// progressInterval is the interval of progress lines without a bar.
const progressInterval = 15 * time.Second

func (e *evaluation) showProgress(p eval.Progress) {
	of := e.Plan.Answers()
	says := fmt.Sprintf("%s of %s answers", textkit.Number(p.Answers), textkit.Number(of))
	if e.Plan.Judge != "" {
		says += ", " + textkit.Count(p.Verdicts, "verdict", "verdicts")
	}
	says += ", " + textkit.Count(p.Spent.Calls, "call", "calls")
	if p.Spent.Money > 0 {
		says += ", " + p.Spent.Money.String()
	}
	switch {
	case e.bar != nil:
		e.bar.draw(progress{float64(p.Answers) / float64(of), says})
	case time.Since(e.printedAt) > progressInterval:
		e.printedAt = time.Now()
		e.printNote("%s", says)
	}
}

func (e *evaluation) printReport() error {
	r := e.Experiment().Report()
	if err := e.Plan.Save(e.Settings, r); err != nil { // the server cannot show it
		e.printWarning(err)
	}
	if e.output != "" {
		if err := fileio.WritePrivate(e.output, []byte(e.Markdown(r))); err != nil {
			return fmt.Errorf("write %s: %w", e.output, err)
		}
		e.printNote("report written to %s", e.output)
	}
	if e.flags.json {
		return e.printJSON(struct {
			Type  string `json:"type"`
			Judge string `json:"judge,omitempty"`
			eval.Report
		}{"report", e.Plan.Judge, r})
	}
	e.printTable(r.Rows())
	for _, line := range r.Summaries() {
		e.printf("%s", line)
	}
	for _, line := range e.Remarks(r) {
		e.printf("\n%s\n", line)
	}
	return nil
}
