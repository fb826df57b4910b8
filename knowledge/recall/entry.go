package recall

import (
	"encoding/json"
	"iter"
	"mime"
	"path/filepath"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

type entry struct {
	item      Item
	identity  string // stays the same when the item comes again
	sum       string // hash of the whole item
	givenText string // the text, if given as text
	doc       *document.Document
	turns     []turn // if speakers are known
	mentioned []string
	index     index.Doc
}

// A turn is the start of a speaker's text.
type turn struct {
	start   int
	speaker string
}

const maxNames = 64

// deriveFields derives fields from the item and its text, except number and ID.
func (e *entry) deriveFields(owner string) {
	it := e.item.truncateFields()
	it.Owner, it.Hash, it.Size = owner, e.doc.Hash, len(e.doc.Text)
	e.index = index.Doc{
		Owner: owner, Kind: string(it.Kind), Source: it.Source, Tags: it.Tags, Date: it.Date, Title: e.indexTitle(it),
		Names: e.collectNames(it), Language: lexical.Language(e.doc.Language), Passages: cutPassages(e.doc, e.turns),
	}
	if it.Persona != "" {
		e.index.Tags = append(append([]string(nil), it.Tags...), personaTag+it.Persona)
	}
	it.Passages = len(e.index.Passages)
	e.item = it
	if e.identity == "" {
		e.identity = e.itemIdentity()
	}
	e.sum = e.contentHash()
}

const personaTag = "persona:"

// indexTitle returns the title for the index, with the names of file and folder.
func (e *entry) indexTitle(it Item) string {
	if it.Path == "" {
		return it.Title
	}
	base := filepath.Base(it.Path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	title := it.Title
	if !strings.Contains(title, base) {
		title += " " + base
	}
	return title + " " + filepath.Base(filepath.Dir(it.Path))
}

func (e *entry) collectNames(it Item) []string {
	var names []string
	seen := map[string]bool{"": true}
	add := func(n string) {
		if !seen[n] && len(names) < maxNames {
			seen[n] = true
			names = append(names, n)
		}
	}
	add(it.Author)
	for _, t := range e.turns {
		add(t.speaker)
	}
	for _, n := range e.mentioned {
		add(textkit.PrefixLine(n, maxField))
	}
	return names
}

// itemIdentity returns the item's identity: its file and part, its external ID, or its
// text.
func (e *entry) itemIdentity() string {
	it := e.item
	switch {
	case it.Path != "":
		return hashOf("file", it.Path, it.Part)
	case it.ExternalID != "":
		return hashOf("id", string(it.Kind), it.Persona, it.Source, it.ExternalID)
	}
	return hashOf("text", string(it.Kind), it.Persona, it.Hash)
}

// contentHash hashes the item without ID, number and time of arrival.
func (e *entry) contentHash() string {
	it := e.item
	it.ID, it.num = "", 0
	it.Added = it.Added.Truncate(0)
	meta, err := json.Marshal(it.Meta) // sorts keys
	if err != nil {
		meta = nil
	}
	return hashOf(e.identity, string(it.Kind), it.Persona, it.Title, e.givenText, it.Raw, it.Source, it.ExternalID, it.Link, it.Author,
		strings.Join(it.Tags, "\x00"), it.Date.UTC().String(), it.Hash, joinSpeakers(e.turns), string(meta))
}

func joinSpeakers(turns []turn) string {
	var b strings.Builder
	for _, t := range turns {
		b.WriteString(t.speaker)
		b.WriteByte(0)
	}
	return b.String()
}

func (e *entry) setNumber(n int64) {
	e.item.num, e.index.ID = n, n
}

type source struct {
	path      string
	userNamed bool // by the user, so that its name does not matter
	formats   []document.Format

	// modified dates documents without a date of their own, but not records.
	modified time.Time
}

// fileEntries yields the entries of a file: its known records, or else its documents,
// journals by day. Equal bytes give equal entries. An error concerns one part; the rest
// follows. base has the default fields.
func fileEntries(src source, raw []byte, base Item) iter.Seq2[*entry, error] {
	ext := strings.ToLower(filepath.Ext(src.path))
	switch shapeOf(ext, raw) {
	case shapePosts:
		return postEntries(readRows(ext, raw), base)
	case shapeTurns:
		base.Title = baseName(src.path)
		return conversationEntries(readRows(ext, raw), base)
	}
	return documentEntries(src, raw, base)
}

func baseName(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func documentEntries(src source, raw []byte, base Item) iter.Seq2[*entry, error] {
	return func(yield func(*entry, error) bool) {
		for doc, err := range document.Read(src.path, raw, src.formats, src.userNamed) {
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			key := strings.TrimPrefix(strings.TrimPrefix(doc.Source, document.QuotePath(src.path)), "#")
			for _, e := range splitDocument(doc, key, base, src.modified) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

func splitDocument(doc *document.Document, key string, base Item, modified time.Time) []*entry {
	e := documentEntry(doc, key, base, modified)
	if key != "" || base.Kind != "" && base.Kind != KindJournal {
		return []*entry{e}
	}
	if _, ok := pathDay(base.Path); ok && isNoteFile(base.Path) {
		e.item.Kind = KindJournal
		return []*entry{e}
	}
	days := splitDays(doc)
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

func documentEntry(doc *document.Document, key string, base Item, modified time.Time) *entry {
	it := base
	it.Title, it.Author, it.Part = doc.Title, orDefault(doc.Author, base.Author), key
	it.Tags = append(append([]string(nil), base.Tags...), doc.Tags...)
	it.setDate(doc, base, modified)
	e := &entry{item: it, doc: doc, mentioned: doc.Names}
	if it.Kind == "" {
		e.item.Kind = KindDocument
		if isMailFile(base.Source) {
			e.item.Kind = KindThread
		}
	}
	if isMailFile(base.Source) && it.Author != "" {
		e.turns = []turn{{0, it.Author}}
	}
	return e
}

// isMailFile reports whether a file has messages.
func isMailFile(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".mbox", ".mbx", ".eml":
		return true
	}
	return false
}

// isNoteFile reports whether the name is that of a note.
func isNoteFile(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".markdown", ".txt", ".text", ".org", ".rst", ".adoc", "":
		return true
	}
	return false
}

func orDefault(s, or string) string {
	if s != "" {
		return s
	}
	return or
}

func mediaType(path string) string {
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
