package recall

import (
	"iter"
	"mime"
	"path/filepath"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
)

// A source is where bytes are from that are taken apart.
type source struct {
	path    string // or a name
	named   bool   // the user named it, so that it is looked into whatever it is called
	formats []document.Format

	// modified dates documents that do not say when they were written. Records
	// that do not have no date.
	modified time.Time
}

// entries yields what a file is made of: what its records are if it has some
// that are known, or else its documents, journals by their days. The same bytes
// give the same entries. An error is that of a part, and the rest goes on. base is
// what all of them have, if they do not say otherwise.
func entries(src source, raw []byte, base Item) iter.Seq2[*entry, error] {
	ext := strings.ToLower(filepath.Ext(src.path))
	switch shapeOf(ext, raw) {
	case shapePosts:
		return posts(rowsOf(ext, raw), base)
	case shapeTurns:
		base.Title = stem(src.path)
		return talks(rowsOf(ext, raw), base)
	}
	return documents(src, raw, base)
}

// stem returns the name of a file without its extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// documents yields an entry for each document of a file, or day of a journal.
func documents(src source, raw []byte, base Item) iter.Seq2[*entry, error] {
	return func(yield func(*entry, error) bool) {
		for doc, err := range document.Read(src.path, raw, src.formats, src.named) {
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			key := strings.TrimPrefix(strings.TrimPrefix(doc.Source, document.Legible(src.path)), "#")
			for _, e := range ofDocument(doc, key, base, src.modified) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// ofDocument returns the entries that a document is.
func ofDocument(doc *document.Document, key string, base Item, modified time.Time) []*entry {
	e := documentEntry(doc, key, base, modified)
	if key != "" || base.Kind != "" && base.Kind != KindJournal {
		return []*entry{e}
	}
	if _, ok := dayOfPath(base.Path); ok && written(base.Path) {
		e.item.Kind = KindJournal
		return []*entry{e}
	}
	days := daysOf(doc)
	if days == nil {
		return []*entry{e}
	}
	var list []*entry
	for _, d := range days {
		e := documentEntry(d.doc, d.key, base, modified)
		e.item.Kind = KindJournal
		if !d.date.IsZero() {
			e.item.Date, e.item.Meta = d.date, map[string]string{metaDated: datedText}
			e.item.Title = textkit.PrefixLine(e.item.Title+" "+d.date.Format("2006-01-02"), maxField)
		}
		list = append(list, e)
	}
	return list
}

// documentEntry makes an entry of a document that is a part of a file, or all of
// it.
func documentEntry(doc *document.Document, key string, base Item, modified time.Time) *entry {
	it := base
	it.Title, it.Author, it.Part = doc.Title, dflt(doc.Author, base.Author), key
	it.Tags = append(append([]string(nil), base.Tags...), doc.Tags...)
	it.dates(doc, base, modified)
	e := &entry{item: it, doc: doc, named: doc.Names}
	if it.Kind == "" {
		e.item.Kind = KindDocument
		if mail(base.Source) {
			e.item.Kind = KindThread
		}
	}
	if mail(base.Source) && it.Author != "" {
		e.turns = []turn{{0, it.Author}}
	}
	return e
}

// mail reports whether a file has messages, each by its author.
func mail(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".mbox", ".mbx", ".eml":
		return true
	}
	return false
}

// written reports whether a file is a note that somebody wrote, by its name.
func written(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown", ".txt", ".text", ".org", ".rst", ".adoc", "":
		return true
	}
	return false
}

func dflt(s, or string) string {
	if s != "" {
		return s
	}
	return or
}

// typeOf returns the media type of a file, by its name.
func typeOf(path string) string {
	ext := strings.ToLower(filepath.Ext(path))
	switch ext {
	case ".md", ".markdown":
		return "text/markdown"
	case ".jsonl", ".ndjson":
		return "application/jsonl"
	}
	if t, _, err := mime.ParseMediaType(mime.TypeByExtension(ext)); err == nil {
		return t
	}
	return "application/octet-stream"
}
