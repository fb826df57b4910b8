package evidence

import (
	"slices"
	"strconv"
)

// Cluster returns for each piece the id of its cluster: pieces of one page or file,
// and copies of one text, have the same. It is the ID of the first of them, so that it
// stays the same when pieces are added behind; or its number in the list from 1, if it
// has no ID. Only pieces that have words in common are compared.
func Cluster(pieces []Piece) []string {
	g := newGroups(len(pieces))
	seen := make(map[string]int)
	signatures, shared := make([]Signature, len(pieces)), index{make(map[uint32][]int32), make([]int, len(pieces))}
	for i, p := range pieces {
		if place := Place(p); place != "" {
			if first, ok := seen[place]; ok {
				g.join(first, i)
			} else {
				seen[place] = i
			}
		}
		signatures[i] = Sign(p.Text)
		for _, k := range shared.with(signatures, i) {
			if g.root(k) != g.root(i) && signatures[k].Copies(signatures[i]) {
				g.join(k, i)
			}
		}
	}
	ids := make([]string, len(pieces))
	for i := range pieces {
		first := g.root(i)
		if ids[i] = pieces[first].ID; ids[i] == "" {
			ids[i] = strconv.Itoa(first + 1)
		}
	}
	return ids
}

// An index has the first pieces that have a run of words.
type index struct {
	by     map[uint32][]int32
	common []int // runs that each piece has in common with the one that is looked up
}

// mostOfRun bounds how many pieces are kept of a run. What more pieces have in common is a
// template, or they are copies of those that are kept.
const mostOfRun = 48

// with returns the pieces that have enough runs in common with the i-th to be compared,
// in order, and adds that.
func (x *index) with(signatures []Signature, i int) (list []int) {
	runs := signatures[i].runs
	var found []int
	for _, h := range runs {
		same := x.by[h]
		for _, k := range same {
			if x.common[k] == 0 {
				found = append(found, int(k))
			}
			x.common[k]++
		}
		if len(same) < mostOfRun {
			x.by[h] = append(same, int32(i))
		}
	}
	for _, k := range found {
		if x.common[k]*16 >= min(len(runs), len(signatures[k].runs), sample/8) {
			list = append(list, k)
		}
		x.common[k] = 0
	}
	slices.Sort(list)
	return list
}

// Place names the page or file that a piece is of, the same for all ways to write its
// address; "" if nothing is known of it.
func Place(p Piece) string {
	for _, at := range []string{p.URL, p.Source} {
		if a, ok := addressOf(at); ok {
			return a.page()
		}
	}
	if p.Source == "" {
		return ""
	}
	return "file:" + p.Source
}

// groups is a partition of 0..n-1, in which the least is the root of its group.
type groups []int

func newGroups(n int) groups {
	g := make(groups, n)
	for i := range g {
		g[i] = i
	}
	return g
}

func (g groups) root(i int) int {
	for g[i] != i {
		g[i] = g[g[i]]
		i = g[i]
	}
	return i
}

func (g groups) join(a, b int) {
	a, b = g.root(a), g.root(b)
	g[max(a, b)] = min(a, b)
}
