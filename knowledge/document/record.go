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

	"ponder/internal/fileio"
	"ponder/internal/guard"
	"ponder/internal/textkit"
	"ponder/internal/textkit/charset"
)

// An entry is a table row or an object: ordered names and values.
type entry []field

type field struct{ name, value string }

// Field names of records, in small letters without "_" and "-".
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

func (r entry) firstValue(names []string) (value string, at int) {
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

const minPostLen = 15

// isPost reports whether an entry is a post, not a table row: it has a text and a date,
// ID or link.
func (r entry) isPost() bool {
	text, _ := r.firstValue(textFields)
	if len(text) < minPostLen || len(r) > 200 {
		return false
	}
	when, _ := r.firstValue(dateFields)
	id, _ := r.firstValue(idFields)
	link, _ := r.firstValue(linkFields)
	return when != "" || id != "" || link != ""
}

// postPart returns the document of a post. Fields other than text, title and date follow
// the text.
func (r entry) postPart() Part {
	text, at := r.firstValue(textFields)
	title, titled := r.firstValue(titleFields)
	p := Part{Content: Markdown(text)}
	p.Key, _ = r.firstValue(idFields)
	if p.Key == "" {
		sum := sha256.Sum256([]byte(text))
		p.Key = hex.EncodeToString(sum[:6])
	}
	p.Key = oneLine(p.Key)
	p.Title = cmp.Or(title, p.Title)
	if a, _ := r.firstValue(authorFields); len(a) <= 200 {
		p.Author = a
	}
	when, dated := r.firstValue(dateFields)
	p.Published = parseDate(when)
	p.Language, _ = r.firstValue(langFields)
	_, raw := r.firstValue(rawFields)
	for i, f := range r {
		if i != at && i != titled && i != raw && (i != dated || p.Published.IsZero()) && isInformative(f) {
			p.Blocks = append(p.Blocks, Block{Kind: Item, Text: f.name + ": " + f.value})
		}
	}
	if raw >= 0 && raw != at && oneLine(r[raw].value) != oneLine(text) {
		p.Blocks = append(p.Blocks, Plain(r[raw].value).Blocks...)
	}
	return p
}

func isInformative(f field) bool {
	return f.value != "" && f.value != "null" && f.value != "false" && strings.ContainsFunc(f.value, isLetter) &&
		!strings.HasPrefix(f.value, "http") && len(f.value) < 2000 && !slices.Contains(idFields, plainName(f.name))
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r > 0x7f }

func (r entry) rowBlock() Block {
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

const sampleRecords = 100

func recordParts(records []entry) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		posts := 0
		sample := records[:min(len(records), sampleRecords)]
		for _, r := range sample {
			posts += boolToInt(r.isPost())
		}
		if posts*2 <= len(sample) {
			rows, err := rowBlocks(records)
			yield(Part{Content: Content{Blocks: rows}}, err)
			return
		}
		seen := keys{}
		for _, r := range records {
			if text, _ := r.firstValue(textFields); text == "" {
				continue
			}
			p := r.postPart()
			p.Key = seen.uniqueKey(p.Key)
			if !yield(p, nil) {
				return
			}
		}
	}
}

type keys map[string]int

// uniqueKey returns key, or key~n for its nth use.
func (k keys) uniqueKey(key string) string {
	k[key]++
	if n := k[key]; n > 1 {
		return key + "~" + strconv.Itoa(n)
	}
	return key
}

// maxTable is the maximum size of a table in bytes, with the column names in each row.
const maxTable = 128 << 20

func rowBlocks(records []entry) ([]Block, error) {
	out := make([]Block, 0, len(records))
	length := 0
	for _, r := range records {
		b := r.rowBlock()
		if length += len(b.Text); length > maxTable {
			return nil, errTooMuch
		}
		out = append(out, b)
	}
	return out, nil
}

// tableRecords returns the rows of a table. The first row gives the names if it is a
// header.
func tableRecords(rows [][]string) []entry {
	var names []string
	if len(rows) > 1 && isHeader(rows[0], rows[1]) {
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

func isHeader(row, next []string) bool {
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

// Read yields the documents in a file: one, or one per part with Source path#key.
// Paths are [QuotePath]. An unreadable part yields an error, and reading continues. nil
// formats mean [Formats]. named permits content detection for unknown extensions.
// Equal bytes give equal documents.
func Read(path string, raw []byte, formats []Format, named bool) iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		if formats == nil {
			formats = Formats()
		}
		format := findFormat(formats, path, raw, named)
		if format == nil {
			yield(nil, errFormat)
			return
		}
		for part, err := range format.readParts(raw) {
			if !yield(partDocument(path, part, err)) {
				return
			}
		}
	}
}

// readParts yields the parts of a file. Most files have one part without key.
func (f *Format) readParts(raw []byte) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		if !f.Binary {
			text, err := decodeText(raw)
			if err != nil {
				yield(Part{}, err)
				return
			}
			if text != string(raw) { // else there is no need of a copy
				raw = []byte(text)
			}
		}
		if f.Parts != nil {
			guard.Seq(f.Parts(raw))(yield)
			return
		}
		if !f.Binary || f.Name == "HTML" { // others are packed, or read in part
			if err := checkMemory(len(raw)); err != nil {
				yield(Part{}, err)
				return
			}
		}
		c, err := guard.Call(func() (Content, error) { return f.Extract(raw) })
		yield(Part{Content: c}, err)
	}
}

func partDocument(path string, part Part, err error) (*Document, error) {
	source := QuotePath(path)
	name := baseName(source)
	if part.Key != "" {
		source += "#" + part.Key
		name += " " + part.Key
	}
	if err == nil {
		err = checkMemory(part.textSize())
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

// QuotePath returns a path for display and JSON. It escapes a path with invalid UTF-8, control or hidden
// characters as Go does, such as "a\nb" or "\xff"; [strconv.Unquote] restores the name.
func QuotePath(path string) string {
	if textkit.Clean(path) == path && utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl) {
		return path
	}
	quoted := strconv.Quote(path)
	if textkit.Clean(quoted) != quoted {
		quoted = strconv.QuoteToASCII(path)
	}
	return quoted[1 : len(quoted)-1]
}

func baseName(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// ReadFile returns the bytes of a regular file of at most most bytes. It refuses
// pipes, devices and folders.
func ReadFile(path string, most int64) ([]byte, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := bytes.NewBuffer(make([]byte, 0, min(info.Size(), most)+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, skipReason(err)
	}
	if int64(buf.Len()) > most {
		if info.Size() > most {
			return nil, fmt.Errorf("%s: larger than the limit of %s", formatSize(info.Size()), formatSize(most))
		}
		return nil, fmt.Errorf("it grew beyond the limit of %s", formatSize(most))
	}
	return buf.Bytes(), nil
}

// openRegular opens a regular file.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := fileio.OpenRegular(path)
	if err != nil {
		return nil, nil, skipReason(err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, skipReason(err)
	}
	return f, info, nil
}

func readPrefix(path string) []byte {
	f, _, err := openRegular(path)
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

var escapeSequences = regexp.MustCompile("\x1b(?:\\[[0-9:;<=>?]{0,64}[ -/]{0,8}[@-~]|\\][^\x07\x1b\n]{0,999}(?:\x07|\x1b\\\\)|[()*+][0-9A-Za-z]|[=>78DEHMNOZc])")

func decodeText(file []byte) (string, error) {
	text, err := charset.Decode(file)
	return escapeSequences.ReplaceAllString(text, ""), err
}
