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

// SearchOptions shape a search; the zero value searches everything.
type SearchOptions struct {
	N int // default 10, at most 100

	Kinds    []Kind
	Sources  []string // any of them: exact, or a prefix and "*"
	Tags     []string // all of them
	From, To time.Time
	Persona  string // items in this voice; see [Persona]

	// Topics is the number of keywords per hit; they are slow to find.
	Topics int

	// Exclude lists IDs of hits to leave out.
	Exclude []string

	// Hits of Prefer count twice; Without excludes. Both take sources or paths of
	// folders.
	Prefer, ExcludeSources []string
}

const (
	defaultHits = 10
	maxHits     = 100

	maxLanguages = 4 // whose stems mark words in snippets
)

type Result struct {
	Query      query.Query
	Strategies []string
	Confidence float64 // 0 to 1: that the best hits answer the query
	Reason     string  // reason for Confidence
	Hits       []Hit

	Documents, Passages int
	Corrected           map[string]string // misspelled words and replacements
	Hybrid              bool
}

type Hit struct {
	ID   string // see document.Document.Place
	Item Item
	Date time.Time

	Quote      string // exactly bytes Start to End of the item's text
	Start, End int
	Page       int    // from 1; 0 without pages
	Section    string // the headings above: "Terms > Payment"
	Speaker    string
	Context    string
	Snippet    string // an excerpt with matched words marked

	Score  float64  // 0 to 1, comparable between queries
	Terms  []string // matched words of the query
	Topics []string // see SearchOptions.Topics

	Cluster   string // equal for passages with equal words
	Similar   int    // near-duplicates left out
	MatchedBy string // "words", "related words", "meaning", "words and meaning" or "date"
}

// MarkOpen and MarkClose enclose matched words in snippets; texts have neither.
const (
	MarkOpen  = "\u27e6" // ⟦
	MarkClose = "\u27e7" // ⟧
)

// Search finds passages. No text is an error; one without words finds nothing. If the
// embedder fails, Search uses words alone and says so.
func (l *Library) Search(ctx context.Context, text string, o SearchOptions) (Result, error) {
	s := &search{l: l, o: o, now: l.now()}
	if err := s.run(ctx, text); err != nil {
		return Result{}, fmt.Errorf("search for %q: %w", textkit.Prefix(text, 80), err)
	}
	return s.result, nil
}

type search struct {
	l   *Library
	o   SearchOptions
	now time.Time

	query  query.Query
	plan   searchPlan
	filter index.Filter
	empty  bool
	notes  []string // for Says

	languages []lexical.Language // of the index, at most maxLanguages

	best      float64
	agreement float64 // of words and meaning, 0 to 1; -1 unless both were compared
	result    Result
}

func (s *search) run(ctx context.Context, text string) error {
	if s.o.N <= 0 {
		s.o.N = defaultHits
	}
	s.o.N = min(s.o.N, maxHits)
	s.query, s.agreement = query.Parse(text, s.now), -1
	s.plan = planSearch(s.query)
	if err := s.buildFilter(ctx); err != nil {
		return err
	}
	if err := s.resolveAnchor(ctx); err != nil {
		return err
	}
	stats, err := s.l.index.Stats(ctx)
	if err != nil {
		return err
	}
	s.result.Documents, s.result.Passages = stats.Docs, stats.Passages
	s.languages = stats.Languages[:min(len(stats.Languages), maxLanguages)]
	list, err := s.findCandidates(ctx)
	if err != nil {
		return err
	}
	s.result.Hits = dropNoise(s.quoteCandidates(s.selectDiverse(s.originalsFirst(list))))
	s.result.Query, s.result.Strategies = s.query, s.plan.names
	s.setConfidence()
	return nil
}

// If the best hit reaches good, hits below poor are left out as noise.
const (
	goodScore  = 0.5
	noiseScore = 0.25
)

func dropNoise(hits []Hit) []Hit {
	if len(hits) == 0 || hits[0].Score < goodScore {
		return hits
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Score < noiseScore })
}

// buildFilter builds the filter from the query and the options.
func (s *search) buildFilter(ctx context.Context) error {
	q, o := s.query, s.o
	kinds, sources := []string{}, append([]string(nil), o.Sources...)
	for _, k := range o.Kinds {
		kinds = append(kinds, string(k))
	}
	s.filter = index.Filter{Owner: s.l.owner, Kinds: kinds, Sources: sources, Tags: append(append([]string(nil), o.Tags...), q.Tags...), From: o.From, To: o.To}
	s.filter.Kinds = s.intersectSources(s.filter.Kinds, q.Kinds)
	s.filter.Sources = s.intersectSources(s.filter.Sources, q.Sources)
	if q.Time.Strict {
		s.restrictTime(q.Time)
	}
	if o.Persona == "" {
		return nil
	}
	p, err := s.l.findPersona(ctx, o.Persona)
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
	s.filter.Sources = s.intersectSources(s.filter.Sources, p.Sources)
	s.filter.Tags = append(s.filter.Tags, p.Tags...)
	if len(p.Sources)+len(p.Tags) == 0 {
		s.filter.Tags = append(s.filter.Tags, personaTag+o.Persona)
	}
	return nil
}

// intersectSources intersects lists of source patterns; an empty list allows everything. An empty
// intersection sets s.empty.
func (s *search) intersectSources(a, b []string) []string {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	var out []string
	for _, x := range a {
		for _, y := range b {
			switch {
			case matchesPattern(x, y):
				out = append(out, y)
			case matchesPattern(y, x):
				out = append(out, x)
			}
		}
	}
	s.empty = s.empty || len(out) == 0
	return out
}

func matchesPattern(pattern, source string) bool {
	prefix, ok := strings.CutSuffix(pattern, "*")
	return pattern == source || ok && strings.HasPrefix(source, prefix)
}

func (s *search) restrictTime(r query.Range) {
	if s.filter.From.Before(r.From) {
		s.filter.From = r.From
	}
	if s.filter.To.IsZero() || !r.To.IsZero() && r.To.Before(s.filter.To) {
		s.filter.To = r.To
	}
}

// Score gained from neighbours and the whole document; for conversations see talk.
const (
	neighbourGain = 0.2
	documentGain  = 0.1
)

// preferTurns weighs neighbouring turns more, since one asks and another answers. It reports
// whether the tactics changed.
func (t *searchPlan) preferTurns() bool {
	if t.whole == index.ConversationWhole {
		return false
	}
	t.neighbours, t.whole = index.ConversationNeighbours, index.ConversationWhole
	t.addNames("turns beside")
	return true
}

func areMostlyTurns(list []*candidate) bool {
	n := 0
	best := list[:min(len(list), agreementDepth)]
	for _, c := range best {
		if c.passage.Speaker != "" {
			n++
		}
	}
	return n*2 > len(best)
}

type searchPlan struct {
	names []string

	feedback   bool    // add common words of the best passages
	neighbours float64 // see index.Query
	whole      float64
	people     float64 // weight of names
	diversity  float64 // penalty for likeness to an earlier hit
	perItem    int     // maximum of hits per item, except threads
	recency    float64 // share of the score that decays with age
	halfLife   time.Duration
	steps      bool
}

func planSearch(q query.Query) searchPlan {
	const year = 365 * 24 * time.Hour
	t := searchPlan{neighbours: neighbourGain, whole: documentGain, people: 1, diversity: 0.1, perItem: 5, halfLife: year}
	t.names = append(t.names, "exact terms", "typo tolerance")
	switch q.Class {
	case query.Temporal:
		t.recency = 0.1
		t.addNames("recency")
	case query.Person:
		t.people = 1.6
		t.addNames("names")
	case query.Overview:
		t.feedback, t.diversity, t.perItem = true, 0.6, 2
		t.addNames("feedback", "diversity")
	case query.HowTo:
		t.steps = true
		t.addNames("headings and steps")
	}
	if len(q.Phrases) > 0 {
		t.addNames("phrases")
	}
	if q.Recent {
		t.recency, t.halfLife = 0.5, year/12
		t.addNames("recency")
	}
	if !q.Time.IsZero() {
		t.addNames("time range")
	}
	return t
}

func (t *searchPlan) addNames(names ...string) {
	for _, n := range names {
		if !slices.Contains(t.names, n) {
			t.names = append(t.names, n)
		}
	}
}

// eventWeight is the weight of an event's words once its time is known.
const eventWeight = 0.4

// indexQuery returns the query for the index. If timed, the range replaces words of time,
// and an event's words weigh less.
func (s *search) indexQuery(timed bool) index.Query {
	q := index.Query{Phrases: s.query.Phrases, Filter: s.filter, Feedback: s.plan.feedback, Typos: true,
		Neighbours: s.plan.neighbours, Whole: s.plan.whole}
	for _, w := range s.query.Words {
		if w.Time && timed && !w.Event {
			continue
		}
		t := index.Term{Word: w.Text, Prefix: w.Prefix, Must: w.Must, Not: w.Not, Weight: 1}
		if s.isPersonName(w.Text) {
			t.Weight = s.plan.people
		}
		if w.Event && timed {
			t.Weight *= eventWeight
		}
		q.Terms = append(q.Terms, t)
	}
	return q
}

func (s *search) isPersonName(word string) bool {
	return slices.ContainsFunc(s.query.People, func(p string) bool {
		return slices.ContainsFunc(strings.Fields(p), func(f string) bool { return strings.EqualFold(f, word) })
	})
}

func (t searchPlan) ageFactor(date, now time.Time) float64 {
	if t.recency == 0 {
		return 1
	}
	if date.IsZero() {
		return 1 - t.recency
	}
	age := max(0, now.Sub(date))
	return 1 - t.recency + t.recency*float64(t.halfLife)/float64(t.halfLife+age)
}
