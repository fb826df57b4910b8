package session

import (
	"slices"
	"strconv"

	"ponder"
	"ponder/internal/taint"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

const (
	maxPages     = 2 // per focus
	maxWavePages = 6 // per wave
	pageHits     = 3 // passages per page
	maxRead      = 500
)

type page struct {
	N      int   `json:"n"`
	Result int   `json:"result"` // index of its search result
	Done   bool  `json:"done,omitempty"`
	Hits   []hit `json:"hits,omitempty"`
}

func (p page) actionKey() string { return readStep + "-" + strconv.Itoa(p.N) }

// choosePages selects the best unread results of each focus, except copies and worthless sources.
// It reports whether there are any.
func (s *state) choosePages() bool {
	all := 0
	for i := range s.Wave {
		c := &s.Wave[i]
		if c.Done = true; c.Web == nil {
			continue
		}
		look := *c.Web
		look.Pages = nil
		for at, r := range look.Results {
			if all == maxWavePages || len(look.Pages) == maxPages {
				break
			}
			if lookup.HitDenotedBy(r, s.Banned) || look.hasCopy(r) || lookup.SourceWeight(r) < minSourceWeight || taint.EchoesSecret(r.URL, s.webQuery(c.Focus), s.run.Input) || !s.markRead(r.URL) {
				continue
			}
			all++
			s.Web.Pages++
			look.Pages = append(look.Pages, page{N: s.Web.Pages, Result: at})
		}
		c.Web, c.Done = &look, len(look.Pages) == 0
	}
	return all > 0
}

func (w *webResult) hasCopy(r hit) bool {
	return r.Cluster != "" && slices.ContainsFunc(w.Pages, func(p page) bool { return w.Results[p.Result].Cluster == r.Cluster })
}

// markRead records a page and reports whether it was new.
func (s *state) markRead(url string) bool {
	key := lookup.HashText(url)[:16]
	if slices.Contains(s.Web.Read, key) {
		return false
	}
	s.Web.Read = runstate.AppendLast(s.Web.Read, key, maxRead)
	return true
}

// readPageAction returns the read of a page. Only pages from search results can be read.
func (s *state) readPageAction(c *slot, key string) ponder.Action {
	i := slices.IndexFunc(c.Web.Pages, func(p page) bool { return p.actionKey() == key })
	url := c.Web.Results[c.Web.Pages[i].Result].URL
	return lookup.NewToolUse(key, WebFetchTool, s.addTimeLimit(map[string]any{"url": url, "query": s.searchQuery(c.Focus), "passages": pageHits}))
}

func (s *state) applyPage(key string, b ponder.ToolResult) {
	c := s.findSlot(key)
	if c == nil {
		return
	}
	look := *c.Web
	look.Pages = slices.Clone(look.Pages)
	i := slices.IndexFunc(look.Pages, func(p page) bool { return p.actionKey() == key })
	p := &look.Pages[i]
	if p.Done = true; b.Error == "" {
		p.Hits = lookup.ReadPassages(b.Result, look.Results[p.Result], pageHits)
	}
	c.Web = &look
	c.Done = len(s.awaitedKeys(c)) == 0
	s.settleWave()
}

// gatherWeb gathers the web passages for the focus: those of read pages, and a few snippets of others.
// It returns their number.
func (s *state) gatherWeb(c *slot) int {
	var add []ponder.Body
	had := make(map[int]bool)
	for _, p := range c.Web.Pages {
		add = append(add, s.pickHits(p.Hits, ponder.Found{Tool: WebFetchTool, Query: s.searchQuery(c.Focus)})...)
		had[p.Result] = len(p.Hits) > 0
	}
	var others []hit
	for i, r := range c.Web.Results {
		if !had[i] && r.Sound() && len(others) < maxSnippets {
			others = append(others, r)
		}
	}
	add = append(add, s.pickHits(others, ponder.Found{Tool: WebSearchTool, Query: s.webQuery(c.Focus)})...)
	s.queueWrite("found", &s.Counts.Found, add...)
	return len(add)
}
