package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"mime"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ponder/internal/textkit/charset"
)

// A Format is a kind of file that can be read. Formats are tried in order: the
// first that has the extension of a file is taken, or else the first whose
// Sniff knows the file by its beginning.
type Format struct {
	Name string
	Exts []string // with the dot, small letters

	// Sniff reports whether a file of an unknown extension that begins with
	// head is of the format. Nil never is.
	Sniff func(head []byte) bool

	// Most is the most bytes that are read of a file; 8 MiB if zero.
	Most int64

	// Binary says that Extract and Parts get the bytes of the file. Otherwise
	// they get text, decoded to UTF-8, and files that are not text are refused.
	Binary bool

	// Extract takes a file apart. It must be bounded in time and memory by the
	// length of its input, and must not panic, whatever the input is.
	Extract func(file []byte) (Content, error)

	// Parts is set instead of Extract by a format whose files can hold many
	// documents, and has the same duties. An error is that of a part, or ends
	// the file.
	Parts func(file []byte) iter.Seq2[Part, error]
}

// A Part is one of the documents in a file.
type Part struct {
	Key string // tells it from the others, also when some are added; "" if it is the whole file
	Content
}

// Bounds on files, by what they are.
const (
	maxText    = 8 << 20
	maxBinary  = 64 << 20
	maxMailbox = 256 << 20
)

// most returns how many bytes of a file of a format are read.
func (o Options) most(f *Format) int64 {
	switch {
	case o.MaxFile > 0:
		return o.MaxFile
	case f.Most > 0:
		return f.Most
	}
	return maxText
}

// Formats returns the formats that this package reads by itself.
func Formats() []Format {
	formats := []Format{
		{Name: "Markdown", Exts: []string{".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"}, Extract: pure(Markdown)},
		{Name: "PDF", Exts: []string{".pdf"}, Sniff: looksPDF, Most: maxBinary, Binary: true, Extract: PDF},
		{Name: "DOCX", Exts: []string{".docx", ".docm", ".dotx"}, Most: maxBinary, Binary: true, Extract: DOCX},
		{Name: "EPUB", Exts: []string{".epub"}, Sniff: looksEPUB, Most: maxBinary, Binary: true, Extract: EPUB},
		{Name: "XLSX", Exts: []string{".xlsx", ".xlsm"}, Most: maxBinary, Binary: true, Extract: XLSX},
		{Name: "mailbox", Exts: []string{".mbox", ".mbx"}, Sniff: looksMailbox, Most: maxMailbox, Binary: true, Parts: Mailbox},
		{Name: "mail", Exts: []string{".eml"}, Most: maxBinary, Binary: true, Extract: Mail},
		{Name: "CSV", Exts: []string{".csv"}, Most: maxBinary, Parts: CSV},
		{Name: "TSV", Exts: []string{".tsv", ".tab"}, Most: maxBinary, Parts: TSV},
		{Name: "JSON Lines", Exts: []string{".jsonl", ".ndjson"}, Most: maxBinary, Parts: JSONLines},
		{Name: "JSON", Exts: []string{".json", ".geojson"}, Most: maxBinary, Parts: JSON},
		{Name: "notebook", Exts: []string{".ipynb"}, Most: maxBinary, Extract: Notebook},
		{Name: "HTML", Exts: []string{".html", ".htm", ".xhtml"}, Sniff: looksHTML, Binary: true, Extract: HTML},
	}
	formats = append(formats, codeFormats()...)
	return append(formats, Format{
		Name: "text", Exts: []string{".txt", ".text", ".log", ".rst", ".org", ".adoc", ".asciidoc", ".srt", ".vtt", ".tex"},
		Sniff: func([]byte) bool { return true }, Extract: pure(Plain),
	})
}

func pure(f func(string) Content) func([]byte) (Content, error) {
	return func(b []byte) (Content, error) { return f(string(b)), nil }
}

// machineFiles are written by programs for programs, in formats of people.
var machineFiles = []string{
	"package-lock.json", "npm-shrinkwrap.json", "composer.lock", "pnpm-lock.yaml", "yarn.lock", "cargo.lock", "go.sum", "poetry.lock",
	"tsconfig.tsbuildinfo",
}

// formatOf returns the format for a file, or nil if none reads it. A file with
// an extension that nobody knows is looked into only if the user named it.
func formatOf(formats []Format, path string, head []byte, named bool) *Format {
	base := strings.ToLower(filepath.Base(path))
	if !named && (slices.Contains(machineFiles, base) || strings.HasSuffix(base, ".min.js") || strings.HasSuffix(base, ".min.css")) {
		return nil
	}
	ext := extension(path)
	for i, f := range formats {
		if ext != "" && slices.Contains(f.Exts, ext) {
			return &formats[i]
		}
	}
	for i, f := range formats {
		if (named || ext == "") && f.Sniff != nil && f.Sniff(head) {
			return &formats[i]
		}
	}
	return nil
}

// extension returns what is behind the last dot of a name, with the dot, in
// small letters. A number or a word with a space is none: "notes 2.1".
func extension(path string) string {
	ext := strings.ToLower(filepath.Ext(strings.TrimLeft(filepath.Base(path), ".")))
	if len(ext) < 2 || strings.ContainsAny(ext, " _") || strings.Trim(ext, ".0123456789") == "" {
		return ""
	}
	return ext
}

// looksHTML reports whether a file begins as HTML does.
func looksHTML(head []byte) bool {
	head = bytes.ToLower(bytes.TrimLeft(head[:min(len(head), 512)], " \t\r\n\ufeff"))
	return slices.ContainsFunc([]string{"<!doctype html", "<html", "<head", "<body"}, func(mark string) bool {
		return bytes.HasPrefix(head, []byte(mark))
	})
}

// mediaTypes are the formats of media types.
var mediaTypes = map[string]string{
	"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "text/markdown": ".md", "text/x-markdown": ".md",
	"application/pdf": ".pdf", "application/x-pdf": ".pdf", "application/json": ".json", "application/ld+json": ".json", "application/geo+json": ".json",
	"application/x-ndjson": ".jsonl", "application/jsonl": ".jsonl", "application/jsonlines": ".jsonl", "application/x-jsonlines": ".jsonl",
	"text/csv": ".csv", "text/tab-separated-values": ".tsv", "message/rfc822": ".eml", "application/mbox": ".mbox", "application/epub+zip": ".epub",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       ".xlsx",
	"application/x-ipynb+json": ".ipynb", "application/javascript": ".js", "text/javascript": ".js", "text/css": ".css",
	"application/yaml": ".yaml", "text/yaml": ".yaml", "application/toml": ".toml", "text/x-python": ".py",
}

// Typed returns the document that bytes of a media type are, "text/html;
// charset=utf-8", from the web and its like. Name is where they are from, and
// tells what they are if the type is unknown or says nothing. Of many documents
// in one, each is a section.
func Typed(mediaType, name string, raw []byte) (*Document, error) {
	kind, params, err := mime.ParseMediaType(mediaType)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(mediaType), ";")
	}
	path := name
	if i := strings.IndexAny(path, "?#"); i > 0 {
		path = path[:i]
	}
	formats := Formats()
	format := typedFormat(formats, strings.TrimSpace(kind), path, raw)
	if format == nil {
		return nil, fmt.Errorf("%s: %w", kind, errFormat)
	}
	raw = declared(raw, params["charset"], format)
	c, err := format.whole(raw)
	if err != nil {
		return nil, err
	}
	doc := NewDocument(name, baseName(path), c)
	if doc.Text == "" {
		return nil, errEmpty
	}
	return doc, nil
}

// typedFormat returns the format of bytes, by their type, their beginning or
// their name.
func typedFormat(formats []Format, kind, path string, raw []byte) *Format {
	if ext := mediaTypes[kind]; ext != "" && ext != ".txt" {
		return formatOf(formats, "x"+ext, raw, true)
	}
	switch {
	case kind == "text/plain" || kind == "" || kind == "application/octet-stream" || kind == "binary/octet-stream":
		return formatOf(formats, path, raw, true)
	case strings.HasSuffix(kind, "+json"):
		return formatOf(formats, "x.json", raw, true)
	case strings.HasPrefix(kind, "text/"):
		return formatOf(formats, "x.txt", raw, true)
	}
	return nil
}

// declared returns bytes as UTF-8 if what they came with says how they are
// written. HTML may say otherwise, and is then right only in what it does not
// contradict.
func declared(raw []byte, label string, format *Format) []byte {
	if label == "" || format.Binary && format.Name != "HTML" {
		return raw
	}
	out, ok := charset.DecodeLabel(raw, label)
	if !ok {
		return raw
	}
	if format.Name == "HTML" {
		return append([]byte("\xef\xbb\xbf"), out...) // a mark outweighs what the page says of itself
	}
	return out
}

// whole returns all parts of a file as one.
func (f *Format) whole(raw []byte) (Content, error) {
	var c Content
	var first error
	n := 0
	for p, err := range f.parts(raw) {
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		if n++; n == 1 {
			c = p.Content
			if p.Key != "" {
				c.Blocks = nil
			}
		}
		if p.Key == "" {
			continue
		}
		if p.Title != "" && (len(p.Blocks) == 0 || p.Blocks[0].Kind != Heading) {
			c.Blocks = append(c.Blocks, Block{Kind: Heading, Level: 1, Text: p.Title})
		}
		c.Blocks = append(c.Blocks, p.Blocks...)
	}
	if n == 0 {
		return Content{}, first
	}
	if n > 1 {
		c.Title, c.Author = "", ""
	}
	return c, nil
}

// Reasons why a path is not read.
var (
	errMissing = errors.New("no such file or folder")
	errDenied  = errors.New("permission denied")
	errLoop    = errors.New("a loop of links")
	errLeads   = errors.New("a link that leads out of the folder")
	errDeep    = errors.New("nested too deep")
	errFormat  = errors.New("not a format that can be read")
	errEmpty   = errors.New("it has no text")
	errMailbox = errors.New("not a mailbox")
	errTooMuch = errors.New("it has more text than is read of a file")
)

// reason returns the plain words for an error of the system.
func reason(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return errMissing
	case errors.Is(err, fs.ErrPermission):
		return errDenied
	case errors.Is(err, syscall.ELOOP), strings.Contains(err.Error(), "too many links"):
		return errLoop
	case errors.As(err, &path):
		return path.Err
	}
	return err
}

// counted returns how often what is, the most first: "12 .png, 3 .zip".
func counted(what map[string]int) string {
	names := slices.SortedFunc(maps.Keys(what), func(a, b string) int {
		if what[a] != what[b] {
			return what[b] - what[a]
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, n := range names[:min(len(names), 8)] {
		parts = append(parts, fmt.Sprintf("%d %s", what[n], n))
	}
	if more := len(names) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d other kinds", more))
	}
	return strings.Join(parts, ", ")
}

// regular refuses what is not a file with an end.
func regular(info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	kinds := map[fs.FileMode]string{fs.ModeNamedPipe: "a pipe", fs.ModeSocket: "a socket", fs.ModeDevice: "a device", fs.ModeDir: "a folder"}
	for mode, name := range kinds {
		if info.Mode()&mode != 0 {
			return fmt.Errorf("%s, not a file", name)
		}
	}
	return errors.New("not a file")
}

// size returns a number of bytes as people read it.
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(n), 0
	for f >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	if u == 0 || f == float64(int64(f)) {
		return fmt.Sprintf("%.0f %s", f, units[u])
	}
	return fmt.Sprintf("%.1f %s", f, units[u])
}
