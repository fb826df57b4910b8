package session

import (
	"slices"
	"strings"
	"unicode"
)

// A section is a part of an answer: what stands below a label, or between two.
type section struct {
	label string // empty before the first
	lines []string
	whole []string // with the label
	told  bool     // it has a sentence behind its label

	within bool // its label does not begin its line
}

// isText reports whether a section is of the answer itself.
func (p *section) isText() bool { return p.label == "answer" || p.label == "" }

// maxLead is how long what leads to a labelled answer may be, in bytes.
const maxLead = 400

// leads reports whether a section that stands before an answer but leads to it, as a
// sentence does. More is a part of it.
func (p *section) leads() bool {
	text := joined(p.lines)
	return len(text) <= maxLead && !strings.Contains(text, "\n\n") && !strings.HasPrefix(text, "#")
}

// summaryInText reads a labelled synthesis. Of sections with one label the last counts:
// the others, and what has another heading, belong to the text. Without the label of its
// text, what stands before the first other label is the text.
func summaryInText(text string) (sum summary, ok bool) {
	if looksLikeJSON(unfenced(text)) {
		return sum, false
	}
	list := sections(tokens(text, summaryLabels, summaryInline))
	last := make(map[string]int)
	for i, p := range list {
		last[p.label] = i
	}
	_, labelled := last["answer"]
	var lines []string
	for i, p := range list {
		switch {
		case p.label == "" && labelled && p.leads():
		case p.isText() && len(lines) == 0:
			lines = slices.Clone(p.lines)
		case p.within && i < last[p.label] && len(lines) > 0:
			lines[len(lines)-1] = rejoined(lines[len(lines)-1], p.whole[0])
			lines = append(lines, p.whole[1:]...)
		case p.isText() || i < last[p.label]:
			lines = append(lines, p.whole...)
		}
	}
	of := func(label string) []string {
		if i, ok := last[label]; ok {
			return list[i].lines
		}
		return nil
	}
	sum = summary{Text: joined(lines), Insights: listed(of("insights")), Confidence: share(strings.Join(of("confidence"), " ")), Remaining: listed(of("remaining"))}
	return sum, sum.Text != "" && len(last) > one(!labelled) && !looksLikeJSON(unfenced(sum.Text))
}

// sections splits an answer. Another label of the text than the first is a part of it.
func sections(list []token) (all []section) {
	all = []section{{}}
	var code, over, labelled bool // in a code block of the text; behind a rule; the text has its label
	begin := func(label string, t token) {
		over, labelled = false, labelled || label == "answer"
		cur := &all[len(all)-1]
		if label == cur.label && label != "answer" {
			cur.lines, cur.told = append(cur.lines, t.text), cur.told || tells(t)
			if n := len(cur.whole); t.within {
				cur.whole[n-1] = rejoined(cur.whole[n-1], t.raw())
			} else {
				cur.whole = append(cur.whole, t.raw())
			}
			return
		}
		all = append(all, section{label: label, lines: []string{t.text}, whole: []string{t.raw()}, told: tells(t), within: t.within})
	}
	for i, t := range list {
		cur := &all[len(all)-1]
		switch {
		case t.kind == fence && cur.isText():
			code = !code && labelled
		case code:
		case t.kind == label && (t.label != "answer" || !labelled):
			begin(t.label, t)
			continue
		case cur.isText():
		case isHeading(list, i, level(cur.whole[0])), t.kind == label:
			t.text = t.raw()
			begin("answer", t)
			continue
		case cur.told && t.kind == plain && t.text == unlisted(t.text) && list[i-1].kind == blank && hasLabel(list[i:]):
			begin("answer", t)
			continue
		case t.kind == rule:
			over = true
		}
		if !over {
			cur.lines, cur.whole = append(cur.lines, t.raw()), append(cur.whole, t.raw())
		}
	}
	return all
}

// rejoined returns a line that was cut before what may have been a label.
func rejoined(line, rest string) string {
	if strings.HasPrefix(rest, ";") || strings.HasPrefix(rest, ",") || strings.HasPrefix(rest, " ") {
		return line + rest
	}
	return line + " " + rest
}

// tells reports whether what should be the label of a list goes on as a sentence.
func tells(t token) bool {
	return t.label != "confidence" && t.text != "" && unlisted(t.text) == t.text
}

// isHeading reports whether a line is a heading: as in Markdown, if it is not below one of
// a level, or in bold type and not in a list.
func isHeading(list []token, i, above int) bool {
	line := strings.TrimSpace(list[i].text)
	if n := level(line); n > 0 && list[i].kind == plain {
		return above == 0 || n <= above
	}
	return list[i].kind == plain && list[i-1].kind == blank && len(line) <= maxHead && len(line) > 4 && strings.HasPrefix(line, "**") && strings.HasSuffix(line, "**")
}

// level returns the level of a heading in Markdown, or 0.
func level(line string) int {
	rest := strings.TrimLeft(line, "#")
	if n := len(line) - len(rest); n <= 6 && strings.HasPrefix(rest, " ") {
		return n
	}
	return 0
}

// hasLabel reports whether a label follows in a few sections at most.
func hasLabel(list []token) bool {
	return slices.ContainsFunc(list[:min(len(list), 200)], func(t token) bool { return t.kind == label })
}

// joined returns a section as one text, without a code fence that only began or
// only ended in it, and without rules around it.
func joined(lines []string) string {
	fences := 0
	for _, l := range lines {
		if isFence(l) {
			fences++
		}
	}
	for len(lines) > 0 && (superfluous(lines[0]) || fences%2 == 1 && isFence(lines[0])) {
		fences, lines = fences-one(isFence(lines[0])), lines[1:]
	}
	for n := len(lines); n > 0 && (superfluous(lines[n-1]) || fences%2 == 1 && isFence(lines[n-1])); n = len(lines) {
		fences, lines = fences-one(isFence(lines[n-1])), lines[:n-1]
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func isFence(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

func superfluous(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || isRule(line)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// listed returns the items of a section. Lines that are indented deeper than the
// first item belong to the item before them, and so do lines without a bullet
// right below one that has one.
func listed(lines []string) (list []string) {
	depth, goes, bullets := -1, false, false
	for _, l := range lines {
		bullets = bullets || unlisted(l) != strings.TrimSpace(l)
	}
	for _, l := range lines {
		text := unlisted(l)
		item, indent, n := text != strings.TrimSpace(l), len(l)-len(strings.TrimLeftFunc(l, unicode.IsSpace)), len(list)
		switch {
		case text == "" || isFence(l) || level(strings.TrimSpace(l)) > 0:
			goes = false
			continue
		case item && (depth < 0 || indent <= depth):
			depth, list = indent, append(list, text)
		case n > 0 && len(list[n-1]) > maxItem: // long enough
		case item && n > 0:
			list[n-1] = under(list[n-1], text)
		case goes && n > 0:
			list[n-1] += " " + text
		case !bullets || depth < 0:
			list = append(list, splitItems(text)...)
		}
		goes = bullets && depth >= 0
	}
	return list
}

// under returns an item with one of those below it.
func under(item, sub string) string {
	if strings.HasSuffix(item, ":") || strings.HasSuffix(item, "：") {
		return item + " " + sub
	}
	return strings.TrimRight(item, ".;") + "; " + sub
}

// splitItems splits a line of items with semicolons between them.
func splitItems(text string) (list []string) {
	for line := range strings.SplitSeq(text, "\n") {
		for item := range strings.SplitSeq(line, ";") {
			if item = unlisted(item); item != "" {
				list = append(list, item)
			}
		}
	}
	return list
}
