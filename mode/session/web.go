package session

import (
	"cmp"
	"strconv"
	"time"

	"ponder"
	"ponder/internal/taint"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/mode/internal/lookup"
)

const (
	// WebSearchTool searches the web. Its input is {query, limit, prefer, without, seconds}. Its
	// result is {results}, best first, with url, title, snippet, score and metadata.
	WebSearchTool = toolname.WebSearch

	// WebFetchTool reads a page and finds passages relevant to a query. Its input is {url, query,
	// passages, seconds}. Its result is {hits}, as of [SearchTool], with metadata of the page.
	WebFetchTool = toolname.WebFetch
)

const (
	maxSearches     = 4 // per wave, for its most urgent foci
	maxResults      = 6
	maxSnippets     = 2   // per search, of pages not read
	maxSnippet      = 600 // bytes
	minWebTimeout   = 3 * time.Second
	maxWebTimeout   = 20 * time.Second
	maxSkippedWaves = 16 // waves skipped after repeated failures
)

type webState struct {
	Waves    int      `json:"waves,omitempty"` // that could search
	Failures int      `json:"fails,omitempty"` // consecutive failed waves
	Next     int      `json:"next,omitempty"`  // the next wave that searches
	Reported bool     `json:"told,omitempty"`  // the user knows of the failure
	Pages    int      `json:"pages,omitempty"` // requested pages; numbers keys
	Read     []string `json:"read,omitempty"`
}

// webResult is the web result of a cell. It is immutable once stored.
type webResult struct {
	Done    bool   `json:"done,omitempty"`
	Fault   string `json:"fault,omitempty"`
	Results []hit  `json:"results,omitempty"` // snippets, best first
	Pages   []page `json:"pages,omitempty"`
}

func (c *slot) webKey() string { return webStep + "-" + strconv.Itoa(c.N) }

// shouldSearchWeb counts a wave and reports whether it searches the web. Failures cause growing pauses,
// unless the web is the only source.
func (s *state) shouldSearchWeb() bool {
	if !s.opts.Web {
		return false
	}
	s.Web.Waves++
	if s.Unaided && !s.canSearch() {
		return true
	}
	return s.Web.Waves >= s.Web.Next && (s.Web.Waves-1)%s.opts.WebEvery == 0
}

func (s *state) webSearchAction(c *slot) ponder.Action {
	args := s.addTimeLimit(map[string]any{"query": s.webQuery(c.Focus), "limit": maxResults})
	return lookup.NewToolUse(c.webKey(), WebSearchTool, lookup.AddSourceFilter(args, lookup.HostsOf(s.Pinned), lookup.HostsOf(s.Banned)))
}

// addTimeLimit adds the time limit of a web look in seconds: at most a tenth of a short session.
func (s *state) addTimeLimit(args map[string]any) map[string]any {
	if limit := s.run.Budget.Time; limit > 0 {
		args["seconds"] = int(min(max(limit/10, minWebTimeout), maxWebTimeout).Seconds())
	}
	return args
}

// webQuery returns the query for the web: without secrets of documents and memories.
func (s *state) webQuery(f focus) string {
	v := taint.View{Message: s.run.Input, Public: []string{s.run.Input}} // the user wants it searched
	for _, e := range s.Evidence {
		if text := e.Quote + "\n" + e.Context; e.URL == "" {
			v.Private = append(v.Private, text)
		} else {
			v.Public = append(v.Public, text)
		}
	}
	query, _ := v.OwnQuery(s.searchQuery(f))
	return cmp.Or(query, taint.SanitizeQuery(s.run.Input))
}

func (w *webResult) applyResult(b ponder.ToolResult) *webResult {
	next := *w
	next.Done = true
	if b.Error != "" {
		next.Fault = textkit.TruncateBytes(textkit.OneLine(b.Error), maxFault)
		return &next
	}
	next.Results = lookup.ReadResults(b.Result, maxResults)
	return &next
}

// recordWebOutcome records the outcome of a wave's searches and reports failure once.
func (s *state) recordWebOutcome() {
	asked, fault := 0, ""
	for i := range s.Wave {
		if w := s.Wave[i].Web; w != nil {
			if asked++; w.Fault == "" {
				s.Web.Failures, s.Web.Next = 0, 0
				return
			}
			fault = w.Fault
		}
	}
	if asked == 0 {
		return
	}
	s.Web.Next = s.Web.Waves + min(1<<min(s.Web.Failures, 8), maxSkippedWaves)
	s.Web.Failures++
	if !s.canSearch() {
		s.LastError = fault
	}
	if !s.Web.Reported {
		s.Web.Reported = true
		s.queueWrite("found", &s.Counts.Found, ponder.SystemNote{Content: "The web could not be searched: " + fault})
	}
}
