package search

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"

	"golang.org/x/net/html"
)

// Bounds on a result, in bytes.
const (
	maxTitle          = 300
	maxSnippet        = 2000
	maxText           = 64 << 10
	maxSummary        = 4000
	maxAuthor         = 200
	maxHighlights     = 10 // highlights
	maxHighlightBytes = 2000
)

// validateResults returns bounded, valid results of the query's hosts and dates.
func validateResults(list []Result, q Query) []Result {
	out := make([]Result, 0, min(len(list), MaxResults))
	for _, r := range list {
		if len(out) == MaxResults {
			break
		}
		address, ok := Canonical(r.URL)
		if !ok {
			continue
		}
		r.URL = address
		r.Title, r.Author = textkit.PrefixLine(r.Title, maxTitle), textkit.PrefixLine(r.Author, maxAuthor)
		r.Snippet, r.Summary = textkit.PrefixLine(r.Snippet, maxSnippet), visibleText(r.Summary, maxSummary)
		r.Text = visibleText(r.Text, maxText)
		r.Highlights = slices.Clone(r.Highlights[:min(len(r.Highlights), maxHighlights)])
		for i, h := range r.Highlights {
			r.Highlights[i] = textkit.PrefixLine(h, maxHighlightBytes)
		}
		r.Highlights = slices.DeleteFunc(r.Highlights, func(h string) bool { return h == "" })
		if r.Snippet == "" && len(r.Highlights) > 0 {
			r.Snippet = textkit.PrefixLine(strings.Join(r.Highlights, " … "), maxSnippet)
		}
		if r.Published = r.Published.UTC(); r.Published.Year() < 1900 || r.Published.After(q.now.AddDate(0, 0, 2)) {
			r.Published = time.Time{}
		}
		r.Score, r.Providers, r.Rank = finiteOrZero(r.Score), nil, 0
		if q.admitsResult(r) {
			out = append(out, r)
		}
	}
	return out
}

func (q Query) admitsResult(r Result) bool {
	if t := r.Published; !t.IsZero() && (t.Before(q.From) || !q.To.IsZero() && !t.Before(q.To)) {
		return false
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return false
	}
	of := func(h string) bool { return u.Hostname() == h || strings.HasSuffix(u.Hostname(), "."+h) }
	return (len(q.Domains) == 0 || slices.ContainsFunc(q.Domains, of)) && !slices.ContainsFunc(q.Without, of)
}

// visibleText returns visible text of at most n bytes.
func visibleText(text string, n int) string {
	return strings.TrimSpace(textkit.Prefix(textkit.Visible(textkit.Prefix(text, 2*n)), n))
}

// stripTags removes tags and entities.
func stripTags(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(textkit.Prefix(s, maxText)))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}
