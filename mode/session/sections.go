package session

import (
	"strings"
	"unicode"
)

// summaryInText reads a labelled synthesis. Without the label of its text, what
// stands before the first other label is the text.
func summaryInText(text string) (sum summary, ok bool) {
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
// first item belong to the item before them.
func listed(lines []string) (list []string) {
	depth, bullets := -1, false
	for _, l := range lines {
		bullets = bullets || unlisted(l) != strings.TrimSpace(l)
	}
	for _, l := range lines {
		text := unlisted(l)
		item, indent := text != strings.TrimSpace(l), len(l)-len(strings.TrimLeftFunc(l, unicode.IsSpace))
		switch {
		case text == "" || isFence(l):
		case item && (depth < 0 || indent <= depth):
			depth = indent
			list = append(list, text)
		case item && len(list) > 0:
			list[len(list)-1] = under(list[len(list)-1], text)
		case bullets && len(list) > 0:
			list[len(list)-1] += " " + text
		default:
			list = append(list, splitItems(text)...)
		}
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
