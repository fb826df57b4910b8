package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/eval"
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
		Short: "Measure whether thinking helps",
		Long: `Ask the questions of FILE in several ways, several times each, score the answers by
checks and by a judge, and say whether one way is better than another, by how much, how
sure that is, and what it costs. What is no difference is said to be none.

FILE has a question a line, as JSON:

  {"id": "q1", "question": "What is 6 * 7?", "checks": [{"number": 42}]}
  {"id": "q2", "question": "Which town is the capital of France?", "reference": "Paris"}

Variants are plain (one call of the fast model), think (with the tool think), deep (with
a reflection of the slow model before the answer), session:TIME (a thinking session) and
model=PROVIDER/MODEL (one call of that model). The first is what the others are compared
with. A variant may name its model: think@PROVIDER/MODEL.

Each answer is kept as it comes, as a thread, in a database beside FILE or in --db. After
Ctrl-C, or when a budget is spent, the same command goes on. docs/eval.md says what the
numbers mean.

Exit codes: 0 measured, 1 failed, 2 wrong usage, 3 cut short by a budget, 4 no model, or
it will not answer, 130 interrupted.`,
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
	flags.StringSliceVar(&f.variants, "variant", []string{"plain", "think", "deep"}, "`ways` to answer, with commas; the first is the baseline")
	flags.StringVar(&f.samples, "samples", "3", "ask each question this `number` of times")
	flags.StringVar(&f.model, "model", "", "answer with `provider/model`, where a variant does not say otherwise")
	flags.StringVar(&f.judge, "judge", "", "have pairs of answers compared by `provider/model`")
	flags.StringVar(&f.rubric, "rubric", "", "tell the judge what is in this `file`, instead of what it is told otherwise")
	flags.StringVar(&f.time, "for", "", "begin nothing new after this `time`, such as 30m")
	flags.StringVar(&f.cost, "cost", "", "US `dollars` to spend at most, such as 2.50")
	flags.StringVar(&f.calls, "calls", "", "`number` of model calls to make at most")
	flags.StringVar(&f.parallel, "parallel", "4", "answer this `number` of questions at a time, up to 16")
	flags.Uint64Var(&f.seed, "seed", 1, "`number` that the resampling begins with")
	flags.BoolVar(&f.fresh, "fresh", false, "forget the answers there are, and ask anew")
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
		a.printNote("stopped; the same command goes on")
		return failure{exitInterrupted, ctx.Err()}
	}
	if why != nil && !errors.Is(why, quota.ErrSpent) {
		return why
	}
	if err := e.printReport(); err != nil {
		return err
	}
	if why != nil {
		return failure{exitIncomplete, fmt.Errorf("%w, with %s of %s missing; the same command goes on, with a budget of its own", why,
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
	if e.output != "" {
		if err := app.WriteWhole(e.output, []byte(e.Markdown(r))); err != nil {
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
