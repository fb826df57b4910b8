package web

import (
	"context"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
	"ponder/knowledge/web/search"
)

// bestSentences is the number of sentences in a snippet from a page's text.
const bestSentences = 2

// NewSearch returns an [Options.Search] that calls a searcher, such as Search of a
// *search.Searcher.
func NewSearch(do func(context.Context, search.Query) (search.Response, error)) func(context.Context, Query) (Found, error) {
	return func(ctx context.Context, q Query) (Found, error) {
		query := search.Query{Text: q.Text, N: q.N, From: q.From, To: q.To, Domains: q.Domains, Without: q.Without}
		if q.Fresh {
			query.MaxAge = -1
		}
		got, err := do(ctx, query)
		if err != nil {
			return Found{}, err
		}
		var f Found
		for _, r := range got.Results {
			f.Results = append(f.Results, Result{
				URL: r.URL, Title: r.Title, Author: r.Author, Snippet: snippetOf(r, q.Text), Published: r.Published, Providers: r.Providers,
			})
		}
		for _, o := range got.Providers {
			if o.Cached && !o.At.IsZero() {
				f.Age = max(f.Age, time.Since(o.At))
			}
			if o.Err != nil {
				f.Failed = append(f.Failed, Failure{Provider: o.Name, Error: o.Err.Error()})
			}
		}
		return f, nil
	}
}

// snippetOf returns the part of a result that is relevant to a query: the provider's
// highlights, the best sentences of the page, or any text.
func snippetOf(r search.Result, query string) string {
	if len(r.Highlights) > 0 {
		return strings.Join(r.Highlights, " … ")
	}
	if len(r.Snippet) < maxSnippet/4 && r.Text != "" {
		if best := findPassages(r.URL, r.Title, textkit.Visible(r.Text), query, bestSentences); len(best) > 0 {
			return joinSentences(best)
		}
	}
	for _, text := range []string{r.Snippet, r.Summary, r.Text} {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// joinSentences joins sentences in the order of the page, with an ellipsis between them.
func joinSentences(hits []lookup.Hit) string {
	slices.SortStableFunc(hits, func(a, b lookup.Hit) int { return a.Start - b.Start })
	quotes := make([]string, len(hits))
	for i, h := range hits {
		quotes[i] = h.Quote
	}
	return strings.Join(quotes, " … ")
}
