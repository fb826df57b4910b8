package document

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// softHyphen stands where a word was divided at the end of a line.
const softHyphen = '\u00ad'

// edgeLines is how many lines at the top and at the bottom of a page can be what
// every page has.
const edgeLines = 2

// A pdfBlock is a block and the size of its letters.
type pdfBlock struct {
	Block
	size float64
}

// pdfBlocks returns the blocks that the lines of pages are.
func pdfBlocks(pages [][]pdfLine) []Block {
	dropEdges(pages)
	body := bodySize(pages)
	sizes := headingSizes(pages, body)
	var out []pdfBlock
	for i, lines := range pages {
		first := len(out)
		out = pageBlocks(out, lines, i+1, body, sizes)
		if open := openBlock(out[:first], body); open >= 0 && first < len(out) && continues(out[open].Block, out[first].Block) {
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

// maxFootnotes is how many blocks at the foot of a page can be notes.
const maxFootnotes = 8

// openBlock returns the block that the next page may go on with: the last, but
// for notes in small letters. It is -1 if there is none.
func openBlock(out []pdfBlock, body float64) int {
	i := len(out) - 1
	for i >= max(0, len(out)-maxFootnotes) && out[i].size < body*0.93 && out[i].Page == out[len(out)-1].Page {
		i--
	}
	return i
}

// pageBlocks appends the blocks of a page.
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
		case marker(text) != "":
			b.Kind, b.Text = Item, unmark(text)
		case end == first+1 && lines[first].right < right-lines[first].size*8 && !terminal(lastRune(text)):
			b.Kind = Item // a short line that stands for itself
		}
		out = append(out, pdfBlock{b, lines[first].size})
		first = end
	}
	return out
}

// samePara reports whether b goes on from a.
func samePara(a, b pdfLine, step, right float64, heading bool) bool {
	gap := a.end - b.y
	switch {
	case a.row || b.row, marker(b.text) != "", math.Abs(a.size-b.size) > 1.5:
		return false
	case gap < 0: // a new column
		return !heading && a.right > right/2 && !terminal(lastRune(a.text))
	case gap < a.size/2: // beside it
		return true
	case gap > step*1.35+0.5:
		return false
	case heading:
		return true
	case terminal(lastRune(a.text)) && a.right < right-a.size*4: // ends before the margin
		return false
	case terminal(lastRune(a.text)) && b.left > a.left+a.size/2 && unicode.IsUpper(firstRune(b.text)): // an indent
		return false
	}
	return true
}

// joinLines joins two lines, and the word that was divided between them.
func joinLines(a, b string) string {
	if s, ok := strings.CutSuffix(a, string(softHyphen)); ok {
		return s + b
	}
	if len(a) > 1 && strings.HasSuffix(a, "-") {
		return a + b
	}
	return a + " " + b
}

// continues reports whether a block is the rest of the one on the page before.
func continues(a, b Block) bool {
	if a.Kind == Heading || b.Kind != Prose || a.Page+1 != b.Page || terminal(lastRune(strings.TrimRight(a.Text, "\"')]”’"))) {
		return false
	}
	return unicode.IsLower(firstRune(b.Text)) || strings.HasSuffix(a.Text, string(softHyphen))
}

// bodySize returns the size that most letters have.
func bodySize(pages [][]pdfLine) float64 {
	count := map[float64]int{}
	for _, lines := range pages {
		for _, l := range lines {
			count[half(l.size)] += l.letters
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

func half(size float64) float64 { return math.Round(size*2) / 2 }

// headingSizes returns the sizes of headings, the largest first.
func headingSizes(pages [][]pdfLine, body float64) []float64 {
	var sizes []float64
	for _, lines := range pages {
		for _, l := range lines {
			if s := half(l.size); s >= body*1.12+0.2 && l.letters <= 200 && !slices.Contains(sizes, s) && len(sizes) < 32 {
				sizes = append(sizes, s)
			}
		}
	}
	slices.SortFunc(sizes, func(a, b float64) int { return compare(b, a) })
	return sizes
}

// headingLevel returns the level of the heading that a line is, or 0.
func headingLevel(l pdfLine, body float64, sizes []float64) int {
	words := len(strings.Fields(l.text))
	letters := strings.ContainsFunc(l.text, unicode.IsLetter)
	switch i := slices.Index(sizes, half(l.size)); {
	case !letters || words > 25 || marker(l.text) != "" && !unicode.IsDigit(firstRune(l.text)):
		return 0
	case i >= 0:
		return min(i+1, 5)
	case l.weight >= 600 && half(l.size) >= body && words <= 12 && titled(l.text):
		return min(len(sizes)+1, 6)
	}
	return 0
}

// fewSteps is how many lines are too few to tell their usual distance by.
const fewSteps = 5

// usualStep returns the distance of most lines that follow each other.
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

// rightEdge returns where most long lines end.
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

// dropEdges takes away the lines at the top and the bottom that many pages have,
// apart from the rest: titles of the book, numbers of the pages.
func dropEdges(pages [][]pdfLine) {
	count := map[string]int{}
	tops, ends := make([]int, len(pages)), make([]int, len(pages))
	for p, lines := range pages {
		tops[p], ends[p] = margins(lines)
		for i, l := range lines {
			if i < tops[p] || i >= ends[p] {
				count[noDigits(l.text)]++
			}
		}
	}
	offset := numbering(pages, tops, ends)
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

// unnumbered is what is added to the index of a page for its number where pages
// have none.
const unnumbered = -1 << 30

// numbering returns what is added to the index of a page for the number that
// stands at its edge, if most pages agree on it.
func numbering(pages [][]pdfLine, tops, ends []int) int {
	count := map[int]int{}
	best := unnumbered
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
		return unnumbered
	}
	return best
}

// pageNumbers returns the numbers that a line begins and ends with.
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

// margins returns where the text of a page begins and ends: lines before and
// after are few, and apart from it.
func margins(lines []pdfLine) (top, end int) {
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

// noDigits returns a line with its numbers as one sign each.
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
