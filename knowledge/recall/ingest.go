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

// IngestOptions say how files are taken. The zero value is good.
type IngestOptions struct {
	// Kind is that of all items. If it is "", posts are posts, notes that are
	// named after a day or have dated headings are journals, conversations are
	// threads, and the rest are documents.
	Kind Kind

	Tags    []string  // that all items get, beside their own
	Persona string    // whose voice they are in
	Date    time.Time // of what does not say when it was written
	Source  string    // of posts that name none, such as "twitter"; else it is their file

	Formats []document.Format // what can be read; document.Formats if nil
	MaxFile int64             // most bytes of a file; what its format allows if zero

	// Progress, if set, is called after each transaction, on the goroutine of the
	// caller.
	Progress func(Progress)
}

// Progress says how far an ingestion has come.
type Progress struct {
	Files, OfFiles int
	Bytes, OfBytes int64
	Items          int // written
	Passages       int // of these
}

// A Report says what an ingestion did.
type Report struct {
	Added     int `json:"files_added"`
	Changed   int `json:"files_changed"`
	Unchanged int `json:"files_unchanged"`
	Removed   int `json:"files_removed"`
	Items     int `json:"items"` // written
	Forgotten int `json:"items_forgotten"`
	Passages  int `json:"passages"` // written

	// Skipped is what was left out, and why: files, and parts of files as
	// path#part.
	Skipped []document.Skipped `json:"skipped"`
}

// Bounds on one ingestion.
const (
	maxFiles   = 400_000
	maxTotal   = 256 << 30
	maxSkipped = 1000 // told one by one
)

// Ingest takes files and folders into the Library. What it took before and has
// not changed is left as it is: size and time of a file tell, or else the hash of
// its bytes. Of a file that has changed, the parts that have are replaced. What
// is gone from a folder that is given is forgotten, and so is what its ignore
// files name now, unless the user named the file itself once: that one is followed
// until it is forgotten or gone. Originals of what has changed or is gone stay in
// the archive, where evidence is checked against them, until they are forgotten.
//
// Options that are not given are, for a file that is known, what they were the
// last time: naming it with another kind does not take its tags from it. What was
// forgotten of a file comes again when it has changed, or when it is named itself.
//
// A file that cannot be read is reported and skipped; if the user named it, that
// is also the error, after the rest is done. If the process is killed or ctx
// ends, what was written stays and is not read again the next time.
func (l *Library) Ingest(ctx context.Context, paths []string, o IngestOptions) (Report, error) {
	p, err := l.plan(ctx, paths, o)
	if err != nil {
		return Report{}, fmt.Errorf("remember %s: %w", strings.Join(paths, ", "), err)
	}
	if err := p.run(ctx); err != nil {
		return p.report, fmt.Errorf("remember %s: %w", strings.Join(paths, ", "), err)
	}
	return p.report, nil
}

// A plan is an ingestion.
type plan struct {
	l     *Library
	o     IngestOptions
	began time.Time
	roots []string // real and as named
	known map[string]file
	list  *document.Listing
	named error // that of the first named file that could not be read

	report   Report
	progress Progress
}

// version is that of how files are taken apart; another reads all files again.
const version = "2"

// plan finds what there is to do.
func (l *Library) plan(ctx context.Context, paths []string, o IngestOptions) (*plan, error) {
	if o.Kind != "" && !o.Kind.known() {
		return nil, fmt.Errorf("there is no kind %q", o.Kind)
	}
	p := &plan{l: l, o: o, began: l.now()}
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
	if p.known, err = l.files(ctx, p.roots); err != nil {
		return nil, err
	}
	if err := p.listNamed(ctx); err != nil {
		return nil, err
	}
	p.progress.OfFiles, p.progress.OfBytes = len(list.Files), list.Bytes()
	return p, nil
}

// listNamed adds files that the user named before to those of the folders they
// are in, whatever ignore files say of them.
func (p *plan) listNamed(ctx context.Context) error {
	found := p.found()
	for path, f := range p.known {
		if !f.named || found[path] || missing(path) {
			continue
		}
		list, err := document.Scan(ctx, []string{path}, document.Options{MaxFile: p.o.MaxFile, MaxTotal: maxTotal, Formats: p.o.Formats})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // what is known of it stays
			p.skip(path, err)
			continue
		}
		for _, f := range list.Files {
			f.Named = false // this time
			p.list.Files = append(p.list.Files, f)
		}
	}
	return nil
}

// found returns the paths that were listed.
func (p *plan) found() map[string]bool {
	found := make(map[string]bool, len(p.list.Files))
	for _, f := range p.list.Files {
		found[f.Path] = true
	}
	return found
}

// skip reports what is left out.
func (p *plan) skip(path string, why error) {
	if len(p.report.Skipped) < maxSkipped {
		p.report.Skipped = append(p.report.Skipped, document.Skipped{Path: path, Reason: textkit.Prefix(why.Error(), maxField)})
	}
}

// gone returns the files that are known and not there any more. A file below a
// folder that cannot be read may still be there, and so may one beyond the bounds
// of a walk.
func (p *plan) gone() []file {
	found := p.found()
	partial, below := false, []string{}
	for _, s := range p.list.Skipped {
		partial = partial || strings.HasSuffix(s.Reason, "the rest is left out")
		below = append(below, s.Path)
	}
	var gone []file
	for path, f := range p.known {
		if !found[path] && (missing(path) || !f.named && !partial && !hidden(path, below, p.roots)) {
			gone = append(gone, f)
		}
	}
	return gone
}

// missing reports whether there is certainly nothing at a path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// hidden reports whether a path is below a folder that was skipped.
func hidden(path string, skipped, roots []string) bool {
	return slices.ContainsFunc(skipped, func(s string) bool { return s != path && inside(path, s) && !contains(roots, s) })
}

func contains(list []string, s string) bool {
	return slices.Contains(list, s)
}

// maxReader is the most bytes that are read of a reader.
const maxReader = 256 << 20

// IngestReader takes what a reader has, such as standard input, as a file of a
// name: its extension says what it is, or else how it begins. What says the same
// as what is there takes its place; nothing is followed.
func (l *Library) IngestReader(ctx context.Context, name string, r io.Reader, o IngestOptions) (Report, error) {
	most := int64(maxReader)
	if o.MaxFile > 0 {
		most = o.MaxFile
	}
	raw, err := limitio.ReadAll(r, most)
	if errors.Is(err, limitio.ErrTooLarge) {
		err = fmt.Errorf("it is longer than %d MiB", most>>20)
	}
	if err != nil {
		return Report{}, fmt.Errorf("remember %s: %w", name, err)
	}
	base := Item{Kind: o.Kind, Persona: o.Persona, Tags: o.Tags, Date: o.Date, Source: name, from: o.Source}
	p := &plan{l: l, o: o, began: l.now()}
	p.progress.OfFiles, p.progress.OfBytes = 1, int64(len(raw))
	if err := p.read(ctx, source{name, true, o.Formats, l.now()}, raw, base); err != nil {
		return p.report, fmt.Errorf("remember %s: %w", name, err)
	}
	return p.report, nil
}

// read keeps what bytes are taken apart into, some at a time.
func (p *plan) read(ctx context.Context, src source, raw []byte, base Item) error {
	l := p.l
	var packed []archive.Packed
	if l.archive != nil {
		packed = []archive.Packed{archive.Pack(archive.Original{Source: src.path, Bytes: raw, Type: typeOf(src.path), Fetched: p.began})}
		base.Original = packed[0].Hash
	}
	var list []*entry
	flush := func() error {
		list, _ = unique(list)
		if len(list) == 0 {
			return nil
		}
		if err := l.keep(ctx, list, packed); err != nil {
			return err
		}
		s := &step{entries: list}
		for _, e := range list {
			s.passages += e.item.Passages
		}
		p.count(s)
		list = nil
		return nil
	}
	size, first := 0, error(nil)
	for e, err := range entries(src, raw, base) {
		if err != nil {
			first = cmp.Or(first, err)
			p.skip(partPath(src.path, e), err)
			continue
		}
		if e.item.Source != base.Source {
			e.item.Original = "" // it is that of the reader, under another name
		}
		e.complete(l.owner)
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
	p.count(&step{looked: 1, bytes: int64(len(raw)), added: min(1, p.report.Items)})
	if p.report.Items == 0 && first != nil {
		return first
	}
	return nil
}

// A Page is a page of the web as it was fetched and made readable.
type Page struct {
	URL       string
	Type      string // media type of Raw
	Title     string
	Author    string
	Published time.Time
	Fetched   time.Time
	Markdown  string // its text
	Raw       []byte // as it came; kept in the archive
}

// IngestPage takes a page. It takes the place of the same URL.
func (l *Library) IngestPage(ctx context.Context, page Page, o IngestOptions) (Report, error) {
	p := &plan{l: l, o: o, began: l.now()}
	if err := p.page(ctx, page); err != nil {
		return p.report, fmt.Errorf("remember %s: %w", page.URL, err)
	}
	return p.report, nil
}

func (p *plan) page(ctx context.Context, page Page) error {
	if page.URL == "" {
		return errors.New("it has no address")
	}
	var packed []archive.Packed
	it := Item{
		Kind: p.o.Kind, Persona: p.o.Persona, Tags: p.o.Tags, Title: page.Title, Author: page.Author, Source: page.URL, Link: page.URL,
		ExternalID: page.URL, Date: dated(page.Published, p.o.Date),
	}
	it.Kind = cmp.Or(it.Kind, KindDocument)
	if p.l.archive != nil && page.Raw != nil {
		packed = []archive.Packed{archive.Pack(archive.Original{
			Source: page.URL, Title: page.Title, Bytes: page.Raw, Type: page.Type, Fetched: dated(page.Fetched, p.began),
		})}
		it.Original = packed[0].Hash
	}
	content := document.Markdown(textkit.Prefix(page.Markdown, maxText))
	content.Title = dflt(page.Title, content.Title)
	e := &entry{item: it, doc: document.NewDocument(page.URL, page.URL, content)}
	if e.doc.Text == "" {
		return errNoText
	}
	e.item.Title = e.doc.Title
	e.complete(p.l.owner)
	if err := p.l.keep(ctx, []*entry{e}, packed); err != nil {
		return err
	}
	p.count(&step{entries: []*entry{e}, passages: e.item.Passages, looked: 1, added: 1})
	return nil
}
