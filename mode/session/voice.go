package session

import (
	"cmp"
	"slices"

	weighing "ponder/evidence"
)

// leastWorth is what the page of a result must be worth to be read.
const leastWorth = 0.15

// worthOf returns what a hit counts beside others of the same relevance, from 0 to 1:
// the weight of what is known of its source, as package evidence has it. It is
// rounded, so that it is the same on all machines.
func worthOf(h hit) float64 {
	if len(h.Quality) == 0 {
		return 1
	}
	return rounded(weighing.Weight(h.Quality))
}

// What makes two passages copies of each other.
const (
	leastCopied = 8   // different words, for fewer say nothing of where they are from
	copiedShare = 0.9 // of their words
)

// voice returns whose a passage is: copies of one text have one voice, whoever
// publishes them.
func (e evidence) voice() string { return cmp.Or(e.Cluster, e.Source) }

// cluster returns the cluster of a hit: that of the copies of its text that were
// gathered before, which may be from another search, or the one that the tool
// says; and the id of the passage that it says again, if there is one.
func (s *state) cluster(h hit) (cluster, again string) {
	words := wordsOf(h.Quote)
	cluster = h.Cluster
	for _, e := range s.Evidence {
		switch {
		case e.Kind == "" || e.Source == h.Source && e.Cluster == "":
		case e.Source == h.Source:
			cluster = e.Cluster
		case len(words) >= leastCopied && copies(words, wordsOf(e.Quote)):
			return e.voice(), e.id()
		}
	}
	return cluster, ""
}

// copies reports whether two sorted lists are the words of copies of one text.
func copies(a, b []string) bool {
	both := shared(a, b)
	return float64(both) >= copiedShare*float64(len(a)+len(b)-both)
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
