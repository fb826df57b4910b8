// Package document searches the files of a user: notes, documents and saved pages. It
// reads files into memory, records the position of every sentence, and ranks sentences
// against a question. It uses no model, server or network.
//
// [Scan] walks folders and lists readable files; [FileList.Load] reads them. A [Format]
// divides a file into blocks (headings, paragraphs, items, rows, code), or into
// several documents (messages of a mailbox, posts of a table). A [Document] is the
// normalized text of the blocks, with byte ranges of pages, sections and sentences. A
// [Collection] indexes documents: [Collection.Search] returns sentences,
// [Collection.Rank] documents, and [Collection.KeyTerms] the topics of a text. [Load]
// does everything in one call.
//
// A quote is a byte range of a document's text, and the text has a hash;
// [Document.Verify] checks a quote. The text depends only on the file's bytes and the
// version of this package. [Read] makes documents from bytes, and [ReadTyped] from bytes
// with a media type.
//
// Ranking is BM25 on sentences, plus the scores of passage, headings and neighbours.
// Words match by English stem, without case and accents; scripts without spaces match
// by letter pairs. The index has one posting list per term, with delta-encoded
// sentence numbers and frequencies.
//
// Input is untrusted: sizes, counts and depths are bounded, special files are never
// opened, and links out of the named folders are not followed. Archives have bounds on
// their unpacked size. A sandboxed engine reads PDFs; it starts with the first PDF and
// stops when a file exceeds its time or its memory. Where a process may not have executable
// memory, an interpreter runs it. A panic of a format is an error of its file.
//
// The compiled engine is stored in ponder/wasm of the user's cache folder and can be
// deleted at any time.
package document

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"ponder/internal/textkit"
)

// A Kind is the kind of a block or sentence.
type Kind uint8

// The kinds. The zero Kind is running text.
const (
	Prose Kind = iota
	Heading
	Item // list item, or a standalone line
	Row  // table row
	Code // searchable, but never quoted
)

// A Block is a piece of a document in reading order.
type Block struct {
	Kind  Kind
	Level int // heading level, 1 to 6
	Text  string
	Page  int // first page, from 1; 0 without pages
}

// Content is the result of a [Format].
type Content struct {
	Title     string    // "" if the file has none
	Author    string    // likewise
	Published time.Time // UTC; zero if unknown
	Language  string    // tag from the file: "en" or "de-AT"
	Tags      []string  // at most 64
	Names     []string  // sender and receivers with addresses; searchable, never quoted
	Blocks    []Block
}

// textSize returns the size of the text in bytes, with separators.
func (c Content) textSize() (n int) {
	for _, b := range c.Blocks {
		n += len(b.Text) + len("\n\n")
	}
	return n
}

// A Document is an immutable text with its structure. All ranges are bytes of Text.
type Document struct {
	Source    string // [QuotePath] path; path#key for one of several documents in a file
	Title     string // from the file, or the first heading, or the file name
	Author    string // "" if unknown
	Published time.Time
	Language  string
	Tags      []string
	Names     []string
	Text      string
	Hash      string // SHA-256 of Text, hex
	Pages     []Page // by Start; none without pages
	Sections  []Section
	Sentences []Sentence // by Start, without overlap
}

// A Page is a non-empty page of a document.
type Page struct {
	Number int // from 1
	Start  int // offset of its text; it ends at the next page
}

// A Section is a heading with its text and subsections.
type Section struct {
	Title      string
	Level      int
	Start, End int
	Parent     int // index in Sections; -1 at the top
}

// A Sentence is a quotable unit of at most [MaxSentence] bytes: a sentence, item, row,
// heading or piece of code.
type Sentence struct {
	Start, End int
	Kind       Kind
	Section    int // index in Sections; -1 before the first heading
	block      int // block number
}

// NewDocument returns the document with the given content. It normalizes white space
// and drops empty blocks.
func NewDocument(source, name string, c Content) *Document {
	d := &Document{
		Source: source, Title: oneLine(c.Title), Author: oneLine(c.Author),
		Published: c.Published, Language: normaliseLanguage(c.Language), Tags: c.Tags, Names: c.Names,
	}
	var text strings.Builder
	text.Grow(c.textSize())
	open := -1 // innermost section
	var last Kind
	for n, b := range c.Blocks {
		s := normaliseText(b)
		if s == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteString(blockSeparator(last, b.Kind))
		}
		last = b.Kind
		start := text.Len()
		text.WriteString(s)
		if b.Page > 0 && (len(d.Pages) == 0 || d.Pages[len(d.Pages)-1].Number < b.Page) {
			d.Pages = append(d.Pages, Page{b.Page, start})
		}
		if b.Kind == Heading {
			open = d.addSection(open, Section{Title: s, Level: min(max(b.Level, 1), 6), Start: start})
		}
		for _, r := range splitUnits(b.Kind, s) {
			d.Sentences = append(d.Sentences, Sentence{start + r.start, start + r.end, b.Kind, open, n})
		}
	}
	d.closeSections(open, 0, text.Len())
	d.Text = text.String()
	if d.Title == "" && len(d.Sections) > 0 {
		d.Title = d.Sections[0].Title
	}
	d.Title = cmp.Or(d.Title, name)
	sum := sha256.New()
	for rest := d.Text; rest != ""; { // without a copy of the whole text
		n := min(len(rest), 64<<10)
		_, _ = sum.Write([]byte(rest[:n])) // never fails
		rest = rest[n:]
	}
	d.Hash = hex.EncodeToString(sum.Sum(nil))
	return d
}

// Page returns the number of the page with byte at, or 0 without pages.
func (d *Document) Page(at int) int {
	i := sort.Search(len(d.Pages), func(i int) bool { return d.Pages[i].Start > at })
	if i == 0 {
		return 0
	}
	return d.Pages[i-1].Number
}

func (d *Document) addSection(open int, s Section) int {
	s.Parent = d.closeSections(open, s.Level, s.Start)
	d.Sections = append(d.Sections, s)
	return len(d.Sections) - 1
}

func (d *Document) closeSections(open, level, end int) int {
	for open >= 0 && d.Sections[open].Level >= level {
		d.Sections[open].End = end
		open = d.Sections[open].Parent
	}
	return open
}

func blockSeparator(a, b Kind) string {
	if a == b && (a == Item || a == Row) {
		return "\n"
	}
	return "\n\n"
}

func normaliseText(b Block) string {
	if b.Kind != Code {
		return oneLine(b.Text)
	}
	lines := strings.Split(stripInvisible(b.Text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// Verify reports whether quote equals the text at start..end.
func (d *Document) Verify(quote string, start, end int) bool {
	return 0 <= start && start < end && end <= len(d.Text) && d.Text[start:end] == quote
}

const rangeHashLen = 12

// RangeID returns the ID of a range: hash prefix and offsets.
func (d *Document) RangeID(start, end int) string {
	return d.Hash[:rangeHashLen] + ":" + strconv.Itoa(start) + "-" + strconv.Itoa(end)
}

// ParseRangeID parses the result of [Document.RangeID].
func ParseRangeID(id string) (hash string, start, end int, ok bool) {
	hash, span, _ := strings.Cut(id, ":")
	a, b, _ := strings.Cut(span, "-")
	start, err1 := strconv.Atoi(a)
	end, err2 := strconv.Atoi(b)
	return hash, start, end, len(hash) == rangeHashLen && err1 == nil && err2 == nil && 0 <= start && start < end
}

// SentenceAt returns the index of the sentence with byte start, or of the next one.
func (d *Document) SentenceAt(start int) int {
	return sort.Search(len(d.Sentences), func(i int) bool { return d.Sentences[i].End > start })
}

// Quote returns the text of sentence i.
func (d *Document) Quote(i int) string { return d.Text[d.Sentences[i].Start:d.Sentences[i].End] }

// Heading returns the headings above section i without the document title: "Terms >
// Payment".
func (d *Document) Heading(i int) string {
	var path []string
	for ; i >= 0; i = d.Sections[i].Parent {
		if t := d.Sections[i].Title; t != d.Title {
			path = append([]string{t}, path...)
		}
	}
	return strings.Join(path, " > ")
}

// titleRankWeight is the weight of title terms in document scores.
const titleRankWeight = 0.5

// A RankedDocument is a document with its score for a question.
type RankedDocument struct {
	Document *Document
	Score    float64
}

// Rank returns the n documents that best match a question, best first. Scores are
// comparable only within one result.
func (c *Collection) Rank(question string, n int) []RankedDocument {
	q := c.parseQuery(question)
	t := c.tallyQuery(q)
	defer c.releaseTally(t)
	var list []scoredUnit
	for d := range c.docs {
		if s := t.docs[d] + titleRankWeight*t.titles[d]; s > 0 {
			list = append(list, scoredUnit{int32(d), s})
		}
	}
	slices.SortStableFunc(list, func(a, b scoredUnit) int {
		if isBetter(a, b) {
			return -1
		}
		return 1
	})
	var out []RankedDocument
	for _, v := range list[:min(len(list), max(n, 0))] {
		out = append(out, RankedDocument{c.docs[v.unit], float64(v.score)})
	}
	return out
}

// A Collection is an immutable index of documents, safe for concurrent use.
type Collection struct {
	*index
	tallies sync.Pool // of *tally
}

// NewCollection indexes docs.
func NewCollection(docs []*Document) *Collection {
	b := newBuilder()
	for _, d := range docs {
		b.addDocument(d)
	}
	return b.buildCollection()
}

func (b *builder) buildCollection() *Collection {
	c := &Collection{index: b.buildIndex()}
	c.tallies.New = func() any { return newTally(c.index) }
	return c
}

// Documents returns the documents in order. The caller must not modify the slice.
func (c *Collection) Documents() []*Document { return c.docs }

// Sentences returns the number of sentences.
func (c *Collection) Sentences() int { return len(c.units) }

// Bytes returns the total length of the texts.
func (c *Collection) Bytes() int64 {
	var n int64
	for _, d := range c.docs {
		n += int64(len(d.Text))
	}
	return n
}

func stripInvisible(text string) string {
	return strings.ReplaceAll(textkit.Visible(text), "\uFFFD", " ")
}

func oneLine(text string) string { return textkit.OneLine(stripInvisible(text)) }

// parseDate returns the UTC time in s, or zero. A year means its first instant.
func parseDate(s string) time.Time {
	if t, err := time.Parse("2006", strings.TrimSpace(s)); err == nil {
		return textkit.SaneDate(t)
	}
	return textkit.ParseDate(s)
}

// pdfDate reads "D:20240131120000+01'00'"; all parts after the year are optional.
func pdfDate(s string) time.Time {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "D:"), "'", "")
	for _, form := range []string{"20060102150405-0700", "20060102150405Z0000", "20060102150405Z", "20060102150405", "200601021504", "20060102", "200601", "2006"} {
		if t, err := time.Parse(form, s); err == nil {
			return textkit.SaneDate(t)
		}
	}
	return parseDate(s)
}

func normaliseLanguage(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "_", "-")
	first, _, _ := strings.Cut(s, "-")
	letters := strings.IndexFunc(first, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' }) < 0
	if n := len(first); n < 2 || n > 3 || len(s) > 35 || !letters {
		return ""
	}
	return strings.ToLower(first) + s[len(first):]
}
