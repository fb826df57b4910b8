package mimic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A layout is a prompt's answer format: labelled lines in blocks, with dashes between.
type layout struct {
	fields   []field
	repeated bool
	lo, hi   int  // blocks
	after    bool // it follows free text
}

type field struct {
	label   string
	hint    string // in brackets
	bullets bool
	shown   bool // has a placeholder
}

const (
	maxFields = 12
	maxBlocks = 20
)

// findLayout finds a prompt's layout. It prefers the last run of lines with placeholders,
// such as "TYPE: [a/b/c]", then of capital labels, then labels in a sentence.
func findLayout(texts ...string) (layout, bool) {
	for _, find := range []func(string) (layout, bool){placeholderLayout, capitalLayout, sentenceLayout} {
		for _, text := range texts {
			if l, ok := find(text); ok {
				l.lo, l.hi = blockRange(text)
				l.after = strings.Contains(promptWindow(text), "After the answer")
				return l, true
			}
		}
	}
	return layout{}, false
}

func placeholderLayout(text string) (layout, bool) {
	return lastRun(text, func(l layout) bool {
		return slices.ContainsFunc(l.fields, func(f field) bool { return f.shown })
	})
}

func capitalLayout(text string) (layout, bool) {
	return lastRun(text, func(l layout) bool {
		for _, f := range l.fields {
			if f.hint != "" && !f.shown {
				return false // an answer
			}
		}
		return len(l.fields) > 1
	})
}

func lastRun(text string, is func(layout) bool) (found layout, ok bool) {
	if !strings.Contains(text, ":") {
		return layout{}, false
	}
	var run layout
	end := func() {
		if len(run.fields) > 0 && is(run) {
			found, ok = run, true
		}
		run = layout{}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		f, labelled := parseField(line)
		switch n := len(run.fields); {
		case labelled && n < maxFields && !run.repeated:
			run.fields = append(run.fields, f)
		case labelled: // blocks repeat
		case line == "" || line == "...":
		case isDashes(line):
			run.repeated = n > 0
		case n > 0 && isBullet(line):
			run.fields[n-1].bullets = true
			run.fields[n-1].shown = true
		default:
			end()
		}
	}
	end()
	return found, ok
}

// parseField parses "TYPE: [a/b/c]".
func parseField(line string) (field, bool) {
	line = strings.TrimLeft(line, "*#-0123456789. ")
	label, rest, ok := strings.Cut(line, ":")
	label, rest = strings.TrimRight(label, "*"), strings.Trim(rest, "* ")
	if !ok || len(label) < 2 || len(label) > 30 {
		return field{}, false
	}
	hint, shown := trimBrackets(rest)
	if shown {
		return field{label: label, hint: hint, shown: true}, countWords(label) <= 3
	}
	return field{label: label, hint: rest}, isUpperLabel(label)
}

func trimBrackets(rest string) (string, bool) {
	if len(rest) > 2 && len(rest) < 200 {
		switch rest[:1] + rest[len(rest)-1:] {
		case "[]", "<>", "{}":
			return strings.TrimSpace(rest[1 : len(rest)-1]), true
		}
	}
	return "", false
}

// sentenceLayout finds labels in a sentence such as "lines THOUGHT:, TYPE: and WHY:".
func sentenceLayout(text string) (l layout, ok bool) {
	for word := range strings.FieldsSeq(promptWindow(text)) {
		label, _, cut := strings.Cut(strings.Trim(word, "`'\"(*"), ":")
		if !cut || len(label) < 3 || !isUpperLabel(label) || len(l.fields) == maxFields {
			continue
		}
		f := field{label: label}
		if !hasLabel(l, label) {
			l.fields = append(l.fields, f)
		}
	}
	l.repeated = strings.Contains(text, "---")
	return l, len(l.fields) > 1
}

func hasLabel(l layout, label string) bool {
	return slices.ContainsFunc(l.fields, func(f field) bool { return f.label == label })
}

// blockRange parses "3-5", "up to 3" or "at most 3"; the default is 3 to 5.
func blockRange(text string) (lo, hi int) {
	fields := strings.Fields(promptWindow(text))
	for i, word := range fields {
		if a, b, ok := parseSpan(word); ok && i+1 < len(fields) && startsWithLetter(fields[i+1]) {
			return a, b
		}
		if i+2 >= len(fields) || !strings.EqualFold(word, "up") && !strings.EqualFold(word, "at") {
			continue
		}
		if n, err := strconv.Atoi(fields[i+2]); err == nil && n > 0 && (fields[i+1] == "to" || fields[i+1] == "most") {
			return 1, min(n, maxBlocks)
		}
	}
	return 3, 5
}

// parseSpan parses 3-5.
func parseSpan(word string) (lo, hi int, ok bool) {
	if word[0] < '1' || word[0] > '9' {
		return 0, 0, false
	}
	a, b, ok := strings.Cut(strings.ReplaceAll(word, "–", "-"), "-")
	lo, errA := strconv.Atoi(a)
	hi, errB := strconv.Atoi(b)
	return lo, hi, ok && errA == nil && errB == nil && 0 < lo && lo <= hi && hi <= maxBlocks
}

func (w *Writer) writeLayout(l layout) string {
	n := 1
	if l.repeated {
		n = w.randomBetween(l.lo, l.hi)
	}
	var b strings.Builder
	if l.after {
		b.WriteString(w.writeProse() + "\n\n")
	}
	for i := range n {
		if i > 0 {
			b.WriteString("---\n")
		}
		for _, f := range l.fields {
			w.writeField(&b, f)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (w *Writer) writeField(b *strings.Builder, f field) {
	if f.bullets || !f.shown && isPluralLabel(f.label) {
		fmt.Fprintf(b, "%s:\n", f.label)
		for range 2 + w.rng.IntN(3) {
			fmt.Fprintf(b, "- %s\n", w.namedText(f.label, 1))
		}
		return
	}
	fmt.Fprintf(b, "%s: %s\n", f.label, w.hintedText(f))
}

func (w *Writer) hintedText(f field) string {
	if !f.shown {
		return w.namedText(f.label, 2)
	}
	if lo, hi, decimals, ok := parseBounds(f.hint); ok {
		return strconv.FormatFloat(w.randomNumber(lo, hi, decimals), 'f', decimals, 64)
	}
	if of := splitChoices(f.hint); len(of) > 1 {
		return pickRandom(w, of)
	}
	return w.namedText(f.label, 2)
}

// parseBounds parses 0.0-1.0 or 1 to 10. A point gives two decimals.
func parseBounds(hint string) (lo, hi float64, decimals int, ok bool) {
	hint = strings.ReplaceAll(strings.ReplaceAll(hint, "–", "-"), " to ", "-")
	a, b, found := strings.Cut(hint, "-")
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if word, _, more := strings.Cut(b, " "); more {
		b = word
	}
	b = strings.TrimRight(b, ",;")
	if !found || !isNumber(a) || !isNumber(b) {
		return 0, 0, 0, false
	}
	lo, _ = strconv.ParseFloat(a, 64)
	hi, _ = strconv.ParseFloat(b, 64)
	if strings.Contains(a+b, ".") {
		decimals = 2
	}
	return lo, hi, decimals, lo < hi
}

// splitChoices splits a/b/c or a|b.
func splitChoices(hint string) (of []string) {
	sep := "|"
	if !strings.Contains(hint, sep) {
		sep = "/"
	}
	for _, c := range strings.Split(hint, sep) {
		c = strings.Trim(c, ` "'`)
		if c == "" || countWords(c) > 2 {
			return nil
		}
		of = append(of, c)
	}
	return of
}

func countWords(s string) int { return strings.Count(strings.TrimSpace(s), " ") + 1 }

func isBullet(line string) bool {
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ")
}

func isDashes(line string) bool { return len(line) > 2 && strings.Trim(line, "-") == "" }

func startsWithLetter(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) == 0 }

func isUpperLabel(s string) bool {
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_ -") == "" && strings.Trim(s, "_ -") != ""
}

// isPluralLabel matches INSIGHTS or REMAINING.
func isPluralLabel(label string) bool {
	label = strings.ToLower(label)
	return strings.HasSuffix(label, "s") && !strings.HasSuffix(label, "ss") && !strings.HasSuffix(label, "is") ||
		strings.Contains(label, "remaining") || strings.Contains(label, "open")
}
