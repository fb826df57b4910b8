package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ponder/internal/limitio"
	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
)

type IngestOptions struct {
	// Kind is the kind of all items. By default, the content decides between posts,
	// journals, threads and documents.
	Kind Kind

	Tags    []string  // added to the items' own
	Persona string    // whose voice the items have
	Date    time.Time // of items without one
	Source  string    // of posts without one, such as "twitter"; default their file

	Formats []document.Format // default document.Formats
	MaxFile int64             // bytes; default that of the format

	// Progress, if set, is called after each transaction, on the caller's goroutine.
	Progress func(Progress)
}

type Progress struct {
	Files, TotalFiles int
	Bytes, TotalBytes int64
	Items             int
	Passages          int
}

type Report struct {
	Added     int `json:"files_added"`
	Changed   int `json:"files_changed"`
	Unchanged int `json:"files_unchanged"`
	Removed   int `json:"files_removed"`
	Items     int `json:"items"`
	Forgotten int `json:"items_forgotten"`
	Passages  int `json:"passages"`

	// Skipped lists files, and parts as path#part.
	Skipped []document.SkippedFile `json:"skipped"`
}

const (
	maxFiles   = 400_000
	maxTotal   = 256 << 30
	maxSkipped = 1000 // reported one by one
)

// Ingest stores files and folders. It skips files with unchanged size and time, or
// unchanged content; of others it replaces changed parts. It forgets files that
// vanished from given folders, and ignored ones unless the user once named them. Their
// originals stay in the archive as evidence until they are forgotten.
//
// Unset options keep the values of a file's last ingestion. Forgotten parts return when
// their file changes or is named itself.
//
// Unreadable files are skipped; if a named file is unreadable, its error is returned at
// the end. If the process dies or ctx ends, written items stay and are not read again.
func (l *Library) Ingest(ctx context.Context, paths []string, o IngestOptions) (Report, error) {
	p, err := l.newPlan(ctx, paths, o)
	if err != nil {
		return Report{}, fmt.Errorf("remember %s: %w", strings.Join(paths, ", "), err)
	}
	if err := p.run(ctx); err != nil {
		return p.report, fmt.Errorf("remember %s: %w", strings.Join(paths, ", "), err)
	}
	return p.report, nil
}

type plan struct {
	l          *Library
	o          IngestOptions
	startedAt  time.Time
	roots      []string // absolute, also with symlinks resolved
	knownFiles map[string]file
	list       *document.FileList
	namedError error // the error of the first unreadable named file

	report   Report
	progress Progress
}

// version identifies the splitting; a change makes Ingest read all files again.
const version = "2"

func (l *Library) newPlan(ctx context.Context, paths []string, o IngestOptions) (*plan, error) {
	if o.Kind != "" && !o.Kind.isKnown() {
		return nil, fmt.Errorf("unknown kind %q", o.Kind)
	}
	p := &plan{l: l, o: o, startedAt: l.now()}
	list, err := document.Scan(ctx, paths, document.Options{MaxFile: o.MaxFile, MaxTotal: maxTotal, MaxFiles: maxFiles, Formats: o.Formats})
	if err != nil {
		return nil, err
	}
	p.list, p.report.Skipped = list, list.Skipped
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		p.roots = append(p.roots, abs)
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			p.roots = append(p.roots, real)
		}
	}
	if p.knownFiles, err = l.loadFiles(ctx, p.roots); err != nil {
		return nil, err
	}
	if err := p.listNamed(ctx); err != nil {
		return nil, err
	}
	p.progress.TotalFiles, p.progress.TotalBytes = len(list.Files), list.Bytes()
	return p, nil
}

// listNamed adds files that the user named earlier, even ignored ones.
func (p *plan) listNamed(ctx context.Context) error {
	found := p.foundPaths()
	for path, f := range p.knownFiles {
		if !f.userNamed || found[path] || isMissing(path) {
			continue
		}
		list, err := document.Scan(ctx, []string{path}, document.Options{MaxFile: p.o.MaxFile, MaxTotal: maxTotal, Formats: p.o.Formats})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // keep its items
			p.skipPath(path, err)
			continue
		}
		for _, f := range list.Files {
			f.Named = false
			p.list.Files = append(p.list.Files, f)
		}
	}
	return nil
}

func (p *plan) foundPaths() map[string]bool {
	found := make(map[string]bool, len(p.list.Files))
	for _, f := range p.list.Files {
		found[f.Path] = true
	}
	return found
}

func (p *plan) skipPath(path string, why error) {
	if len(p.report.Skipped) < maxSkipped {
		p.report.Skipped = append(p.report.Skipped, document.SkippedFile{Path: path, Reason: textkit.Prefix(why.Error(), maxField)})
	}
}

// vanishedFiles returns known files that no longer exist. Files below unreadable folders, or
// beyond the scan's bounds, may exist and are kept.
func (p *plan) vanishedFiles() []file {
	found := p.foundPaths()
	partial, below := false, []string{}
	for _, s := range p.list.Skipped {
		partial = partial || strings.HasSuffix(s.Reason, "the rest is skipped")
		below = append(below, s.Path)
	}
	var gone []file
	for path, f := range p.knownFiles {
		if !found[path] && (isMissing(path) || !f.userNamed && !partial && !isHidden(path, below, p.roots)) {
			gone = append(gone, f)
		}
	}
	return gone
}

// isMissing reports whether path certainly does not exist.
func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// isHidden reports whether path is below a skipped folder.
func isHidden(path string, skipped, roots []string) bool {
	return slices.ContainsFunc(skipped, func(s string) bool { return s != path && isInside(path, s) && !containsPath(roots, s) })
}

func containsPath(list []string, s string) bool {
	return slices.Contains(list, s)
}

const maxReader = 256 << 20

// IngestReader stores the content of r as a file of that name, without following it.
// The extension determines the format, or else the content. Items with equal text are
// replaced.
func (l *Library) IngestReader(ctx context.Context, name string, r io.Reader, o IngestOptions) (Report, error) {
	limit := int64(maxReader)
	if o.MaxFile > 0 {
		limit = o.MaxFile
	}
	raw, err := limitio.ReadAll(r, limit)
	if errors.Is(err, limitio.ErrTooLarge) {
		err = fmt.Errorf("it has more than %d MiB", limit>>20)
	}
	if err != nil {
		return Report{}, fmt.Errorf("remember %s: %w", name, err)
	}
	return l.IngestBytes(ctx, name, raw, o)
}

// IngestBytes is [Library.IngestReader] for content in memory.
func (l *Library) IngestBytes(ctx context.Context, name string, raw []byte, o IngestOptions) (Report, error) {
	base := Item{Kind: o.Kind, Persona: o.Persona, Tags: o.Tags, Date: o.Date, Source: name, defaultSource: o.Source}
	p := &plan{l: l, o: o, startedAt: l.now()}
	p.progress.TotalFiles, p.progress.TotalBytes = 1, int64(len(raw))
	if err := p.readSource(ctx, source{name, true, o.Formats, l.now()}, raw, base); err != nil {
		return p.report, fmt.Errorf("remember %s: %w", name, err)
	}
	return p.report, nil
}

func (p *plan) readSource(ctx context.Context, src source, raw []byte, base Item) error {
	l := p.l
	var packed []archive.PackedItem
	if l.archive != nil {
		packed = []archive.PackedItem{archive.Pack(archive.Original{Source: src.path, Bytes: raw, Type: mediaType(src.path), Fetched: p.startedAt})}
		base.Original = packed[0].Hash
	}
	var list []*entry
	flush := func() error {
		list, _ = uniqueEntries(list)
		if len(list) == 0 {
			return nil
		}
		if err := l.saveEntries(ctx, list, packed); err != nil {
			return err
		}
		s := &step{entries: list}
		for _, e := range list {
			s.passages += e.item.Passages
		}
		p.reportStep(s)
		list = nil
		return nil
	}
	size, first := 0, error(nil)
	for e, err := range fileEntries(src, raw, base) {
		if err != nil {
			first = cmp.Or(first, err)
			p.skipPath(partPath(src.path, e), err)
			continue
		}
		if e.item.Source != base.Source {
			e.item.Original = "" // the original belongs to the reader's name
		}
		e.deriveFields(l.owner)
		list, size = append(list, e), size+e.item.Size
		if size > stepBytes/4 || len(list) >= stepRemoved {
			if err := flush(); err != nil {
				return err
			}
			size = 0
		}
	}
	if err := flush(); err != nil {
		return err
	}
	p.reportStep(&step{examined: 1, bytes: int64(len(raw)), added: min(1, p.report.Items)})
	if p.report.Items == 0 && first != nil {
		return first
	}
	return nil
}

type Page struct {
	URL       string
	Type      string
	Title     string
	Author    string
	Published time.Time
	Fetched   time.Time
	Markdown  string
	Raw       []byte // archived
}

// IngestPage stores a page and replaces the one with its URL.
func (l *Library) IngestPage(ctx context.Context, page Page, o IngestOptions) (Report, error) {
	p := &plan{l: l, o: o, startedAt: l.now()}
	if err := p.readPage(ctx, page); err != nil {
		return p.report, fmt.Errorf("remember %s: %w", page.URL, err)
	}
	return p.report, nil
}

func (p *plan) readPage(ctx context.Context, page Page) error {
	if page.URL == "" {
		return errors.New("it has no address")
	}
	var packed []archive.PackedItem
	it := Item{
		Kind: p.o.Kind, Persona: p.o.Persona, Tags: p.o.Tags, Title: page.Title, Author: page.Author, Source: page.URL, Link: page.URL,
		ExternalID: page.URL, Date: firstDate(page.Published, p.o.Date),
	}
	it.Kind = cmp.Or(it.Kind, KindDocument)
	if p.l.archive != nil && page.Raw != nil {
		packed = []archive.PackedItem{archive.Pack(archive.Original{
			Source: page.URL, Title: page.Title, Bytes: page.Raw, Type: page.Type, Fetched: firstDate(page.Fetched, p.startedAt),
		})}
		it.Original = packed[0].Hash
	}
	content := document.Markdown(textkit.Prefix(page.Markdown, maxText))
	content.Title = orDefault(page.Title, content.Title)
	e := &entry{item: it, doc: document.NewDocument(page.URL, page.URL, content)}
	if e.doc.Text == "" {
		return errNoText
	}
	e.item.Title = e.doc.Title
	e.deriveFields(p.l.owner)
	if err := p.l.saveEntries(ctx, []*entry{e}, packed); err != nil {
		return err
	}
	p.reportStep(&step{entries: []*entry{e}, passages: e.item.Passages, examined: 1, added: 1})
	return nil
}
