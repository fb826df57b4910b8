// Package search queries several search engines in parallel and merges their results.
//
// A [Provider] is [Exa], [Brave], [Tavily], [SearXNG], or [Folder] for pages on disk. A
// [Searcher] queries them within their limits (lane.go) and fuses the results.
// canonical.go normalizes addresses, so a page found by several is one result. The
// [Outcome] of each provider has its error.
//
// Results are untrusted. validate.go bounds them, removes invisible characters, and allows
// only http and https. Keys are never in errors.
//
// Notes of the kind "search" archive answers, by provider and SHA-256 of the query, as
// JSON of []Result.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"ponder/internal/textkit"
	"ponder/internal/textkit/ranking"
	"ponder/knowledge/archive"
)

type Query struct {
	Text string
	N    int // default 10, at most MaxResults

	// From <= publication < To; zero is unbounded. Undated pages match.
	From, To time.Time

	// Results must be of Domains and not of Without; both include subdomains.
	Domains, Without []string

	Language string // ISO 639-1, or ""

	// MaxAge limits the age of archived answers; default is that of the searcher,
	// negative excludes all.
	MaxAge time.Duration

	now time.Time
}

const MaxResults = 100

// A Result is a page. Its texts are bounded and may be empty.
type Result struct {
	URL        string    `json:"url"` // canonical
	Title      string    `json:"title,omitempty"`
	Snippet    string    `json:"snippet,omitempty"`
	Text       string    `json:"text,omitempty"`    // of the page, or its start
	Summary    string    `json:"summary,omitempty"` // by a provider
	Author     string    `json:"author,omitempty"`
	Highlights []string  `json:"highlights,omitempty"`
	Published  time.Time `json:"published,omitzero"`

	// Score is the provider's in answers of providers. In results of a search, 1 means
	// that all answering providers rank the page first.
	Score float64 `json:"score,omitempty"`

	Providers []string `json:"-"` // with it, the highest rank first
	Rank      int      `json:"-"` // from 1
}

type Provider struct {
	Name string

	Max     int           // concurrent searches; default 2
	Every   time.Duration // interval between searches
	Timeout time.Duration // with retries; default 20 s
	Local   bool          // answers locally, so not archived

	// Search returns the best results first and is called concurrently. A refusal
	// should be or wrap a *StatusError, whose Retry is respected.
	Search func(context.Context, Query) ([]Result, error)

	// Page returns a locally stored page. Nil without pages.
	Page func(ctx context.Context, url string) (r Result, ok bool, err error)
}

// Options configure a searcher.
type Options struct {
	MaxAge time.Duration    // of archived answers; default a day, negative archives none
	Keep   time.Duration    // of archived answers; default 30 days
	Now    func() time.Time // default time.Now
}

// Errors of a whole search.
var (
	ErrNoProvider = errors.New("no search provider is configured")
	ErrNoQuery    = errors.New("empty query")
)

// A Searcher is safe for concurrent use.
type Searcher struct {
	lanes []*lane
	cache *archive.Archive
	opts  Options
	clean sync.Once
}

// New returns a searcher. The order of providers breaks ties; cache may be nil.
func New(providers []Provider, cache *archive.Archive, opts Options) *Searcher {
	s := &Searcher{cache: cache, opts: opts}
	s.opts.MaxAge = cmp.Or(s.opts.MaxAge, 24*time.Hour)
	if s.opts.Keep <= 0 {
		s.opts.Keep = 30 * 24 * time.Hour
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	for _, p := range providers {
		s.lanes = append(s.lanes, newLane(p))
	}
	return s
}

type Response struct {
	Results   []Result  // the best first
	Providers []Outcome // in given order
}

type Outcome struct {
	Name   string
	Count  int
	Err    error
	Cached bool
	At     time.Time     // of the answer
	Took   time.Duration // zero if archived
}

// Search queries all providers in parallel and waits for all. It fails only if all
// fail; the error names each.
func (s *Searcher) Search(ctx context.Context, q Query) (Response, error) {
	if len(s.lanes) == 0 {
		return Response{}, ErrNoProvider
	}
	if q = q.withDefaults(); q.Text == "" {
		return Response{}, ErrNoQuery
	}
	q.now = s.opts.Now()
	lists := make([][]Result, len(s.lanes))
	f := Response{Providers: make([]Outcome, len(s.lanes))}
	var wg sync.WaitGroup
	for i, l := range s.lanes {
		wg.Go(func() { lists[i], f.Providers[i] = s.askProvider(ctx, l, q) })
	}
	wg.Wait()
	if err := checkAllFailed(f.Providers); err != nil {
		return f, err
	}
	f.Results = fuseResults(f.Providers, lists, q.N)
	return f, nil
}

func (q Query) withDefaults() Query {
	q.Text = textkit.PrefixLine(q.Text, 2000)
	if q.N <= 0 {
		q.N = 10
	}
	q.N = min(q.N, MaxResults)
	q.Domains, q.Without = cleanHosts(q.Domains), cleanHosts(q.Without)
	if len(q.Language) != 2 || strings.Trim(q.Language, "abcdefghijklmnopqrstuvwxyz") != "" {
		q.Language = ""
	}
	return q
}

func cleanHosts(list []string) (out []string) {
	for _, h := range list {
		h = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(h), "https://"), "http://")
		h, _, _ = strings.Cut(h, "/")
		h = strings.TrimPrefix(strings.TrimPrefix(h, "*."), ".")
		if h, ok := asciiHost(h); ok && !slices.Contains(out, h) && len(out) < 50 {
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return out
}

// askProvider uses an archived answer if possible.
func (s *Searcher) askProvider(ctx context.Context, l *lane, q Query) ([]Result, Outcome) {
	o := Outcome{Name: l.Name}
	if list, at, ok := s.findArchived(ctx, l, q); ok {
		o.Count, o.Cached, o.At = len(list), true, at
		return list, o
	}
	start := s.opts.Now()
	list, err := l.searchWithRetry(ctx, q)
	o.At = s.opts.Now()
	o.Took = o.At.Sub(start)
	if err != nil {
		o.Err = err
		return nil, o
	}
	list = validateResults(list, q)
	o.Count = len(list)
	s.saveAnswer(ctx, l, q, list, o.At)
	return list, o
}

func checkAllFailed(list []Outcome) error {
	var all providerErrors
	for _, o := range list {
		if o.Err == nil {
			return nil
		}
		all = append(all, fmt.Errorf("%s: %w", o.Name, o.Err))
	}
	return all
}

type providerErrors []error

func (a providerErrors) Error() string {
	var list []string
	for _, err := range a {
		list = append(list, err.Error())
	}
	return "search the web: " + strings.Join(list, "; ")
}

func (a providerErrors) Unwrap() []error { return a }

func finiteOrZero(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// rankWords ranks by BM25; words of a title count three times.
func rankWords(pages []Page) func(query string, n int) []Hit {
	const lean, title = 0.75, 3
	type posting struct {
		page int
		tf   float32
	}
	postings := map[string][]posting{}
	lengths := make([]float64, len(pages))
	mean := 0.0
	for i, p := range pages {
		tf := map[string]float32{}
		for _, w := range splitWords(p.Text) {
			tf[w]++
			lengths[i]++
		}
		for _, w := range splitWords(p.Title) {
			tf[w] += title
		}
		for w, n := range tf {
			postings[w] = append(postings[w], posting{i, n})
		}
		mean += lengths[i] / float64(len(pages))
	}
	return func(query string, n int) []Hit {
		scores := map[int]float64{}
		for _, w := range sortUnique(splitWords(query)) {
			scorer := ranking.NewScorer(ranking.Rarity(float64(len(pages)), float64(len(postings[w]))), mean, lean)
			for _, p := range postings[w] {
				scores[p.page] += float64(scorer.Score(p.tf, float32(lengths[p.page])))
			}
		}
		hits := make([]Hit, 0, len(scores))
		for page, score := range scores {
			hits = append(hits, Hit{Page: page, Score: score})
		}
		slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Page, b.Page)) })
		return hits[:min(len(hits), n)]
	}
}

// splitWords are lower-case, without a final s.
func splitWords(s string) []string {
	list := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for i, w := range list {
		if len(w) > 3 {
			list[i] = strings.TrimSuffix(w, "s")
		}
	}
	return list
}

func sortUnique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// bestSnippet returns the paragraph with the most words of the query, and following ones
// that fit.
func bestSnippet(text, query string) string {
	const most = 500
	want := sortUnique(splitWords(query))
	paragraphs := strings.Split(text, "\n")
	best, score := 0, -1.0
	for i, p := range paragraphs {
		have := sortUnique(splitWords(textkit.Prefix(p, 4*most)))
		n := 0.0
		for _, w := range want {
			if _, ok := slices.BinarySearch(have, w); ok {
				n++
			}
		}
		if n -= 1 / float64(1+len(have)); n > score && strings.TrimSpace(p) != "" {
			best, score = i, n
		}
	}
	out := paragraphs[best]
	for _, p := range paragraphs[best+1:] {
		if len(out)+len(p) > most {
			break
		}
		out += " " + p
	}
	return textkit.PrefixLine(out, most)
}

// rankDamping is the usual constant of reciprocal rank fusion. Engines' scores are not
// comparable, ranks are.
const rankDamping = 60

func fuseResults(of []Outcome, lists [][]Result, n int) []Result {
	answered := 0
	at := map[string]int{}
	var all []Result
	for i, list := range lists {
		if of[i].Err == nil && len(list) > 0 {
			answered++
		}
		rank := 0
		mine := map[string]bool{}
		for _, r := range list {
			key := pageKey(r.URL)
			if mine[key] {
				continue
			}
			mine[key] = true
			rank++
			score := float64(rankDamping+1) / float64(rankDamping+rank)
			r.Score, r.Rank, r.Providers = score, rank, []string{of[i].Name}
			if j, ok := at[key]; ok {
				all[j] = mergeResults(all[j], r)
				continue
			}
			at[key] = len(all)
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Result) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Rank, b.Rank))
	})
	all = all[:min(n, len(all))]
	for i := range all {
		all[i].Score /= float64(max(1, answered))
		all[i].Rank = i + 1
	}
	return all
}

// mergeResults prefers the texts of the better rank.
func mergeResults(a, b Result) Result {
	if b.Rank < a.Rank {
		a, b = b, a
	}
	a.Score += b.Score
	a.Providers = append(slices.Clone(a.Providers), b.Providers...)
	a.Title, a.Snippet = cmp.Or(a.Title, b.Title), cmp.Or(a.Snippet, b.Snippet)
	a.Summary, a.Author = cmp.Or(a.Summary, b.Summary), cmp.Or(a.Author, b.Author)
	if len(b.Text) > len(a.Text) {
		a.Text = b.Text
	}
	if len(a.Highlights) == 0 {
		a.Highlights = b.Highlights
	}
	if a.Published.IsZero() {
		a.Published = b.Published
	}
	if prefersHTTPS(b.URL, a.URL) {
		a.URL = b.URL
	}
	return a
}
