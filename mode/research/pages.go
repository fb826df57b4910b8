package research

import (
	"slices"

	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

// Bounds on the pages that are read.
const (
	maxPages   = 2    // of a query
	roundPages = 6    // of a round
	pageHits   = 4    // passages of a page
	maxOpened  = 500  // pages that are remembered
	leastWorth = 0.15 // what the source of a result must be worth for its page to be read
)

// open has the best pages read that a search of the web found: none twice, none that
// is banned, one of copies of one text, and nothing of a source that is known to be
// worthless.
func (s *state) open(l look, results []lookup.Hit) {
	var opened []lookup.Hit
	for _, r := range results {
		if len(opened) == maxPages || s.Opened >= roundPages {
			return
		}
		if lookup.HitAmong(r, s.Banned) || lookup.WorthOf(r) < leastWorth || r.Score < s.opts.MinConfidenceThreshold || copied(r, opened) || !s.unread(r) {
			continue
		}
		opened = append(opened, r)
		s.Opened++
		s.push(look{Kind: inPage, Query: l.Query, Use: l.Use, Ref: l.Ref, Most: l.Most, Page: &r})
	}
}

// copied reports whether a page that is read has the text of a result.
func copied(r lookup.Hit, opened []lookup.Hit) bool {
	return r.Cluster != "" && slices.ContainsFunc(opened, func(o lookup.Hit) bool { return o.Cluster == r.Cluster })
}

// unread notes that a page is read, and reports whether it was not before.
func (s *state) unread(h lookup.Hit) bool {
	key := lookup.PageKey(h)
	if slices.Contains(s.Read, key) {
		return false
	}
	s.Read = runstate.Push(s.Read, key, maxOpened)
	return true
}
