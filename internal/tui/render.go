package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ponder/internal/textkit"

	"charm.land/lipgloss/v2"
)

// minWidth is the smallest useful width.
const minWidth = 20

// maxWidth is the maximal readable width. It also reduces wrapping when the terminal narrows.
const maxWidth = 120

const (
	minRows = 4
	maxRows = 20
)

// blockHeight returns the height of the block: a third of the terminal, or two if wide.
func blockHeight(height int, wide bool) int {
	n := min(height/3, maxRows)
	if wide {
		n = height * 2 / 3
	}
	return max(1, min(max(n, minRows), height-2))
}

type Size struct {
	Width, Height int
}

// innerWidth returns the maximal length of lines: one cell less than the terminal, to avoid
// wrapping.
func (s Size) innerWidth() int { return min(max(s.Width, minWidth+1)-1, maxWidth) }

// Render returns the block as lines shorter than size's width, with foot below, and the maximal
// scroll position of the list. If room is short, it omits the least important parts.
func Render(f Frame, foot Footer, size Size, s Style) (rows []string, maxScroll int) {
	width := size.innerWidth()
	b := block{frame: f, foot: foot, width: width, style: s, label: labelWidth}
	if width < minInlineWidth {
		b.label = 0
	}
	rows = b.renderLines(blockHeight(size.Height, foot.Wide))
	return rows, b.maxScroll
}

type Footer struct {
	Rows []string // always shown, such as input; within the width
	Wide bool
	List bool // all questions, with their whole texts
	From int  // the first row of the list or help
	Help []string
	Keys string // shown without Rows; within the width
}

const labelWidth = 12

type block struct {
	frame Frame
	foot  Footer
	width int
	label int
	style Style

	maxScroll int // of the list; set while it is drawn
}

// A section is a section of a block. Lower ranks get room first.
type section struct {
	rank  int
	lines []string
}

func (b *block) renderLines(n int) (out []string) {
	parts, left := b.sections(n), n
	taken := make([]bool, len(parts))
	for rank := range lastRank + 1 {
		for i, p := range parts {
			if p.rank == rank && len(p.lines) > 0 && (len(p.lines) <= left || rank == 0) {
				taken[i], left = true, left-len(p.lines)
			}
		}
	}
	for i, p := range parts {
		switch {
		case p.rank == treeRank:
			out = append(out, b.restRows(max(0, left)+len(p.lines))...)
		case taken[i]:
			out = append(out, p.lines...)
		}
	}
	return out[max(0, len(out)-n):]
}

// The rank of the part that fills the room, and the last rank.
const (
	treeRank = 4
	lastRank = 6
)

// sections returns the sections of a block of n lines, from the top. The tree has placeholders for
// its guaranteed lines.
func (b block) sections(n int) []section {
	if len(b.foot.Help) > 0 {
		return []section{{1, oneRow(b.progressRow())}, {treeRank, nil}, {0, b.foot.Rows}, {2, oneRow(b.foot.visibleKeys())}}
	}
	f, s := b.frame, b.style
	account, counts := b.usageRows()
	return []section{
		{5, b.titleRows()},
		{1, oneRow(b.progressRow())},
		{3, account},
		{6, counts},
		{2, b.visibleFoci(1 + max(0, n-minRows)/6)},
		{3, oneRow(b.labelRow(f.Chart.Label, f.Chart.renderRow(b.width-b.label, s)))},
		{treeRank, make([]string, min(len(f.Tree.Branches), max(0, n-6)))},
		{0, b.foot.Rows},
		{2, oneRow(b.foot.visibleKeys())},
	}
}

func (f Footer) visibleKeys() string {
	if len(f.Rows) > 0 {
		return ""
	}
	return f.Keys
}

func oneRow(line string) []string {
	if line == "" {
		return nil
	}
	return []string{line}
}

func (b block) titleRows() []string {
	rule, text := b.style.glyphSet().rule, b.style.truncateCells(b.style.safeLine(b.frame.Title), b.width-8)
	if text == "" {
		return []string{b.style.paint(faintStyle(), strings.Repeat(rule, b.width))}
	}
	right := b.width - lipgloss.Width(text) - 4
	return []string{b.style.paint(faintStyle(), rule+rule) + " " + b.style.paint(boldStyle(), text) + " " + b.style.paint(faintStyle(), strings.Repeat(rule, right))}
}

// usageRows returns usage and counts, on one line if they fit.
func (b block) usageRows() (first, second []string) {
	dot := b.style.glyphSet().dot
	join := func(list []string) string { return b.style.safeLine(strings.Join(list, dot)) }
	f := b.frame
	all := join(append(f.Spent[:len(f.Spent):len(f.Spent)], f.Counts...))
	if lipgloss.Width(all) <= b.width {
		return oneRow(all), nil
	}
	return oneRow(b.style.truncateCells(join(f.Spent), b.width)), oneRow(b.style.truncateCells(join(f.Counts), b.width))
}

// visibleFoci returns the rows of the foci, which the list of all questions has already.
func (b block) visibleFoci(n int) []string {
	if b.foot.List {
		return nil
	}
	return b.fociRows(n)
}

func (b block) fociRows(n int) (rows []string) {
	f, s := b.frame, b.style
	arrow := s.glyphSet().states[Active] + " "
	for i, text := range f.Foci[:min(n, len(f.Foci))] {
		label, after := "", ""
		if i == 0 {
			label = "focus"
		}
		if left := len(f.Foci) - n; left > 0 && i == n-1 {
			after = fmt.Sprintf("  +%d more", left)
		}
		text = s.truncateCells(arrow+s.safeLine(text), b.width-b.label-len(after))
		rows = append(rows, b.labelRow(label, s.paint(brightStyle(), text)+s.paint(faintStyle(), after)))
	}
	return rows
}

func (b block) labelRow(label, row string) string {
	if row == "" || b.label == 0 {
		return row
	}
	label = b.style.truncateCells(b.style.safeLine(label), b.label-1)
	return b.style.paint(faintStyle(), padRight(label, b.label)) + row
}

func (b *block) restRows(n int) (rows []string) {
	if len(b.foot.Help) > 0 {
		for _, row := range b.foot.Help {
			rows = append(rows, b.style.truncateCells(row, b.width))
		}
		return b.scrollRows(rows, n)
	}
	if b.foot.List {
		return b.scrollRows(b.frame.Tree.wholeRows(b.width, b.style), n)
	}
	tree := b.frame.Tree
	if n < minRoomyRows { // the foci are directly above
		tree.Branches = slices.DeleteFunc(slices.Clone(tree.Branches), func(b Branch) bool { return b.State == Active })
	}
	for i, row := range tree.renderRows(n, b.width-b.label, b.style) {
		label := ""
		if i == 0 {
			label = tree.Label
		}
		rows = append(rows, b.labelRow(label, row))
	}
	return rows
}

// scrollRows returns n rows from the scroll position. The last one tells the position if there are
// more.
func (b *block) scrollRows(rows []string, n int) []string {
	if len(rows) <= n || n < 2 {
		return rows[:min(n, len(rows))]
	}
	b.maxScroll = len(rows) - n + 1
	from := min(max(0, b.foot.From), b.maxScroll)
	to := from + n - 1
	note := fmt.Sprintf("rows %d to %d of %d; up and down scroll", from+1, to, len(rows))
	return append(rows[from:to:to], b.style.paint(faintStyle(), b.style.truncateCells(note, b.width)))
}

// progressRow draws the progress of the nearest budget. Its length depends on the width only, so that
// it does not move.
func (b block) progressRow() string {
	f, s := b.frame, b.style
	dot, state := s.glyphSet().dot, s.safeLine(f.State)
	if f.Share < 0 || math.IsNaN(f.Share) || f.Budget == "" {
		return s.truncateCells(state+prefixNonEmpty(dot, s.safeLine(f.Writing)), b.width)
	}
	share := min(f.Share, 1)
	words := fmt.Sprintf("%3.0f%%  ", math.Floor(share*100)) + s.safeLine(f.Budget)
	cells := min(40, b.width/3)
	for _, more := range []string{prefixNonEmpty(", ", s.safeLine(f.Left)) + dot + state + prefixNonEmpty(dot, s.safeLine(f.Writing)), prefixNonEmpty(", ", s.safeLine(f.Left)) + dot + state, dot + state} {
		if w := lipgloss.Width(words + more); w+cells < b.width || more == dot+state {
			words, cells = words+more, min(cells, b.width-w-1)
			break
		}
	}
	if cells < 5 {
		return s.truncateCells(strings.TrimSpace(words), b.width)
	}
	full := int(math.Floor(share * float64(cells)))
	return s.paint(greenStyle(), strings.Repeat(s.glyphSet().full, full)) +
		s.paint(faintStyle(), strings.Repeat(s.glyphSet().empty, cells-full)) + " " + words
}

func prefixNonEmpty(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// renderRow draws a chart in at most width cells, scaled from 0 to 1.
func (c Chart) renderRow(width int, s Style) string {
	if len(c.Values) == 0 {
		return ""
	}
	note := s.safeLine(c.Note)
	room := min(len(c.Values), max(width/3, 8), width-2-lipgloss.Width(note))
	if room < 1 {
		return s.truncateCells(note, width)
	}
	var b strings.Builder
	levels := s.glyphSet().levels
	for _, v := range sampleLast(c.Values, room) {
		b.WriteString(levels[levelIndex(v, len(levels))])
	}
	return s.paint(greenStyle(), b.String()) + "  " + s.truncateCells(note, width-room-2)
}

func levelIndex(v float64, n int) int {
	if math.IsNaN(v) {
		return 0
	}
	return int(min(max(v, 0)*float64(n), float64(n-1)))
}

// sampleLast returns at most n values: the last of each of n intervals.
func sampleLast(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = values[(i+1)*len(values)/n-1]
	}
	return out
}

const (
	clockWidth     = 5
	kindWidth      = 11
	markWidth      = 4
	hangWidth      = clockWidth + 1 // indent of further rows
	minInlineWidth = 60             // below this width, the text is on its own lines
)

// RenderItem returns an item as lines of at most width cells, without a final line break.
func RenderItem(it Item, width int, s Style) string {
	width = max(width, minWidth)
	at := ""
	if it.At >= 0 {
		at = textkit.Clock(it.At)
	}
	kind, mark := s.truncateCells(s.safeLine(it.Kind), kindWidth), s.truncateCells(s.safeLine(it.Mark), markWidth)
	head := s.paint(faintStyle(), fmt.Sprintf("%*s", clockWidth, at)) + " " + s.paint(toneStyle(it.Tone), kind) + prefixNonEmpty(" ", mark)
	indent, first := hangWidth, head+"  "
	if width < minInlineWidth {
		indent, first = 4, head+"\n    "
	}
	body, lead := s.safeText(it.Text), 0
	if !strings.HasSuffix(first, "\n    ") {
		lead = lipgloss.Width(first) - indent // the first row begins after the head
	}
	text := wrapRows(strings.Repeat("\u2007", max(0, lead))+body, width-indent)
	text[0] = strings.TrimLeft(text[0], "\u2007")
	text = slices.DeleteFunc(text, func(row string) bool { return row == "" })
	if it.Tone == Quiet {
		for i := range text {
			text[i] = s.paint(faintStyle(), text[i])
		}
	}
	return first + strings.Join(text, "\n"+strings.Repeat(" ", indent))
}
