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
		Short: "Remember files, folders, pages and notes",
		Long: `Remember what is in files, folders and pages, so that it can be found with
` + "`ponder recall`" + ` and used in thinking. - is read from standard input, and --text
is a note to remember as it stands.

Folders are followed: remember one again, and only what has changed is read, and what
is gone is forgotten. What .gitignore and .ignore name is left out. Read are Markdown,
text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, JSON Lines, mail (mbox, eml) and source
code. Files that cannot be read are named and left out. Ctrl-C stops; the same command
goes on.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some was left out, 4 a page that may not be
read (see web.allow), 130 interrupted.`,
		Example: `ponder remember ~/notes
ponder remember contract.pdf --tag work --date 2024-03-01
ponder remember https://example.com/article
ponder remember --text "Anna prefers tea" --tag anna
ponder remember posts.jsonl --kind post --source twitter --persona ada
pbpaste | ponder remember - --title "What Ben said"`,
		GroupID: groupKnow,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.remember(cmd.Context(), args, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "kind", "", "memory, document, post, journal or thread (default: what it looks like)")
	flags.StringArrayVar(&f.tags, "tag", nil, "a `word` to find it by; may be repeated")
	flags.StringVar(&f.date, "date", "", "`day` it was written or happened, such as 2024-03-01, if it does not say itself")
	flags.StringVar(&f.title, "title", "", "title of a note")
	flags.StringVar(&f.source, "source", "", "`name` of where a note or posts are from, such as twitter")
	flags.StringVar(&f.author, "author", "", "who wrote a note")
	flags.StringVar(&f.persona, "persona", "", "`name` of the persona whose words these are")
	flags.StringVar(&f.name, "name", "", "`name` of a file that standard input is to be read as, such as posts.jsonl")
	flags.StringVar(&f.text, "text", "", "a `note` to remember as it stands")
	return cmd
}

func (f *rememberFlags) options() (recall.IngestOptions, error) {
	kind, err := app.KindOf(f.kind)
	if err != nil {
		return recall.IngestOptions{}, err
	}
	o := recall.IngestOptions{Kind: kind, Tags: f.tags, Persona: f.persona, Source: f.source}
	if f.date != "" {
		if o.Date, err = dayOf("date", f.date); err != nil {
			return o, err
		}
	}
	return o, nil
}

func dayOf(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--%s: %q is no day such as 2024-03-01", flag, textkit.Truncate(text, 30))
}

func (a *cli) remember(ctx context.Context, args []string, f rememberFlags) error {
	if len(args) == 0 && f.text == "" {
		return app.Invalidf("text", "ponder remember needs a file, a folder, a URL, - or --text: see `ponder remember --help`")
	}
	o, err := f.options()
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
			return usagef("ponder remember: needs a file, a folder, a URL or -, not nothing")
		default:
			paths = append(paths, arg)
		}
	}
	if len(paths) > 0 {
		if _, err := document.Scan(ctx, paths, document.Options{MaxFiles: 1}); err != nil {
			return notPath(err)
		}
	}
	s, err := a.OpenLibrary(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	t := &taking{cli: a, LibraryHandle: s, o: o, f: f}
	defer t.show(nil)
	return t.all(ctx, paths, urls, piped)
}

func notPath(err error) error {
	return usagef("%w; to remember a note, write it behind --text", err)
}

type taking struct {
	*cli
	*app.LibraryHandle
	o      recall.IngestOptions
	f      rememberFlags
	bar    *progressBar
	pages  int
	report recall.Report
	told   document.Skipped // skipped items; the first is the error
}

func (t *taking) all(ctx context.Context, paths, urls []string, piped bool) error {
	var steps []func() error
	if t.f.text != "" {
		steps = append(steps, func() error { return t.note(ctx, t.f.text) })
	}
	if len(paths) > 0 {
		steps = append(steps, func() error { return t.paths(ctx, paths) })
	}
	for _, url := range urls {
		steps = append(steps, func() error { return t.url(ctx, url) })
	}
	if piped {
		steps = append(steps, func() error { return t.standardInput(ctx) })
	}
	var first error
	for _, step := range steps {
		if err := step(); err != nil && first == nil {
			first = err
		} else if err != nil {
			t.cli.say("%v", err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	t.show(nil)
	t.tell()
	switch {
	case ctx.Err() != nil:
		t.cli.note("stopped; the same command goes on where it was")
		return failure{interrupted, ctx.Err()}
	case first != nil && t.pages+t.report.Added+t.report.Changed+t.report.Unchanged > 0:
		first = failure{incomplete, first}
	case first != nil:
		return first
	}
	if err := t.settle(ctx, len(paths) > 0); err != nil {
		return err
	}
	if first != nil {
		return first
	}
	if len(t.report.Skipped) > 0 {
		return failure{code: incomplete}
	}
	return nil
}

func (t *taking) paths(ctx context.Context, paths []string) error {
	o := t.o
	o.Progress = func(p recall.Progress) {
		share := 0.0
		if p.OfBytes > 0 {
			share = float64(p.Bytes) / float64(p.OfBytes)
		}
		t.show(&progress{share, fmt.Sprintf("%s of %s files, %s passages", textkit.Number(p.Files), textkit.Number(p.OfFiles), textkit.Number(p.Passages))})
	}
	r, err := t.Ingest(ctx, paths, o)
	t.add(r)
	if err == nil && isEmpty(r) {
		t.cli.note("there is nothing to read in %s", textkit.OneLine(strings.Join(paths, ", ")))
	}
	for _, s := range r.Skipped {
		if err != nil && t.told == (document.Skipped{}) && strings.HasSuffix(err.Error(), s.Path+": "+s.Reason) {
			t.told, err = s, usagef("%w", err)
		}
	}
	return err
}

func isEmpty(r recall.Report) bool {
	return r.Added+r.Changed+r.Unchanged+r.Removed+r.Items+len(r.Skipped) == 0
}

func (t *taking) url(ctx context.Context, url string) error {
	t.show(&progress{-1, "reading " + textkit.Truncate(url, 60)})
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
	}, t.o)
	if err != nil {
		return err
	}
	t.pages++
	t.show(nil)
	t.cli.note("remembered the page %q", textkit.Truncate(textkit.OneLine(cmp.Or(page.Title, page.Final)), 80))
	if page.Truncated {
		t.cli.note("it is longer than is read of a page: the end is left out")
	}
	return nil
}

// shortInput is the maximal length in bytes of piped input that counts as a note by default.
const shortInput = 4000

// maxPiped is the maximal length of standard input in bytes.
const maxPiped = 256 << 20

// standardInput remembers piped input: a note if short, else a file.
func (t *taking) standardInput(ctx context.Context) error {
	t.show(&progress{-1, "reading standard input"})
	b, err := limitio.ReadAll(t.stdin(ctx), maxPiped)
	switch {
	case errors.Is(err, limitio.ErrTooLarge):
		return usagef("standard input is longer than %s: write it to a file", textkit.Bytes(maxPiped))
	case err != nil:
		return fmt.Errorf("read standard input: %w", err)
	case len(bytes.TrimSpace(b)) == 0:
		return usagef("standard input is empty: nothing to remember")
	case t.f.name == "" && len(b) <= shortInput && (t.o.Kind == "" || t.o.Kind == recall.KindMemory):
		return t.note(ctx, string(b))
	}
	name := t.f.name
	if name == "" {
		name = "standard input.md"
		if t.f.title != "" {
			name = t.f.title + ".md"
		}
	}
	r, err := t.IngestReader(ctx, name, bytes.NewReader(b), t.o)
	t.add(r)
	return err
}

func (t *taking) note(ctx context.Context, text string) error {
	kind := t.o.Kind
	if kind == "" {
		kind = recall.KindMemory
	}
	text, err := app.CheckMemory(text)
	if err != nil {
		return err
	}
	kept, err := t.Remember(ctx, recall.Item{
		Kind: kind, Persona: t.f.persona, Title: t.f.title, Text: text, Source: t.f.source, Author: t.f.author,
		Tags: t.f.tags, Date: t.o.Date,
	})
	if err != nil {
		return err
	}
	t.pages++
	if t.flags.json {
		for _, it := range kept {
			if err := t.object(it); err != nil {
				return err
			}
		}
		return nil
	}
	t.cli.note("remembered %s", kept[0].ID)
	return nil
}

func (t *taking) add(r recall.Report) {
	sum := &t.report
	sum.Added, sum.Changed, sum.Unchanged, sum.Removed = sum.Added+r.Added, sum.Changed+r.Changed, sum.Unchanged+r.Unchanged, sum.Removed+r.Removed
	sum.Items, sum.Forgotten, sum.Passages = sum.Items+r.Items, sum.Forgotten+r.Forgotten, sum.Passages+r.Passages
	sum.Skipped = append(sum.Skipped, r.Skipped...)
}

// mostSkipped is the maximal number of skipped files listed on a terminal.
const mostSkipped = 20

func (t *taking) tell() {
	r := t.report
	if isEmpty(r) {
		return
	}
	if t.flags.json {
		r.Skipped = append([]document.Skipped{}, r.Skipped...)
		_ = t.object(r) // [results] keeps the error for the end
		return
	}
	r.Skipped = slices.DeleteFunc(slices.Clone(r.Skipped), func(s document.Skipped) bool { return s == t.told })
	if isEmpty(r) {
		return
	}
	parts := []string{textkit.Count(r.Added, "file", "files") + " new"}
	for _, p := range []struct {
		n    int
		word string
	}{{r.Changed, "changed"}, {r.Unchanged, "unchanged"}, {r.Removed, "gone"}} {
		if p.n > 0 {
			parts = append(parts, textkit.Number(p.n)+" "+p.word)
		}
	}
	t.cli.note("%s; %s written", strings.Join(parts, ", "), textkit.Count(r.Passages, "passage", "passages"))
	for _, s := range r.Skipped[:min(len(r.Skipped), mostSkipped)] {
		t.cli.note("left out: %s: %s", textkit.OneLine(document.Legible(s.Path)), textkit.OneLine(s.Reason))
	}
	if more := len(r.Skipped) - mostSkipped; more > 0 {
		t.cli.note("and %s more were left out; --json names them all", textkit.Number(more))
	}
}

// settleTime limits how long a note waits for vectors of other items.
const settleTime = 3 * time.Second

// settle merges the index and makes vectors. The rest is made later; a note does not wait for
// it.
func (t *taking) settle(ctx context.Context, files bool) error {
	limit := settleTime
	if files {
		limit = 24 * time.Hour
	}
	done, err := t.SettleFor(ctx, limit, func(vectors, of int) {
		t.show(&progress{float64(vectors) / float64(max(1, of)), fmt.Sprintf("vectors of %s of %s passages", textkit.Number(vectors), textkit.Number(of))})
	})
	t.show(nil)
	switch {
	case ctx.Err() != nil:
		t.cli.note("stopped while vectors were made; all can be found by its words, and the same command goes on")
		return failure{interrupted, ctx.Err()}
	case err != nil:
		t.cli.say("warning: vectors are not complete, so search goes by words: %v", shortest(err))
	case !done:
		t.cli.note("vectors of the rest are made the next time that files are remembered; until then it is found by its words")
	}
	return nil
}
