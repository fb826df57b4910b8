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

// What a passage gains of those beside it and of its document as a whole, where
// documents are looked for. For conversations see talk.
const (
	beside = 0.2
	whole  = 0.1
)

// talk changes the tactics for conversations, in which one turn asks and another
// answers, and reports whether that is a change.
func (t *tactics) talk() bool {
	if t.whole == index.ConversationWhole {
		return false
	}
	t.neighbours, t.whole = index.ConversationNeighbours, index.ConversationWhole
	t.does("turns beside")
	return true
}

// talksMost reports whether most of the best that was found is what somebody said.
func talksMost(list []*candidate) bool {
	n := 0
	best := list[:min(len(list), compared)]
	for _, c := range best {
		if c.passage.Speaker != "" {
			n++
		}
	}
	return n*2 > len(best)
}

// Tactics are how a query of some class is answered.
type tactics struct {
	names []string // of what is done, for users

	feedback   bool    // words that the best passages have in common are looked for too
	neighbours float64 // see index.Query
	whole      float64
	people     float64 // weight of names
	diversity  float64 // how far a hit is pushed back by its likeness to one before it
	perItem    int     // most hits of an item that is no thread
	recency    float64 // how much of the score goes with age
	halfLife   time.Duration
	steps      bool // passages that list steps, or whose headings ask the same, count more
}

// tacticsOf chooses tactics by what a query asks for.
func tacticsOf(q query.Query) tactics {
	const year = 365 * 24 * time.Hour
	t := tactics{neighbours: beside, whole: whole, people: 1, diversity: 0.1, perItem: 5, halfLife: year}
	t.names = append(t.names, "exact terms", "typo tolerance")
	switch q.Class {
	case query.Temporal:
		t.recency = 0.1
		t.does("recency")
	case query.Person:
		t.people = 1.6
		t.does("names")
	case query.Overview:
		t.feedback, t.diversity, t.perItem = true, 0.6, 2
		t.does("feedback", "diversity")
	case query.HowTo:
		t.steps = true
		t.does("headings and steps")
	}
	if len(q.Phrases) > 0 {
		t.does("phrases")
	}
	if q.Recent {
		t.recency, t.halfLife = 0.5, year/12
		t.does("recency")
	}
	if !q.Time.IsZero() {
		t.does("time range")
	}
	return t
}

// does notes what is done.
func (t *tactics) does(names ...string) {
	for _, n := range names {
		if !slices.Contains(t.names, n) {
			t.names = append(t.names, n)
		}
	}
}

// eventWeight is what the words of an event count whose time is known.
const eventWeight = 0.4

// words returns the query for the index. Timed says that words which tell when it
// was are no help, for the range does that; those of an event count less.
func (s *search) words(timed bool) index.Query {
	q := index.Query{Phrases: s.query.Phrases, Filter: s.filter, Feedback: s.tactics.feedback, Typos: true,
		Neighbours: s.tactics.neighbours, Whole: s.tactics.whole}
	for _, w := range s.query.Words {
		if w.Time && timed && !w.Event {
			continue
		}
		t := index.Term{Word: w.Text, Prefix: w.Prefix, Must: w.Must, Not: w.Not, Weight: 1}
		if s.named(w.Text) {
			t.Weight = s.tactics.people
		}
		if w.Event && timed {
			t.Weight *= eventWeight
		}
		q.Terms = append(q.Terms, t)
	}
	return q
}

// named reports whether a word is of a name in the query.
func (s *search) named(word string) bool {
	return slices.ContainsFunc(s.query.People, func(p string) bool {
		return slices.ContainsFunc(strings.Fields(p), func(f string) bool { return strings.EqualFold(f, word) })
	})
}

// age returns what is left of a score for how old an item is.
func (t tactics) age(date, now time.Time) float64 {
	if t.recency == 0 {
		return 1
	}
	if date.IsZero() {
		return 1 - t.recency
	}
	age := max(0, now.Sub(date))
	return 1 - t.recency + t.recency*float64(t.halfLife)/float64(t.halfLife+age)
}
