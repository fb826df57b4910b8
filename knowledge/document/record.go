package document

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/charset"
)

// An entry is a row of a table or an object: names and values, in their order.
type entry []field

type field struct{ name, value string }

// The names, in small letters without "_" and "-", by which records say what
// they are.
var (
	textFields   = []string{"text", "fulltext", "content", "body", "message", "selftext", "post", "tweet", "note", "entry", "memory", "description", "abstract", "summary"}
	rawFields    = []string{"raw", "rawcontent", "rawtext", "original"}
	titleFields  = []string{"title", "subject", "headline", "name"}
	authorFields = []string{"author", "username", "user", "screenname", "from", "sender", "speaker", "by", "creator", "handle"}
	dateFields   = []string{"date", "createdat", "created", "createdutc", "timestamp", "time", "published", "publishedat", "datetime", "sentat", "ts", "postedat"}
	idFields     = []string{"externalid", "id", "idstr", "uid", "uuid", "guid", "key"}
	linkFields   = []string{"link", "url", "permalink", "uri", "href"}
	langFields   = []string{"lang", "language", "locale"}
)

// get returns the first value that has one of the names.
func (r entry) get(names []string) (value string, at int) {
	for _, n := range names {
		for i, f := range r {
			if f.value != "" && plainName(f.name) == n {
				return f.value, i
			}
		}
	}
	return "", -1
}

func plainName(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// least letters that make a text what somebody wrote.
const leastPost = 15

// post reports whether an entry is something that somebody wrote, rather than a
// row of a table: it has a text, and says when, where or under which id.
func (r entry) post() bool {
	text, _ := r.get(textFields)
	if len(text) < leastPost || len(r) > 200 {
		return false
	}
	when, _ := r.get(dateFields)
	id, _ := r.get(idFields)
	link, _ := r.get(linkFields)
	return when != "" || id != "" || link != ""
}

// part returns the document that a post is. What it has besides its text, its
// title and its date stands below the text.
func (r entry) part() Part {
	text, at := r.get(textFields)
	title, titled := r.get(titleFields)
	p := Part{Content: Markdown(text)}
	p.Key, _ = r.get(idFields)
	if p.Key == "" {
		sum := sha256.Sum256([]byte(text))
		p.Key = hex.EncodeToString(sum[:6])
	}
	p.Key = oneLine(p.Key)
	p.Title = cmp.Or(title, p.Title)
	if a, _ := r.get(authorFields); len(a) <= 200 {
		p.Author = a
	}
	when, dated := r.get(dateFields)
	p.Published = parseDate(when)
	p.Language, _ = r.get(langFields)
	_, raw := r.get(rawFields)
	for i, f := range r {
		if i != at && i != titled && i != raw && (i != dated || p.Published.IsZero()) && telling(f) {
			p.Blocks = append(p.Blocks, Block{Kind: Item, Text: f.name + ": " + f.value})
		}
	}
	if raw >= 0 && raw != at && oneLine(r[raw].value) != oneLine(text) {
		p.Blocks = append(p.Blocks, Plain(r[raw].value).Blocks...)
	}
	return p
}

// telling reports whether a field says something to a reader.
func telling(f field) bool {
	return f.value != "" && f.value != "null" && f.value != "false" && strings.ContainsFunc(f.value, isLetter) &&
		!strings.HasPrefix(f.value, "http") && len(f.value) < 2000 && !slices.Contains(idFields, plainName(f.name))
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r > 0x7f }

// row returns the block of an entry in a table: "name: Anna | city: Graz".
func (r entry) row() Block {
	var parts []string
	for _, f := range r {
		switch {
		case f.value == "":
		case f.name == "":
			parts = append(parts, f.value)
		default:
			parts = append(parts, f.name+": "+f.value)
		}
	}
	return Block{Kind: Row, Text: strings.Join(parts, " | ")}
}

// sampleRecords is how many records say what all are.
const sampleRecords = 100

// recordParts yields what records are: documents of their own if most of the
// first are posts, or else the rows of one.
func recordParts(records []entry) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		posts := 0
		sample := records[:min(len(records), sampleRecords)]
		for _, r := range sample {
			posts += b2i(r.post())
		}
		if posts*2 <= len(sample) {
			rows, err := rowBlocks(records)
			yield(Part{Content: Content{Blocks: rows}}, err)
			return
		}
		seen := keys{}
		for _, r := range records {
			if text, _ := r.get(textFields); text == "" {
				continue
			}
			p := r.part()
			p.Key = seen.fresh(p.Key)
			if !yield(p, nil) {
				return
			}
		}
	}
}

// keys are the keys that parts of a file have.
type keys map[string]int

// fresh returns key, or key~2 for the second that would have it.
func (k keys) fresh(key string) string {
	k[key]++
	if n := k[key]; n > 1 {
		return key + "~" + strconv.Itoa(n)
	}
	return key
}

// maxTable is the most bytes of a table, with the names of its columns in each
// row.
const maxTable = 128 << 20

// rowBlocks returns a block for each entry.
func rowBlocks(records []entry) ([]Block, error) {
	out := make([]Block, 0, len(records))
	length := 0
	for _, r := range records {
		b := r.row()
		if length += len(b.Text); length > maxTable {
			return nil, errTooMuch
		}
		out = append(out, b)
	}
	return out, nil
}

// tableRecords returns the rows of a table with the names in the first row, if those
// are names, or else without names.
func tableRecords(rows [][]string) []entry {
	var names []string
	if len(rows) > 1 && header(rows[0], rows[1]) {
		names, rows = rows[0], rows[1:]
	}
	out := make([]entry, 0, len(rows))
	for _, row := range rows {
		r := make(entry, 0, len(row))
		for i, v := range row {
			f := field{value: strings.TrimSpace(v)}
			if i < len(names) {
				f.name = strings.TrimSpace(names[i])
			}
			r = append(r, f)
		}
		out = append(out, r)
	}
	return out
}

// header reports whether the first row of a table names its columns: short,
// different words, no numbers or days, and not all alone.
func header(row, next []string) bool {
	seen := map[string]bool{}
	for _, cell := range row {
		cell = strings.TrimSpace(cell)
		if cell == "" {
			continue
		}
		_, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64)
		if err == nil || len(cell) > 60 || seen[cell] || parseDate(cell) != (time.Time{}) {
			return false
		}
		seen[cell] = true
	}
	return len(seen) > 1 && len(seen)*2 >= min(len(row), len(next))
}

// Read yields the documents that the bytes of a file are: one, or, of a file of
// many, one for each part, whose Source is path#key, with a [Legible] path. What cannot be read is an
// error of its own, and the rest goes on. It tries formats, or [Formats] if that
// is nil; named says that the user named the file, so that it is looked into if
// nothing else says what it is. The same bytes give the same documents.
func Read(path string, raw []byte, formats []Format, named bool) iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		if formats == nil {
			formats = Formats()
		}
		format := formatOf(formats, path, raw, named)
		if format == nil {
			yield(nil, errFormat)
			return
		}
		for part, err := range format.parts(raw) {
			if !yield(partDocument(path, part, err)) {
				return
			}
		}
	}
}

// parts yields what a file is made of; of most it is the one part that has no
// key.
func (f *Format) parts(raw []byte) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		if !f.Binary {
			text, err := decode(raw)
			if err != nil {
				yield(Part{}, err)
				return
			}
			raw = []byte(text)
		}
		if f.Parts != nil {
			f.Parts(raw)(yield)
			return
		}
		c, err := f.Extract(raw)
		yield(Part{Content: c}, err)
	}
}

// partDocument returns the document that a part of the file at path is.
func partDocument(path string, part Part, err error) (*Document, error) {
	source := Legible(path)
	name := baseName(source)
	if part.Key != "" {
		source += "#" + part.Key
		name += " " + part.Key
	}
	if err == nil {
		doc := NewDocument(source, name, part.Content)
		if doc.Text != "" {
			return doc, nil
		}
		err = errEmpty
	}
	if part.Key != "" {
		err = fmt.Errorf("%s: %w", part.Key, err)
	}
	return nil, err
}

// Legible returns a path as people can read it and JSON can have it: one that is no
// UTF-8, or has a line break or the like in it, is written as Go writes text, such as
// "a\nb" or "\xff". The name that [strconv.Unquote] makes of it is the file's own.
func Legible(path string) string {
	if utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl) {
		return path
	}
	quoted := strconv.Quote(path)
	return quoted[1 : len(quoted)-1]
}

// baseName returns the name of a file without its extension.
func baseName(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// ReadFile returns the bytes of a file that is no longer than most. Nothing else
// is opened for reading: no pipe, no device, no folder.
func ReadFile(path string, most int64) ([]byte, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := bytes.NewBuffer(make([]byte, 0, min(info.Size(), most)+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, reason(err)
	}
	if int64(buf.Len()) > most {
		if info.Size() > most {
			return nil, fmt.Errorf("%s: files over %s are not read", size(info.Size()), size(most))
		}
		return nil, fmt.Errorf("it grew: files over %s are not read", size(most))
	}
	return buf.Bytes(), nil
}

// open opens a file, and nothing that is not one, whatever it was when it was
// listed.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, err := openRaw(path)
	if err != nil {
		return nil, nil, reason(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, reason(err)
	}
	return f, info, nil
}

// head returns how a file begins, or nil.
func head(path string) []byte {
	f, _, err := open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	buf := make([]byte, 1024)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return buf[:n]
}

// sequences are what colours a terminal and moves its cursor: it is no part of
// what a text says.
var sequences = regexp.MustCompile("\x1b(?:\\[[0-9:;<=>?]{0,64}[ -/]{0,8}[@-~]|\\][^\x07\x1b\n]{0,999}(?:\x07|\x1b\\\\)|[()*+][0-9A-Za-z]|[=>78DEHMNOZc])")

// decode returns the text of a file without escape sequences of terminals.
func decode(file []byte) (string, error) {
	text, err := charset.Decode(file)
	return sequences.ReplaceAllString(text, ""), err
}
