package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ponder/internal/limitio"
	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
)

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
