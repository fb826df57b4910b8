// Package document finds passages in what a user has: folders of notes,
// documents, pages. It reads files into memory, knows the place of every
// sentence, and ranks sentences against a question, with no model, server or
// network.
//
// The way of a file: [Scan] walks folders and lists what is worth reading;
// [Listing.Load] reads it; a [Format] takes it apart into blocks (headings,
// paragraphs, items, rows, code), or into several documents (the messages of a
// mailbox, the posts of a table); a [Document] is the normalised text made of
// the blocks, with byte ranges of pages, sections and sentences in it; a [Collection]
// is documents with an index: it answers [Collection.Search] with sentences,
// [Collection.Rank] with documents, and [Collection.KeyTerms] says what a text is
// about. [Load] does all of it.
//
// A quote is a byte range of the text of a document, and the text has a hash:
// [Document.Verify] says whether a quote is really there. The text depends on
// nothing but the bytes of the file and this version of the package. [Read] makes
// documents of bytes alone, and [Typed] of what came with a media type.
//
// Ranking is BM25 on sentences, helped by the passage, the headings and the
// neighbours of a sentence. Words are compared without case and accents, by
// their English stem; scripts that do not space words, by pairs of letters. The
// index is posting lists in the form of a segment: per term, the numbers of the
// sentences as differences, each with its frequency.
//
// What is read is foreign: sizes, counts and depth are bounded, special files
// are never opened, links that lead out of the named folders are not followed.
// Archives are bounded in what they unpack to, and PDFs are read by an engine in
// a box of its own, which starts with the first of them and is ended when a file
// takes too long.
//
// Stored: what the engine was compiled to, in ponder/wasm of the cache folder of
// the user. It can be removed at any time.
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

// A Kind says what a block, or a sentence of it, is.
type Kind uint8

// The kinds. The zero Kind is running text.
const (
	Prose Kind = iota
	Heading
	Item // of a list, or a line that stands for itself
	Row  // of a table
	Code // found and ranked, but never quoted
)

// A Block is a piece of a document in reading order.
type Block struct {
	Kind  Kind
	Level int // of a heading, 1 to 6
	Text  string
	Page  int // that it begins on, from 1; 0 if the file has none
}

// Content is what a [Format] makes of a file.
type Content struct {
	Title     string    // "" if the file names none
	Author    string    // the same
	Published time.Time // UTC; zero if the file does not say
	Language  string    // as the file says it, "en" or "de-AT"
	Tags      []string  // as the file names them; at most 64
	Names     []string  // who it is from and to, with their addresses: found, never quoted
	Blocks    []Block
}

// A Document is a text with its places. All ranges are bytes of Text. It does
// not change.
type Document struct {
	Source    string // a path, made [Legible]; of one of several in a file, path#key
	Title     string // as named in the file, or its first heading, or its name
	Author    string // "" if the file names none
	Published time.Time
	Language  string
	Tags      []string
	Names     []string
	Text      string
	Hash      string // SHA-256 of Text, hex
	Pages     []Page // in order of Start; none if the file has no pages
	Sections  []Section
	Sentences []Sentence // in order of Start; they do not overlap
}

// A Page is a page of a document that has something on it.
type Page struct {
	Number int // from 1
	Start  int // of its text; it ends where the next begins
}

// A Section is a heading and what stands below it, subsections included.
type Section struct {
	Title      string
	Level      int
	Start, End int
	Parent     int // index in Sections; -1 at the top
}

// A Sentence is a unit of meaning that can be quoted: a sentence, an item, a
// row. A heading is a sentence of its own, and so is a piece of code. It is at
// most [MaxSentence] bytes long.
type Sentence struct {
	Start, End int
	Kind       Kind
	Section    int // index in Sections; -1 before the first heading
	block      int // number of the block it is in
}

// NewDocument returns the document that has the content of source. Blocks lose
// what white space is of no meaning, and the empty ones are dropped.
func NewDocument(source, name string, c Content) *Document {
	d := &Document{
		Source: source, Title: oneLine(c.Title), Author: oneLine(c.Author),
		Published: c.Published, Language: language(c.Language), Tags: c.Tags, Names: c.Names,
	}
	var text strings.Builder
	open := -1 // the innermost section
	var last Kind
	for n, b := range c.Blocks {
		s := normalise(b)
		if s == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteString(gap(last, b.Kind))
		}
		last = b.Kind
		start := text.Len()
		text.WriteString(s)
		if b.Page > 0 && (len(d.Pages) == 0 || d.Pages[len(d.Pages)-1].Number < b.Page) {
			d.Pages = append(d.Pages, Page{b.Page, start})
		}
		if b.Kind == Heading {
			open = d.section(open, Section{Title: s, Level: min(max(b.Level, 1), 6), Start: start})
		}
		for _, r := range units(b.Kind, s) {
			d.Sentences = append(d.Sentences, Sentence{start + r.start, start + r.end, b.Kind, open, n})
		}
	}
	d.close(open, 0, text.Len())
	d.Text = text.String()
	if d.Title == "" && len(d.Sections) > 0 {
		d.Title = d.Sections[0].Title
	}
	d.Title = cmp.Or(d.Title, name)
	sum := sha256.Sum256([]byte(d.Text))
	d.Hash = hex.EncodeToString(sum[:])
	return d
}

// Page returns the number of the page that the byte at is on, or 0 if the
// document has no pages.
func (d *Document) Page(at int) int {
	i := sort.Search(len(d.Pages), func(i int) bool { return d.Pages[i].Start > at })
	if i == 0 {
		return 0
	}
	return d.Pages[i-1].Number
}

// section opens a section and returns its index.
func (d *Document) section(open int, s Section) int {
	s.Parent = d.close(open, s.Level, s.Start)
	d.Sections = append(d.Sections, s)
	return len(d.Sections) - 1
}

// close ends the open sections of a level or deeper and returns what stays open.
func (d *Document) close(open, level, end int) int {
	for open >= 0 && d.Sections[open].Level >= level {
		d.Sections[open].End = end
		open = d.Sections[open].Parent
	}
	return open
}

// gap is what stands between two blocks.
func gap(a, b Kind) string {
	if a == b && (a == Item || a == Row) {
		return "\n"
	}
	return "\n\n"
}

// normalise returns the text of a block as it stands in a document.
func normalise(b Block) string {
	if b.Kind != Code {
		return oneLine(b.Text)
	}
	lines := strings.Split(visible(b.Text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// Verify reports whether quote is exactly the bytes start to end of the text.
func (d *Document) Verify(quote string, start, end int) bool {
	return 0 <= start && start < end && end <= len(d.Text) && d.Text[start:end] == quote
}

// placeHash is how much of the hash of a text is in a place.
const placeHash = 12

// Place returns the id of a range: the beginning of the hash, and the range.
func (d *Document) Place(start, end int) string {
	return d.Hash[:placeHash] + ":" + strconv.Itoa(start) + "-" + strconv.Itoa(end)
}

// ParsePlace undoes [Document.Place].
func ParsePlace(id string) (hash string, start, end int, ok bool) {
	hash, span, _ := strings.Cut(id, ":")
	a, b, _ := strings.Cut(span, "-")
	start, err1 := strconv.Atoi(a)
	end, err2 := strconv.Atoi(b)
	return hash, start, end, len(hash) == placeHash && err1 == nil && err2 == nil && 0 <= start && start < end
}

// At returns the index of the sentence that the byte at start is in, or of the
// next one.
func (d *Document) At(start int) int {
	return sort.Search(len(d.Sentences), func(i int) bool { return d.Sentences[i].End > start })
}

// Quote returns the text of a sentence.
func (d *Document) Quote(i int) string { return d.Text[d.Sentences[i].Start:d.Sentences[i].End] }

// Heading returns the headings that section i stands under, the title of the
// document left out: "Terms > Payment".
func (d *Document) Heading(i int) string {
	var path []string
	for ; i >= 0; i = d.Sections[i].Parent {
		if t := d.Sections[i].Title; t != d.Title {
			path = append([]string{t}, path...)
		}
	}
	return strings.Join(path, " > ")
}

// wholeTitle is what a term in the title of a document adds to its score.
const wholeTitle = 0.5

// A Ranked is a document and how well it fits a question.
type Ranked struct {
	Document *Document
	Score    float64
}

// Rank returns the n documents that fit a question best as a whole, the best
// first. Their scores compare only among each other.
func (c *Collection) Rank(question string, n int) []Ranked {
	q := c.parse(question)
	t := c.tally(q)
	defer c.release(t)
	var list []scored
	for d := range c.docs {
		if s := t.docs[d] + wholeTitle*t.titles[d]; s > 0 {
			list = append(list, scored{int32(d), s})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int {
		if better(a, b) {
			return -1
		}
		return 1
	})
	var out []Ranked
	for _, v := range list[:min(len(list), max(n, 0))] {
		out = append(out, Ranked{c.docs[v.unit], float64(v.score)})
	}
	return out
}

// A Collection is documents with an index. It does not change and is safe for
// concurrent use.
type Collection struct {
	*index
	tallies sync.Pool // of *tally
}

// NewCollection returns the collection of documents.
func NewCollection(docs []*Document) *Collection {
	b := newBuilder()
	for _, d := range docs {
		b.add(d)
	}
	return b.collection()
}

func (b *builder) collection() *Collection {
	c := &Collection{index: b.seal()}
	c.tallies.New = func() any { return newTally(c.index) }
	return c
}

// Documents returns the documents in order. The slice is the collection's own.
func (c *Collection) Documents() []*Document { return c.docs }

// Sentences returns how many sentences the documents have.
func (c *Collection) Sentences() int { return len(c.units) }

// Bytes returns how long the texts are together.
func (c *Collection) Bytes() int64 {
	var n int64
	for _, d := range c.docs {
		n += int64(len(d.Text))
	}
	return n
}

// visible returns the visible text, without the marks of damaged characters.
func visible(text string) string { return strings.ReplaceAll(textkit.Visible(text), "\uFFFD", " ") }

// oneLine returns the visible text on one line.
func oneLine(text string) string { return textkit.OneLine(visible(text)) }

// parseDate returns the time that a text is, in UTC, or the zero time. A year is the
// beginning of it.
func parseDate(s string) time.Time {
	if t, err := time.Parse("2006", strings.TrimSpace(s)); err == nil {
		return textkit.SaneDate(t)
	}
	return textkit.ParseDate(s)
}

// pdfDate reads "D:20240131120000+01'00'", all but the year of which can be
// missing.
func pdfDate(s string) time.Time {
	s = strings.ReplaceAll(strings.TrimPrefix(s, "D:"), "'", "")
	for _, form := range []string{"20060102150405-0700", "20060102150405Z0000", "20060102150405Z", "20060102150405", "200601021504", "20060102", "200601", "2006"} {
		if t, err := time.Parse(form, s); err == nil {
			return textkit.SaneDate(t)
		}
	}
	return parseDate(s)
}

// language returns the tag of a language, or "" if s is none.
func language(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "_", "-")
	first, _, _ := strings.Cut(s, "-")
	letters := strings.IndexFunc(first, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' }) < 0
	if n := len(first); n < 2 || n > 3 || len(s) > 35 || !letters {
		return ""
	}
	return strings.ToLower(first) + s[len(first):]
}
