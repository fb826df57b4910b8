package document

import (
	"cmp"
	"fmt"
	"mime"
	"strings"

	"ponder/internal/textkit/charset"
)

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
