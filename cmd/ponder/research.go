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
	"ponder/store/sqlite"
)

func (a *cli) researchCommand() *cobra.Command {
	var f researchFlags
	cmd := &cobra.Command{
		Use:   "research QUESTION",
		Short: "Find an answer in sources, in a minute or so",
		Long: `Plan what to look for, search what is remembered, the documents and the web at once, and
write an answer in which every sentence that states a fact can be traced to a quote. What
no quote bears out is marked, where sources disagree is shown, and what could not be
confirmed is said. QUESTION - is read from standard input.

The answer comes to standard output with numbered citations; -o writes a report, as
Markdown, JSON or one HTML page by the ending of the name, and "ponder verify" checks it.
--since ID brings an older research up to date, and says what has changed. Ctrl-C pauses,
and prints the command that goes on; the commands of "ponder session" take its id.

It looks into what --docs names, what is remembered (see ponder remember), and the web, if
a search engine is configured. Without a model, the answer is made of quotes.

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 cut short by a budget, broken off,
paused, or put together without the model that was asked, 4 no model, or it will not
answer (what there is is printed all the same), 130 interrupted.`,
		Example: `ponder research "Which papers measured sleep in great apes?" -o report.html
ponder research "What does this contract commit us to?" --docs ./contract --no-web
ponder research "What is new in battery recycling?" --since last -o update.md
ponder research - --rounds 2 --cost 0.10 < question.txt`,
		GroupID: groupThink,
		Args:    requireArgs(1, 1, `a question in quotes, or - to read it from standard input`),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runResearch(cmd.Context(), args[0], f, cmd.Flags().Changed)
		},
	}
	f.addFlags(cmd.Flags())
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
		Start: app.Start{Kind: ponder.KindResearch, Question: question, Model: f.model, Title: f.title, NoMemory: f.noMemory, Persona: f.persona},
		Since: f.since, Report: f.outputPath(), Patience: app.OncePatience, Settings: &settings,
	}
	if r.Budget, err = f.budget.readBudget(given); err != nil {
		return err
	}
	if err := f.readSettings(&settings, given); err != nil {
		return err
	}
	if r.Docs, err = a.CheckDocs(ctx, "docs", f.docs); err != nil {
		return err
	}
	if err := f.checkOutput(); err != nil {
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
		detach: f.detach, internal: f.internal, chunks: f.chunks, holdOutput: !f.detach && !p.Unaided, notes: []string{says}, extractiveNote: "; the answer is made of quotes", output: f.output,
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
	chunks                   bool
}

func (f *researchFlags) addFlags(flags *pflag.FlagSet) {
	f.budget.addFlags(flags)
	flags.Lookup("for").Usage = "`time` to take at most, such as 90s or 10m (default 3m)"
	flags.StringVar(&f.rounds, "rounds", "", fmt.Sprintf("look in this `number` of rounds at most, up to %d (default 5)", config.MaxRounds))
	flags.StringVar(&f.items, "max-items", "", fmt.Sprintf("take this `number` of passages of a search at most, up to %d (default 10)", config.MaxItems))
	flags.StringVar(&f.parallel, "parallel", "", fmt.Sprintf("let this `number` of searches of a kind go on at a time, up to %d (default 3)", config.MaxQueries))
	flags.StringVar(&f.minConfidence, "min-confidence", "", "leave out passages whose score is below this `share`, from 0 to 1 (default 0)")
	flags.StringVar(&f.synthesis, "synthesis", "", "`how` the answer is made: auto, force (by a model, though nothing was found) or never (of quotes)")
	flags.StringVarP(&f.output, "output", "o", "", "write a report to this `file`: .md, .json or .html")
	flags.StringVar(&f.since, "since", "", "bring the research of this `id` up to date, and say what has changed")
	flags.StringVar(&f.persona, "persona", "", "answer as the persona of this `name`, from what it remembers too")
	flags.BoolVar(&f.forceWeb, "force-web", false, "search the web though it seems needless")
	flags.BoolVar(&f.noCache, "no-cache", false, "do not use what searches found a while ago")
	flags.BoolVar(&f.noMemory, "no-memory", false, "do not look into what is remembered")
	flags.BoolVar(&f.noWeb, "no-web", false, "do not look at the web")
	flags.StringArrayVar(&f.docs, "docs", nil, "look into the file or folder at `path`; may be repeated")
	flags.StringVar(&f.model, "model", "", "research with `provider/model` only")
	flags.StringVar(&f.title, "title", "", "show this `text` for it in lists")
	flags.BoolVar(&f.detach, "detach", false, "research in the background, and print the id")
	flags.BoolVar(&f.internal, "internal", false, "with --json: internal events too")
	flags.BoolVar(&f.chunks, "chunks", false, "with --json: sources and progress too, as chunks of a Deep Think stream")
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
		return usagef("-o and --detach: the report of what is researched in the background is written afterwards, with: ponder session export ID -o %s", f.output)
	}
	return checkReportFile(f.output)
}

func checkReportFile(file string) error {
	ending := filepath.Ext(file)
	if reportForms[strings.ToLower(ending)] == "" {
		return usagef("-o %s: the name of a report ends in .md, .json or .html", file)
	}
	if filepath.Base(file) == ending {
		return usagef("-o %s: the report has no name but its ending", file)
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
		return usagef("-o %s: it is a folder", file)
	case err == nil && !info.Mode().IsRegular():
		return nil // such as /dev/null
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return usagef("-o %s: %w", file, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".ponder-*")
	if err != nil {
		return usagef("-o %s: %w", file, app.NoRoom(filepath.Dir(file), err))
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

// deliverReport is deliver after a check that file is writable.
func (a *cli) deliverReport(file string, text []byte) error {
	if file != "" {
		if err := checkWritable(file); err != nil {
			return fmt.Errorf("the report is not written: %w", err)
		}
	}
	return a.writeResult(file, text)
}
