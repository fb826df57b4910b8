package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/eval"
	"ponder/knowledge/document"
)

// evalFlags are what `ponder eval` is told beside the file.
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

// Bounds of an evaluation.
const (
	mostSamples  = 100
	mostVariants = 10
	mostAnswers  = 100_000
	mostAsked    = 64 << 20 // bytes of the file, or of a document
)

// A plan is what is to be measured.
type plan struct {
	file      string
	questions []eval.Question
	asked     map[string]string // by id: the question with what there is to read
	variants  []variant
	samples   int
	parallel  int
	judge     string
	rubric    string
	seed      uint64
	limits    ponder.Budget
	fresh     bool
	output    string
}

// eval is the command. It makes nothing before all that can be checked has been.
func (a *cli) eval(ctx context.Context, file string, f evalFlags) error {
	p, err := a.evalPlan(ctx, file, f)
	if err != nil {
		return err
	}
	e, err := a.evaluation(ctx, p, f.model)
	if err != nil {
		return err
	}
	defer e.close(ctx)
	why := e.run(ctx)
	if ctx.Err() != nil {
		a.note("stopped; the same command goes on")
		return failure{interrupted, ctx.Err()}
	}
	if why != nil && !errors.Is(why, errSpent) {
		return why
	}
	if err := e.report(); err != nil {
		return err
	}
	if why != nil {
		return failure{incomplete, fmt.Errorf("%w, with %s of %s missing; the same command goes on, with a budget of its own", why,
			number(e.missing()), counted(e.plan.answers(), "answer", "answers"))}
	}
	return nil
}

// evalPlan reads what is to be measured.
func (a *cli) evalPlan(ctx context.Context, file string, f evalFlags) (*plan, error) {
	if _, err := a.Config(); err != nil {
		return nil, err
	}
	p := &plan{file: file, judge: f.judge, seed: f.seed, fresh: f.fresh, output: f.output, rubric: eval.Rubric()}
	var err error
	if p.variants, err = parseVariants(f.variants); err != nil {
		return nil, err
	}
	if err := p.numbers(f); err != nil {
		return nil, err
	}
	if f.rubric != "" {
		if p.rubric, err = readRubric(f.rubric); err != nil {
			return nil, err
		}
	}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	if n := p.answers(); n > mostAnswers {
		return nil, usagef("that is %s answers, more than %s: ask fewer --samples or fewer variants", number(n), number(mostAnswers))
	}
	return p, nil
}

// answers returns how many answers are wanted.
func (p *plan) answers() int { return len(p.questions) * len(p.variants) * p.samples }

// numbers reads the flags that are numbers.
func (p *plan) numbers(f evalFlags) error {
	for _, flag := range []struct {
		name, text string
		read       func(string) error
	}{
		{"samples", f.samples, func(s string) (err error) { p.samples, err = countOf(s, mostSamples); return }},
		{"parallel", f.parallel, func(s string) (err error) { p.parallel, err = countOf(s, mostParallel); return }},
		{"for", f.time, func(s string) (err error) { p.limits.Time, err = timeOf(s); return }},
		{"cost", f.cost, func(s string) (err error) { p.limits.Money, err = moneyOf(s); return }},
		{"calls", f.calls, func(s string) (err error) { p.limits.Calls, err = countOf(s, mostCalls); return }},
	} {
		if flag.text == "" {
			continue
		}
		if err := flag.read(flag.text); err != nil {
			return usagef("--%s: %w", flag.name, err)
		}
	}
	return nil
}

// mostRubric bounds what a judge may be told, in bytes.
const mostRubric = 32 << 10

func readRubric(file string) (string, error) {
	text, err := os.ReadFile(file)
	switch {
	case err != nil:
		return "", usagef("--rubric %s: %w", file, plainPath(err))
	case len(text) > mostRubric:
		return "", usagef("--rubric %s: more than %s bytes", file, number(mostRubric))
	case strings.TrimSpace(string(text)) == "":
		return "", usagef("--rubric %s: it is empty", file)
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "�"), nil
}

// plainPath returns what is wrong with a path, without the path.
func plainPath(err error) error {
	if slip := (*fs.PathError)(nil); errors.As(err, &slip) {
		return slip.Err
	}
	return err
}

// read reads the questions and their documents.
func (p *plan) read(ctx context.Context) error {
	f, err := os.Open(p.file)
	if err != nil {
		return usagef("%s: %w", p.file, plainPath(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && (info.IsDir() || info.Size() > mostAsked) {
		return usagef("%s: want a file of at most %s", p.file, size(mostAsked))
	}
	if p.questions, err = eval.ReadQuestions(f); err != nil {
		return usagef("%s: %w", p.file, err)
	}
	p.asked = make(map[string]string)
	scored := false
	for _, q := range p.questions {
		text, err := documentsOf(ctx, filepath.Dir(p.file), q.Documents)
		if err != nil {
			return usagef("%s: line %d: %w", p.file, q.Line, err)
		}
		p.asked[q.ID] = q.Asked(text)
		if len(p.asked[q.ID]) > eval.MaxAsked {
			return usagef("%s: line %d: the question with its context and documents has more than %s bytes", p.file, q.Line, number(eval.MaxAsked))
		}
		scored = scored || q.Scored()
	}
	if !scored && p.judge == "" {
		return usagef("%s: nothing says which answers are good: add checks or references to the questions, or name a --judge", p.file)
	}
	return nil
}

// documentsOf returns the text of documents below a folder.
func documentsOf(ctx context.Context, dir string, paths []string) (string, error) {
	var b strings.Builder
	for _, path := range paths {
		full, err := below(dir, path)
		if err != nil {
			return "", fmt.Errorf("document %s: %w", path, plainPath(err))
		}
		docs, _, err := document.Load(ctx, []string{full}, document.Options{MaxFiles: 1, MaxTotal: mostAsked})
		if err != nil {
			return "", fmt.Errorf("document %s: %w", path, err)
		}
		for _, d := range docs.Documents() {
			fmt.Fprintf(&b, "%s\n\n%s\n\n", path, strings.TrimSpace(d.Text))
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// below returns the path of a file in a folder. Links do not lead out of it.
func below(dir, path string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	full, err := filepath.EvalSymlinks(filepath.Join(dir, path))
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(dir, full); err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("it is not below the folder of the questions")
	}
	return full, nil
}
