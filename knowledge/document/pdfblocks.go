package document

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// softHyphen marks a word divided at a line end.
const softHyphen = '\u00ad'

// edgeLines is the maximum number of repeated lines at each page edge.
const edgeLines = 2

type pdfBlock struct {
	Block
	size float64
}

func pdfBlocks(pages [][]pdfLine) []Block {
	dropEdges(pages)
	body := bodySize(pages)
	sizes := headingSizes(pages, body)
	var out []pdfBlock
	for i, lines := range pages {
		first := len(out)
		out = pageBlocks(out, lines, i+1, body, sizes)
		if open := openBlock(out[:first], body); open >= 0 && first < len(out) && continuesBlock(out[open].Block, out[first].Block) {
			out[open].Text = joinLines(out[open].Text, out[first].Text)
			out = slices.Delete(out, first, first+1)
		}
	}
	blocks := make([]Block, len(out))
	for i, b := range out {
		blocks[i] = b.Block
	}
	return blocks
}

const maxFootnotes = 8

// openBlock returns the last block before small footnotes, which the next page may
// continue, or -1.
func openBlock(out []pdfBlock, body float64) int {
	i := len(out) - 1
	for i >= max(0, len(out)-maxFootnotes) && out[i].size < body*0.93 && out[i].Page == out[len(out)-1].Page {
		i--
	}
	return i
}

func pageBlocks(out []pdfBlock, lines []pdfLine, page int, body float64, sizes []float64) []pdfBlock {
	step, right := usualStep(lines), rightEdge(lines)
	for first := 0; first < len(lines); {
		level := headingLevel(lines[first], body, sizes)
		end := first + 1
		for end < len(lines) && headingLevel(lines[end], body, sizes) == level && samePara(lines[end-1], lines[end], step, right, level > 0) {
			end++
		}
		text := lines[first].text
		for _, l := range lines[first+1 : end] {
			text = joinLines(text, l.text)
		}
		b := Block{Text: text, Page: page}
		switch {
		case level > 0:
			b.Kind, b.Level = Heading, level
		case lines[first].row:
			b.Kind = Row
		case itemMarker(text) != "":
			b.Kind, b.Text = Item, stripItemMarker(text)
		case end == first+1 && lines[first].right < right-lines[first].size*8 && !isTerminal(lastRune(text)):
			b.Kind = Item // a short standalone line
		}
		out = append(out, pdfBlock{b, lines[first].size})
		first = end
	}
	return out
}

func samePara(a, b pdfLine, step, right float64, heading bool) bool {
	gap := a.end - b.y
	switch {
	case a.row || b.row, itemMarker(b.text) != "", math.Abs(a.size-b.size) > 1.5:
		return false
	case gap < 0: // a new column
		return !heading && a.right > right/2 && !isTerminal(lastRune(a.text))
	case gap < a.size/2: // same line
		return true
	case gap > step*1.35+0.5:
		return false
	case heading:
		return true
	case isTerminal(lastRune(a.text)) && a.right < right-a.size*4: // ends before the margin
		return false
	case isTerminal(lastRune(a.text)) && b.left > a.left+a.size/2 && unicode.IsUpper(firstRune(b.text)): // an indent
		return false
	}
	return true
}

func joinLines(a, b string) string {
	if s, ok := strings.CutSuffix(a, string(softHyphen)); ok {
		return s + b
	}
	if len(a) > 1 && strings.HasSuffix(a, "-") {
		return a + b
	}
	return a + " " + b
}

func continuesBlock(a, b Block) bool {
	if a.Kind == Heading || b.Kind != Prose || a.Page+1 != b.Page || isTerminal(lastRune(strings.TrimRight(a.Text, "\"')]”’"))) {
		return false
	}
	return unicode.IsLower(firstRune(b.Text)) || strings.HasSuffix(a.Text, string(softHyphen))
}

func bodySize(pages [][]pdfLine) float64 {
	count := map[float64]int{}
	for _, lines := range pages {
		for _, l := range lines {
			count[roundHalf(l.size)] += l.letters
		}
	}
	best := 0.0
	for size, n := range count {
		if m := count[best]; n > m || n == m && size > best {
			best = size
		}
	}
	return best
}

func roundHalf(size float64) float64 { return math.Round(size*2) / 2 }

func headingSizes(pages [][]pdfLine, body float64) []float64 {
	var sizes []float64
	for _, lines := range pages {
		for _, l := range lines {
			if s := roundHalf(l.size); s >= body*1.12+0.2 && l.letters <= 200 && !slices.Contains(sizes, s) && len(sizes) < 32 {
				sizes = append(sizes, s)
			}
		}
	}
	slices.SortFunc(sizes, func(a, b float64) int { return compareFloats(b, a) })
	return sizes
}

func headingLevel(l pdfLine, body float64, sizes []float64) int {
	words := len(strings.Fields(l.text))
	letters := strings.ContainsFunc(l.text, unicode.IsLetter)
	switch i := slices.Index(sizes, roundHalf(l.size)); {
	case !letters || words > 25 || itemMarker(l.text) != "" && !unicode.IsDigit(firstRune(l.text)):
		return 0
	case i >= 0:
		return min(i+1, 5)
	case l.weight >= 600 && roundHalf(l.size) >= body && words <= 12 && isHeadingLine(l.text):
		return min(len(sizes)+1, 6)
	}
	return 0
}

const fewSteps = 5

func usualStep(lines []pdfLine) float64 {
	var steps []float64
	for i := 1; i < len(lines); i++ {
		if gap := lines[i-1].end - lines[i].y; gap > lines[i].size/2 && gap < 4*lines[i].size {
			steps = append(steps, gap)
		}
	}
	if len(steps) == 0 {
		return math.Inf(1)
	}
	slices.Sort(steps)
	step := steps[(len(steps)-1)*2/5]
	if len(steps) < fewSteps {
		step = min(step, 1.5*lines[len(lines)/2].size)
	}
	return step
}

func rightEdge(lines []pdfLine) float64 {
	var ends []float64
	for _, l := range lines {
		ends = append(ends, l.right)
	}
	if len(ends) == 0 {
		return 0
	}
	slices.Sort(ends)
	return ends[len(ends)*9/10]
}

// dropEdges removes separate lines that recur at the edges of many pages: running
// titles and page numbers.
func dropEdges(pages [][]pdfLine) {
	count := map[string]int{}
	tops, ends := make([]int, len(pages)), make([]int, len(pages))
	for p, lines := range pages {
		tops[p], ends[p] = findMargins(lines)
		for i, l := range lines {
			if i < tops[p] || i >= ends[p] {
				count[noDigits(l.text)]++
			}
		}
	}
	offset := pageNumberOffset(pages, tops, ends)
	for p, lines := range pages {
		var kept []pdfLine
		for i, l := range lines {
			n := count[noDigits(l.text)]
			often := n >= 3 && n*3 >= len(pages) || n >= 2 && strings.Trim(noDigits(l.text), "# -–—|/.") == "" || slices.Contains(pageNumbers(l.text), p+offset)
			if i >= tops[p] && i < ends[p] || !often {
				kept = append(kept, l)
			}
		}
		pages[p] = kept
	}
}

const noPageOffset = -1 << 30

// pageNumberOffset returns the offset from page index to page number at the edge, if most
// pages agree.
func pageNumberOffset(pages [][]pdfLine, tops, ends []int) int {
	count := map[int]int{}
	best := noPageOffset
	for p, lines := range pages {
		for i, l := range lines {
			if i >= tops[p] && i < ends[p] {
				continue
			}
			for _, n := range pageNumbers(l.text) {
				count[n-p]++
				if count[n-p] > count[best] || count[n-p] == count[best] && n-p > best {
					best = n - p
				}
			}
		}
	}
	if count[best] < 3 || count[best]*2 < len(pages) {
		return noPageOffset
	}
	return best
}

func pageNumbers(s string) []int {
	var out []int
	words := strings.Fields(s)
	for i, w := range words {
		if i == 0 || i == len(words)-1 {
			if n, err := strconv.Atoi(w); err == nil && n > 0 && n < 100_000 {
				out = append(out, n)
			}
		}
	}
	return out
}

func findMargins(lines []pdfLine) (top, end int) {
	step := usualStep(lines)
	apart := func(i int) bool { return math.Abs(lines[i-1].end-lines[i].y) > 1.4*step }
	end = len(lines)
	for i := 1; i <= edgeLines && i < len(lines); i++ {
		if apart(i) {
			top = i
		}
		if j := len(lines) - i; apart(j) && j > top {
			end = j
		}
	}
	return top, end
}

func noDigits(s string) string {
	var b strings.Builder
	was := false
	for _, r := range s {
		is := unicode.IsDigit(r)
		if !is {
			b.WriteRune(r)
		} else if !was {
			b.WriteByte('#')
		}
		was = is
	}
	return b.String()
}
