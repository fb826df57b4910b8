package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/charset"
	"ponder/knowledge/document"
	"ponder/knowledge/web/search"
)

// pageRation decides from the headers of an answer how much of it is read.
func (f *Fetcher) pageRation(resp *http.Response) (ration, error) {
	kind := mediaType(resp.Header.Get("Content-Type"))
	switch {
	case isText(kind):
		return ration{f.limits.bytes, true}, nil
	case mayHaveText(kind):
		return ration{f.limits.bytes, false}, nil
	}
	return ration{}, fmt.Errorf("%w: it is %s", ErrType, textkit.VisibleLine(kind, 80))
}

// mediaType returns the type in a Content-Type header, "" if there is none.
func mediaType(header string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil {
		kind, _, _ = strings.Cut(header, ";")
	}
	kind = strings.ToLower(strings.TrimSpace(kind))
	if !strings.Contains(kind, "/") {
		return ""
	}
	return kind
}

// isHTML, isText and mayHaveText say what a type is worth trying as.
func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

func isText(kind string) bool {
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-ndjson", "application/jsonl", "application/yaml", "application/toml":
		return true
	}
	return isHTML(kind) || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") && !strings.HasPrefix(kind, "image/")
}

func mayHaveText(kind string) bool {
	switch kind {
	case "", "application/octet-stream", "binary/octet-stream", "application/pdf", "application/x-pdf", "application/epub+zip", "application/rtf",
		"application/zip", "application/mbox", "message/rfc822":
		return true
	}
	return strings.HasPrefix(kind, "application/vnd.openxmlformats-officedocument.")
}

// sniffed returns the type of bytes, if the host does not say it or is wrong
// about a PDF.
func sniffed(kind string, raw []byte) string {
	if bytes.HasPrefix(bytes.TrimLeft(raw[:min(len(raw), 64)], "\r\n\t \ufeff"), []byte("%PDF-")) {
		return "application/pdf"
	}
	if kind != "" && !strings.HasSuffix(kind, "/octet-stream") {
		return kind
	}
	if seen := mediaType(http.DetectContentType(raw)); strings.HasPrefix(seen, "text/") {
		return seen
	}
	return "application/octet-stream" // the name may say more
}

// page makes a page of an original.
func (f *Fetcher) page(c *copied) (*Page, error) {
	sum := sha256.Sum256(c.raw)
	p := &Page{
		URL: c.URL, Final: c.Final, Type: sniffed(mediaType(c.Type), c.raw), Fetched: c.Fetched,
		Hash: hex.EncodeToString(sum[:]), Bytes: len(c.raw), Cached: c.cached, Truncated: c.Cut,
	}
	var err error
	switch {
	case isHTML(p.Type):
		err = f.readHTML(p, c)
	case p.Type == "text/plain" || p.Type == "text/markdown" || p.Type == "text/x-markdown":
		err = readText(p, c)
	default:
		err = f.readTyped(p, c)
	}
	if err != nil {
		return nil, err
	}
	if p.Markdown == "" {
		return nil, fmt.Errorf("%w: no text was found in it", ErrType)
	}
	if p.Title = textkit.VisibleLine(p.Title, 300); p.Title == "" {
		p.Title = nameOf(p.Final)
	}
	p.Author, p.Site = textkit.VisibleLine(p.Author, 200), textkit.VisibleLine(p.Site, 200)
	return p, nil
}

func (f *Fetcher) readHTML(p *Page, c *copied) error {
	text, name, err := p.decode(c)
	if err != nil {
		return err
	}
	a, err := f.o.HTML([]byte(search.StripMarkupEscapes(text)), c.Final)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrType, plain(err))
	}
	p.Charset, p.Title, p.Author, p.Site, p.Language, p.Published = name, a.Title, a.Author, a.Site, a.Language, a.Published
	p.Canonical, p.Truncated = a.Canonical, p.Truncated || a.Truncated
	p.Markdown = strings.TrimSpace(textkit.Visible(a.Markdown))
	return nil
}

// decode returns the text of an answer and the name of its encoding.
func (p *Page) decode(c *copied) (text, name string, err error) {
	text, name, err = charset.DecodePage(c.raw, c.Type)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("%w: its letters are not %s", ErrType, name)
	case charset.IsBinary(text):
		return "", "", fmt.Errorf("%w: it is said to be %s, and is not", ErrType, p.Type)
	}
	return text, name, nil
}

func readText(p *Page, c *copied) error {
	text, name, err := p.decode(c)
	if err != nil {
		return err
	}
	p.Charset, p.Markdown = name, strings.TrimSpace(textkit.Visible(text))
	if p.Type != "text/plain" {
		p.Title = firstHeading(p.Markdown)
	}
	return nil
}

// readTyped reads what is a document of its own, or else text of some sort.
func (f *Fetcher) readTyped(p *Page, c *copied) error {
	kind := p.Type
	if mediaType(c.Type) == kind {
		kind = c.Type // with what it says of letters
	}
	d, err := f.o.Typed(kind, nameOf(c.Final), c.raw)
	if err != nil {
		if isText(p.Type) {
			return readText(p, c)
		}
		return fmt.Errorf("%w: %s: %w", ErrType, textkit.VisibleLine(p.Type, 80), plain(err))
	}
	p.write(d)
	return nil
}

// firstHeading returns the first heading of the highest level, or "".
func firstHeading(markdown string) string {
	for line := range strings.Lines(markdown) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimRight(strings.TrimSpace(title), " #")
		}
	}
	return ""
}

// nameOf returns the last name in the path of a URL, or its host.
func nameOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	if name := path.Base(u.Path); name != "/" && name != "." {
		return textkit.VisibleLine(name, 100)
	}
	return u.Host
}

// write takes over a document: its text as Markdown, with its headings marked.
func (p *Page) write(d *document.Document) {
	p.Title, p.Author, p.Published, p.Language = d.Title, d.Author, d.Published, d.Language
	var b strings.Builder
	at, pages := 0, d.Pages
	upTo := func(end int) {
		for len(pages) > 0 && pages[0].Start <= end {
			p.Pages = append(p.Pages, document.Page{Number: pages[0].Number, Start: b.Len() + pages[0].Start - at})
			pages = pages[1:]
		}
		b.WriteString(d.Text[at:end])
		at = end
	}
	for _, s := range d.Sections {
		upTo(s.Start)
		b.WriteString(strings.Repeat("#", s.Level) + " ")
	}
	upTo(len(d.Text))
	p.Markdown = b.String()
}
