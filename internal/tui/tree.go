package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Tree is what is to be found out, each thing below the one it came from.
type Tree struct {
	Label    string
	Branches []Branch // as they came up
}

// A Branch is a line of a tree.
type Branch struct {
	ID     string
	Parent string // the ID of an earlier branch; else it stands at the root
	Mark   string // how urgent it is: "p9"
	Text   string
	State  State
	Weight float64 // of those in the same state, the heaviest is shown first
}

// A State says how far a branch has come.
type State int

// The states.
const (
	Waiting State = iota
	Active        // is being thought about
	Done
	Dropped // not wanted any more
)

// valid returns a state that there is.
func (s State) valid() State { return min(max(s, Waiting), Dropped) }

// before compares branches: what is thought about comes first, then what waits,
// then what is done.
func before(a, b Branch) int {
	urgent := func(s State) int { return [...]int{1, 0, 2, 3}[s.valid()] }
	return cmp.Or(cmp.Compare(urgent(a.State), urgent(b.State)), cmp.Compare(b.Weight, a.Weight))
}

// maxDepth is how deep branches are indented.
const maxDepth = 6

// rows returns the n most relevant branches of a tree as lines of at most width
// cells, in the order of the tree. The last line says how many there are more.
func (t Tree) rows(n, width int, s Style) []string {
	if n <= 0 || len(t.Branches) == 0 {
		return nil
	}
	up, order := t.parents(), t.byRelevance()
	shown := t.choose(n, up, order)
	kids := children(shown, up, order)
	more := ""
	if left := len(t.Branches) - len(shown); left > 0 {
		more = fmt.Sprintf("  +%d more", left)
	}
	var rows []string
	var walk func(at, depth int)
	walk = func(at, depth int) {
		for _, i := range kids[at] {
			if len(rows) == len(shown)-1 {
				last := width - len(more)
				rows = append(rows, pad(t.row(i, depth, last, s), last)+s.paint(faint(), more))
			} else {
				rows = append(rows, t.row(i, depth, width, s))
			}
			walk(i, depth+1)
		}
	}
	walk(root, 0)
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}

// root is where branches without a parent stand.
const root = -1

// parents returns the place of each branch's parent, or root. A parent comes before
// its children, so there is no circle.
func (t Tree) parents() []int {
	up, places := make([]int, len(t.Branches)), make(map[string]int, len(t.Branches))
	for i, b := range t.Branches {
		up[i] = root
		if p, ok := places[b.Parent]; ok && b.Parent != "" {
			up[i] = p
		}
		places[b.ID] = i
	}
	return up
}

// byRelevance returns the places of the branches, the most relevant first.
func (t Tree) byRelevance() []int {
	order := make([]int, len(t.Branches))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return before(t.Branches[a], t.Branches[b]) })
	return order
}

// choose returns the n branches that are shown: the most relevant, and if there is room, the
// parents of those that are thought about.
func (t Tree) choose(n int, up, order []int) map[int]bool {
	active := 0 // of order: they come first
	for active < len(order) && t.Branches[order[active]].State == Active {
		active++
	}
	list := slices.Clone(order[:active])
	if n >= roomy {
		for _, i := range order[:active] {
			list = append(list, up[i])
		}
	}
	shown := make(map[int]bool, n)
	for _, i := range append(list, order[active:]...) {
		if i != root && len(shown) < n {
			shown[i] = true
		}
	}
	return shown
}

// roomy is how many lines a tree has if there is room for what is no news.
const roomy = 5

// children returns the shown branches that stand right below each, the one first that has
// the most relevant branch at or below it.
func children(shown map[int]bool, up, order []int) map[int][]int {
	rank := make([]int, len(order)) // of the most relevant branch at or below each
	for r, i := range order {
		rank[i] = r
	}
	kids := make(map[int][]int)
	for i := len(up) - 1; i >= 0; i-- {
		if up[i] != root {
			rank[up[i]] = min(rank[up[i]], rank[i])
		}
		if !shown[i] {
			continue
		}
		p := up[i]
		for p != root && !shown[p] {
			p = up[p]
		}
		kids[p] = append(kids[p], i)
	}
	for _, list := range kids {
		slices.SortFunc(list, func(a, b int) int { return rank[a] - rank[b] })
	}
	return kids
}

// row returns a branch as a line of at most width cells.
func (t Tree) row(i, depth, width int, s Style) string {
	b := t.Branches[i]
	head := s.line(b.ID)
	if b.Mark != "" {
		head += " " + s.line(b.Mark)
	}
	head = strings.Repeat("  ", min(depth, maxDepth, width/10)) + s.glyphs().states[b.State.valid()] + " " + head + "  "
	text := s.clip(head+s.line(b.Text), width)
	switch b.State.valid() {
	case Active:
		return s.paint(bright(), text)
	case Waiting:
		return text
	}
	return s.paint(faint(), text)
}
