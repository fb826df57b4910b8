package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/query"
)

// SearchOptions shape a search. The zero value finds the best of everything.
type SearchOptions struct {
	N int // hits; 10 if zero, 100 at most

	// What is looked at, besides what the query says itself.
	Kinds    []Kind
	Sources  []string // any of them: exact, or the beginning of it and "*"
	Tags     []string // all of them
	From, To time.Time
	Persona  string // items in its voice; see [Persona] for whose that are

	// Topics is how many words a hit gets that say what else its passage is about.
	// They take longer to find than most hits.
	Topics int

	// Exclude has the ids of hits that are not wanted again.
	Exclude []string

	// Prefer has sources whose hits count twice as much, and Without those that
	// are left out: as in Sources, or paths of folders.
	Prefer, Without []string
}

// Bounds on hits.
const (
	defaultHits = 10
	mostHits    = 100

	maxLanguages = 4 // by which words are found again to be marked
)

// A Result is what a search found, and how.
type Result struct {
	Query      query.Query
	Strategies []string // what was done, in the order it was
	Confidence float64  // 0 to 1: that the best hits answer the query
	Says       string   // why, in a sentence or two
	Hits       []Hit    // the best first

	Documents, Passages int               // how many there are to search
	Corrected           map[string]string // words that were taken for others
	Hybrid              bool              // meaning was compared, and not only words
}

// A Hit is a sentence or two that were found, with their place.
type Hit struct {
	ID   string // the place: as that of document.Document.Place
	Item Item   // without its text
	Date time.Time

	Quote      string // exactly the bytes Start to End of the text of Item
	Start, End int
	Page       int    // from 1; 0 if there are none
	Section    string // the headings above it: "Terms > Payment"
	Speaker    string
	Context    string // the passage it is in
	Snippet    string // the beginning of that, or what is around the quote, with marks around words that were found

	Score  float64  // 0 to 1, the same from query to query
	Terms  []string // words of the query that it has
	Topics []string // what else its passage is about, if that was asked for

	Cluster string // the same for passages that have the same words
	Similar int    // how many more say nearly the same and are left out
	How     string // "words", "related words", "meaning", "words and meaning" or "date"
}

// MarkOpen and MarkClose stand around words that were found in a snippet. They
// are in no text.
const (
	MarkOpen  = "\u27e6" // ⟦
	MarkClose = "\u27e7" // ⟧
)

// Search finds what is remembered on a text. Whatever the text is, it is no
// error; one that asks for nothing finds nothing. While an embedder cannot be
// reached, search goes by words and says so.
func (l *Library) Search(ctx context.Context, text string, o SearchOptions) (Result, error) {
	s := &search{l: l, o: o, now: l.now()}
	if err := s.run(ctx, text); err != nil {
		return Result{}, fmt.Errorf("search for %q: %w", textkit.Prefix(text, 80), err)
	}
	return s.result, nil
}

// A search is one at work.
type search struct {
	l   *Library
	o   SearchOptions
	now time.Time

	query   query.Query
	tactics tactics
	filter  index.Filter
	empty   bool     // nothing can be found
	notes   []string // for Says

	languages []lexical.Language // of what there is, at most maxLanguages

	best      float64 // relevance, before it is adjusted
	agreement float64 // of words and meaning, 0 to 1; -1 unless both were asked
	result    Result
}

func (s *search) run(ctx context.Context, text string) error {
	if s.o.N <= 0 {
		s.o.N = defaultHits
	}
	s.o.N = min(s.o.N, mostHits)
	s.query, s.agreement = query.Parse(text, s.now), -1
	s.tactics = tacticsOf(s.query)
	if err := s.narrow(ctx); err != nil {
		return err
	}
	if err := s.anchor(ctx); err != nil {
		return err
	}
	stats, err := s.l.index.Stats(ctx)
	if err != nil {
		return err
	}
	s.result.Documents, s.result.Passages = stats.Docs, stats.Passages
	s.languages = stats.Languages[:min(len(stats.Languages), maxLanguages)]
	list, err := s.candidates(ctx)
	if err != nil {
		return err
	}
	s.result.Hits = worthwhile(s.quote(s.choose(s.originalsFirst(list))))
	s.result.Query, s.result.Strategies = s.query, s.tactics.names
	s.sure()
	return nil
}

// A hit below poor is left out where the best is good: it is noise beside that.
const (
	good = 0.5
	poor = 0.25
)

// worthwhile leaves out hits that are noise beside the first.
func worthwhile(hits []Hit) []Hit {
	if len(hits) == 0 || hits[0].Score < good {
		return hits
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Score < poor })
}

// narrow makes the filter of what the query and the caller want.
func (s *search) narrow(ctx context.Context) error {
	q, o := s.query, s.o
	kinds, sources := []string{}, append([]string(nil), o.Sources...)
	for _, k := range o.Kinds {
		kinds = append(kinds, string(k))
	}
	s.filter = index.Filter{Owner: s.l.owner, Kinds: kinds, Sources: sources, Tags: append(append([]string(nil), o.Tags...), q.Tags...), From: o.From, To: o.To}
	s.filter.Kinds = s.both(s.filter.Kinds, q.Kinds)
	s.filter.Sources = s.both(s.filter.Sources, q.Sources)
	if q.Time.Strict {
		s.within(q.Time)
	}
	if o.Persona == "" {
		return nil
	}
	p, err := s.l.persona(ctx, o.Persona)
	if errors.Is(err, ErrNone) {
		s.filter.Tags = append(s.filter.Tags, personaTag+o.Persona)
		return nil
	}
	if err != nil {
		return err
	}
	if p.Owner != "" {
		s.filter.Owner = p.Owner
	}
	s.filter.Sources = s.both(s.filter.Sources, p.Sources)
	s.filter.Tags = append(s.filter.Tags, p.Tags...)
	if len(p.Sources)+len(p.Tags) == 0 {
		s.filter.Tags = append(s.filter.Tags, personaTag+o.Persona)
	}
	return nil
}

// both returns what is in two lists that each mean any of it, and where one is
// empty the other. If nothing is in both, nothing can be found.
func (s *search) both(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	var out []string
	for _, x := range a {
		for _, y := range b {
			switch {
			case matches(x, y):
				out = append(out, y)
			case matches(y, x):
				out = append(out, x)
			}
		}
	}
	s.empty = s.empty || len(out) == 0
	return out
}

// matches reports whether a source is one of a pattern: the same, or below a
// prefix with a star.
func matches(pattern, source string) bool {
	prefix, ok := strings.CutSuffix(pattern, "*")
	return pattern == source || ok && strings.HasPrefix(source, prefix)
}

// within narrows the filter to a range.
func (s *search) within(r query.Range) {
	if s.filter.From.Before(r.From) {
		s.filter.From = r.From
	}
	if s.filter.To.IsZero() || !r.To.IsZero() && r.To.Before(s.filter.To) {
		s.filter.To = r.To
	}
}
