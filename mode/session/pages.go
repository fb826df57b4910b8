package session

import (
	"slices"
	"strconv"

	"ponder"
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

func (p page) key() string { return reads + "-" + strconv.Itoa(p.N) }

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
			if lookup.HitAmong(r, s.Banned) || look.copied(r) || lookup.WorthOf(r) < leastWorth || !s.open(r.URL) {
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

func (w *webLook) copied(r hit) bool {
	return r.Cluster != "" && slices.ContainsFunc(w.Pages, func(p page) bool { return w.Results[p.Result].Cluster == r.Cluster })
}

// open records a page and reports whether it was new.
func (s *state) open(url string) bool {
	key := lookup.Sum(url)[:16]
	if slices.Contains(s.Web.Read, key) {
		return false
	}
	s.Web.Read = runstate.Push(s.Web.Read, key, maxRead)
	return true
}

// readPage returns the read of a page. Only pages from search results can be read.
func (s *state) readPage(c *cell, key string) ponder.Action {
	i := slices.IndexFunc(c.Web.Pages, func(p page) bool { return p.key() == key })
	url := c.Web.Results[c.Web.Pages[i].Result].URL
	return lookup.Use(key, WebFetchTool, s.hasty(map[string]any{"url": url, "query": s.query(c.Focus), "passages": pageHits}))
}

func (s *state) readCell(key string, b ponder.ToolResult) {
	c := s.cell(key)
	if c == nil {
		return
	}
	look := *c.Web
	look.Pages = slices.Clone(look.Pages)
	i := slices.IndexFunc(look.Pages, func(p page) bool { return p.key() == key })
	p := &look.Pages[i]
	if p.Done = true; b.Error == "" {
		p.Hits = lookup.ReadPassages(b.Result, look.Results[p.Result], pageHits)
	}
	c.Web = &look
	c.Done = len(s.waits(c)) == 0
	s.settleWave()
}

// surfed gathers the web passages for the focus: those of read pages, and a few snippets of others.
// It returns their number.
func (s *state) surfed(c *cell) int {
	var add []ponder.Body
	had := make(map[int]bool)
	for _, p := range c.Web.Pages {
		add = append(add, s.pick(p.Hits, ponder.Found{Tool: WebFetchTool, Query: s.query(c.Focus)})...)
		had[p.Result] = len(p.Hits) > 0
	}
	var others []hit
	for i, r := range c.Web.Results {
		if !had[i] && r.Sound() && len(others) < maxSnippets {
			others = append(others, r)
		}
	}
	add = append(add, s.pick(others, ponder.Found{Tool: WebSearchTool, Query: s.webQuery(c.Focus)})...)
	s.write("found", &s.Counts.Found, add...)
	return len(add)
}
