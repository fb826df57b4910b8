package session

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

// SearchTool searches documents and, if asked, the memory. Its input is {query, paths, limit,
// exclude, memory}; exclude lists ids of known hits. Its result is {hits, skipped}.
const SearchTool = toolname.KnowledgeSearch

const (
	maxHits     = 6    // per search
	maxQuote    = 2000 // bytes
	maxContext  = 600  // bytes
	maxLabel    = 300  // bytes of a title, section or source
	maxEvidence = 200  // cited passages
	maxKeptText = 600  // bytes of a quote kept for the conclusion: a long sentence
	maxSeen     = 1000
	maxTopics   = 40
	maxTerms    = 24
	maxSignals  = 12
	maxURL      = 2000 // bytes
)

// pinnedWeight multiplies the score of a pinned source's passages.
const pinnedWeight = 2

type evidence struct {
	N        int      `json:"n"`
	Source   string   `json:"source"`
	Title    string   `json:"title,omitempty"`
	Section  string   `json:"section,omitempty"`
	Quote    string   `json:"quote"`
	Context  string   `json:"context,omitempty"`
	Rest     string   `json:"rest,omitempty"` // remainder of quote and context after shortening
	Score    float64  `json:"score,omitempty"`
	Terms    []string `json:"terms,omitempty"`
	Question string   `json:"question,omitempty"` // the focus it was found for
	Cited    bool     `json:"cited,omitempty"`
	Earlier  bool     `json:"earlier,omitempty"`

	URL       string `json:"url,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Dated     string `json:"dated,omitempty"`
	Fetched   string `json:"fetched,omitempty"`
	Cluster   string `json:"cluster,omitempty"` // see voice
	Copy      string `json:"copy,omitempty"`    // id of the passage that it repeats
	Echo      bool   `json:"echo,omitempty"`    // its voice was cited before
	Untrusted bool   `json:"untrusted,omitempty"`
	Addressed bool   `json:"addressed,omitempty"` // addresses programs; never quoted
}

func (e evidence) id() string { return "e" + strconv.Itoa(e.N) }

func (s *state) query(f focus) string {
	if topic := f.topic(); topic != "" {
		return topic + " " + textkit.TruncateBytes(textkit.OneLine(s.run.Input), maxFocus)
	}
	return f.Text
}

func (s *state) search(c *cell) ponder.Action {
	limit := maxHits
	if s.Unaided {
		limit = questionEvery // each becomes a thought
	}
	args := lookup.SearchArgs(s.query(c.Focus), s.opts.Docs, s.opts.Memory, limit, s.Pinned, s.Banned)
	args["exclude"] = slices.Concat([]string{}, s.Seen)
	return lookup.Use(c.key(look), SearchTool, args)
}

// looked applies the hits for the focus. It returns the number of passages, including off-topic
// ones, which show that there are more.
func (s *state) looked(c *cell) int {
	f := c.Found
	if c.Failed.Error != "" {
		s.Fault = textkit.TruncateBytes(textkit.OneLine(c.Failed.Error), maxFault)
	}
	on := f.Hits
	if topic := lookup.Words(c.Focus.topic()); len(topic) > 0 {
		on = slices.DeleteFunc(slices.Clone(on), func(h hit) bool { return beside(h, topic) })
	}
	add := s.pick(on, ponder.Found{Tool: SearchTool, Query: s.query(c.Focus)})
	if c.Failed.Error != "" {
		c.Less = s.less(" could not be searched: " + s.Fault)
	} else if slices.ContainsFunc(on, s.weak) {
		c.Less = s.less(" have " + nothingMore + " that fits half as well as the best")
	}
	news := len(add) + len(f.Hits) - len(on)
	switch {
	case s.Counts.Rounds > s.opts.Parallel:
	case c.Failed.Error != "":
		add = append(add, ponder.SystemNote{Content: s.place() + " could not be searched: " + s.Fault})
	case len(f.Skipped) > 0 && c.N == 1:
		add = append(add, ponder.SystemNote{Content: f.NotRead()})
	}
	s.write("found", &s.Counts.Found, add...)
	return news
}

// pick gathers new hits and returns their events.
func (s *state) pick(list []hit, by ponder.Found) (add []ponder.Body) {
	for _, h := range list {
		s.Best = max(s.Best, h.Score)
	}
	for _, h := range list {
		key := h.Key()
		if !slices.Contains(s.Seen, key) && !s.weak(h) && !lookup.HitAmong(h, s.Banned) {
			if s.Seen = runstate.Push(s.Seen, key, maxSeen); s.repeats(h) {
				continue
			}
			add = append(add, s.gather(h, by))
		}
	}
	return add
}

// weak reports whether a hit is too weak to quote without a model, compared with the best.
func (s *state) weak(h hit) bool { return s.Unaided && h.Score < s.Best/2 }

func (s *state) nothing(c *cell) string {
	switch {
	case c.Less != "":
		return c.Less
	case c.Web != nil && c.Web.Fault != "":
		return "the web could not be searched: " + c.Web.Fault
	case s.opts.Web && c.Web == nil:
		return s.less(" have " + nothingMore)
	}
	return "the " + s.sources() + " have " + nothingMore
}

// less explains why the source other than the web found no more.
func (s *state) less(why string) string {
	if rest, ok := strings.CutPrefix(why, " have"); ok && len(s.opts.Docs) == 0 {
		why = " has" + rest
	}
	return strings.ToLower(s.place()) + why
}

func (s *state) place() string {
	switch {
	case !s.opts.Memory:
		return "The documents"
	case len(s.opts.Docs) == 0:
		return "The memory"
	}
	return "The documents and the memory"
}

// gather adds a passage and returns its event. Without a kind of source it records no origin, like
// results of older tools.
func (s *state) gather(h hit, by ponder.Found) ponder.Body {
	s.Counts.Evidence++
	h = lookup.Bounded(h)
	e := evidence{
		N: s.Counts.Evidence, Source: h.Source, Title: textkit.TruncateBytes(textkit.OneLine(h.Title), maxLabel), Section: textkit.TruncateBytes(textkit.OneLine(h.Section), maxLabel),
		Quote: lookup.Defused(textkit.OneLine(h.Quote)), Context: textkit.TruncateBytes(lookup.Defused(textkit.OneLine(h.Context)), maxContext), Score: max(0, h.Score),
		Terms: lookup.Terms(h.Terms), Question: s.Focus.Question,
	}
	if lookup.HitAmong(h, s.Pinned) {
		e.Score *= pinnedWeight
	}
	b := ponder.Evidence{
		Content: h.Quote, ID: e.id(), Source: h.Source, Title: e.Title, Start: h.Start, End: h.End,
		Hash: h.Hash, Score: e.Score, Tool: by.Tool,
	}
	if h.Kind != "" {
		h = s.mark(h)
		e.Addressed = h.Untrusted && lookup.Addressed(h)
		s.trace(&e, &b, h, by)
		e.Score *= lookup.WorthOf(h)
	}
	s.Evidence = append(slices.Clip(s.Evidence), e)
	if s.Focus.Question == "" && (!h.Untrusted || s.Unaided) && !e.Addressed { // later foci are too remote from the topics
		s.note(h.Topics)
	}
	return b
}

func (s *state) passages(f focus) (list []evidence) {
	for _, e := range s.Evidence {
		if !e.Cited && !e.Earlier && e.Question == f.Question {
			list = append(list, e)
		}
	}
	return list
}

func (s *state) recalled() (list []evidence) {
	for _, e := range s.Evidence {
		if e.Earlier {
			list = append(list, e)
		}
	}
	return list
}

var number = regexp.MustCompile(`\d+`)

// nowhere is an id that never exists, for answers not checked yet.
const nowhere = "e000000"

// cited removes from text citations of unknown or banned evidence and foreign numbering, and
// returns the ids cited in text and more. Without any evidence it keeps text that may be code.
func (s *state) cited(text string, more []string) (string, []string) { return s.citing(text, more, "") }

// citing is cited, but replaces each citation without valid ids by other.
func (s *state) citing(text string, more []string, other string) (string, []string) {
	if s.Counts.Evidence == 0 {
		return strings.TrimSpace(lookup.Unnumbered(lookup.Uncited(text, other), s.named)), nil
	}
	var ids []string
	add := func(id string) (cited, known bool) {
		n, known := s.piece(strings.TrimLeft(id, "[( "))
		if !known || slices.Contains(s.Barred, n) {
			return false, known
		}
		if id = "e" + strconv.Itoa(n); !slices.Contains(ids, id) && len(ids) < maxHits*4 {
			ids = append(ids, id)
		}
		return true, true
	}
	text = lookup.Cites(text, func(m string) (kept string, unknown bool) {
		unknown = true
		for _, n := range number.FindAllString(m, -1) {
			cited, known := add("e" + n)
			if unknown = unknown && !known; cited {
				kept += "[e" + strings.TrimLeft(n, "0") + "]"
			}
		}
		if kept == "" {
			kept = other
		}
		if kept != "" && strings.TrimLeft(m, " \t") != m {
			kept = " " + kept
		}
		return kept, unknown
	})
	text = lookup.Unnumbered(text, s.named)
	for _, id := range more {
		add(strings.Trim(strings.TrimSpace(id), "[]()"))
	}
	return strings.TrimSpace(text), ids
}

// piece parses an evidence id and reports whether it exists.
func (s *state) piece(id string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimLeft(id, "eE"))
	return n, err == nil && 0 < n && n <= s.Counts.Evidence
}

// named reports whether id names a question or correction, or occurs in the user's input.
func (s *state) named(id string) bool {
	if strings.Contains(s.run.Input, "["+id+"]") {
		return true
	}
	n, err := strconv.Atoi(id[1:])
	most := 0
	switch id[0] {
	case 'q':
		most = s.Counts.Questions
	case 'c':
		most = s.Counts.Facts
	}
	return err == nil && 0 < n && n <= most
}

func (s *state) keep(ids []string) {
	for i, e := range s.Evidence {
		if !e.Cited && slices.Contains(ids, e.id()) {
			s.Evidence = slices.Clone(s.Evidence)
			echo := s.echoes(e)
			s.Evidence[i] = e.shortened()
			s.Evidence[i].Cited, s.Evidence[i].Echo = true, echo
		}
	}
}

// forget drops uncited passages, and the worst cited ones beyond the limit.
func (s *state) forget() {
	var kept []evidence
	for _, e := range s.Evidence {
		if e.Cited || e.Earlier {
			kept = append(kept, e)
		}
	}
	for len(kept) > maxEvidence {
		worst := 0
		for i, e := range kept {
			if e.Score < kept[worst].Score {
				worst = i
			}
		}
		kept = slices.Delete(kept, worst, worst+1)
	}
	s.Evidence = kept
}

func (e evidence) from(name string) bool {
	return lookup.IsOf(e.Source, name) || e.URL != "" && lookup.IsOf(e.URL, name)
}

// trace adds the origin of a hit to the evidence and its event.
func (s *state) trace(e *evidence, b *ponder.Evidence, h hit, by ponder.Found) {
	e.Kind, e.URL, e.Untrusted = textkit.TruncateBytes(textkit.OneLine(h.Kind), maxLabel), lookup.Address(h.URL), h.Untrusted
	e.Dated, e.Fetched = lookup.Day(h.Published), lookup.Day(h.Fetched)
	e.Cluster, e.Copy = s.cluster(h)
	if e.Untrusted {
		e.Title, e.Section, e.Quote, e.Context = lookup.Tame(e.Title), lookup.Tame(e.Section), lookup.Tame(e.Quote), lookup.Tame(e.Context)
	}
	by.Query, by.Provider = textkit.TruncateBytes(textkit.OneLine(by.Query), maxFocus), textkit.TruncateBytes(textkit.OneLine(h.Provider), maxLabel)
	b.Title, b.URL, b.Section, b.Page, b.Author = e.Title, e.URL, e.Section, max(0, h.Page), textkit.TruncateBytes(textkit.OneLine(h.Author), maxLabel)
	b.Published, b.Fetched, b.Original, b.Found = h.Published, h.Fetched, textkit.TruncateBytes(textkit.OneLine(h.Original), maxLabel), by
	b.Cluster, b.Voices, b.Quality, b.Untrusted = e.Cluster, max(0, h.Voices), lookup.Signals(h.Quality), e.Untrusted
}

type (
	hit   = lookup.Hit
	found = lookup.Found
)
