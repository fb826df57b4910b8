package session

import (
	"cmp"
	"slices"

	"ponder/mode/internal/lookup"
)

// leastWorth is what the page of a result must be worth to be read.
const leastWorth = 0.15

// voice returns whose a passage is: copies of one text have one voice, whoever
// publishes them.
func (e evidence) voice() string { return cmp.Or(e.Cluster, e.Source) }

// cluster returns the cluster of a hit: that of the copies of its text that were
// gathered before, which may be from another search, or the one that the tool
// says; and the id of the passage that it says again, if there is one.
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

// supports reports whether what is cited adds a voice, rather than a copy of what
// another source has been cited for.
func (s *state) supports(ids []string) bool {
	for _, id := range ids {
		i := slices.IndexFunc(s.Evidence, func(e evidence) bool { return e.id() == id })
		if i < 0 || !s.echoes(s.Evidence[i]) {
			return true
		}
	}
	return false
}

// echoes reports whether another source with the voice of a passage was cited
// before it.
func (s *state) echoes(e evidence) bool {
	if e.Kind == "" || e.Cited {
		return e.Echo
	}
	return slices.ContainsFunc(s.Evidence, func(o evidence) bool {
		return o.Cited && !o.Echo && o.Source != e.Source && o.voice() == e.voice()
	})
}
