package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/limitio"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/recall"
)

type rememberFlags struct {
	kind, date, title, source, author, persona, name, text string
	tags                                                   []string
}

func (a *cli) rememberCommand() *cobra.Command {
	var f rememberFlags
	cmd := &cobra.Command{
		Use:   "remember PATH|URL|-...",
		Short: "Add files, folders, pages and notes to the memory",
		Long: `Add the text of files, folders and pages to the memory. ` + "`ponder recall`" + ` searches it, and
thinking uses it. With -, the text is read from standard input; --text adds a note.

Remember a folder again to update it: Ponder reads only changed files and forgets deleted
ones. It skips the files that .gitignore and .ignore list. Formats: Markdown, text, HTML,
PDF, DOCX, EPUB, XLSX, CSV, JSON, JSON Lines, mail (mbox, eml) and source code. Ponder lists
the files that it cannot read. After Ctrl-C, run the same command again to continue.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some files skipped, 4 access to a page not
allowed (see web.allow), 130 interrupted.`,
		Example: `ponder remember ~/notes
ponder remember contract.pdf --tag work --date 2024-03-01
ponder remember https://example.com/article
ponder remember --text "Anna prefers tea" --tag anna
ponder remember posts.jsonl --kind post --source twitter --persona ada
pbpaste | ponder remember - --title "What Ben said"`,
		GroupID: groupKnow,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runRemember(cmd.Context(), args, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "`kind`: memory, document, post, journal or thread (default: detected)")
	flags.StringArrayVar(&f.tags, "tag", nil, "`tag` for searches; may be repeated")
	flags.StringVar(&f.date, "date", "", "`day` of the text, such as 2024-03-01, if the text has no date")
	flags.StringVar(&f.title, "title", "", "title of a note")
	flags.StringVar(&f.source, "source", "", "`name` of the source of a note or posts, such as twitter")
	flags.StringVar(&f.author, "author", "", "author of a note")
	flags.StringVar(&f.persona, "persona", "", "`name` of the persona that wrote the text")
	flags.StringVar(&f.name, "name", "", "file `name` for standard input, such as posts.jsonl; it sets the format")
	flags.StringVar(&f.text, "text", "", "`note` to remember")
	return cmd
}

func (f *rememberFlags) ingestOptions() (recall.IngestOptions, error) {
	kind, err := app.KindOf(f.kind)
	if err != nil {
		return recall.IngestOptions{}, err
	}
	o := recall.IngestOptions{Kind: kind, Tags: f.tags, Persona: f.persona, Source: f.source}
	if f.date != "" {
		if o.Date, err = parseDay("date", f.date); err != nil {
			return o, err
		}
	}
	return o, nil
}

func parseDay(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--%s: %q is not a date: use a form such as 2024-03-01", flag, textkit.Truncate(text, 30))
}

func (a *cli) runRemember(ctx context.Context, args []string, f rememberFlags) error {
	if len(args) == 0 && f.text == "" {
		return app.Invalidf("text", "ponder remember needs a file, a folder, a URL, - or --text: see `ponder remember --help`")
	}
	o, err := f.ingestOptions()
	if err != nil {
		return err
	}
	var paths, urls []string
	piped := false
	for _, arg := range args {
		switch {
		case arg == "-":
			piped = true
		case strings.HasPrefix(arg, "http://"), strings.HasPrefix(arg, "https://"):
			urls = append(urls, arg)
		case arg == "":
			return usagef("an argument is empty: name a file, a folder, a URL or -")
		default:
			paths = append(paths, arg)
		}
	}
	if len(paths) > 0 {
		if _, err := document.Scan(ctx, paths, document.Options{MaxFiles: 1}); err != nil {
			return explainNotPath(err)
		}
	}
	s, err := a.OpenLibrary(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	t := &memoryImport{cli: a, LibraryHandle: s, options: o, f: f}
	defer t.showProgress(nil)
	return t.ingestAll(ctx, paths, urls, piped)
}

func explainNotPath(err error) error {
	return usagef("%w; to remember a note, use --text", err)
}

type memoryImport struct {
	*cli
	*app.LibraryHandle
	options      recall.IngestOptions
	f            rememberFlags
	bar          *progressBar
	pages        int
	report       recall.Report
	reportedSkip document.SkippedFile // skipped items; the first is the error
}

func (t *memoryImport) ingestAll(ctx context.Context, paths, urls []string, piped bool) error {
	var steps []func() error
	if t.f.text != "" {
		steps = append(steps, func() error { return t.rememberNote(ctx, t.f.text) })
	}
	if len(paths) > 0 {
		steps = append(steps, func() error { return t.ingestPaths(ctx, paths) })
	}
	for _, url := range urls {
		steps = append(steps, func() error { return t.ingestURL(ctx, url) })
	}
	if piped {
		steps = append(steps, func() error { return t.ingestStdin(ctx) })
	}
	var first error
	for _, step := range steps {
		if err := step(); err != nil && first == nil {
			first = err
		} else if err != nil {
			t.cli.printMessage("%v", err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	t.showProgress(nil)
	t.printReport()
	switch {
	case ctx.Err() != nil:
		t.cli.printNote("stopped; to continue, run the same command again")
		return failure{exitInterrupted, ctx.Err()}
	case first != nil && t.pages+t.report.Added+t.report.Changed+t.report.Unchanged > 0:
		first = failure{exitIncomplete, first}
	case first != nil:
		return first
	}
	if err := t.awaitVectors(ctx, len(paths) > 0); err != nil {
		return err
	}
	if first != nil {
		return first
	}
	if len(t.report.Skipped) > 0 {
		return failure{code: exitIncomplete}
	}
	return nil
}

func (t *memoryImport) ingestPaths(ctx context.Context, paths []string) error {
	o := t.options
	o.Progress = func(p recall.Progress) {
		share := 0.0
		if p.TotalBytes > 0 {
			share = float64(p.Bytes) / float64(p.TotalBytes)
		}
		t.showProgress(&progress{share, fmt.Sprintf("%s of %s files, %s passages", textkit.Number(p.Files), textkit.Number(p.TotalFiles), textkit.Number(p.Passages))})
	}
	r, err := t.Ingest(ctx, paths, o)
	t.addReport(r)
	if err == nil && isEmpty(r) {
		t.cli.printNote("no files to read in %s", textkit.OneLine(strings.Join(paths, ", ")))
	}
	for _, s := range r.Skipped {
		if err != nil && t.reportedSkip == (document.SkippedFile{}) && strings.HasSuffix(err.Error(), s.Path+": "+s.Reason) {
			t.reportedSkip, err = s, usagef("%w", err)
		}
	}
	return err
}

func isEmpty(r recall.Report) bool {
	return r.Added+r.Changed+r.Unchanged+r.Removed+r.Items+len(r.Skipped) == 0
}

func (t *memoryImport) ingestURL(ctx context.Context, url string) error {
	t.showProgress(&progress{-1, "reading " + textkit.Truncate(url, 60)})
	fetch, err := t.cli.WebFetcher(t.Archive)
	if err != nil {
		return err
	}
	page, err := fetch.Fetch(ctx, url)
	if err != nil {
		return app.PageError(err)
	}
	original, err := t.Archive.Get(ctx, page.Hash)
	if err != nil {
		return err
	}
	_, err = t.IngestPage(ctx, recall.Page{
		URL: page.Final, Type: page.Type, Title: page.Title, Author: page.Author, Published: page.Published,
		Fetched: page.Fetched, Markdown: page.Markdown, Raw: original.Bytes,
	}, t.options)
	if err != nil {
		return err
	}
	t.pages++
	t.showProgress(nil)
	t.cli.printNote("remembered the page %q", textkit.Truncate(textkit.OneLine(cmp.Or(page.Title, page.Final)), 80))
	if page.Truncated {
		t.cli.printNote("the page is too long: its end is left out")
	}
	return nil
}

// maxNoteBytes is the maximal length in bytes of piped input that counts as a note by default.
const maxNoteBytes = 4000

// maxPipedBytes is the maximal length of standard input in bytes.
const maxPipedBytes = 256 << 20

// ingestStdin remembers piped input: a note if short, else a file.
func (t *memoryImport) ingestStdin(ctx context.Context) error {
	t.showProgress(&progress{-1, "reading standard input"})
	b, err := limitio.ReadAll(t.cancelableInput(ctx), maxPipedBytes)
	switch {
	case errors.Is(err, limitio.ErrTooLarge):
		return usagef("standard input is longer than %s: save it as a file and remember the file", textkit.Bytes(maxPipedBytes))
	case err != nil:
		return fmt.Errorf("read standard input: %w", err)
	case len(bytes.TrimSpace(b)) == 0:
		return usagef("standard input is empty: nothing to remember")
	case t.f.name == "" && len(b) <= maxNoteBytes && (t.options.Kind == "" || t.options.Kind == recall.KindMemory):
		return t.rememberNote(ctx, string(b))
	}
	name := t.f.name
	if name == "" {
		name = "standard input.md"
		if t.f.title != "" {
			name = t.f.title + ".md"
		}
	}
	r, err := t.IngestBytes(ctx, name, b, t.options)
	t.addReport(r)
	return err
}

func (t *memoryImport) rememberNote(ctx context.Context, text string) error {
	kind := t.options.Kind
	if kind == "" {
		kind = recall.KindMemory
	}
	text, err := app.CheckMemory(text)
	if err != nil {
		return err
	}
	kept, err := t.Remember(ctx, recall.Item{
		Kind: kind, Persona: t.f.persona, Title: t.f.title, Text: text, Source: t.f.source, Author: t.f.author,
		Tags: t.f.tags, Date: t.options.Date,
	})
	if err != nil {
		return err
	}
	t.pages++
	if t.flags.json {
		for _, it := range kept {
			if err := t.printJSON(it); err != nil {
				return err
			}
		}
		return nil
	}
	t.cli.printNote("remembered %s", kept[0].ID)
	return nil
}

func (t *memoryImport) addReport(r recall.Report) {
	sum := &t.report
	sum.Added, sum.Changed, sum.Unchanged, sum.Removed = sum.Added+r.Added, sum.Changed+r.Changed, sum.Unchanged+r.Unchanged, sum.Removed+r.Removed
	sum.Items, sum.Forgotten, sum.Passages = sum.Items+r.Items, sum.Forgotten+r.Forgotten, sum.Passages+r.Passages
	sum.Skipped = append(sum.Skipped, r.Skipped...)
}

// maxShownSkipped is the maximal number of skipped files listed on a terminal.
const maxShownSkipped = 20

func (t *memoryImport) printReport() {
	r := t.report
	if isEmpty(r) {
		return
	}
	if t.flags.json {
		r.Skipped = append([]document.SkippedFile{}, r.Skipped...)
		_ = t.printJSON(r) // [outputWriter] keeps the error for the end
		return
	}
	r.Skipped = slices.DeleteFunc(slices.Clone(r.Skipped), func(s document.SkippedFile) bool { return s == t.reportedSkip })
	if isEmpty(r) {
		return
	}
	parts := []string{textkit.Count(r.Added, "file", "files") + " new"}
	for _, p := range []struct {
		n    int
		word string
	}{{r.Changed, "changed"}, {r.Unchanged, "unchanged"}, {r.Removed, "removed"}} {
		if p.n > 0 {
			parts = append(parts, textkit.Number(p.n)+" "+p.word)
		}
	}
	t.cli.printNote("%s; %s written", strings.Join(parts, ", "), textkit.Count(r.Passages, "passage", "passages"))
	for _, s := range r.Skipped[:min(len(r.Skipped), maxShownSkipped)] {
		t.cli.printNote("left out: %s: %s", textkit.OneLine(document.QuotePath(s.Path)), textkit.OneLine(s.Reason))
	}
	if more := len(r.Skipped) - maxShownSkipped; more > 0 {
		t.cli.printNote("and %s more left out; --json lists all of them", textkit.Number(more))
	}
}

// vectorTimeout limits how long a note waits for vectors of other items.
const vectorTimeout = 3 * time.Second

// awaitVectors merges the index and computes vectors. It computes the rest later; a note does not wait
// for them.
func (t *memoryImport) awaitVectors(ctx context.Context, files bool) error {
	limit := vectorTimeout
	if files {
		limit = 24 * time.Hour
	}
	done, err := t.WaitIndexedFor(ctx, limit, func(vectors, of int) {
		t.showProgress(&progress{float64(vectors) / float64(max(1, of)), fmt.Sprintf("vectors of %s of %s passages", textkit.Number(vectors), textkit.Number(of))})
	})
	t.showProgress(nil)
	switch {
	case ctx.Err() != nil:
		t.cli.printNote("stopped before all vectors were computed; search uses words until you run the same command again")
		return failure{exitInterrupted, ctx.Err()}
	case err != nil:
		t.cli.printMessage("warning: vectors are incomplete, so search uses words: %v", unwrapStoreError(err))
	case !done:
		t.cli.printNote("some vectors are missing until files are remembered again; until then, search uses words")
	}
	return nil
}
