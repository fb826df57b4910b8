package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/eval"
	"ponder/internal/quota"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

// evalFlags are the flags of `ponder eval`.
type evalFlags struct {
	variants, models     []string
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
		Args:    take(1, 1, "a file with questions"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eval(cmd.Context(), args[0], f)
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

// Bounds of flags.
const mostSamples = 100

// plan reads flags.
func (f *evalFlags) plan(file string) (p eval.Plan, err error) {
	p = eval.Plan{File: file, Model: f.model, Judge: f.judge, Seed: f.seed, Fresh: f.fresh}
	if p.Strategies, err = eval.ParseStrategies(f.variants, timeOf); err != nil {
		return p, err
	}
	for _, flag := range []struct {
		name, text string
		read       func(string) error
	}{
		{"samples", f.samples, func(s string) (err error) { p.Samples, err = countOf(s, mostSamples); return }},
		{"parallel", f.parallel, func(s string) (err error) { p.Parallel, err = countOf(s, app.MaxParallel); return }},
		{"for", f.time, func(s string) (err error) { p.Limits.Time, err = timeOf(s); return }},
		{"cost", f.cost, func(s string) (err error) { p.Limits.Money, err = moneyOf(s); return }},
		{"calls", f.calls, func(s string) (err error) { p.Limits.Calls, err = countOf(s, app.MaxCalls); return }},
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

// An evaluation is an evaluation that the command prints.
type evaluation struct {
	*cli
	*eval.Runner
	output string
	bar    *progressBar
	said   time.Time // of the last line on progress
}

// eval is the command. It makes nothing before all that can be checked has been.
func (a *cli) eval(ctx context.Context, file string, f evalFlags) error {
	if _, err := a.Config(); err != nil {
		return err
	}
	p, err := f.plan(file)
	if err != nil {
		return err
	}
	if err := p.Read(ctx); err != nil {
		return err
	}
	e := &evaluation{cli: a, output: f.output, bar: a.newProgressBar(), said: time.Now()}
	p.Answered = func(r eval.Answer) error {
		return a.ifJSON(struct {
			Type string `json:"type"`
			eval.Answer
		}{"answer", r})
	}
	p.Compared = func(v eval.Verdict) error {
		return a.ifJSON(struct {
			Type string `json:"type"`
			eval.Verdict
		}{"verdict", v})
	}
	p.Progress = e.progress
	if e.Runner, err = eval.New(ctx, a.App, p); err != nil {
		return err
	}
	defer e.Close(ctx)
	why := e.Run(ctx)
	e.bar.clear()
	if ctx.Err() != nil {
		a.note("stopped; the same command goes on")
		return failure{interrupted, ctx.Err()}
	}
	if why != nil && !errors.Is(why, quota.ErrSpent) {
		return why
	}
	if err := e.report(); err != nil {
		return err
	}
	if why != nil {
		return failure{incomplete, fmt.Errorf("%w, with %s of %s missing; the same command goes on, with a budget of its own", why,
			textkit.Number(e.Missing()), textkit.Count(e.Plan.Answers(), "answer", "answers"))}
	}
	return nil
}

// ifJSON prints a value if the user wants JSON.
func (a *cli) ifJSON(v any) error {
	if !a.flags.json {
		return nil
	}
	return a.object(v)
}

// progressEvery is the time between lines on progress, where there is no bar.
const progressEvery = 15 * time.Second

func (e *evaluation) progress(p eval.Progress) {
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
	case time.Since(e.said) > progressEvery:
		e.said = time.Now()
		e.note("%s", says)
	}
}

// report prints what can be said, and writes it to the file that is wanted.
func (e *evaluation) report() error {
	r := e.Experiment().Report()
	if e.output != "" {
		if err := app.WriteWhole(e.output, []byte(e.markdown(r))); err != nil {
			return fmt.Errorf("write %s: %w", e.output, err)
		}
		e.note("report written to %s", e.output)
	}
	if e.flags.json {
		return e.object(struct {
			Type  string `json:"type"`
			Judge string `json:"judge,omitempty"`
			eval.Report
		}{"report", e.Plan.Judge, r})
	}
	e.table(variantRows(r))
	for _, line := range sayings(r) {
		e.printf("%s", line)
	}
	for _, line := range e.remarks(r) {
		e.printf("\n%s\n", line)
	}
	return nil
}

// variantRows returns how variants fared, as a table.
func variantRows(r eval.Report) [][]string {
	rows := [][]string{{"VARIANT", "ANSWERS", "RIGHT", "95 %", "WORDS", "TIME", "90 % IN", "CALLS", "TOKENS", "COST"}}
	for _, v := range r.Variants {
		right, within := "-", "-"
		if v.Right != nil {
			right, within = percent(*v.Right), fmt.Sprintf("%.0f to %.0f", 100*v.Interval.Low, 100*v.Interval.High)
		}
		answers := textkit.Number(v.Answers)
		if v.Failed > 0 {
			answers += fmt.Sprintf(" (%d failed)", v.Failed)
		}
		rows = append(rows, []string{v.Name, answers, right, within, fmt.Sprintf("%.0f", v.Words), took(v.Median), took(v.P90),
			fmt.Sprintf("%.1f", v.Mean.Calls), textkit.Number(int(v.Mean.Tokens)), small(v)})
	}
	return rows
}

// small returns the cost of an answer, which may be a small part of a cent.
func small(v eval.Variant) string {
	if usd := v.Mean.USD; usd > 0 && usd < 0.001 && v.Sum.Unpriced == 0 {
		return "$" + strconv.FormatFloat(usd, 'f', 1-int(math.Floor(math.Log10(usd))), 64)
	}
	return strings.TrimPrefix(app.USD(v.Mean.USD, v.Sum.Tokens, v.Sum.Calls, v.Sum.Unpriced), "cost ")
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// took writes seconds.
func took(s float64) string {
	d := textkit.Seconds(s)
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return tui.Clock(d)
}

// sayings returns what the comparisons come to: a paragraph a variant.
func sayings(r eval.Report) (list []string) {
	for i, v := range r.Variants {
		if i == 0 {
			continue
		}
		text := fmt.Sprintf("\n%s against %s\n", oneLine(v.Name), oneLine(r.Variants[0].Name))
		for _, c := range r.Comparisons {
			if c.Variant == v.Name {
				text += "  " + comparedBy(c) + "\n"
			}
		}
		if ratio := ratios(v, r.Variants[0]); ratio != "" {
			text += "  " + ratio + "\n"
		}
		list = append(list, text)
	}
	return list
}

func comparedBy(c eval.Comparison) string {
	if c.By == eval.ByJudge {
		return "Judged: " + c.Says()
	}
	return "Right: " + c.Says()
}

// ratios says what a variant takes, against the baseline.
func ratios(v, base eval.Variant) string {
	var list []string
	for _, part := range []struct {
		what     string
		one, two float64
	}{{"the time", v.Mean.Seconds, base.Mean.Seconds}, {"the tokens", v.Mean.Tokens, base.Mean.Tokens}, {"the money", v.Mean.USD, base.Mean.USD}, {"the words", v.Words, base.Words}} {
		if part.one > 0 && part.two > 0 {
			list = append(list, fmt.Sprintf("%.1f times %s", part.one/part.two, part.what))
		}
	}
	if list == nil {
		return ""
	}
	return "Takes " + strings.Join(list, ", ") + "."
}

// remarks returns what else is to be known of a report.
func (e *evaluation) remarks(r eval.Report) (list []string) {
	if j := r.Judged; j != nil {
		text := fmt.Sprintf("Judge %s: %s, of which %s for it said otherwise when the order was swapped; of its choices, %s fell on the answer that stood first. It took %s: %s.",
			e.Plan.Judge, textkit.Count(j.Pairs, "pair", "pairs"), textkit.Number(j.Inconsistent)+" count as a tie", percent(j.First), textkit.Count(j.Sum.Calls, "call", "calls"),
			strings.TrimPrefix(app.USD(j.Sum.USD, j.Sum.Tokens, j.Sum.Calls, j.Sum.Unpriced), "cost "))
		if j.Pairs == 0 {
			text = fmt.Sprintf("Judge %s gave no verdict on any pair: it never said which answer is better. What asking it cost is in `ponder usage`.", e.Plan.Judge)
		}
		list = append(list, text)
		if e.judgesItself() {
			list = append(list, "The judge is one of the models that answer. Models prefer their own words: another judge would say more.")
		}
	}
	for i, v := range r.Variants {
		if text := unthought(e.Plan.Strategies[i].Kind, v); text != "" {
			list = append(list, text)
		}
	}
	if n := e.Missing(); n > 0 {
		list = append(list, textkit.Count(n, "answer is", "answers are")+" missing and left out.")
	}
	if slices.ContainsFunc(r.Variants, func(v eval.Variant) bool { return v.Failed > 0 }) {
		list = append(list, "Answers that failed are left out; the same command tries them again.")
	}
	if n := r.Questions; n < 20 {
		list = append(list, textkit.Count(n, "question shows", "questions show")+" large differences only.")
	}
	return list
}

// unthought says of a variant that it did not think as it could have.
func unthought(kind string, v eval.Variant) string {
	switch {
	case v.Answers == 0:
		return ""
	case kind == eval.KindThink && v.Thoughts == 0:
		return oneLine(v.Name) + ": the model put down no thought, so this compares the words of the prompt at most."
	case kind == eval.KindDeep && v.Mused < 1:
		return fmt.Sprintf("%s: only %s of the answers had a reflection; the others failed (see `ponder thread show ID --internal`).", oneLine(v.Name), percent(v.Mused))
	}
	return ""
}

// judgesItself reports whether the judge is a model that answers.
func (e *evaluation) judgesItself() bool {
	return slices.ContainsFunc(e.Plan.Strategies, func(v eval.Strategy) bool {
		return slices.ContainsFunc(v.Models, func(name string) bool {
			return strings.TrimSuffix(name, ":latest") == strings.TrimSuffix(e.Plan.Judge, ":latest")
		})
	})
}

// markdown returns a report as a document.
func (e *evaluation) markdown(r eval.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: does thinking help?\n\n", cellOf(filepath.Base(e.Plan.File)))
	fmt.Fprintf(&b, "%s, %s each. Intervals are of 95 %%, from a bootstrap over questions (seed %d). What is taken is per answer.\n\n",
		textkit.Count(r.Questions, "question", "questions"), textkit.Count(r.Samples, "sample", "samples"), r.Seed)
	mdTable(&b, variantRows(r))
	for _, text := range sayings(r) {
		head, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
		fmt.Fprintf(&b, "\n## %s\n", cellOf(head))
		for line := range strings.Lines(rest) {
			fmt.Fprintf(&b, "\n%s\n", cellOf(line))
		}
	}
	if remarks := e.remarks(r); remarks != nil {
		b.WriteString("\n## Remarks\n\n")
		for _, line := range remarks {
			fmt.Fprintf(&b, "- %s\n", cellOf(line))
		}
	}
	b.WriteString("\n## Models\n\n")
	for _, v := range e.Plan.Strategies {
		fmt.Fprintf(&b, "- %s: %s\n", cellOf(v.Name), cellOf(strings.Join(v.Models, ", ")))
	}
	fmt.Fprintf(&b, "\n## Questions\n\nThe share of right answers, and in brackets what the judge prefers on the whole: from -1, %s, to +1, the variant.\n\n", cellOf(r.Variants[0].Name))
	mdTable(&b, itemRows(r))
	return b.String()
}

// itemRows returns how each question went, as a table.
func itemRows(r eval.Report) [][]string {
	head := []string{"Question"}
	for _, v := range r.Variants {
		head = append(head, v.Name)
	}
	rows := [][]string{head}
	for _, it := range r.Items {
		row := []string{it.ID}
		for i := range r.Variants {
			text := "-"
			if it.Right[i] != nil {
				text = percent(*it.Right[i])
			}
			if it.Preferred[i] != nil {
				text += fmt.Sprintf(" (%+.1f)", *it.Preferred[i])
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return rows
}

// mdTable writes a table.
func mdTable(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		for _, text := range row {
			b.WriteString("| " + cellOf(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}

// cellOf returns a text as one line of Markdown that is nothing but text.
func cellOf(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`).Replace(oneLine(text))
}
