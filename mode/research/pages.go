package research

import (
	"slices"

	"ponder/internal/taint"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

const (
	maxPages      = 2 // per query
	roundPages    = 6 // per round
	pageHits      = 4 // passages per page
	maxOpened     = 500
	minPageWeight = 0.15 // minimum worth of a result's source
)

// openPages enqueues the best result pages for reading, except banned, copied, worthless and already
// read ones.
func (s *state) openPages(l lookupCall, results []lookup.Hit) {
	var opened []lookup.Hit
	for _, r := range results {
		if len(opened) == maxPages || s.Opened >= roundPages {
			return
		}
		if lookup.HitDenotedBy(r, s.Banned) || lookup.SourceWeight(r) < minPageWeight || r.Score < s.opts.MinConfidenceThreshold || isCopied(r, opened) || taint.EchoesSecret(r.URL, l.Query, s.run.Input) || !s.markRead(r) {
			continue
		}
		opened = append(opened, r)
		s.Opened++
		s.addLookup(lookupCall{Kind: pageLookup, Query: l.Query, Use: l.Use, Ref: l.Ref, MaxHits: l.MaxHits, Page: &r})
	}
}

func isCopied(r lookup.Hit, opened []lookup.Hit) bool {
	return r.Cluster != "" && slices.ContainsFunc(opened, func(o lookup.Hit) bool { return o.Cluster == r.Cluster })
}

// markRead records a page and reports whether it was new.
func (s *state) markRead(h lookup.Hit) bool {
	key := lookup.PageKey(h)
	if slices.Contains(s.Read, key) {
		return false
	}
	s.Read = runstate.AppendLast(s.Read, key, maxOpened)
	return true
}
