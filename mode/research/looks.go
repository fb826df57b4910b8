package research

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

const (
	// SearchTool searches documents and the memory. Its input is {query, paths, limit, memory,
	// prefer, without}; its result is {hits, skipped}.
	SearchTool = toolname.KnowledgeSearch

	// PersonaTool searches the memory of a persona. Its input is {query, maxResults}; its result is
	// {sources}.
	PersonaTool = toolname.PersonaMemory

	// WebSearchTool searches the web. Its input is {query, limit, prefer, without, seconds, fresh};
	// its result is {results}.
	WebSearchTool = toolname.WebSearch

	// WebFetchTool reads a page and finds passages relevant to a query. Its input is {url, query,
	// passages, seconds}; its result is {hits}.
	WebFetchTool = toolname.WebFetch
)

const (
	inMemory  = "memory"
	inPersona = "persona"
	onWeb     = "web"
	inPage    = "page"
)

// look is a use of a look-up tool.
type look struct {
	N     int    `json:"n"`
	Kind  string `json:"kind"`
	Query string `json:"query"`
	Round int    `json:"round,omitempty"`
	Most  int    `json:"most,omitempty"`
	Use   int    `json:"use,omitempty"` // the model's call that requested it, from 1
	Ref   string `json:"ref,omitempty"`

	Tool string          `json:"tool,omitempty"` // of [Options.Tools]
	Args json.RawMessage `json:"args,omitempty"`

	Page *lookup.Hit `json:"page,omitempty"` // the search result of the page to read

	Begun bool   `json:"begun,omitempty"`
	Since int64  `json:"since_ms,omitempty"`
	Done  bool   `json:"done,omitempty"`
	Fault string `json:"fault,omitempty"`
	Age   int    `json:"age,omitempty"` // seconds since the answer was cached
	Got   []int  `json:"got,omitempty"` // numbers of the pieces it found, new or not
}

func (l look) key() string { return number("look", l.N) }

func (l look) tool() string {
	switch l.Kind {
	case onWeb:
		return WebSearchTool
	case inPage:
		return WebFetchTool
	case inPersona:
		return PersonaTool
	case inOthers:
		return l.Tool
	}
	return SearchTool
}

func (s *state) enqueue(kind string, queries []string, ref string) (list []string) {
	for _, q := range queries {
		if q = lookup.Outgoing(textkit.OneLine(q)); q == "" || !s.unasked(kind, q) {
			continue
		}
		list = append(list, q)
		s.push(look{Kind: kind, Query: q, Ref: ref})
		if kind == inMemory && s.recalls() {
			s.push(look{Kind: inPersona, Query: q, Ref: ref})
		}
	}
	return list
}

func (s *state) recalls() bool { return s.opts.Memory && s.persona().Name != "" }

func (s *state) push(l look) {
	s.Counts.Looks++
	l.N, l.Round = s.Counts.Looks, s.Round
	l.Most = cmp.Or(l.Most, s.opts.MaxItemsPerSource)
	s.Looks = append(slices.Clone(s.Looks), l)
}

// unasked records a query and reports whether it is new.
func (s *state) unasked(kind, query string) bool {
	key := askedKey(kind, query)
	if s.asked(key) {
		return false
	}
	s.Asked = runstate.Push(s.Asked, key, maxAskedList)
	return true
}

func askedKey(kind, query string) string { return kind + " " + query }

func (s *state) asked(key string) bool {
	return slices.ContainsFunc(s.Asked, func(k string) bool { return strings.EqualFold(k, key) })
}

func (s *state) queries() (list []string) {
	for _, key := range s.Asked {
		_, q, _ := strings.Cut(key, " ")
		if !slices.Contains(list, q) {
			list = append(list, q)
		}
	}
	return list
}

// wanted returns the running looks: the first unfinished ones of each kind, up to the parallel
// limit.
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

// began records the start time of newly running looks.
func (s *state) began() {
	for _, l := range s.wanted() {
		if !l.Begun {
			i := s.look(l.key())
			s.Looks = slices.Clone(s.Looks)
			s.Looks[i].Begun, s.Looks[i].Since = true, s.Time.Milliseconds()
		}
	}
}

func (s *state) look(key string) int {
	return slices.IndexFunc(s.Looks, func(l look) bool { return !l.Done && l.key() == key })
}

func (s *state) use(l look) ponder.Action {
	if l.Kind == inOthers {
		return l.useOther()
	}
	args := map[string]any{"query": l.Query}
	switch l.Kind {
	case inPersona:
		args["maxResults"] = l.Most
	case inPage:
		args["url"], args["passages"], args["seconds"] = l.Page.URL, min(pageHits, l.Most), int(s.patience().Seconds())
	case onWeb:
		args["limit"], args["seconds"] = min(l.Most, maxSearchHits), int(s.patience().Seconds())
		args = lookup.Filter(args, lookup.HostsOf(s.Pinned), lookup.HostsOf(s.Banned))
		if c := s.opts.EnableCaching; c != nil && !*c {
			args["fresh"] = true
		}
	default:
		args = lookup.SearchArgs(l.Query, s.opts.Docs, s.opts.Memory, min(l.Most, maxSearchHits), s.Pinned, s.Banned)
	}
	return lookup.Use(l.key(), l.tool(), args)
}

func (s *state) looked(key string, b ponder.ToolResult) {
	i := s.look(key)
	if i < 0 {
		return
	}
	l := s.Looks[i]
	if l.Begun {
		s.Slowest = max(s.Slowest, s.Time.Milliseconds()-l.Since)
	}
	if b.Error != "" {
		s.answer(i, nil, textkit.TruncateBytes(textkit.OneLine(b.Error), maxFault))
		return
	}
	var list []lookup.Hit
	var notes []ponder.Body
	switch l.Kind {
	case onWeb:
		s.Looks = slices.Clone(s.Looks)
		s.Looks[i].Age = lookup.Age(b.Result)
		list = lookup.ReadResults(b.Result, l.Most)
	case inPage:
		list = lookup.ReadPassages(b.Result, *l.Page, pageHits)
	case inPersona:
		list = lookup.ReadRemembered(b.Result, l.Most)
	case inOthers:
		list = l.readOther(b.Result)
	default:
		found := lookup.ReadFound(b.Result, l.Most)
		list = found.Hits
		if says := found.NotRead(); says != "" && !slices.Contains(s.Reached, l.Kind) { // once per kind
			notes = append(notes, ponder.SystemNote{Content: says})
		}
	}
	s.answer(i, list, "", notes...)
}

// answer ends a look with its hits or its fault, and with notes for the user.
func (s *state) answer(i int, list []lookup.Hit, fault string, notes ...ponder.Body) {
	s.Looks = slices.Clone(s.Looks)
	l := &s.Looks[i]
	l.Done, l.Fault = true, fault
	if fault == "" {
		s.Reached = with(s.Reached, l.Kind)
	} else {
		s.Failed = with(s.Failed, l.Kind)
	}
	s.Counts.Iteration++
	add, got := s.take(list, *l)
	l.Got = got
	add = append(append(notes, add...), s.report(*l, len(add)))
	s.note("found", &s.Counts.Found, add...)
	if l.Kind == onWeb {
		s.open(*l, list)
	}
	s.settle()
}

func with(list []string, one string) []string {
	if slices.Contains(list, one) {
		return list
	}
	return append(list[:len(list):len(list)], one)
}

// unreached describes the kinds of looks that always failed.
func (s *state) unreached() (list []string) {
	for _, kind := range s.Failed {
		if place, ok := placesOf[kind]; ok && !slices.Contains(s.Reached, kind) {
			list = append(list, place)
		}
	}
	return list
}

var placesOf = map[string]string{inMemory: "what is kept here", inPersona: "the memory of the persona", onWeb: "the web"}
