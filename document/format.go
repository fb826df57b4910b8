package document

import (
	"bytes"
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

	// Binary says that Extract gets the bytes of the file. Otherwise it gets
	// text, decoded to UTF-8, and files that are not text are refused.
	Binary bool

	// Extract takes a file apart. It must be bounded in time and memory by the
	// length of its input, and must not panic, whatever the input is.
	Extract func(file []byte) (Content, error)
}

// Formats returns the formats that this package reads by itself.
func Formats() []Format {
	return []Format{
		{Name: "Markdown", Exts: []string{".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"}, Extract: pure(Markdown)},
		{Name: "HTML", Exts: []string{".html", ".htm", ".xhtml"}, Sniff: looksHTML, Binary: true, Extract: HTML},
		{
			Name: "text", Exts: []string{".txt", ".text", ".log", ".rst", ".org", ".adoc", ".asciidoc", ".srt", ".vtt", ".tex"},
			Sniff: func([]byte) bool { return true }, Extract: pure(Plain),
		},
	}
}

func pure(f func(string) Content) func([]byte) (Content, error) {
	return func(b []byte) (Content, error) { return f(string(b)), nil }
}

// formatOf returns the format for a file, or nil if none reads it. A file with
// an extension that nobody knows is looked into only if the user named it.
func formatOf(formats []Format, path string, head []byte, named bool) *Format {
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
	for _, mark := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if bytes.HasPrefix(head, []byte(mark)) {
			return true
		}
	}
	return false
}
