package web

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/knowledge/lookup"
	"slices"
	"strings"
)

// SearchName is the name of the tool that searches.
const SearchName = toolname.WebSearch

// Limits on a search.
const (
	defaultResults = 5
	maxResults     = 20
	maxOffset      = 40
	maxQuery       = 1000 // bytes
	maxHosts       = 30
	maxSnippet     = 700 // bytes
	maxFailed      = 8
)

//go:embed prompts/search.md
var searchDoc string

var searchSchema = json.RawMessage(`{
  "type": "object",
  "properties": {
    "query": {"type": "string", "maxLength": 1000, "description": "What to look for, in the words a page would use."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "The most results to return; 5 if left out."},
    "offset": {"type": "integer", "minimum": 0, "maximum": 40, "description": "How many of the best results to leave out: next of the result before."},
    "from": {"type": "string", "description": "Only what was published since: 2024, 2024-03 or 2024-03-01."},
    "to": {"type": "string", "description": "Only what was published until the end of: 2024, 2024-03 or 2024-03-01."},
    "domains": {"type": "array", "items": {"type": "string"}, "maxItems": 30, "description": "Only pages of these hosts, such as example.org."},
    "without": {"type": "array", "items": {"type": "string"}, "maxItems": 30, "description": "No pages of these hosts."},
    "prefer": {"type": "array", "items": {"type": "string"}, "maxItems": 30, "description": "Hosts whose pages come earlier."},
    "seconds": {"type": "integer", "minimum": 1, "description": "The longest to wait."},
    "fresh": {"type": "boolean", "description": "Whether to ask anew, though an answer of a while ago is kept."}
  },
  "required": ["query"],
  "additionalProperties": false
}`)

type searcher struct{ Options }

type searchInput struct {
	Query   string   `json:"query"`
	Limit   int      `json:"limit"`
	Offset  int      `json:"offset"`
	From    string   `json:"from"`
	To      string   `json:"to"`
	Domains []string `json:"domains"`
	Without []string `json:"without"`
	Prefer  []string `json:"prefer"`
	Seconds int      `json:"seconds"`
	Fresh   bool     `json:"fresh"`
}

func (s *searcher) searchWeb(ctx context.Context, in searchInput) (string, error) {
	q, err := in.parseQuery()
	if err != nil {
		return "", fmt.Errorf("%s: %w", SearchName, err)
	}
	ctx, cancel := s.withTimeout(ctx, in.Seconds)
	defer cancel()
	f, err := s.Search(ctx, q)
	if err != nil {
		return "", toolError{fmt.Sprintf("%s: %s", SearchName, textkit.VisibleLine(strings.TrimPrefix(err.Error(), SearchName+": "), maxError)), err}
	}
	list := preferHosts(filterResults(f.Results, q), in.Prefer)
	r := lookup.WebFound{Untrusted: true, Notice: notice, Results: []lookup.WebResult{}, Failed: limitFailures(f.Failed), Age: int(f.Age.Seconds())}
	if end := in.Offset + in.Limit; len(list) > end {
		r.Next = end
	}
	list = list[min(in.Offset, len(list)):]
	list = list[:min(in.Limit, len(list))]
	if r.Results = s.describeResults(q.Text, list); len(r.Results) == 0 {
		r.Says = "Nothing was found: ask with other or fewer words."
	}
	for i := range r.Results {
		if s.Keep == nil || list[i].Snippet == "" {
			continue
		}
		if hash, err := s.Keep(ctx, list[i]); err == nil {
			r.Results[i].Original = hash
		}
	}
	return textkit.JSON(r)
}

// parseQuery returns the query, and sets defaults.
func (in *searchInput) parseQuery() (Query, error) {
	in.Query = strings.Join(strings.Fields(textkit.Visible(in.Query)), " ")
	switch {
	case in.Query == "":
		return Query{}, errors.New("query is empty: say what to look for")
	case len(in.Query) > maxQuery:
		return Query{}, fmt.Errorf("query has %d bytes: ask with a few words, at most %d bytes", len(in.Query), maxQuery)
	case in.Offset < 0 || in.Offset > maxOffset:
		return Query{}, fmt.Errorf("offset is from 0 to %d: ask with other words rather than for more", maxOffset)
	case max(len(in.Domains), len(in.Without), len(in.Prefer)) > maxHosts:
		return Query{}, fmt.Errorf("more than %d hosts", maxHosts)
	}
	if in.Limit <= 0 {
		in.Limit = defaultResults
	}
	in.Limit = min(in.Limit, maxResults)
	t, err := dateRange(in.From, in.To)
	if err != nil {
		return Query{}, err
	}
	in.Prefer = hostNames(in.Prefer)
	return Query{Text: in.Query, N: in.Offset + in.Limit + 1, From: t.from, To: t.to, Domains: hostNames(in.Domains), Without: hostNames(in.Without), Fresh: in.Fresh}, nil
}

// hostNames returns host names in a form for comparison.
func hostNames(names []string) (list []string) {
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if u, err := url.Parse(name); err == nil && u.Host != "" {
			name = u.Hostname()
		}
		if name = strings.Trim(strings.TrimPrefix(name, "www."), "./*"); name != "" && !strings.ContainsAny(name, " /\\@") {
			list = append(list, name)
		}
	}
	return list
}

// filterResults returns the usable results, each address once. It repeats the filter by hosts,
// because providers may ignore it.
func filterResults(results []Result, q Query) (list []Result) {
	seen := make(map[string]bool)
	for _, r := range results {
		u, err := url.Parse(r.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(r.URL) > maxURL || seen[r.URL] {
			continue
		}
		if len(q.Domains) > 0 && !isOnHost(u, q.Domains) || isOnHost(u, q.Without) {
			continue
		}
		seen[r.URL] = true
		r.Title, r.Snippet, r.Author = textkit.VisibleLine(r.Title, maxLabel), textkit.VisibleLine(r.Snippet, maxSnippet), textkit.VisibleLine(r.Author, maxLabel)
		list = append(list, r)
	}
	return list
}

// isOnHost reports whether a page is on one of the hosts, or on a subdomain.
func isOnHost(u *url.URL, hosts []string) bool {
	own := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
	return slices.ContainsFunc(hosts, func(h string) bool { return own == h || strings.HasSuffix(own, "."+h) })
}

// preferHosts returns the results with the ranks of preferred hosts halved.
func preferHosts(list []Result, hosts []string) []Result {
	if len(hosts) == 0 {
		return list
	}
	type rankedPage struct {
		Result
		rank int
	}
	all := make([]rankedPage, len(list))
	for i, r := range list {
		all[i] = rankedPage{r, 2*i + 1}
		if u, err := url.Parse(r.URL); err == nil && isOnHost(u, hosts) {
			all[i].rank = i
		}
	}
	slices.SortStableFunc(all, func(a, b rankedPage) int { return cmp.Compare(a.rank, b.rank) })
	for i := range all {
		list[i] = all[i].Result
	}
	return list
}

// localProvider is the provider of pages in a local folder.
const localProvider = "folder"

// describeResults returns results in the form for models.
func (s *searcher) describeResults(query string, list []Result) []lookup.WebResult {
	pieces := make([]Piece, len(list))
	score := scoreResults(query, list)
	for i, r := range list {
		pieces[i] = Piece{URL: r.URL, Title: r.Title, Author: r.Author, Text: r.Snippet, Provider: strings.Join(r.Providers, ", "), Published: r.Published, Score: score[i], Local: slices.Equal(r.Providers, []string{localProvider})}
	}
	out := []lookup.WebResult{}
	for i, j := range s.judgePieces(pieces) {
		r := list[i]
		out = append(out, lookup.WebResult{
			URL: r.URL, Title: r.Title, Snippet: r.Snippet, Score: score[i], Known: newKnown(r.Author, r.Published, j), Provider: textkit.VisibleLine(pieces[i].Provider, maxLabel),
		})
	}
	return out
}

// limitFailures returns the failures, limited in number and size.
func limitFailures(list []Failure) (out []Failure) {
	for _, f := range list[:min(len(list), maxFailed)] {
		out = append(out, Failure{Provider: textkit.VisibleLine(f.Provider, maxLabel), Error: textkit.VisibleLine(f.Error, maxError)})
	}
	return out
}
