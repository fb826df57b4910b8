package web

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/charset"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/web/search"
)

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

// mediaType returns "" without a type.
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

// sniffed detects omitted types and wrongly declared PDFs.
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
	return "application/octet-stream" // the name may tell more
}

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

// decode also returns the name of the charset.
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

// readTyped tries a document first, then text.
func (f *Fetcher) readTyped(p *Page, c *copied) error {
	kind := p.Type
	if mediaType(c.Type) == kind {
		kind = c.Type // with its charset
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

// firstHeading returns the first "# " heading, or "".
func firstHeading(markdown string) string {
	for line := range strings.Lines(markdown) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimRight(strings.TrimSpace(title), " #")
		}
	}
	return ""
}

// nameOf returns the last element of a URL's path, or its host.
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

// write copies a document with its headings as Markdown.
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

const (
	maxCodings = 2   // nested codings of an answer
	bombRatio  = 100 // decompressed to compressed; real pages stay below 30
)

func readBody(resp *http.Response, r ration) (body []byte, cut bool, err error) {
	codings, err := codingsOf(resp.Header.Values("Content-Encoding"))
	if err != nil {
		return nil, false, err
	}
	if len(codings) == 0 && !r.cut && resp.ContentLength > r.most {
		return nil, false, fmt.Errorf("%w: it has %d bytes, and %d are read", ErrTooBig, resp.ContentLength, r.most)
	}
	wire := &counted{r: resp.Body, most: r.most}
	from, err := unpack(wire, codings, r.most)
	if err != nil {
		return nil, false, broken(err)
	}
	body, err = io.ReadAll(io.LimitReader(from, r.most+1))
	over := int64(len(body)) > r.most || wire.over
	switch {
	case over && len(codings) > 0 && int64(len(body)) > bombRatio*wire.n:
		return nil, false, fmt.Errorf("%w: %d bytes unpack to more than %d", ErrTooBig, wire.n, r.most)
	case over && !r.cut:
		return nil, false, fmt.Errorf("%w: it has more than %d bytes", ErrTooBig, r.most)
	case over:
		return body[:min(int64(len(body)), r.most)], true, nil
	case err != nil:
		return nil, false, broken(err)
	}
	return body, false, nil
}

func broken(err error) error {
	if err == io.ErrUnexpectedEOF || err == io.EOF { //nolint:errorlint // as readers return them
		return fmt.Errorf("%w: it ended early", ErrBody)
	}
	return fmt.Errorf("%w: %w", ErrBody, plain(err))
}

// codingsOf returns the codings, the last one first.
func codingsOf(values []string) ([]string, error) {
	var out []string
	for _, c := range strings.Split(strings.Join(values, ","), ",") {
		switch c = strings.ToLower(strings.TrimSpace(c)); c {
		case "", "identity":
		case "gzip", "x-gzip", "deflate":
			out = append([]string{c}, out...)
		default:
			return nil, fmt.Errorf("%w: it is packed with %q, which was not asked for", ErrBody, textkit.VisibleLine(c, 20))
		}
		if len(out) > maxCodings {
			return nil, fmt.Errorf("%w: it is packed more than %d times", ErrBody, maxCodings)
		}
	}
	return out, nil
}

// unpack decompresses the codings. It bounds intermediate data too, since compressed
// nothing may have any length.
func unpack(r io.Reader, codings []string, most int64) (io.Reader, error) {
	for i, c := range codings {
		if i > 0 {
			r = &counted{r: r, most: 4 * most}
		}
		b := bufio.NewReader(r)
		var err error
		switch head, _ := b.Peek(2); {
		case len(head) == 0:
			return b, nil // an empty answer
		case c != "deflate":
			r, err = gzip.NewReader(b)
		case len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0:
			r, err = zlib.NewReader(b)
		default:
			r = flate.NewReader(b) // some servers send raw deflate
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// A counted reader fails after most bytes.
type counted struct {
	r       io.Reader
	n, most int64
	over    bool
}

func (c *counted) Read(p []byte) (int, error) {
	if c.n > c.most {
		c.over = true
		return 0, ErrTooBig
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.most+1-c.n)])
	c.n += int64(n)
	return n, err
}

const MaxPicture = 40 << 10

// Picture fetches and archives a small picture by the rules of [Fetcher.Fetch]. Other
// types are ErrType, larger ones ErrTooBig.
func (f *Fetcher) Picture(ctx context.Context, raw string) ([]byte, error) {
	if f.broken != nil {
		return nil, fmt.Errorf("fetch: %w", f.broken)
	}
	body, err := f.picture(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", shown(raw), err)
	}
	return body, nil
}

func (f *Fetcher) picture(ctx context.Context, raw string) ([]byte, error) {
	u, err := f.guard.parse(raw)
	if err != nil {
		return nil, err
	}
	v := f.visit(nil)
	v.takes = pictureRation
	a, err := v.follow(ctx, u)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, &StatusError{Code: a.status, After: a.after}
	}
	if f.o.Archive != nil {
		_, err = f.o.Archive.Put(ctx, archive.Original{Type: mediaType(a.header.Get("Content-Type")), Source: raw, Fetched: f.now(), Bytes: a.body})
	}
	return a.body, err
}

// pictureRation also accepts unknown types.
func pictureRation(resp *http.Response) (ration, error) {
	switch kind := mediaType(resp.Header.Get("Content-Type")); {
	case strings.HasPrefix(kind, "image/"), kind == "", kind == "application/octet-stream", kind == "binary/octet-stream":
		return ration{MaxPicture, false}, nil
	default:
		return ration{}, fmt.Errorf("%w: it is %s", ErrType, textkit.VisibleLine(kind, 80))
	}
}

// A RawRequest asks for unprocessed content.
type RawRequest struct {
	URL      string
	ETag     string // of the caller's version
	Modified string // Last-Modified of the caller's version
	MaxBytes int64  // larger is ErrTooBig; default and maximum is Options.MaxBytes
}

// A RawAnswer has status 200, or 304 if the caller's version is current.
type RawAnswer struct {
	Status         int
	Body           []byte
	ETag, Modified string
}

// Raw fetches content of any type by the rules of [Fetcher.Fetch], such as feeds and
// calendars. It does not use the archive. Errors name only the host, since the rest may
// be a secret.
func (f *Fetcher) Raw(ctx context.Context, r RawRequest) (*RawAnswer, error) {
	if f.broken != nil {
		return nil, fmt.Errorf("fetch: %w", f.broken)
	}
	u, err := f.guard.parse(r.URL)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	most := f.limits.bytes
	if r.MaxBytes > 0 {
		most = min(most, r.MaxBytes)
	}
	v := f.visit(&copied{record: record{Final: u.String(), ETag: r.ETag, Modified: r.Modified}})
	v.takes = func(*http.Response) (ration, error) { return ration{most, false}, nil }
	a, err := v.follow(ctx, u)
	if err == nil && a.status != http.StatusOK && a.status != http.StatusNotModified {
		err = &StatusError{Code: a.status, After: a.after}
	}
	if err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", textkit.VisibleLine(u.Host, 100), err)
	}
	return &RawAnswer{Status: a.status, Body: a.body, ETag: short(a.header.Get("ETag")), Modified: short(a.header.Get("Last-Modified"))}, nil
}

// Transport connects to the same addresses as the fetcher and applies no other rules.
func (f *Fetcher) Transport() http.RoundTripper { return f.wire }
