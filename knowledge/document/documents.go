package document

import "slices"

// wholeTitle is what a term in the title of a document adds to its score.
const wholeTitle = 0.5

// A Ranked is a document and how well it fits a question.
type Ranked struct {
	Document *Document
	Score    float64
}

// Rank returns the n documents that fit a question best as a whole, the best
// first. Their scores compare only among each other.
func (c *Collection) Rank(question string, n int) []Ranked {
	q := c.parse(question)
	t := c.tally(q)
	defer c.release(t)
	var list []scored
	for d := range c.docs {
		if s := t.docs[d] + wholeTitle*t.titles[d]; s > 0 {
			list = append(list, scored{int32(d), s})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int {
		if better(a, b) {
			return -1
		}
		return 1
	})
	var out []Ranked
	for _, v := range list[:min(len(list), max(n, 0))] {
		out = append(out, Ranked{c.docs[v.unit], float64(v.score)})
	}
	return out
}
