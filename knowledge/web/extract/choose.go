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

// choose returns the tree of the main text.
func choose(r readingsOf) *html.Node {
	best := r.main
	if other := r.other; best.size == 0 || other.size > 0 && r.prefers(other) {
		best = other
	}
	if best.size == 0 {
		for _, j := range r.judges {
			if j.size > best.size {
				best = j
			}
		}
		return best.tree
	}
	if len(best.blocks) == 1 {
		best = r.taken(best)
	}
	trim(best, r.judges)
	return best.tree
}

// taken returns the reading of a judge that has about the text of another, taken
// apart: of a page with little text, or with no paragraphs, the library may return
// all as one.
func (r readingsOf) taken(whole reading) reading {
	for _, j := range r.judges {
		if len(j.blocks) > 1 && float64(j.size) > asLong*float64(whole.size) && float64(whole.size) > asLong*float64(j.size) {
			return j
		}
	}
	return whole
}

// prefers reports whether the last judge, which knows neither, finds another
// reading better than the main one.
func (r readingsOf) prefers(other reading) bool {
	judge := shingles(r.judges[len(r.judges)-1].blocks)
	return likeness(shingles(other.blocks), judge) > likeness(shingles(r.main.blocks), judge)
}

// trim cuts off the blocks at both ends of a reading that no judge has: what
// stands above and below a text is where readings go wrong.
func trim(r reading, judges []reading) {
	var have []map[string]int
	for _, j := range judges {
		have = append(have, shingles(j.blocks))
	}
	i, j, size := 0, len(r.blocks), r.size
	for ; i < j && !backed(r.blocks[i], have); i++ {
		size -= len(r.blocks[i].text)
	}
	for ; j > i && !backed(r.blocks[j-1], have); j-- {
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

// backed reports whether any of the readings has most of a block.
func backed(b block, have []map[string]int) bool {
	of := shingles([]block{b})
	for _, h := range have {
		n := 0
		for s := range of {
			if h[s] > 0 {
				n++
			}
		}
		if len(of) > 0 && float64(n) > supported*float64(len(of)) {
			return true
		}
	}
	return false
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

// likeness is 2 |a and b| / (|a| + |b|), from 0 to 1.
func likeness(a, b map[string]int) float64 {
	both, sum := 0, 0
	for s, n := range a {
		both += min(n, b[s])
		sum += n
	}
	for _, n := range b {
		sum += n
	}
	if sum == 0 {
		return 0
	}
	return 2 * float64(both) / float64(sum)
}
