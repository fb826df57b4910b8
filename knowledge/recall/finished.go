package recall

import (
	"slices"
)

// sessionSource is the source of items that are thinking which has ended.
const sessionSource = "ponder"

// What is left of the score of what was thought before: it rests on what else is
// remembered, and must not stand in the place of that.
const (
	thought      = 0.6
	belowWhatWas = 0.9 // of the score of the best that is no such thing
)

// finished reports whether an item is thinking that has ended.
func (it Item) finished() bool { return it.Kind == KindThread && it.Source == sessionSource }

// originalsFirst ranks finished sessions below what they may rest on, and leaves
// out all but the best of them, unless threads are asked for.
func (s *search) originalsFirst(list []*candidate) []*candidate {
	if slices.Contains(s.filter.Kinds, string(KindThread)) || slices.Contains(s.filter.Sources, sessionSource) {
		return list
	}
	best := 0.0
	for _, c := range list {
		if !c.item.finished() {
			best = max(best, c.score)
		}
	}
	some := false
	list = slices.DeleteFunc(list, func(c *candidate) bool {
		if !c.item.finished() {
			return false
		}
		again := some
		some = true
		c.score *= thought
		if best > 0 {
			c.score = min(c.score, belowWhatWas*best)
		}
		return again
	})
	slices.SortStableFunc(list, bestFirst)
	return list
}
