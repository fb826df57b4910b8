package research

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder"
	"ponder/llm"
	"ponder/mode/internal/hits"
	"ponder/mode/internal/text"
)

// The tools that things are looked up with.
const (
	// SearchTool searches documents and the memory. Its input is {query, paths, limit,
	// memory, prefer, without}. Its result is {hits, skipped}.
	SearchTool = "knowledge_search"

	// PersonaTool searches the memory of a persona. Its input is {query, maxResults}.
	// Its result is {sources}.
	PersonaTool = "personaMemorySearch"

	// WebSearchTool searches the web. Its input is {query, limit, prefer, without,
	// seconds, fresh}. Its result is {results}.
	WebSearchTool = "web_search"

	// WebFetchTool reads a page and finds in it what bears on a query. Its input is
	// {url, query, passages, seconds}. Its result is {hits}.
	WebFetchTool = "web_fetch"
)

// The stages of progress, as the seed has them.
const (
	stagePlanning   = "planning"
	stageResearch   = "research"
	stageAnalysis   = "analysis"
	stageSynthesis  = "synthesis"
	stageReflection = "reflection"
	stageNote       = "note"
)

// The kinds of looks.
const (
	inMemory  = "memory"
	inPersona = "persona"
	onWeb     = "web"
	inPage    = "page"
)

// Bounds on what is looked up and kept.
const (
	maxEvidence   = 400
	maxQuery      = 400  // bytes
	maxQuote      = 2000 // bytes
	maxContext    = 600  // bytes
	maxFault      = 500  // bytes
	maxAskedList  = 200  // queries that are remembered
	longestWord   = 40   // bytes of a word of a query; what is longer is a key or a number, and stays here
	leastHeld     = 40   // bytes of a quote that tells that another one holds it
	pinnedWeight  = 2
	factKind      = "fact"
	maxSearchHits = 20 // of knowledge_search and web_search
)

// A look is a use of a tool that looks something up.
type look struct {
	N     int    `json:"n"`
	Kind  string `json:"kind"`
	Query string `json:"query"`
	Round int    `json:"round,omitempty"`
	Most  int    `json:"most,omitempty"` // items
	Use   int    `json:"use,omitempty"`  // the call of the model that wants it, from 1
	Ref   string `json:"ref,omitempty"`  // the question that it is for

	Page *hits.Hit `json:"page,omitempty"` // what a search has of the page to read

	Begun bool   `json:"begun,omitempty"`
	Since int64  `json:"since_ms,omitempty"`
	Done  bool   `json:"done,omitempty"`
	Fault string `json:"fault,omitempty"`
	Got   []int  `json:"got,omitempty"` // numbers of the pieces that it brought, or found again
}

func (l look) key() string { return number("look", l.N) }

// tool returns the name of the tool of a look.
func (l look) tool() string {
	switch l.Kind {
	case onWeb:
		return WebSearchTool
	case inPage:
		return WebFetchTool
	case inPersona:
		return PersonaTool
	}
	return SearchTool
}

// begin starts the first round.
func (s *state) begin() {
	s.Step, s.Effort = gathering, cmp.Or(s.opts.Effort, effortOf(s.run.Input))
	if s.opts.Effort == "" && s.opts.WithoutModel {
		s.Effort = normal
	}
	web, memory := queriesOf(s.run.Input)
	p := plan{Terms: termsOf(s.run.Input), Web: orItself(web, s.run.Input), Memory: orItself(memory, s.run.Input)}
	if itself := outgoing(s.run.Input); s.opts.ForceWebSearch && itself != "" {
		p.Web = append([]string{itself}, p.Web...)
	}
	if s.Effort == trivial {
		p.Web, p.Memory = p.Web[:min(1, len(p.Web))], p.Memory[:min(1, len(p.Memory))]
	}
	s.Round = 1
	s.Planning = !s.opts.WithoutModel && s.Effort != trivial && s.gathers()
	s.adopt(p, ponder.Plan{Content: "What the question itself asks for", Unaided: true})
	s.wind()
}

// orItself returns queries, or the question itself if there are none.
func orItself(queries []string, question string) []string {
	if len(queries) == 0 {
		return []string{question}
	}
	return queries
}

// adopt has what was planned looked up, and writes the plan.
func (s *state) adopt(p plan, b ponder.Plan) {
	b.Steps, b.Terms, b.Round, b.Effort = p.Steps, p.Terms, s.Round, s.Effort
	if s.searches() {
		b.Memory = s.enqueue(inMemory, p.Memory, "")
	}
	if s.opts.Web {
		b.Web = s.enqueue(onWeb, p.Web, "")
	}
	add := []ponder.Body{b}
	for _, step := range p.Steps {
		if q, ok := s.pose(step, 5, false); ok {
			add = append(add, q)
		}
	}
	label := "Research plan generated"
	if b.Unaided {
		label = "Research begins"
	}
	content := fmt.Sprintf("Looking up %s.", counted(len(b.Memory)+len(b.Web), "query", "queries"))
	if len(b.Steps) > 0 {
		content = fmt.Sprintf("Created a plan of %s, with %s to look up.", counted(len(b.Steps), "step", "steps"), counted(len(b.Memory)+len(b.Web), "query", "queries"))
	}
	add = append(add, ponder.Progress{Content: content, Stage: stagePlanning, Label: label, Total: len(b.Steps), Iteration: s.Counts.Iteration})
	s.Plan = plan{Steps: append(s.Plan.Steps[:len(s.Plan.Steps):len(s.Plan.Steps)], p.Steps...), Terms: append(s.Plan.Terms[:len(s.Plan.Terms):len(s.Plan.Terms)], p.Terms...),
		Web: append(s.Plan.Web[:len(s.Plan.Web):len(s.Plan.Web)], b.Web...), Memory: append(s.Plan.Memory[:len(s.Plan.Memory):len(s.Plan.Memory)], b.Memory...)}
	s.note("plan", &s.Counts.Plans, add...)
}

// counted returns a number of things in words.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// enqueue adds looks for queries that were not asked yet, and returns them.
func (s *state) enqueue(kind string, queries []string, ref string) (list []string) {
	for _, q := range queries {
		if q = outgoing(q); q == "" || !s.unasked(kind, q) {
			continue
		}
		list = append(list, q)
		s.push(look{Kind: kind, Query: q, Ref: ref})
		if kind == inMemory && s.persona().Name != "" {
			s.push(look{Kind: inPersona, Query: q, Ref: ref})
		}
	}
	return list
}

// push adds a look.
func (s *state) push(l look) {
	s.Counts.Looks++
	l.N, l.Round = s.Counts.Looks, s.Round
	l.Most = cmp.Or(l.Most, s.opts.MaxItemsPerSource)
	s.Looks = append(slices.Clone(s.Looks), l)
}

// outgoing returns a query as it is asked. Strangers read it, and what they wrote may
// have led to it, so nothing goes out in it that could be an address or a key.
func outgoing(query string) string {
	words := slices.DeleteFunc(strings.Fields(text.Line(query)), func(w string) bool {
		return len(w) > longestWord || strings.Contains(w, "://") || strings.Contains(w, "@")
	})
	return strings.TrimSuffix(text.Clip(strings.Join(words, " "), maxQuery), "…")
}

// unasked notes a query, and reports whether it was not asked before.
func (s *state) unasked(kind, query string) bool {
	key := askedKey(kind, query)
	if s.asked(key) {
		return false
	}
	s.Asked = pushed(s.Asked, key, maxAskedList)
	return true
}

func askedKey(kind, query string) string { return kind + " " + query }

// asked reports whether a query was asked before, by its key.
func (s *state) asked(key string) bool {
	return slices.ContainsFunc(s.Asked, func(k string) bool { return strings.EqualFold(k, key) })
}

// queries returns what was asked.
func (s *state) queries() (list []string) {
	for _, key := range s.Asked {
		_, q, _ := strings.Cut(key, " ")
		if !slices.Contains(list, q) {
			list = append(list, q)
		}
	}
	return list
}

// pushed returns a list with one more, the last most of them.
func pushed[E any](list []E, e E, most int) []E {
	list = list[max(0, len(list)+1-most):]
	return append(append(make([]E, 0, len(list)+1), list...), e)
}

// wanted returns the looks that go on now: of each kind the first that are not done,
// at most so many as may go on at a time.
func (s *state) wanted() (list []look) {
	if s.Step != gathering && s.Step != writing {
		return nil
	}
	n := make(map[string]int)
	for _, l := range s.Looks {
		if l.Done {
			continue
		}
		if n[l.Kind]++; n[l.Kind] <= s.opts.MaxParallelQueries || l.Kind == inPage {
			list = append(list, l)
		}
	}
	return list
}

// began notes when the looks began that go on now.
func (s *state) began() {
	for _, l := range s.wanted() {
		if !l.Begun {
			i := s.look(l.key())
			s.Looks = slices.Clone(s.Looks)
			s.Looks[i].Begun, s.Looks[i].Since = true, s.Time.ms()
		}
	}
}

// look returns the place of a look that is waited for, or -1.
func (s *state) look(key string) int {
	return slices.IndexFunc(s.Looks, func(l look) bool { return !l.Done && l.key() == key })
}

// use returns the use of the tool of a look.
func (s *state) use(l look) ponder.Action {
	args := map[string]any{"query": l.Query}
	switch l.Kind {
	case inPersona:
		args["maxResults"] = l.Most
	case inPage:
		args["url"], args["passages"], args["seconds"] = l.Page.URL, min(pageHits, l.Most), int(s.patience().Seconds())
	case onWeb:
		args["limit"], args["seconds"] = min(l.Most, maxSearchHits), int(s.patience().Seconds())
		addHosts(args, "prefer", s.Pinned)
		addHosts(args, "without", s.Banned)
		if c := s.opts.EnableCaching; c != nil && !*c {
			args["fresh"] = true
		}
	default:
		args["limit"] = min(l.Most, maxSearchHits)
		args["paths"] = slices.Concat([]string{}, s.opts.Docs)
		if s.opts.Memory {
			args["memory"] = true
		}
		if len(s.Pinned) > 0 {
			args["prefer"] = s.Pinned
		}
		if len(s.Banned) > 0 {
			args["without"] = s.Banned
		}
	}
	js, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings and numbers can be marshalled
	}
	return ponder.Do{Key: l.key(), Tool: l.tool(), Args: js}
}

func addHosts(args map[string]any, name string, sources []string) {
	if hosts := hits.HostsOf(sources); len(hosts) > 0 {
		args[name] = hosts
	}
}

// looked takes in what a look came to.
func (s *state) looked(key string, b ponder.ToolResult) {
	i := s.look(key)
	if i < 0 {
		return
	}
	l := s.Looks[i]
	if l.Begun {
		s.Slowest = max(s.Slowest, s.Time.ms()-l.Since)
	}
	if b.Error != "" {
		s.answer(i, nil, text.Clip(text.Line(b.Error), maxFault))
		return
	}
	var list []hits.Hit
	switch l.Kind {
	case onWeb:
		list = hits.ReadResults(b.Result, l.Most)
	case inPage:
		list = hits.ReadPassages(b.Result, *l.Page, pageHits)
	case inPersona:
		list = hits.ReadRemembered(b.Result, l.Most)
	default:
		list = hits.ReadFound(b.Result, l.Most).Hits
	}
	s.answer(i, list, "")
}

// answer ends a look with what it found, or why it found nothing.
func (s *state) answer(i int, list []hits.Hit, fault string) {
	s.Looks = slices.Clone(s.Looks)
	l := &s.Looks[i]
	l.Done, l.Fault = true, fault
	s.Counts.Iteration++
	add, got := s.take(list, *l)
	l.Got = got
	add = append(add, s.report(*l, len(add)))
	s.note("found", &s.Counts.Found, add...)
	if l.Kind == onWeb {
		s.open(*l, list)
	}
	s.settle()
}

// take gathers the hits that are new, and returns their events, and the numbers of
// all of them.
func (s *state) take(list []hits.Hit, l look) (add []ponder.Body, got []int) {
	for _, h := range list {
		if h.Among(s.Banned) || h.Score < s.opts.MinConfidenceThreshold || !h.Sound() {
			continue
		}
		n := s.has(h)
		if n == 0 && len(s.Evidence) < maxEvidence {
			add = append(add, s.gather(h, l))
			n = s.Counts.Evidence
		}
		if n > 0 && !slices.Contains(got, n) {
			got = append(got, n)
		}
	}
	return add, got
}

// has returns the number of the piece that has all that a hit has, or 0.
func (s *state) has(h hits.Hit) int {
	key, same, page, quote := h.Key(), hits.QuoteKey(h), hits.PageKey(h), text.Line(h.Quote)
	for _, p := range s.Evidence {
		if p.Kind == factKind {
			continue
		}
		if p.Key == key && p.Same == same || p.Page == page && (p.Same == same || len(quote) >= leastHeld && strings.Contains(text.Line(p.Quote), quote)) {
			return p.N
		}
	}
	return 0
}

// gather adds a passage and returns its event.
func (s *state) gather(h hits.Hit, l look) ponder.Body {
	if len(h.Quote) > maxQuote {
		n := maxQuote
		for !utf8.RuneStart(h.Quote[n]) {
			n--
		}
		h.Quote, h.End = h.Quote[:n], h.Start+n
	}
	p := piece{
		N: s.Counts.Evidence + 1, Source: h.Source, Title: label(h.Title), Section: label(h.Section), Quote: h.Quote, Context: text.Clip(text.Line(h.Context), maxContext),
		Score: min(1, max(0, h.Score)), Terms: hits.Terms(h.Terms), Query: l.Query, Tool: l.tool(), Round: l.Round,
		URL: hits.Address(h.URL), Kind: label(h.Kind), Author: label(h.Author), Published: h.Published, Fetched: h.Fetched, Voices: max(0, h.Voices),
		Untrusted: h.Untrusted, Key: h.Key(), Same: hits.QuoteKey(h), Page: hits.PageKey(h),
	}
	h = h.Judged(s.saidElsewhere(p))
	p.Worth, p.Rated, p.Addressed = hits.WorthOf(h), len(h.Quality) > 0, h.Untrusted && h.Addressed()
	if h.Among(s.Pinned) {
		p.Score = min(1, p.Score*pinnedWeight)
	}
	p.Cluster, p.Copy = s.cluster(p, h)
	p.Known = s.known(p)
	s.supersede(p)
	s.Counts.Evidence++
	s.Evidence = append(s.Evidence[:len(s.Evidence):len(s.Evidence)], p)
	s.count(p)
	return ponder.Evidence{
		Content: p.Quote, ID: p.id(), Source: p.Source, Title: hits.Tame(p.Title), Start: h.Start, End: h.End, Hash: h.Hash, Score: p.Score, Tool: p.Tool,
		URL: p.URL, Section: hits.Tame(p.Section), Page: max(0, h.Page), Author: p.Author, Published: p.Published, Fetched: p.Fetched, Original: label(h.Original),
		Found:   ponder.Found{Tool: p.Tool, Query: p.Query, Provider: label(h.Provider)},
		Cluster: p.Cluster, Voices: p.Voices, Quality: hits.Signals(h.Quality), Untrusted: p.Untrusted,
	}
}

func label(s string) string { return text.Clip(text.Line(s), hits.MaxLabel) }

// saidElsewhere reports whether the quote of a piece was gathered from another page.
func (s *state) saidElsewhere(p piece) bool {
	return slices.ContainsFunc(s.Evidence, func(o piece) bool { return o.Same == p.Same && o.Page != p.Page })
}

// cluster returns the cluster of a piece: that of the copies of its text that were
// gathered before, which may be from another search, or the one that the tool says;
// and the id of the piece that it says again, if there is one.
func (s *state) cluster(p piece, h hits.Hit) (cluster, again string) {
	words := hits.Words(p.Quote)
	cluster = label(h.Cluster)
	for _, o := range s.Evidence {
		switch {
		case o.Kind == factKind:
		case o.Page == p.Page:
			cluster = cmp.Or(o.Cluster, cluster)
		case hits.Copies(words, hits.Words(o.Quote)):
			return o.voice(), cmp.Or(o.Copy, o.id())
		}
	}
	return cluster, ""
}

// supersede makes copies of the pieces of the same page that a new one has all of, as
// the snippet of a page that is read now.
func (s *state) supersede(p piece) {
	quote := text.Line(p.Quote)
	for i, o := range s.Evidence {
		if o.Page == p.Page && o.Copy == "" && len(o.Quote) >= leastHeld && strings.Contains(quote, text.Line(o.Quote)) {
			s.Evidence = slices.Clone(s.Evidence)
			s.Evidence[i].Copy = p.id()
		}
	}
}

// known reports whether the older report had a piece.
func (s *state) known(p piece) bool {
	return s.opts.Since != nil && slices.ContainsFunc(s.opts.Since.Evidence, func(k Known) bool {
		return (k.Source == p.Source || k.URL != "" && k.URL == p.URL) && text.Line(k.Quote) == text.Line(p.Quote)
	})
}

// count counts the source of a piece for its tool.
func (s *state) count(p piece) {
	if slices.Contains(s.Sources, p.Page) {
		return
	}
	s.Sources = append(s.Sources[:len(s.Sources):len(s.Sources)], p.Page)
	s.Tools = slices.Clone(s.Tools)
	if i := slices.IndexFunc(s.Tools, func(t tally) bool { return t.Tool == p.Tool }); i >= 0 {
		s.Tools[i].N++
		return
	}
	s.Tools = append(s.Tools, tally{p.Tool, 1})
}

// report returns the progress after a use of a tool.
func (s *state) report(l look, news int) ponder.Progress {
	label, content := "Found", fmt.Sprintf("%s for “%s”.", counted(news, "new passage", "new passages"), hits.Tame(l.Query))
	switch {
	case l.Fault != "":
		label, content = "Failed", fmt.Sprintf("%s failed: %s", l.tool(), hits.Tame(l.Fault))
	case len(l.Got) == 0:
		label, content = "Nothing found", fmt.Sprintf("Nothing for “%s”.", hits.Tame(l.Query))
	}
	b := ponder.Progress{Content: content, Stage: stageResearch, Label: label, Iteration: s.Counts.Iteration, Ref: l.Ref}
	if l.Fault != "" {
		b.Stage = stageNote
	}
	b.Meta = s.meta(map[string]any{"tool": l.tool(), "query": l.Query, "new": news, "error": l.Fault}, news)
	return b
}

// meta returns what a progress says beside: the seed's referenceSummary among it.
func (s *state) meta(more map[string]any, news int) json.RawMessage {
	sum := Summary{Unique: len(s.Sources), Sent: s.Counts.Evidence, Execution: s.Counts.Iteration, New: news, Tools: make(map[string]int)}
	for _, t := range s.Tools {
		sum.Tools[t.Tool] = t.N
	}
	more["referenceSummary"] = sum
	js, err := json.Marshal(more)
	if err != nil {
		return nil // what a model gave can't be marshalled
	}
	return js
}

// planKey is the key of the call for a plan.
const planKey = "planned"

// planned takes in the plan of a model.
func (s *state) planned(b ponder.CallFinished) {
	if b.Error != "" {
		s.unplanned("no plan: " + text.Clip(text.Line(b.Error), maxFault))
		return
	}
	p, err := readPlan(b.Message.Text())
	if err != nil {
		s.unplanned("the plan could not be read")
		return
	}
	s.Planning = false
	s.adopt(p, ponder.Plan{Content: strings.Join(p.Steps, "\n"), Model: b.Model})
}

// unplanned goes on with the queries of the question alone.
func (s *state) unplanned(why string) {
	s.Planning = false
	s.tell(stageNote, "Without a plan", "It goes on with the words of the question: "+why+".")
}

// hopeless reports whether a failure of this class will come again, whatever is
// asked.
func hopeless(c llm.Class) bool { return c == llm.Auth || c == llm.Payment || c == llm.NotFound }
