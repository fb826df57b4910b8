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

// A Format reads one kind of file. The first format with the file's extension applies,
// or else the first whose Sniff accepts its start.
type Format struct {
	Name string
	Exts []string // lower case, with the dot

	// Sniff reports whether a file with an unknown extension and this head has the
	// format. nil accepts none.
	Sniff func(head []byte) bool

	// MaxBytes is the maximum number of bytes read; 0 means 8 MiB.
	MaxBytes int64

	// Binary passes raw bytes to Extract and Parts. Otherwise they get UTF-8 text, and
	// files that are not text are refused.
	Binary bool

	// Extract returns the content of a file. It must not panic; its time and memory
	// must be bounded by the length of the input.
	Extract func(file []byte) (Content, error)

	// Parts replaces Extract for files with several documents, under the same rules.
	// An error belongs to one part, or ends the file.
	Parts func(file []byte) iter.Seq2[Part, error]
}

// A Part is one document of a file.
type Part struct {
	Key string // unique, and stable when parts are added; "" for the whole file
	Content
}

// Size limits by file kind.
const (
	maxText    = 8 << 20
	maxBinary  = 64 << 20
	maxMailbox = 256 << 20
)

func (o Options) maxFileBytes(f *Format) int64 {
	switch {
	case o.MaxFile > 0:
		return o.MaxFile
	case f.MaxBytes > 0:
		return f.MaxBytes
	}
	return maxText
}

// Formats returns the built-in formats.
func Formats() []Format {
	formats := []Format{
		{Name: "Markdown", Exts: []string{".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"}, Extract: textExtractor(Markdown)},
		{Name: "PDF", Exts: []string{".pdf"}, Sniff: isPDF, MaxBytes: maxBinary, Binary: true, Extract: PDF},
		{Name: "DOCX", Exts: []string{".docx", ".docm", ".dotx"}, MaxBytes: maxBinary, Binary: true, Extract: DOCX},
		{Name: "EPUB", Exts: []string{".epub"}, Sniff: isEPUB, MaxBytes: maxBinary, Binary: true, Extract: EPUB},
		{Name: "XLSX", Exts: []string{".xlsx", ".xlsm"}, MaxBytes: maxBinary, Binary: true, Extract: XLSX},
		{Name: "mailbox", Exts: []string{".mbox", ".mbx"}, Sniff: isMailbox, MaxBytes: maxMailbox, Binary: true, Parts: Mailbox},
		{Name: "mail", Exts: []string{".eml"}, MaxBytes: maxBinary, Binary: true, Extract: Mail},
		{Name: "CSV", Exts: []string{".csv"}, MaxBytes: maxBinary, Parts: CSV},
		{Name: "TSV", Exts: []string{".tsv", ".tab"}, MaxBytes: maxBinary, Parts: TSV},
		{Name: "JSON Lines", Exts: []string{".jsonl", ".ndjson"}, MaxBytes: maxBinary, Parts: JSONLines},
		{Name: "JSON", Exts: []string{".json", ".geojson"}, MaxBytes: maxBinary, Parts: JSON},
		{Name: "notebook", Exts: []string{".ipynb"}, MaxBytes: maxBinary, Extract: Notebook},
		{Name: "HTML", Exts: []string{".html", ".htm", ".xhtml"}, Sniff: isHTML, Binary: true, Extract: HTML},
	}
	formats = append(formats, codeFormats()...)
	return append(formats, Format{
		Name: "text", Exts: []string{".txt", ".text", ".log", ".rst", ".org", ".adoc", ".asciidoc", ".srt", ".vtt", ".tex"},
		Sniff: func([]byte) bool { return true }, Extract: textExtractor(Plain),
	})
}

func textExtractor(f func(string) Content) func([]byte) (Content, error) {
	return func(b []byte) (Content, error) { return f(string(b)), nil }
}

var generatedFiles = []string{
	"package-lock.json", "npm-shrinkwrap.json", "composer.lock", "pnpm-lock.yaml", "yarn.lock", "cargo.lock", "go.sum", "poetry.lock",
	"tsconfig.tsbuildinfo",
}

// findFormat returns the format of a file, or nil. Content decides for unknown
// extensions only if the user named the file.
func findFormat(formats []Format, path string, head []byte, named bool) *Format {
	base := strings.ToLower(filepath.Base(path))
	if !named && (slices.Contains(generatedFiles, base) || strings.HasSuffix(base, ".min.js") || strings.HasSuffix(base, ".min.css")) {
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

// extension returns the lower-case extension with the dot. Numbers and words with
// spaces are no extensions: "notes 2.1".
func extension(path string) string {
	ext := strings.ToLower(filepath.Ext(strings.TrimLeft(filepath.Base(path), ".")))
	if len(ext) < 2 || strings.ContainsAny(ext, " _") || strings.Trim(ext, ".0123456789") == "" {
		return ""
	}
	return ext
}

func isHTML(head []byte) bool {
	head = bytes.ToLower(bytes.TrimLeft(head[:min(len(head), 512)], " \t\r\n\ufeff"))
	return slices.ContainsFunc([]string{"<!doctype html", "<html", "<head", "<body"}, func(mark string) bool {
		return bytes.HasPrefix(head, []byte(mark))
	})
}

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

// ReadTyped returns the document in bytes with a media type such as "text/html;
// charset=utf-8". The origin name decides if the type is unknown or generic. If the
// bytes hold several documents, each becomes a section.
func ReadTyped(mediaType, name string, raw []byte) (*Document, error) {
	kind, params, err := mime.ParseMediaType(mediaType)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(mediaType), ";")
	}
	path := name
	if i := strings.IndexAny(path, "?#"); i > 0 {
		path = path[:i]
	}
	formats := Formats()
	format := formatByType(formats, strings.TrimSpace(kind), path, raw)
	if format == nil {
		return nil, fmt.Errorf("%s: %w", kind, errFormat)
	}
	raw = decodeCharset(raw, params["charset"], format)
	c, err := format.mergeParts(raw)
	if err != nil {
		return nil, err
	}
	doc := NewDocument(name, baseName(path), c)
	if doc.Text == "" {
		return nil, errEmpty
	}
	return doc, nil
}

func formatByType(formats []Format, kind, path string, raw []byte) *Format {
	if ext := mediaTypes[kind]; ext != "" && ext != ".txt" {
		return findFormat(formats, "x"+ext, raw, true)
	}
	switch {
	case kind == "text/plain" || kind == "" || kind == "application/octet-stream" || kind == "binary/octet-stream":
		return findFormat(formats, path, raw, true)
	case strings.HasSuffix(kind, "+json"):
		return findFormat(formats, "x.json", raw, true)
	case strings.HasPrefix(kind, "text/"):
		return findFormat(formats, "x.txt", raw, true)
	}
	return nil
}

// decodeCharset decodes bytes with their declared charset. HTML gets a byte order mark,
// which overrides a declaration in the page.
func decodeCharset(raw []byte, label string, format *Format) []byte {
	if label == "" || format.Binary && format.Name != "HTML" {
		return raw
	}
	out, ok := charset.DecodeLabel(raw, label)
	if !ok {
		return raw
	}
	if format.Name == "HTML" {
		return append([]byte("\xef\xbb\xbf"), out...) // overrides the page's declaration
	}
	return out
}

func (f *Format) mergeParts(raw []byte) (Content, error) {
	var c Content
	var first error
	n := 0
	for p, err := range f.readParts(raw) {
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

var (
	errMissing     = errors.New("no such file or folder")
	errDenied      = errors.New("permission denied")
	errLoop        = errors.New("symbolic links form a loop")
	errOutsideLink = errors.New("the link points outside the folder")
	errDeep        = errors.New("nested too deep")
	errFormat      = errors.New("unsupported format")
	errEmpty       = errors.New("it has no text")
	errMailbox     = errors.New("not a mailbox")
	errTooMuch     = errors.New("it has too much text for one file")
)

func skipReason(err error) error {
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

func formatCounts(what map[string]int) string {
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

func formatSize(n int64) string {
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
