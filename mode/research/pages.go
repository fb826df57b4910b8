package research

import (
	"slices"

	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

const (
	maxPages   = 2 // per query
	roundPages = 6 // per round
	pageHits   = 4 // passages per page
	maxOpened  = 500
	leastWorth = 0.15 // minimum worth of a result's source
)

// open enqueues the best result pages for reading, except banned, copied, worthless and already
// read ones.
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

func copied(r lookup.Hit, opened []lookup.Hit) bool {
	return r.Cluster != "" && slices.ContainsFunc(opened, func(o lookup.Hit) bool { return o.Cluster == r.Cluster })
}

// unread records a page and reports whether it was new.
func (s *state) unread(h lookup.Hit) bool {
	key := lookup.PageKey(h)
	if slices.Contains(s.Read, key) {
		return false
	}
	s.Read = runstate.Push(s.Read, key, maxOpened)
	return true
}
