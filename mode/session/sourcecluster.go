package session

import (
	"cmp"
	"slices"

	"ponder/mode/internal/lookup"
)

const minSourceWeight = 0.15

// voiceKey identifies the author: copies of one text share a voice.
func (e evidence) voiceKey() string { return cmp.Or(e.Cluster, e.Source) }

// findCluster returns the cluster of a hit: that of earlier copies of its text, else the tool's. It
// also returns the id of the passage that it repeats, if any.
func (s *state) findCluster(h hit) (cluster, again string) {
	words := lookup.DistinctWords(h.Quote)
	cluster = h.Cluster
	for _, e := range s.Evidence {
		switch {
		case e.Kind == "" || e.Source == h.Source && e.Cluster == "":
		case e.Source == h.Source:
			cluster = e.Cluster
		case lookup.AreCopies(words, lookup.DistinctWords(e.Quote)):
			return e.voiceKey(), e.id()
		}
	}
	return cluster, ""
}

// addsVoice reports whether ids add a voice that is not cited yet.
func (s *state) addsVoice(ids []string) bool {
	for _, id := range ids {
		i := slices.IndexFunc(s.Evidence, func(e evidence) bool { return e.id() == id })
		if i < 0 || !s.isEcho(s.Evidence[i]) {
			return true
		}
	}
	return false
}

// isEcho reports whether another source with the same voice was cited before e.
func (s *state) isEcho(e evidence) bool {
	if e.Kind == "" || e.Cited {
		return e.Echo
	}
	return slices.ContainsFunc(s.Evidence, func(o evidence) bool {
		return o.Cited && !o.Echo && o.Source != e.Source && o.voiceKey() == e.voiceKey()
	})
}
