package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

type Tree struct {
	Label    string
	Branches []Branch
}

type Branch struct {
	ID     string
	Parent string // ID of an earlier branch; else at the root
	Mark   string // urgency: "p9"
	Text   string
	State  State
	Weight float64 // orders branches of equal state, descending
}

type State int

const (
	Waiting State = iota
	Active
	Done
	Dropped // no longer wanted
)

func (s State) clampState() State { return min(max(s, Waiting), Dropped) }

// compareBranches orders branches: active, waiting, done, dropped.
func compareBranches(a, b Branch) int {
	urgent := func(s State) int { return [...]int{1, 0, 2, 3}[s.clampState()] }
	return cmp.Or(cmp.Compare(urgent(a.State), urgent(b.State)), cmp.Compare(b.Weight, a.Weight))
}

const maxDepth = 6

// renderRows returns the n most relevant branches as lines of at most width cells, in tree order. The
// last line counts the hidden ones.
func (t Tree) renderRows(n, width int, s Style) []string {
	if n <= 0 || len(t.Branches) == 0 {
		return nil
	}
	up, order := t.parentIndexes(), t.relevanceOrder()
	shown := t.chooseShown(n, up, order)
	kids := shownChildren(shown, up, order)
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
				rows = append(rows, padRight(t.renderBranch(i, depth, last, s), last)+s.paint(faintStyle(), more))
			} else {
				rows = append(rows, t.renderBranch(i, depth, width, s))
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

// wholeRows returns all branches in tree order, with their whole texts.
func (t Tree) wholeRows(width int, s Style) (rows []string) {
	up, order := t.parentIndexes(), t.relevanceOrder()
	kids := shownChildren(t.chooseShown(len(t.Branches), up, order), up, order)
	var walk func(at, depth int)
	walk = func(at, depth int) {
		for _, i := range kids[at] {
			head, look := t.branchHead(i, depth, width, s)
			indent := min(lipgloss.Width(head), width/2)
			text := wrapRows(s.safeLine(t.Branches[i].Text), width-indent)
			for j, row := range text {
				before := strings.Repeat(" ", indent)
				if j == 0 {
					before = s.truncateCells(head, indent)
				}
				rows = append(rows, s.paint(look, strings.TrimRight(before+row, " ")))
			}
			walk(i, depth+1)
		}
	}
	walk(root, 0)
	return rows
}

// root is the parent of top branches.
const root = -1

// parentIndexes returns each branch's parent or root. Parents precede their children, so there is no
// cycle.
func (t Tree) parentIndexes() []int {
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

func (t Tree) relevanceOrder() []int {
	order := make([]int, len(t.Branches))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareBranches(t.Branches[a], t.Branches[b]) })
	return order
}

// chooseShown returns the n shown branches: the most relevant and, with enough room, parents of
// active ones.
func (t Tree) chooseShown(n int, up, order []int) map[int]bool {
	active := 0
	for active < len(order) && t.Branches[order[active]].State == Active {
		active++
	}
	list := slices.Clone(order[:active])
	if n >= minRoomyRows {
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

const minRoomyRows = 5

// shownChildren returns the shown children of each branch. The one with the most relevant branch in
// its subtree comes first.
func shownChildren(shown map[int]bool, up, order []int) map[int][]int {
	rank := make([]int, len(order)) // of the most relevant branch in the subtree
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

func (t Tree) renderBranch(i, depth, width int, s Style) string {
	head, look := t.branchHead(i, depth, width, s)
	return s.paint(look, s.truncateCells(head+s.safeLine(t.Branches[i].Text), width))
}

// branchHead returns the part of a branch before its text, and its look.
func (t Tree) branchHead(i, depth, width int, s Style) (head string, look lipgloss.Style) {
	b := t.Branches[i]
	head = s.safeLine(b.ID)
	if b.Mark != "" {
		head += " " + s.safeLine(b.Mark)
	}
	head = strings.Repeat("  ", min(depth, maxDepth, width/10)) + s.glyphSet().states[b.State.clampState()] + " " + head + "  "
	switch b.State.clampState() {
	case Active:
		return head, brightStyle()
	case Waiting:
		return head, lipgloss.NewStyle()
	}
	return head, faintStyle()
}
