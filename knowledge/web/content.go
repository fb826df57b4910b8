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

func (f *Fetcher) pageBodyLimit(resp *http.Response) (bodyLimit, error) {
	kind := mediaType(resp.Header.Get("Content-Type"))
	switch {
	case isText(kind):
		return bodyLimit{f.limits.bytes, true}, nil
	case mayHaveText(kind):
		return bodyLimit{f.limits.bytes, false}, nil
	}
	return bodyLimit{}, fmt.Errorf("%w: its type is %s", ErrType, textkit.VisibleLine(kind, 80))
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

// sniffType detects omitted types and wrongly declared PDFs.
func sniffType(kind string, raw []byte) string {
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

func (f *Fetcher) buildPage(c *pageCopy) (*Page, error) {
	sum := sha256.Sum256(c.raw)
	p := &Page{
		URL: c.URL, Final: c.Final, Type: sniffType(mediaType(c.Type), c.raw), Fetched: c.Fetched,
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
		return nil, fmt.Errorf("%w: it contains no text", ErrType)
	}
	if p.Title = textkit.VisibleLine(p.Title, 300); p.Title == "" {
		p.Title = urlName(p.Final)
	}
	p.Author, p.Site = textkit.VisibleLine(p.Author, 200), textkit.VisibleLine(p.Site, 200)
	return p, nil
}

func (f *Fetcher) readHTML(p *Page, c *pageCopy) error {
	text, name, err := p.decodeText(c)
	if err != nil {
		return err
	}
	a, err := f.o.HTML([]byte(search.StripMarkupEscapes(text)), c.Final)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrType, newPlainError(err))
	}
	p.Charset, p.Title, p.Author, p.Site, p.Language, p.Published = name, a.Title, a.Author, a.Site, a.Language, a.Published
	p.Canonical, p.Truncated = a.Canonical, p.Truncated || a.Truncated
	p.Markdown = strings.TrimSpace(textkit.Visible(a.Markdown))
	return nil
}

// decodeText also returns the name of the charset.
func (p *Page) decodeText(c *pageCopy) (text, name string, err error) {
	text, name, err = charset.DecodePage(c.raw, c.Type)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("%w: its charset is not %s", ErrType, name)
	case charset.IsBinary(text):
		return "", "", fmt.Errorf("%w: its type %s is wrong", ErrType, p.Type)
	}
	return text, name, nil
}

func readText(p *Page, c *pageCopy) error {
	text, name, err := p.decodeText(c)
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
func (f *Fetcher) readTyped(p *Page, c *pageCopy) error {
	kind := p.Type
	if mediaType(c.Type) == kind {
		kind = c.Type // with its charset
	}
	d, err := f.o.Typed(kind, urlName(c.Final), c.raw)
	if err != nil {
		if isText(p.Type) {
			return readText(p, c)
		}
		return fmt.Errorf("%w: %s: %w", ErrType, textkit.VisibleLine(p.Type, 80), newPlainError(err))
	}
	p.setDocument(d)
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

// urlName returns the last element of a URL's path, or its host.
func urlName(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	if name := path.Base(u.Path); name != "/" && name != "." {
		return textkit.VisibleLine(name, 100)
	}
	return u.Host
}

// setDocument copies a document with its headings as Markdown.
func (p *Page) setDocument(d *document.Document) {
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
	maxCodings          = 2   // nested codings of an answer
	maxCompressionRatio = 100 // decompressed to compressed; real pages stay below 30
)

func readBody(resp *http.Response, r bodyLimit) (body []byte, cut bool, err error) {
	codings, err := parseCodings(resp.Header.Values("Content-Encoding"))
	if err != nil {
		return nil, false, err
	}
	if len(codings) == 0 && !r.cut && resp.ContentLength > r.maxBytes {
		return nil, false, fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrTooBig, resp.ContentLength, r.maxBytes)
	}
	wire := &boundedReader{r: resp.Body, maxBytes: r.maxBytes}
	from, err := decompressBody(wire, codings, r.maxBytes)
	if err != nil {
		return nil, false, bodyError(err)
	}
	body, err = io.ReadAll(io.LimitReader(from, r.maxBytes+1))
	over := int64(len(body)) > r.maxBytes || wire.exceeded
	switch {
	case over && len(codings) > 0 && int64(len(body)) > maxCompressionRatio*wire.n:
		return nil, false, fmt.Errorf("%w: %d bytes unpack to more than %d", ErrTooBig, wire.n, r.maxBytes)
	case over && !r.cut:
		return nil, false, fmt.Errorf("%w: it has more than %d bytes", ErrTooBig, r.maxBytes)
	case over:
		return body[:min(int64(len(body)), r.maxBytes)], true, nil
	case err != nil:
		return nil, false, bodyError(err)
	}
	return body, false, nil
}

func bodyError(err error) error {
	if err == io.ErrUnexpectedEOF || err == io.EOF { //nolint:errorlint // as readers return them
		return fmt.Errorf("%w: it ended early", ErrBody)
	}
	return fmt.Errorf("%w: %w", ErrBody, newPlainError(err))
}

// parseCodings returns the codings, the last one first.
func parseCodings(values []string) ([]string, error) {
	var out []string
	for _, c := range strings.Split(strings.Join(values, ","), ",") {
		switch c = strings.ToLower(strings.TrimSpace(c)); c {
		case "", "identity":
		case "gzip", "x-gzip", "deflate":
			out = append([]string{c}, out...)
		default:
			return nil, fmt.Errorf("%w: unsupported content encoding %q", ErrBody, textkit.VisibleLine(c, 20))
		}
		if len(out) > maxCodings {
			return nil, fmt.Errorf("%w: more than %d content encodings", ErrBody, maxCodings)
		}
	}
	return out, nil
}

// decompressBody decompresses the codings. It bounds intermediate data too, since compressed
// nothing may have any length.
func decompressBody(r io.Reader, codings []string, most int64) (io.Reader, error) {
	for i, c := range codings {
		if i > 0 {
			r = &boundedReader{r: r, maxBytes: 4 * most}
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

// A boundedReader reader fails after most bytes.
type boundedReader struct {
	r           io.Reader
	n, maxBytes int64
	exceeded    bool
}

func (c *boundedReader) Read(p []byte) (int, error) {
	if c.n > c.maxBytes {
		c.exceeded = true
		return 0, ErrTooBig
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.maxBytes+1-c.n)])
	c.n += int64(n)
	return n, err
}

const MaxPicture = 40 << 10

// Picture fetches and archives a small picture by the rules of [Fetcher.Fetch]. Other
// types are ErrType, larger ones ErrTooBig.
func (f *Fetcher) Picture(ctx context.Context, raw string) ([]byte, error) {
	if f.optionsErr != nil {
		return nil, fmt.Errorf("fetch: %w", f.optionsErr)
	}
	body, err := f.fetchPicture(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", displayURL(raw), err)
	}
	return body, nil
}

func (f *Fetcher) fetchPicture(ctx context.Context, raw string) ([]byte, error) {
	u, err := f.guard.ParseURL(raw)
	if err != nil {
		return nil, err
	}
	v := f.newAttempt(nil)
	v.limitBody = pictureBodyLimit
	a, err := v.followRedirects(ctx, u)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, &StatusError{Code: a.status, After: a.after}
	}
	if f.o.Archive != nil {
		_, err = f.o.Archive.Put(ctx, archive.Original{Type: mediaType(a.header.Get("Content-Type")), Source: raw, Fetched: f.currentTime(), Bytes: a.body})
	}
	return a.body, err
}

// pictureBodyLimit also accepts unknown types.
func pictureBodyLimit(resp *http.Response) (bodyLimit, error) {
	switch kind := mediaType(resp.Header.Get("Content-Type")); {
	case strings.HasPrefix(kind, "image/"), kind == "", kind == "application/octet-stream", kind == "binary/octet-stream":
		return bodyLimit{MaxPicture, false}, nil
	default:
		return bodyLimit{}, fmt.Errorf("%w: its type is %s", ErrType, textkit.VisibleLine(kind, 80))
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
	if f.optionsErr != nil {
		return nil, fmt.Errorf("fetch: %w", f.optionsErr)
	}
	u, err := f.guard.ParseURL(r.URL)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	most := f.limits.bytes
	if r.MaxBytes > 0 {
		most = min(most, r.MaxBytes)
	}
	v := f.newAttempt(&pageCopy{record: record{Final: u.String(), ETag: r.ETag, Modified: r.Modified}})
	v.limitBody = func(*http.Response) (bodyLimit, error) { return bodyLimit{most, false}, nil }
	a, err := v.followRedirects(ctx, u)
	if err == nil && a.status != http.StatusOK && a.status != http.StatusNotModified {
		err = &StatusError{Code: a.status, After: a.after}
	}
	if err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", textkit.VisibleLine(u.Host, 100), err)
	}
	return &RawAnswer{Status: a.status, Body: a.body, ETag: boundValidator(a.header.Get("ETag")), Modified: boundValidator(a.header.Get("Last-Modified"))}, nil
}

// Transport connects to the same addresses as the fetcher and applies no other rules.
func (f *Fetcher) Transport() http.RoundTripper { return f.wire }
