// Package search asks several search engines at once and makes one list of what
// they find.
//
// A [Provider] is a value with a function: [Exa], [Brave], [Tavily], [SearXNG], or
// [Folder], which searches pages on disk for work without a network. A [Searcher]
// asks them side by side, each within its limits (lane.go), and fuses their lists:
// addresses are written in one way (canonical.go), the same page of several is one
// result (fuse.go), and what any of them does wrong stands beside what the others
// found. api.go speaks HTTP with the engines.
//
// All that comes back was written by strangers. sound.go bounds it: lengths, no
// characters that are not seen, only http and https addresses. It is never to be
// obeyed. Keys are sent in headers and are in no error.
//
// Answers are kept in notes of the archive, of the kind "search": the name is the
// provider's and the SHA-256 of the query, the value is JSON of []Result.
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

// A Query is what is looked for.
type Query struct {
	Text string
	N    int // results wanted; 10 if zero, at most MaxResults

	// From and To bound when a page was published: From <= it < To. Pages whose
	// date is not known are found nevertheless. Zero means no bound.
	From, To time.Time

	// Domains and Without are hosts, with their subdomains, that results must be
	// of and must not be of.
	Domains, Without []string

	Language string // ISO 639-1, or ""

	// MaxAge is how old a kept answer may be. Zero means that of the searcher,
	// less than zero that none may be used.
	MaxAge time.Duration

	now time.Time
}

// MaxResults is the most results of a search.
const MaxResults = 100

// A Result is a page that was found. Its texts are bounded and may be empty.
type Result struct {
	URL        string    `json:"url"` // in canonical form
	Title      string    `json:"title,omitempty"`
	Snippet    string    `json:"snippet,omitempty"`
	Text       string    `json:"text,omitempty"`    // of the page, or the beginning of it
	Summary    string    `json:"summary,omitempty"` // made by a provider
	Author     string    `json:"author,omitempty"`
	Highlights []string  `json:"highlights,omitempty"`
	Published  time.Time `json:"published,omitzero"`

	// Score is the provider's in what a provider returns. In what a search
	// returns it is 1 for what all that answered have first, and less for others.
	Score float64 `json:"score,omitempty"`

	Providers []string `json:"-"` // that found it, the one that has it highest first
	Rank      int      `json:"-"` // from 1
}

// A Provider is a search engine.
type Provider struct {
	Name string

	Max     int           // searches at a time; 2 if zero
	Every   time.Duration // from one search to the next
	Timeout time.Duration // of a search with all its tries; 20 s if zero
	Local   bool          // answers at once from this machine, so that answers are not kept

	// Search returns the best results first. It may be called concurrently. An
	// error should be, or wrap, a *StatusError where the engine has refused: when
	// it says when to come back, it is not asked before.
	Search func(context.Context, Query) ([]Result, error)

	// Page returns the page at an address, with its text, if the provider has it on
	// this machine. Nil if it has no pages.
	Page func(ctx context.Context, url string) (r Result, ok bool, err error)
}

// Options say how a searcher works. The zero value works.
type Options struct {
	MaxAge time.Duration    // of kept answers; a day if zero, none are kept if less
	Keep   time.Duration    // after which kept answers are removed; 30 days if zero
	Now    func() time.Time // time.Now if nil
}

// Errors that a search as a whole can have.
var (
	ErrNoProvider = errors.New("no search provider is set up")
	ErrNoQuery    = errors.New("there is nothing to search for")
)

// A Searcher is safe for concurrent use.
type Searcher struct {
	lanes []*lane
	cache *archive.Archive
	opts  Options
	clean sync.Once
}

// New returns a searcher with these providers, whose order breaks ties. Without
// an archive nothing is kept.
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

// Found is what a search came to.
type Found struct {
	Results   []Result  // the best first
	Providers []Outcome // in the order they were given
}

// An Outcome is how a provider did.
type Outcome struct {
	Name   string
	Count  int
	Err    error
	Cached bool          // the answer was kept from an earlier search
	At     time.Time     // of the answer
	Took   time.Duration // zero if it was kept
}

// Search asks all providers at once and returns when all have answered, failed or
// run out of time. It fails only if all of them do, with an error that names each.
func (s *Searcher) Search(ctx context.Context, q Query) (Found, error) {
	if len(s.lanes) == 0 {
		return Found{}, ErrNoProvider
	}
	if q = q.tidy(); q.Text == "" {
		return Found{}, ErrNoQuery
	}
	q.now = s.opts.Now()
	lists := make([][]Result, len(s.lanes))
	f := Found{Providers: make([]Outcome, len(s.lanes))}
	var wg sync.WaitGroup
	for i, l := range s.lanes {
		wg.Go(func() { lists[i], f.Providers[i] = s.ask(ctx, l, q) })
	}
	wg.Wait()
	if err := failed(f.Providers); err != nil {
		return f, err
	}
	f.Results = fuse(f.Providers, lists, q.N)
	return f, nil
}

// tidy bounds a query.
func (q Query) tidy() Query {
	q.Text = textkit.PrefixLine(q.Text, 2000)
	if q.N <= 0 {
		q.N = 10
	}
	q.N = min(q.N, MaxResults)
	q.Domains, q.Without = hosts(q.Domains), hosts(q.Without)
	if len(q.Language) != 2 || strings.Trim(q.Language, "abcdefghijklmnopqrstuvwxyz") != "" {
		q.Language = ""
	}
	return q
}

// hosts returns the hosts of a list as they are in canonical addresses.
func hosts(list []string) (out []string) {
	for _, h := range list {
		h = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(h), "https://"), "http://")
		h, _, _ = strings.Cut(h, "/")
		h = strings.TrimPrefix(strings.TrimPrefix(h, "*."), ".")
		if h, ok := ascii(h); ok && !slices.Contains(out, h) && len(out) < 50 {
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return out
}

// ask asks one provider, unless its answer is known.
func (s *Searcher) ask(ctx context.Context, l *lane, q Query) ([]Result, Outcome) {
	o := Outcome{Name: l.Name}
	if list, at, ok := s.kept(ctx, l, q); ok {
		o.Count, o.Cached, o.At = len(list), true, at
		return list, o
	}
	start := s.opts.Now()
	list, err := l.search(ctx, q)
	o.At = s.opts.Now()
	o.Took = o.At.Sub(start)
	if err != nil {
		o.Err = err
		return nil, o
	}
	list = sound(list, q)
	o.Count = len(list)
	s.keep(ctx, l, q, list, o.At)
	return list, o
}

// failed returns an error if no provider answered.
func failed(list []Outcome) error {
	var all allFailed
	for _, o := range list {
		if o.Err == nil {
			return nil
		}
		all = append(all, fmt.Errorf("%s: %w", o.Name, o.Err))
	}
	return all
}

// allFailed is the errors of all providers.
type allFailed []error

func (a allFailed) Error() string {
	var list []string
	for _, err := range a {
		list = append(list, err.Error())
	}
	return "search the web: " + strings.Join(list, "; ")
}

func (a allFailed) Unwrap() []error { return a }

// finite returns a score that can be compared.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// rankWords ranks pages by BM25 with its usual constants. A word of a title counts
// as three.
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
		for _, w := range words(p.Text) {
			tf[w]++
			lengths[i]++
		}
		for _, w := range words(p.Title) {
			tf[w] += title
		}
		for w, n := range tf {
			postings[w] = append(postings[w], posting{i, n})
		}
		mean += lengths[i] / float64(len(pages))
	}
	return func(query string, n int) []Hit {
		scores := map[int]float64{}
		for _, w := range unique(words(query)) {
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

// words returns the words of a text in small letters, a final s left out.
func words(s string) []string {
	list := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for i, w := range list {
		if len(w) > 3 {
			list[i] = strings.TrimSuffix(w, "s")
		}
	}
	return list
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// snippet returns the paragraph of a text with the most words of a query, and the
// one after it while there is room.
func snippet(text, query string) string {
	const most = 500
	want := unique(words(query))
	paragraphs := strings.Split(text, "\n")
	best, score := 0, -1.0
	for i, p := range paragraphs {
		have := unique(words(textkit.Prefix(p, 4*most)))
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

// damp is how little the first rank counts more than the second: the usual
// constant of reciprocal rank fusion. Scores of engines do not compare, ranks do.
const damp = 60

// fuse makes one list of those of several providers.
func fuse(of []Outcome, lists [][]Result, n int) []Result {
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
			key := sameness(r.URL)
			if mine[key] {
				continue
			}
			mine[key] = true
			rank++
			score := float64(damp+1) / float64(damp+rank)
			r.Score, r.Rank, r.Providers = score, rank, []string{of[i].Name}
			if j, ok := at[key]; ok {
				all[j] = merge(all[j], r)
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

// merge makes one result of two for the same page: each text is from the one that
// ranks it higher, if that has it.
func merge(a, b Result) Result {
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
	if plainer(b.URL, a.URL) {
		a.URL = b.URL
	}
	return a
}
