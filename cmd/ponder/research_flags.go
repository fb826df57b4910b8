package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ponder/internal/app"

	"github.com/spf13/pflag"

	"ponder/internal/config"
)

type researchFlags struct {
	budget                  budgetFlags
	rounds, items, parallel string
	least, synthesis        string
	docs                    []string
	model, title, persona   string
	since, output           string
	forceWeb, noCache       bool
	noMemory, noWeb         bool
	detach, internal        bool
	chunks                  bool
}

func (f *researchFlags) add(flags *pflag.FlagSet) {
	f.budget.add(flags)
	flags.Lookup("for").Usage = "`time` to take at most, such as 90s or 10m (default 3m)"
	flags.StringVar(&f.rounds, "rounds", "", fmt.Sprintf("look in this `number` of rounds at most, up to %d (default 5)", config.MaxRounds))
	flags.StringVar(&f.items, "max-items", "", fmt.Sprintf("take this `number` of passages of a search at most, up to %d (default 10)", config.MaxItems))
	flags.StringVar(&f.parallel, "parallel", "", fmt.Sprintf("let this `number` of searches of a kind go on at a time, up to %d (default 3)", config.MaxQueries))
	flags.StringVar(&f.least, "min-confidence", "", "leave out passages whose score is below this `share`, from 0 to 1 (default 0)")
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

func (f *researchFlags) read(o *config.Research, given func(string) bool) error {
	o.ForceWebSearch = o.ForceWebSearch || f.forceWeb
	if f.noCache {
		no := false
		o.EnableCaching = &no
	}
	return readGiven(given, []readFlag{
		{"rounds", func() (err error) { o.MaxRounds, err = countOf(f.rounds, config.MaxRounds); return }},
		{"max-items", func() (err error) { o.MaxItemsPerSource, err = countOf(f.items, config.MaxItems); return }},
		{"parallel", func() (err error) { o.MaxParallelQueries, err = countOf(f.parallel, config.MaxQueries); return }},
		{"min-confidence", func() (err error) { o.MinConfidenceThreshold, err = config.Share(f.least); return }},
		{"synthesis", func() (err error) { o.SynthesisStrategy, err = config.Strategy(f.synthesis); return }},
	})
}

// reportForms are the forms of a report by the endings of names.
var reportForms = map[string]string{".md": "markdown", ".markdown": "markdown", ".json": "json", ".html": "html", ".htm": "html"}

// checkOutput makes sure that the report can be written.
func (f *researchFlags) checkOutput() error {
	if f.output == "" {
		return nil
	}
	if f.detach {
		return usagef("-o and --detach: the report of what is researched in the background is written afterwards, with: ponder session export ID -o %s", f.output)
	}
	return checkReportFile(f.output)
}

// checkReportFile makes sure that a report can be written to a file.
func checkReportFile(file string) error {
	ending := filepath.Ext(file)
	if reportForms[strings.ToLower(ending)] == "" {
		return usagef("-o %s: the name of a report ends in .md, .json or .html", file)
	}
	if filepath.Base(file) == ending {
		return usagef("-o %s: the report has no name but its ending", file)
	}
	return writable(file)
}

// wanted returns the absolute path of the report that is asked for, or "".
func (f *researchFlags) wanted() string {
	if f.output == "" {
		return ""
	}
	if abs, err := filepath.Abs(f.output); err == nil {
		return abs
	}
	return f.output
}

// writable reports why a file cannot be written, leaving it as it is.
func writable(file string) error {
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
