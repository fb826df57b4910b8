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
	memoryLookup  = "memory"
	personaLookup = "persona"
	webLookup     = "web"
	pageLookup    = "page"
)

// lookupCall is a use of a look-up tool.
type lookupCall struct {
	N       int    `json:"n"`
	Kind    string `json:"kind"`
	Query   string `json:"query"`
	Round   int    `json:"round,omitempty"`
	MaxHits int    `json:"most,omitempty"`
	Use     int    `json:"use,omitempty"` // the model's call that requested it, from 1
	Ref     string `json:"ref,omitempty"`

	Tool string          `json:"tool,omitempty"` // of [Options.Tools]
	Args json.RawMessage `json:"args,omitempty"`

	Page *lookup.Hit `json:"page,omitempty"` // the search result of the page to read

	Started bool   `json:"begun,omitempty"`
	Since   int64  `json:"since_ms,omitempty"`
	Done    bool   `json:"done,omitempty"`
	Fault   string `json:"fault,omitempty"`
	Age     int    `json:"age,omitempty"` // seconds since the answer was cached
	Pieces  []int  `json:"got,omitempty"` // numbers of the pieces it found, new or not
}

func (l lookupCall) actionKey() string { return numberedKey("look", l.N) }

func (l lookupCall) toolName() string {
	switch l.Kind {
	case webLookup:
		return WebSearchTool
	case pageLookup:
		return WebFetchTool
	case personaLookup:
		return PersonaTool
	case otherLookup:
		return l.Tool
	}
	return SearchTool
}

func (s *state) enqueueQueries(kind string, queries []string, ref string) (list []string) {
	for _, q := range queries {
		if q = s.boundQuery(kind, q); q == "" || !s.markAsked(kind, q) {
			continue
		}
		list = append(list, q)
		s.addLookup(lookupCall{Kind: kind, Query: q, Ref: ref})
		if kind == memoryLookup && s.canSearchPersona() {
			s.addLookup(lookupCall{Kind: personaLookup, Query: q, Ref: ref})
		}
	}
	return list
}

func (s *state) canSearchPersona() bool { return s.opts.Memory && s.activePersona().Name != "" }

func (s *state) addLookup(l lookupCall) {
	s.Counts.Lookups++
	l.N, l.Round = s.Counts.Lookups, s.Round
	l.MaxHits = cmp.Or(l.MaxHits, s.opts.MaxItemsPerSource)
	s.Lookups = append(slices.Clone(s.Lookups), l)
}

// markAsked records a query and reports whether it is new.
func (s *state) markAsked(kind, query string) bool {
	key := askedKey(kind, query)
	if s.wasAsked(key) {
		return false
	}
	s.Asked = runstate.AppendLast(s.Asked, key, maxAskedList)
	return true
}

func askedKey(kind, query string) string { return kind + " " + query }

func (s *state) wasAsked(key string) bool {
	return slices.ContainsFunc(s.Asked, func(k string) bool { return strings.EqualFold(k, key) })
}

func (s *state) askedQueries() (list []string) {
	for _, key := range s.Asked {
		_, q, _ := strings.Cut(key, " ")
		if !slices.Contains(list, q) {
			list = append(list, q)
		}
	}
	return list
}

// activeLookups returns the running looks: the first unfinished ones of each kind, up to the parallel
// limit.
func (s *state) activeLookups() (list []lookupCall) {
	if s.Step != gathering && s.Step != writing {
		return nil
	}
	n := make(map[string]int)
	for _, l := range s.Lookups {
		if l.Done {
			continue
		}
		if n[l.Kind]++; n[l.Kind] <= s.opts.MaxParallelQueries || l.Kind == pageLookup {
			list = append(list, l)
		}
	}
	return list
}

// markStarted records the start time of newly running looks.
func (s *state) markStarted() {
	for _, l := range s.activeLookups() {
		if !l.Started {
			i := s.findLookup(l.actionKey())
			s.Lookups = slices.Clone(s.Lookups)
			s.Lookups[i].Started, s.Lookups[i].Since = true, s.Time.Milliseconds()
		}
	}
}

func (s *state) findLookup(key string) int {
	return slices.IndexFunc(s.Lookups, func(l lookupCall) bool { return !l.Done && l.actionKey() == key })
}

func (s *state) lookupAction(l lookupCall) ponder.Action {
	if l.Kind == otherLookup {
		return l.otherAction()
	}
	args := map[string]any{"query": l.Query}
	switch l.Kind {
	case personaLookup:
		args["maxResults"] = l.MaxHits
	case pageLookup:
		args["url"], args["passages"], args["seconds"] = l.Page.URL, min(pageHits, l.MaxHits), int(s.toolTimeout().Seconds())
	case webLookup:
		args["limit"], args["seconds"] = min(l.MaxHits, maxSearchHits), int(s.toolTimeout().Seconds())
		args = lookup.AddSourceFilter(args, lookup.HostsOf(s.Pinned), lookup.HostsOf(s.Banned))
		if c := s.opts.EnableCaching; c != nil && !*c {
			args["fresh"] = true
		}
	default:
		args = lookup.SearchArgs(l.Query, s.opts.Docs, s.opts.Memory, min(l.MaxHits, maxSearchHits), s.Pinned, s.Banned)
	}
	return lookup.NewToolUse(l.actionKey(), l.toolName(), args)
}

func (s *state) applyLookup(key string, b ponder.ToolResult) {
	i := s.findLookup(key)
	if i < 0 {
		return
	}
	l := s.Lookups[i]
	if l.Started {
		s.Slowest = max(s.Slowest, s.Time.Milliseconds()-l.Since)
	}
	if b.Error != "" {
		s.finishLookup(i, nil, textkit.TruncateBytes(textkit.OneLine(b.Error), maxFault))
		return
	}
	var list []lookup.Hit
	var notes []ponder.Body
	switch l.Kind {
	case webLookup:
		s.Lookups = slices.Clone(s.Lookups)
		s.Lookups[i].Age = lookup.CacheAge(b.Result)
		list = lookup.ReadResults(b.Result, l.MaxHits)
	case pageLookup:
		list = lookup.ReadPassages(b.Result, *l.Page, pageHits)
	case personaLookup:
		if s.keepMemoryText(b.Result); s.canSearchPersona() || !s.opts.MemoryContext {
			list = lookup.ReadMemory(b.Result, l.MaxHits)
		}
	case otherLookup:
		list = l.readOther(b.Result)
	default:
		found := lookup.ReadSearchResult(b.Result, l.MaxHits)
		list = found.Hits
		if says := found.DescribeSkipped(); says != "" && !slices.Contains(s.Reached, l.Kind) { // once per kind
			notes = append(notes, ponder.SystemNote{Content: says})
		}
	}
	s.finishLookup(i, list, "", notes...)
}

// finishLookup ends a look with its hits or its fault, and with notes for the user.
func (s *state) finishLookup(i int, list []lookup.Hit, fault string, notes ...ponder.Body) {
	s.Lookups = slices.Clone(s.Lookups)
	l := &s.Lookups[i]
	l.Done, l.Fault = true, fault
	if fault == "" {
		s.Reached = addDistinct(s.Reached, l.Kind)
	} else {
		s.Failed = addDistinct(s.Failed, l.Kind)
	}
	s.Counts.Iteration++
	add, got := s.gatherHits(list, *l)
	l.Pieces = got
	add = append(append(notes, add...), s.lookupProgress(*l, len(add)))
	s.queueWrite("found", &s.Counts.Found, add...)
	if l.Kind == webLookup {
		s.openPages(*l, list)
	}
	s.settleTools()
}

func addDistinct(list []string, one string) []string {
	if slices.Contains(list, one) {
		return list
	}
	return append(list[:len(list):len(list)], one)
}

// failedPlaces describes the kinds of looks that always failed.
func (s *state) failedPlaces() (list []string) {
	for _, kind := range s.Failed {
		if place, ok := placeNames[kind]; ok && !slices.Contains(s.Reached, kind) {
			list = append(list, place)
		}
	}
	return list
}

var placeNames = map[string]string{memoryLookup: "the memory", personaLookup: "the memory of the persona", webLookup: "the web"}
