package document

import (
	"bytes"
	"iter"
	"path/filepath"
	"slices"
	"strings"
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
