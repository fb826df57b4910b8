package session

import (
	"strconv"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/mode/internal/lookup"
)

// The tools that the web is asked with.
const (
	// WebSearchTool searches the web. Its input is {query, limit, prefer, without, seconds}.
	// Its result is {results}, the best first, each with url, title, snippet, score
	// and what else is known of it.
	WebSearchTool = toolname.WebSearch

	// WebFetchTool reads a page and finds in it what bears on a query. Its input is
	// {url, query, passages, seconds}. Its result is {hits} as that of [SearchTool], and what is
	// known of the page.
	WebFetchTool = toolname.WebFetch
)

// Bounds on what is asked of the web.
const (
	maxSearches   = 4   // of a wave: the first foci are the most urgent
	maxResults    = 6   // of a search, that are looked at
	maxSnippets   = 2   // of a search, that are gathered though their pages are not read
	maxSnippet    = 600 // bytes
	leastPatience = 3 * time.Second
	mostPatience  = 20 * time.Second
	mostSkipped   = 16 // waves without the web, after it failed again and again
)

// A web is how looking on the web goes.
type web struct {
	Waves int      `json:"waves,omitempty"` // that could have asked it
	Fails int      `json:"fails,omitempty"` // waves in a row without an answer
	Next  int      `json:"next,omitempty"`  // the first wave that asks it again
	Told  bool     `json:"told,omitempty"`  // the user, that it fails
	Pages int      `json:"pages,omitempty"` // that were asked for; numbers their keys
	Read  []string `json:"read,omitempty"`  // what they are known by, the last of them
}

// A webLook is what a cell finds on the web. It is not changed once it is there.
type webLook struct {
	Done    bool   `json:"done,omitempty"`
	Fault   string `json:"fault,omitempty"`
	Results []hit  `json:"results,omitempty"` // with snippets for quotes, the best first
	Pages   []page `json:"pages,omitempty"`   // that are read
}

func (c *cell) webKey() string { return onWeb + "-" + strconv.Itoa(c.N) }

// askWeb counts a wave, and reports whether it asks the web. After a failure the
// web is left alone for a while, which gets longer: unless there is nothing else.
func (s *state) askWeb() bool {
	if !s.opts.Web {
		return false
	}
	s.Web.Waves++
	if s.Unaided && !s.searches() {
		return true
	}
	return s.Web.Waves >= s.Web.Next && (s.Web.Waves-1)%s.opts.WebEvery == 0
}

func (s *state) searchWeb(c *cell) ponder.Action {
	args := s.hasty(map[string]any{"query": s.webQuery(c.Focus), "limit": maxResults})
	return lookup.Use(c.webKey(), WebSearchTool, lookup.Filter(args, lookup.HostsOf(s.Pinned), lookup.HostsOf(s.Banned)))
}

// hasty adds how long a look at the web may take, in seconds: of a short session no
// more than a tenth.
func (s *state) hasty(args map[string]any) map[string]any {
	if limit := s.run.Budget.Time; limit > 0 {
		args["seconds"] = int(min(max(limit/10, leastPatience), mostPatience).Seconds())
	}
	return args
}

func (s *state) webQuery(f focus) string { return lookup.Outgoing(s.query(f)) }

func (w *webLook) answered(b ponder.ToolResult) *webLook {
	next := *w
	next.Done = true
	if b.Error != "" {
		next.Fault = textkit.TruncateBytes(textkit.OneLine(b.Error), maxFault)
		return &next
	}
	next.Results = lookup.ReadResults(b.Result, maxResults)
	return &next
}

// online notes how the searches of a wave went, and tells the user once if they
// fail.
func (s *state) online() {
	asked, fault := 0, ""
	for i := range s.Wave {
		if w := s.Wave[i].Web; w != nil {
			if asked++; w.Fault == "" {
				s.Web.Fails, s.Web.Next = 0, 0
				return
			}
			fault = w.Fault
		}
	}
	if asked == 0 {
		return
	}
	s.Web.Next = s.Web.Waves + min(1<<min(s.Web.Fails, 8), mostSkipped)
	s.Web.Fails++
	if !s.searches() {
		s.Fault = fault
	}
	if !s.Web.Told {
		s.Web.Told = true
		s.write("found", &s.Counts.Found, ponder.SystemNote{Content: "The web could not be searched: " + fault})
	}
}
