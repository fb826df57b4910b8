package extract

import (
	"strings"

	"golang.org/x/net/html"
)

// What it takes to believe a reading. None of it is sensitive: half and double of
// each does nearly as well.
const (
	shingle   = 4   // words that are compared at once
	supported = 0.5 // share of the shingles of a block that another reading has
	kept      = 0.5 // share of a reading that must be left when its ends are cut
	asLong    = 0.8 // share of each other's length that two readings of one text have
)

// choose returns the tree of the main text: that of main without the blocks at its ends
// that judge does not have, since readings go wrong above and below a text.
func choose(main, judge reading) *html.Node {
	switch {
	case main.size == 0:
		return judge.tree
	case len(main.blocks) == 1 && len(judge.blocks) > 1 && alike(main.size, judge.size):
		return judge.tree // the same text, in its parts
	}
	trim(main, shingles(judge.blocks))
	return main.tree
}

// alike reports whether two readings can be of one text, by their sizes.
func alike(a, b int) bool {
	return float64(min(a, b)) > asLong*float64(max(a, b))
}

// trim removes the blocks at both ends of a reading that judge does not have, unless too
// little would stay.
func trim(r reading, judge map[string]int) {
	i, j, size := 0, len(r.blocks), r.size
	for ; i < j && !backed(r.blocks[i], judge); i++ {
		size -= len(r.blocks[i].text)
	}
	for ; j > i && !backed(r.blocks[j-1], judge); j-- {
		size -= len(r.blocks[j-1].text)
	}
	if float64(size) <= kept*float64(r.size) {
		return
	}
	for k, b := range r.blocks {
		if k < i || k >= j {
			b.remove()
		}
	}
}

// backed reports whether judge has most of a block.
func backed(b block, judge map[string]int) bool {
	n, of := 0, shingles([]block{b})
	for s := range of {
		if judge[s] > 0 {
			n++
		}
	}
	return float64(n) > supported*float64(len(of))
}

// shingles returns how often each run of words is in a text. A text of fewer
// words is one.
func shingles(list []block) map[string]int {
	var all []string
	for _, b := range list {
		all = append(all, words(b.text)...)
	}
	m := make(map[string]int, len(all))
	for i := 0; i < max(1, len(all)-shingle+1) && len(all) > 0; i++ {
		m[strings.Join(all[i:min(i+shingle, len(all))], " ")]++
	}
	return m
}
