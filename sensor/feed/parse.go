package feed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"

	"ponder/internal/guard"
	"ponder/sensor"
)

// maxDepth limits the nesting of elements.
const maxDepth = 500

type item struct {
	id, hash     string
	title, begin string
	link         string
	at           time.Time // zero if unknown
}

// parseVersion parses a feed. It sorts the items newest first if all have dates.
func parseVersion(ctx context.Context, body []byte, base string) (*version, error) {
	if err := checkDepth(ctx, body); err != nil {
		return nil, err
	}
	parsed, err := parseFeed(body)
	if errors.Is(err, gofeed.ErrFeedTypeNotDetected) {
		return nil, errors.New("not an RSS, Atom or JSON feed; check the address")
	}
	if err != nil {
		return nil, fmt.Errorf("damaged feed: %s", sensor.Line(err.Error(), 200))
	}
	v := &version{title: plainText(parsed.Title, 100)}
	for _, p := range parsed.Items {
		if it, ok := newItem(p, base); ok && len(v.items) < maxItems {
			v.items = append(v.items, it)
		}
	}
	if !slices.ContainsFunc(v.items, func(it item) bool { return it.at.IsZero() }) {
		slices.SortStableFunc(v.items, func(a, b item) int { return b.at.Compare(a.at) })
	}
	return v, nil
}

func parseFeed(body []byte) (*gofeed.Feed, error) {
	return guard.Call(func() (*gofeed.Feed, error) { return gofeed.NewParser().Parse(bytes.NewReader(body)) })
}

// checkDepth rejects XML whose nesting could exhaust the stack of the parser.
func checkDepth(ctx context.Context, body []byte) error {
	if rest := bytes.TrimLeft(body, "\ufeff \t\r\n"); len(rest) == 0 || rest[0] != '<' {
		return nil // the JSON decoder has its own limit
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for depth, n := 0, 0; ; n++ {
		token, err := d.RawToken()
		if err != nil || n%1000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx) // the parser will report it
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
		if depth > maxDepth {
			return fmt.Errorf("elements are nested more than %d deep", maxDepth)
		}
	}
}

func newItem(p *gofeed.Item, base string) (item, bool) {
	if p == nil {
		return item{}, false
	}
	it := item{title: plainText(p.Title, 200), begin: plainText(cmp.Or(p.Description, p.Content), sensor.MaxText), link: resolveLink(p.Link, base)}
	if at := cmp.Or(p.PublishedParsed, p.UpdatedParsed); at != nil {
		it.at = *at
	}
	it.id = cmp.Or(p.GUID, it.link, it.title, it.begin)
	if it.id == "" || it.title+it.begin == "" {
		return item{}, false
	}
	it.hash = sensor.Hash(it.id) + sensor.Hash("item "+it.id)
	return it, true
}

func (it item) formatText(feed string) string {
	text := it.title
	if it.begin != "" && it.begin != it.title {
		if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?:") {
			text += "."
		}
		text = strings.TrimSpace(text + " " + it.begin)
	}
	if feed == "" {
		return text
	}
	return feed + ": " + text
}

// resolveLink resolves a link and returns "" unless it is http or https.
func resolveLink(link, base string) string {
	u, err := url.Parse(strings.TrimSpace(link))
	if err != nil || link == "" {
		return ""
	}
	if from, err := url.Parse(base); err == nil {
		u = from.ResolveReference(u)
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	u.User = nil
	return u.String()
}

var (
	hiddenPattern = regexp.MustCompile(`(?is)<!--.*?(?:-->|$)|<script\b.*?(?:</script\s*>|$)|<style\b.*?(?:</style\s*>|$)`)
	tagPattern    = regexp.MustCompile(`(?s)</?[a-zA-Z!?][^>]*(?:>|$)`)
	inlinePattern = regexp.MustCompile(`(?i)</?(?:a|abbr|b|code|em|i|q|s|small|span|strong|sub|sup|u|wbr)\b[^>]*>`)
)

// plainText returns the text of HTML as a line of at most max bytes.
func plainText(markup string, max int) string {
	markup = markup[:min(len(markup), 64<<10)]
	markup = hiddenPattern.ReplaceAllLiteralString(markup, " ")
	markup = inlinePattern.ReplaceAllLiteralString(markup, "")
	markup = tagPattern.ReplaceAllLiteralString(markup, " ")
	return sensor.Line(html.UnescapeString(markup), max)
}
