package session

import (
	"strings"
	"unicode"
)

// summaryInText reads a labelled synthesis. Without the label of its text, what
// stands before the first other label is the text.
func summaryInText(text string) (sum summary, ok bool) {
	if looksLikeJSON(unfenced(text)) {
		return sum, false
	}
	parts := sections(tokens(text, summaryLabels, summaryInline))
	sum = summary{
		Text: joined(parts["text"]), Insights: listed(parts["insights"]), Confidence: share(strings.Join(parts["confidence"], " ")),
		Remaining: listed(parts["remaining"]),
	}
	if sum.Text == "" && len(parts) > 1 {
		sum.Text = joined(parts[""])
	}
	return sum, sum.Text != ""
}

// sections collects the lines under each label; those before the first are
// under "". The text is the first section that is called so: another that is,
// is a part of it.
func sections(list []token) map[string][]string {
	parts := make(map[string][]string)
	at := ""
	for _, t := range list {
		switch {
		case t.kind == label && (t.label != "text" || len(parts["text"]) == 0):
			at = t.label
			parts[at] = append(parts[at], t.text)
		case t.kind == rule && at != "text" && at != "":
			at = " after a rule"
		case t.line != "":
			parts[at] = append(parts[at], t.line)
		default:
			parts[at] = append(parts[at], t.text)
		}
	}
	delete(parts, " after a rule")
	return parts
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
		case text == "" || isFence(l):
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
