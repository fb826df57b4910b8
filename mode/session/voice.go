package session

import (
	"cmp"
	"slices"

	"ponder/mode/internal/lookup"
)

const leastWorth = 0.15

// voice identifies the author: copies of one text share a voice.
func (e evidence) voice() string { return cmp.Or(e.Cluster, e.Source) }

// cluster returns the cluster of a hit: that of earlier copies of its text, else the tool's. It
// also returns the id of the passage that it repeats, if any.
func (s *state) cluster(h hit) (cluster, again string) {
	words := lookup.Words(h.Quote)
	cluster = h.Cluster
	for _, e := range s.Evidence {
		switch {
		case e.Kind == "" || e.Source == h.Source && e.Cluster == "":
		case e.Source == h.Source:
			cluster = e.Cluster
		case lookup.Copies(words, lookup.Words(e.Quote)):
			return e.voice(), e.id()
		}
	}
	return cluster, ""
}

// supports reports whether ids add a voice that is not cited yet.
func (s *state) supports(ids []string) bool {
	for _, id := range ids {
		i := slices.IndexFunc(s.Evidence, func(e evidence) bool { return e.id() == id })
		if i < 0 || !s.echoes(s.Evidence[i]) {
			return true
		}
	}
	return false
}

// echoes reports whether another source with the same voice was cited before e.
func (s *state) echoes(e evidence) bool {
	if e.Kind == "" || e.Cited {
		return e.Echo
	}
	return slices.ContainsFunc(s.Evidence, func(o evidence) bool {
		return o.Cited && !o.Echo && o.Source != e.Source && o.voice() == e.voice()
	})
}
