package web

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/knowledge/lookup"
	fetching "ponder/knowledge/web"
)

// FetchName is the name of the tool that reads pages.
const FetchName = toolname.WebFetch

// Limits on a page, in bytes except for passages.
const (
	defaultText     = 12 << 10
	maxText         = 48 << 10
	minText         = 500
	defaultPassages = 5
	maxPassages     = 20
	maxURL          = 2000
)

//go:embed prompts/fetch.md
var fetchDoc string

var fetchSchema = json.RawMessage(`{
  "type": "object",
  "properties": {
    "url": {"type": "string", "maxLength": 2000, "description": "The address of the page: http or https."},
    "query": {"type": "string", "description": "What to look for in the page. The passages that bear on it come back, instead of the text."},
    "passages": {"type": "integer", "minimum": 1, "maximum": 20, "description": "The most passages to return for a query; 5 if left out."},
    "offset": {"type": "integer", "minimum": 0, "description": "Where in the text to begin, in bytes: next of the result before. 0 if left out."},
    "limit": {"type": "integer", "minimum": 500, "maximum": 49152, "description": "The most bytes of text to return; 12288 if left out."},
    "seconds": {"type": "integer", "minimum": 1, "description": "The longest to wait."}
  },
  "required": ["url"],
  "additionalProperties": false
}`)

type fetcher struct{ Options }

type fetchInput struct {
	URL      string `json:"url"`
	Query    string `json:"query"`
	Passages int    `json:"passages"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"`
	Seconds  int    `json:"seconds"`
}

func (f *fetcher) fetchPage(ctx context.Context, in fetchInput) (string, error) {
	if in.URL = strings.TrimSpace(in.URL); in.URL == "" || len(in.URL) > maxURL {
		return "", errors.New(FetchName + ": url is empty or longer than 2000 bytes: name a page, such as https://example.org/page")
	}
	ctx, cancel := f.withTimeout(ctx, in.Seconds)
	defer cancel()
	p, err := f.Fetch(ctx, in.URL)
	if err != nil {
		return "", withRemedy(FetchName, err)
	}
	r := f.describePage(p, in.URL)
	text := textkit.Visible(p.Markdown)
	if r.Bytes = len(text); strings.TrimSpace(in.Query) != "" {
		r.Hits = findPassages(r.URL, r.Title, text, in.Query, in.Passages)
		if len(r.Hits) == 0 {
			r.Says = "The page has none of these words: ask with others, or without query for its text."
		}
	} else if err := addExcerpt(&r, text, in.Offset, in.Limit); err != nil {
		return "", err
	}
	return textkit.JSON(r)
}

// describePage returns a page without its text.
func (f *fetcher) describePage(p *fetching.Page, asked string) lookup.Page {
	r := lookup.Page{
		Notice: notice, URL: textkit.VisibleLine(p.Final, maxURL), Title: textkit.VisibleLine(p.Title, maxLabel), Site: textkit.VisibleLine(p.Site, maxLabel), Language: textkit.VisibleLine(p.Language, maxWord),
		Type: textkit.VisibleLine(p.Type, maxLabel), Fetched: storedTime(p.Fetched), Original: p.Hash, Cut: p.Truncated,
	}
	r.URL = cmp.Or(r.URL, asked)
	if r.URL != asked {
		r.Asked = asked
	}
	text := p.Markdown
	j := f.judgePieces([]Piece{{URL: r.URL, Title: r.Title, Author: p.Author, Text: text[:len(textkit.Prefix(text, maxJudged))], Published: p.Published, Fetched: p.Fetched, Local: p.Local}})[0]
	r.Known = newKnown(p.Author, p.Published, j)
	return r
}

// maxJudged limits the text for judging a page, in bytes.
const maxJudged = 64 << 10

// addExcerpt adds a part of the text.
func addExcerpt(r *lookup.Page, text string, offset, limit int) error {
	if offset < 0 || offset > 0 && offset >= len(text) {
		return errors.New(FetchName + ": offset is beyond the end of the text: use next of the result before, or 0")
	}
	if limit <= 0 {
		limit = defaultText
	}
	limit = min(max(limit, minText), maxText)
	r.Start = len(textkit.Prefix(text, offset))
	r.End = len(textkit.Prefix(text, min(len(text), r.Start+limit)))
	if r.Text = text[r.Start:r.End]; r.End < len(text) {
		r.Next = r.End
	}
	return nil
}
