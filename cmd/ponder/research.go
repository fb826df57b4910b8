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
	"github.com/spf13/pflag"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/fileio"
	"ponder/store/sqlite"
)

func (a *cli) researchCommand() *cobra.Command {
	var f researchFlags
	cmd := &cobra.Command{
		Use:   "research QUESTION",
		Short: "Answer a question from sources in about a minute",
		Long: `Plan searches, search the memory, documents and the web in parallel, and write an answer.
Each factual sentence cites its quotes. The answer marks unsupported claims, shows where
sources disagree, and lists what could not be confirmed. With QUESTION -, the question is
read from standard input.

The answer is printed with numbered citations. -o writes a report; the file name decides
the format: Markdown, JSON or HTML. "ponder verify" checks the report. --since ID updates
an older research and begins with the changes. Ctrl-C pauses the research and prints the
command to continue. The commands of "ponder session" accept its ID.

--plan makes a plan with questions and queries and shows it before any search. On a terminal
you approve, edit or cancel it. Otherwise it waits for "ponder research approve ID". The
research then searches exactly these queries. --plan-file brings a plan of your own.

Sources are the files of --docs, the memory (see ponder remember) and the web, if a search
engine is configured. Without a model, the answer consists of quotations.

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 stopped by a budget, incomplete, paused,
or written without the requested model, 4 no model available (any partial answer is still
printed), 130 interrupted.`,
		Example: `ponder research "Which papers measured sleep in great apes?" -o report.html
ponder research "What does this contract commit us to?" --docs ./contract --no-web
ponder research "What is new in battery recycling?" --since last -o update.md
ponder research "Which batteries last longest?" --plan
ponder research - --rounds 2 --cost 0.10 < question.txt`,
		GroupID: groupThink,
		Args:    requireArgs(1, 1, `a question in quotes, or - to read it from standard input`),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runResearch(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	f.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&f.since, "since", "", "update the research with this `id` and begin with the changes")
	cmd.AddCommand(a.researchApproveCommand(), a.researchAskCommand(), a.researchFollowUpCommand(), a.researchRewriteCommand(), a.researchScheduleCommand())
	return cmd
}

func (a *cli) runResearch(ctx context.Context, text string, f researchFlags, given func(string) bool) error {
	question, err := a.readQuestion(ctx, text)
	if err != nil {
		return err
	}
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	settings := cfg.Research
	r := app.StartRequest{
		Start:  app.Start{Kind: ponder.KindResearch, Question: question, Model: f.model, Title: f.title, NoMemory: f.noMemory, Persona: f.persona, Since: f.since, PlanFirst: f.plan},
		Report: f.outputPath(), Patience: app.OncePatience, Settings: &settings,
	}
	if r.Budget, err = f.budget.readBudget(given); err != nil {
		return err
	}
	if err := f.readSettings(&settings, given); err != nil {
		return err
	}
	if r.Plan, err = f.readPlan(ctx, a); err != nil {
		return err
	}
	if r.Docs, err = a.CheckDocs(ctx, "docs", f.docs); err != nil {
		return err
	}
	if err := f.checkOutput(); err != nil {
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
	return a.startThread(ctx, p, startFlags{
		detach: f.detach, internal: f.internal, chunks: f.chunks, holdOutput: !f.detach && !p.Unaided, notes: []string{says}, extractiveNote: "; the answer consists of quotations", output: f.output, notice: request,
	})
}

type researchFlags struct {
	budget                   budgetFlags
	rounds, items, parallel  string
	minConfidence, synthesis string
	docs                     []string
	model, title, persona    string
	since, output            string
	forceWeb, noCache        bool
	noMemory, noWeb          bool
	detach, internal         bool
	chunks, plan             bool
	planFile                 string
	notice                   noticeFlags
}

func (f *researchFlags) addFlags(flags *pflag.FlagSet) {
	f.budget.addFlags(flags)
	flags.Lookup("for").Usage = "maximum `time`, such as 90s or 10m (default 3m)"
	flags.StringVar(&f.rounds, "rounds", "", fmt.Sprintf("maximum `number` of rounds, up to %d (default 5)", config.MaxRounds))
	flags.StringVar(&f.items, "max-items", "", fmt.Sprintf("maximum `number` of passages per search, up to %d (default 10)", config.MaxItems))
	flags.StringVar(&f.parallel, "parallel", "", fmt.Sprintf("maximum `number` of parallel searches of one kind, up to %d (default 3)", config.MaxQueries))
	flags.StringVar(&f.minConfidence, "min-confidence", "", "skip passages with a score below this `share`, from 0 to 1 (default 0)")
	flags.StringVar(&f.synthesis, "synthesis", "", "`strategy`: auto, force (a model writes even without sources) or never (quotes only)")
	flags.StringVarP(&f.output, "output", "o", "", "write a report to this `file`: .md, .json or .html")
	flags.StringVar(&f.persona, "persona", "", "answer as the persona with this `name`, also from its memories")
	flags.BoolVar(&f.forceWeb, "force-web", false, "search the web even if it seems unnecessary")
	flags.BoolVar(&f.noCache, "no-cache", false, "do not reuse results of earlier searches")
	flags.BoolVar(&f.noMemory, "no-memory", false, "do not search the memory")
	flags.BoolVar(&f.noWeb, "no-web", false, "do not search the web")
	flags.StringArrayVar(&f.docs, "docs", nil, "search the file or folder at `path`; may be repeated")
	flags.StringVar(&f.model, "model", "", "use only `provider/model`")
	flags.StringVar(&f.title, "title", "", "`title` of the research in lists")
	flags.BoolVar(&f.plan, "plan", false, "show the plan first, and research only after approval")
	flags.StringVar(&f.planFile, "plan-file", "", "research exactly the plan in this `file`; - reads standard input")
	f.notice.addFlags(flags)
	flags.BoolVar(&f.detach, "detach", false, "run in the background and print the ID")
	flags.BoolVar(&f.internal, "internal", false, "with --json: include internal events")
	flags.BoolVar(&f.chunks, "chunks", false, "with --json: include sources and progress as chunks of a Deep Think stream")
}

func (f *researchFlags) readSettings(o *config.Research, given func(string) bool) error {
	o.ForceWebSearch = o.ForceWebSearch || f.forceWeb
	if f.noCache {
		no := false
		o.EnableCaching = &no
	}
	return readGivenFlags(given, []flagReader{
		{"rounds", func() (err error) { o.MaxRounds, err = parseCount(f.rounds, config.MaxRounds); return }},
		{"max-items", func() (err error) { o.MaxItemsPerSource, err = parseCount(f.items, config.MaxItems); return }},
		{"parallel", func() (err error) { o.MaxParallelQueries, err = parseCount(f.parallel, config.MaxQueries); return }},
		{"min-confidence", func() (err error) { o.MinConfidenceThreshold, err = config.Share(f.minConfidence); return }},
		{"synthesis", func() (err error) { o.SynthesisStrategy, err = config.Strategy(f.synthesis); return }},
	})
}

var reportForms = map[string]string{".md": "markdown", ".markdown": "markdown", ".json": "json", ".html": "html", ".htm": "html"}

func (f *researchFlags) checkOutput() error {
	if f.output == "" {
		return nil
	}
	if f.detach {
		return usagef("-o and --detach cannot be combined: write the report afterwards with: ponder session export ID -o %s", f.output)
	}
	return checkReportFile(f.output)
}

func checkReportFile(file string) error {
	ending := filepath.Ext(file)
	if reportForms[strings.ToLower(ending)] == "" {
		return usagef("-o %s: unknown report format: use a name that ends in .md, .json or .html", file)
	}
	if filepath.Base(file) == ending {
		return usagef("-o %s: the file name is only an extension: add a name before it", file)
	}
	return checkWritable(file)
}

// outputPath returns the absolute path of the requested report, or "".
func (f *researchFlags) outputPath() string {
	if f.output == "" {
		return ""
	}
	if abs, err := filepath.Abs(f.output); err == nil {
		return abs
	}
	return f.output
}

func checkWritable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err == nil && info.IsDir():
		return usagef("-o %s: it is a folder: name a file", file)
	case err == nil && !info.Mode().IsRegular():
		return nil // such as /dev/null
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return usagef("-o %s: %w", file, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".ponder-*")
	if err != nil {
		return usagef("-o %s: %w", file, fileio.ExplainFolder(filepath.Dir(file), err))
	}
	return errors.Join(tmp.Close(), os.Remove(tmp.Name()))
}

// finishWithReport writes the report of a completed research, if file is not empty. ended is the
// error of the research.
func (w *sessionScreen) finishWithReport(ctx context.Context, store *sqlite.Store, file string, ended error) error {
	if file == "" || w.View.Session.Status != ponder.Completed {
		return ended
	}
	if err := w.writeReport(ctx, store, file); err != nil {
		return errors.Join(ended, failure{exitFailed, fmt.Errorf("%w; to write it again: %s -o FILE", err, w.formatCommand("session export", w.Id))})
	}
	return ended
}

func (w *sessionScreen) resumeCommand() string {
	line := w.formatCommand("session resume", w.Id)
	if w.Research != nil && w.Research.File != "" {
		line += " -o " + shellQuote(w.Research.File)
	}
	return line
}

func (w *sessionScreen) writeReport(ctx context.Context, store *sqlite.Store, file string) error {
	r := w.AsReport()
	if r == nil {
		return nil
	}
	form := reportForms[strings.ToLower(filepath.Ext(file))]
	if form == "html" {
		w.FetchIcons(ctx, store, r)
	}
	text, err := w.WriteResearch(context.WithoutCancel(ctx), store, r, form)
	if err != nil {
		return err
	}
	return w.deliverReport(file, text)
}

// deliverReport is [cli.writeResult] after a check that file is writable.
func (a *cli) deliverReport(file string, text []byte) error {
	if file != "" {
		if err := checkWritable(file); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return a.writeResult(file, text)
}
