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
	maxHits      = 6        // per search
	maxLabel     = 300      // bytes of a title, section or source
	maxEvidence  = 200      // passages
	maxStored    = 96 << 10 // bytes of passages
	maxBest      = 6        // uncited passages for the user's question
	maxBestBytes = 6 << 10
	maxKeptText  = 600 // bytes of a quote kept for the conclusion: a long sentence
	maxSeen      = 1000
	maxTopics    = 40
	maxTerms     = 24
	maxSignals   = 12
	maxURL       = 2000 // bytes
)

// pinnedWeight multiplies the score of a pinned source's passages.
const pinnedWeight = 2

type evidence struct {
	N        int      `json:"n"`
	Source   string   `json:"source"`
	Title    string   `json:"title,omitempty"`
	Section  string   `json:"section,omitempty"`
	Quote    string   `json:"quote"`
	Context  string   `json:"context,omitempty"` // the passage with the quote, without text that Within has
	Within   string   `json:"within,omitempty"`  // id of the passage that has the quote
	Rest     string   `json:"rest,omitempty"`    // remainder of the quote after shortening
	Score    float64  `json:"score,omitempty"`
	Terms    []string `json:"terms,omitempty"`
	Question string   `json:"question,omitempty"` // the focus it was found for
	At       int      `json:"at,omitempty"`       // number of thoughts before it
	Cited    bool     `json:"cited,omitempty"`
	Earlier  bool     `json:"earlier,omitempty"`
	Kept     bool     `json:"kept,omitempty"` // uncited, but later prompts need it; see shedEvidence
	Place    place    `json:"place,omitempty"`

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

func (s *state) searchQuery(f focus) string {
	if topic := f.topicName(); topic != "" {
		return topic + " " + textkit.TruncateBytes(textkit.OneLine(s.run.Input), maxFocus)
	}
	return f.Text
}

func (s *state) searchAction(c *slot) ponder.Action {
	limit := maxHits
	if s.Unaided {
		limit = questionEvery // each becomes a thought
	}
	args := lookup.SearchArgs(s.searchQuery(c.Focus), s.opts.Docs, s.opts.Memory, limit, s.Pinned, s.Banned)
	args["exclude"] = slices.Concat([]string{}, s.Seen)
	return lookup.NewToolUse(c.actionKey(lookupStep), SearchTool, args)
}

// applyHits applies the hits for the focus. It returns the number of passages, including off-topic
// ones, which show that there are more.
func (s *state) applyHits(c *slot) int {
	f := c.Found
	if c.Failed.Error != "" {
		s.LastError = textkit.TruncateBytes(textkit.OneLine(c.Failed.Error), maxFault)
	}
	on := f.Hits
	if topic := lookup.DistinctWords(c.Focus.topicName()); len(topic) > 0 {
		on = slices.DeleteFunc(slices.Clone(on), func(h hit) bool { return isOffTopic(h, topic) })
	}
	add := s.pickHits(on, ponder.Found{Tool: SearchTool, Query: s.searchQuery(c.Focus)})
	if c.Failed.Error != "" {
		c.FewerReason = s.explainFewer(" could not be searched: " + s.LastError)
	} else if slices.ContainsFunc(on, s.isWeak) {
		c.FewerReason = s.explainFewer(" have " + nothingMore + " that fits half as well as the best")
	}
	news := len(add) + len(f.Hits) - len(on)
	switch {
	case s.Counts.Rounds > s.opts.Parallel:
	case c.Failed.Error != "":
		add = append(add, ponder.SystemNote{Content: s.placeName() + " could not be searched: " + s.LastError})
	case len(f.Skipped) > 0 && c.N == 1:
		add = append(add, ponder.SystemNote{Content: f.DescribeSkipped()})
	}
	s.queueWrite("found", &s.Counts.Found, add...)
	return news
}

// pickHits gathers new hits and returns their events.
func (s *state) pickHits(list []hit, by ponder.Found) (add []ponder.Body) {
	for _, h := range list {
		s.BestScore = max(s.BestScore, h.Score)
	}
	for _, h := range list {
		key := h.Key()
		if !slices.Contains(s.Seen, key) && !s.isWeak(h) && !lookup.HitDenotedBy(h, s.Banned) {
			if s.Seen = runstate.AppendLast(s.Seen, key, maxSeen); s.isRepeat(h) {
				continue
			}
			add = append(add, s.addEvidence(h, by))
		}
	}
	return add
}

// isWeak reports whether a hit is too weak to quote without a model, compared with the best.
func (s *state) isWeak(h hit) bool { return s.Unaided && h.Score < s.BestScore/2 }

func (s *state) explainEmpty(c *slot) string {
	switch {
	case c.FewerReason != "":
		return c.FewerReason
	case c.Web != nil && c.Web.Fault != "":
		return "the web could not be searched: " + c.Web.Fault
	case s.opts.Web && c.Web == nil:
		return s.explainFewer(" have " + nothingMore)
	}
	return "the " + s.sourceNoun() + " have " + nothingMore
}

// explainFewer explains why the source other than the web found no more.
func (s *state) explainFewer(why string) string {
	if rest, ok := strings.CutPrefix(why, " have"); ok && len(s.opts.Docs) == 0 {
		why = " has" + rest
	}
	return strings.ToLower(s.placeName()) + why
}

func (s *state) placeName() string {
	switch {
	case !s.opts.Memory:
		return "The documents"
	case len(s.opts.Docs) == 0:
		return "The memory"
	}
	return "The documents and the memory"
}

// addEvidence adds a passage and returns its event. Without a kind of source it records no origin, like
// results of older tools.
func (s *state) addEvidence(h hit, by ponder.Found) ponder.Body {
	s.Counts.Evidence++
	h = lookup.TruncateQuote(h)
	quote := lookup.DefuseCitations(textkit.OneLine(h.Quote))
	e := evidence{
		N: s.Counts.Evidence, Source: h.Source, Title: textkit.TruncateBytes(textkit.OneLine(h.Title), maxLabel), Section: textkit.TruncateBytes(textkit.OneLine(h.Section), maxLabel),
		Quote: quote, Context: lookup.CleanContext(h, quote), Score: max(0, h.Score), Terms: lookup.NormalizeTerms(h.Terms), Question: s.Focus.Question, At: s.Counts.Thoughts,
	}
	if lookup.HitDenotedBy(h, s.Pinned) {
		e.Score *= pinnedWeight
	}
	b := ponder.Evidence{
		Content: h.Quote, ID: e.id(), Source: h.Source, Title: e.Title, Start: h.Start, End: h.End,
		Hash: h.Hash, Score: e.Score, Tool: by.Tool,
	}
	if h.Kind != "" {
		h = s.judgeHit(h)
		e.Addressed = h.Untrusted && lookup.AddressesPrograms(h)
		s.addOrigin(&e, &b, h, by)
		e.Score *= lookup.SourceWeight(h)
	}
	s.trimOverlap(&e)
	s.Evidence = append(slices.Clip(s.Evidence), e)
	if s.Focus.Question == "" && (!h.Untrusted || s.Unaided) && !e.Addressed { // later foci are too remote from the topics
		s.addTopics(h.Topics)
	}
	return b
}

// trimOverlap removes from a new passage the text of passages of its source that its prompt shows.
func (s *state) trimOverlap(e *evidence) {
	for i := range s.Evidence {
		o := &s.Evidence[i]
		if o.Source != e.Source || o.Place > asPassage || o.Context == "" || !o.isCarried() && o.Question != e.Question {
			continue
		}
		if strings.Contains(o.Context, e.Quote) {
			e.Within = o.id()
		}
		e.Context = lookup.UnseenPart(e.Context, o.Context)
	}
}

// focusPassages returns the new passages for a focus.
func (s *state) focusPassages(f focus) (list []evidence) {
	for _, e := range s.Evidence {
		if !e.isCarried() && e.Question == f.Question {
			list = append(list, e)
		}
	}
	return list
}

var digitRuns = regexp.MustCompile(`\d+`)

// unknownID is an id that never exists, for answers not checked yet.
const unknownID = "e000000"

// checkCitations removes from text citations of unknown or banned evidence and foreign numbering, and
// returns the ids cited in text and more. Without any evidence it keeps text that may be code.
func (s *state) checkCitations(text string, more []string) (string, []string) {
	return s.replaceCitations(text, more, "")
}

// replaceCitations is cited, but replaces each citation without valid ids by other.
func (s *state) replaceCitations(text string, more []string, other string) (string, []string) {
	if s.Counts.Evidence == 0 {
		return strings.TrimSpace(lookup.StripNumbering(lookup.ReplaceAllCitations(text, other), s.isNamedID)), nil
	}
	var ids []string
	add := func(id string) (cited, known bool) {
		n, known := s.parseEvidenceID(strings.TrimLeft(id, "[( "))
		if !known || slices.Contains(s.BannedEvidence, n) {
			return false, known
		}
		if id = "e" + strconv.Itoa(n); !slices.Contains(ids, id) && len(ids) < maxHits*4 {
			ids = append(ids, id)
		}
		return true, true
	}
	text = lookup.ReplaceCitations(text, func(m string) (kept string, unknown bool) {
		unknown = true
		for _, n := range digitRuns.FindAllString(m, -1) {
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
	text = lookup.StripNumbering(text, s.isNamedID)
	for _, id := range more {
		add(strings.Trim(strings.TrimSpace(id), "[]()"))
	}
	return strings.TrimSpace(text), ids
}

// parseEvidenceID parses an evidence id and reports whether it exists.
func (s *state) parseEvidenceID(id string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimLeft(id, "eE"))
	return n, err == nil && 0 < n && n <= s.Counts.Evidence
}

// isNamedID reports whether id names a question or correction, or occurs in the user's input.
func (s *state) isNamedID(id string) bool {
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

func (s *state) markCited(ids []string) {
	for i, e := range s.Evidence {
		if !e.Cited && slices.Contains(ids, e.id()) {
			s.Evidence = slices.Clone(s.Evidence)
			echo := s.isEcho(e)
			s.Evidence[i] = e.moveTail()
			s.Evidence[i].Cited, s.Evidence[i].Echo = true, echo
		}
	}
}

func (e evidence) isFrom(name string) bool {
	return lookup.Denotes(e.Source, name) || e.URL != "" && lookup.Denotes(e.URL, name)
}

// addOrigin adds the origin of a hit to the evidence and its event.
func (s *state) addOrigin(e *evidence, b *ponder.Evidence, h hit, by ponder.Found) {
	e.Kind, e.URL, e.Untrusted = textkit.TruncateBytes(textkit.OneLine(h.Kind), maxLabel), lookup.Address(h.URL), h.Untrusted
	e.Dated, e.Fetched = lookup.FormatDay(h.Published), lookup.FormatDay(h.Fetched)
	e.Cluster, e.Copy = s.findCluster(h)
	if e.Untrusted {
		e.Title, e.Section, e.Quote, e.Context = lookup.Sanitize(e.Title), lookup.Sanitize(e.Section), lookup.Sanitize(e.Quote), lookup.Sanitize(e.Context)
	}
	by.Query, by.Provider = textkit.TruncateBytes(textkit.OneLine(by.Query), maxFocus), textkit.TruncateBytes(textkit.OneLine(h.Provider), maxLabel)
	b.Title, b.URL, b.Section, b.Page, b.Author = e.Title, e.URL, e.Section, max(0, h.Page), textkit.TruncateBytes(textkit.OneLine(h.Author), maxLabel)
	b.Published, b.Fetched, b.Original, b.Found = h.Published, h.Fetched, textkit.TruncateBytes(textkit.OneLine(h.Original), maxLabel), by
	b.Cluster, b.Voices, b.Quality, b.Untrusted = e.Cluster, max(0, h.Voices), lookup.ClampSignals(h.Quality), e.Untrusted
}

type (
	hit   = lookup.Hit
	found = lookup.SearchResult
)
