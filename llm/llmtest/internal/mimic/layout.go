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
	lo, hi   int // blocks
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

// layoutIn finds a prompt's layout. It prefers the last run of lines with placeholders,
// such as "TYPE: [a/b/c]", then of capital labels, then labels in a sentence.
func layoutIn(texts ...string) (layout, bool) {
	for _, find := range []func(string) (layout, bool){placeholders, capitals, named} {
		for _, text := range texts {
			if l, ok := find(text); ok {
				l.lo, l.hi = blocks(text)
				return l, true
			}
		}
	}
	return layout{}, false
}

func placeholders(text string) (layout, bool) {
	return lastRun(text, func(l layout) bool {
		return slices.ContainsFunc(l.fields, func(f field) bool { return f.shown })
	})
}

func capitals(text string) (layout, bool) {
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
		f, labelled := fieldOf(line)
		switch n := len(run.fields); {
		case labelled && n < maxFields && !run.repeated:
			run.fields = append(run.fields, f)
		case labelled: // blocks repeat
		case line == "" || line == "...":
		case dashes(line):
			run.repeated = n > 0
		case n > 0 && bullet(line):
			run.fields[n-1].bullets = true
			run.fields[n-1].shown = true
		default:
			end()
		}
	}
	end()
	return found, ok
}

// fieldOf parses "TYPE: [a/b/c]".
func fieldOf(line string) (field, bool) {
	line = strings.TrimLeft(line, "*#-0123456789. ")
	label, rest, ok := strings.Cut(line, ":")
	label, rest = strings.TrimRight(label, "*"), strings.Trim(rest, "* ")
	if !ok || len(label) < 2 || len(label) > 30 {
		return field{}, false
	}
	hint, shown := bracketed(rest)
	if shown {
		return field{label: label, hint: hint, shown: true}, words(label) <= 3
	}
	return field{label: label, hint: rest}, upper(label)
}

func bracketed(rest string) (string, bool) {
	if len(rest) > 2 && len(rest) < 200 {
		switch rest[:1] + rest[len(rest)-1:] {
		case "[]", "<>", "{}":
			return strings.TrimSpace(rest[1 : len(rest)-1]), true
		}
	}
	return "", false
}

// named finds labels in a sentence such as "lines THOUGHT:, TYPE: and WHY:".
func named(text string) (l layout, ok bool) {
	for word := range strings.FieldsSeq(window(text)) {
		label, _, cut := strings.Cut(strings.Trim(word, "`'\"(*"), ":")
		if !cut || len(label) < 3 || !upper(label) || len(l.fields) == maxFields {
			continue
		}
		f := field{label: label}
		if !has(l, label) {
			l.fields = append(l.fields, f)
		}
	}
	l.repeated = strings.Contains(text, "---")
	return l, len(l.fields) > 1
}

func has(l layout, label string) bool {
	return slices.ContainsFunc(l.fields, func(f field) bool { return f.label == label })
}

// blocks parses "3-5", "up to 3" or "at most 3"; the default is 3 to 5.
func blocks(text string) (lo, hi int) {
	fields := strings.Fields(window(text))
	for i, word := range fields {
		if a, b, ok := span(word); ok && i+1 < len(fields) && letters(fields[i+1]) {
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

// span parses 3-5.
func span(word string) (lo, hi int, ok bool) {
	if word[0] < '1' || word[0] > '9' {
		return 0, 0, false
	}
	a, b, ok := strings.Cut(strings.ReplaceAll(word, "–", "-"), "-")
	lo, errA := strconv.Atoi(a)
	hi, errB := strconv.Atoi(b)
	return lo, hi, ok && errA == nil && errB == nil && 0 < lo && lo <= hi && hi <= maxBlocks
}

func (w *Writer) lay(l layout) string {
	n := 1
	if l.repeated {
		n = w.between(l.lo, l.hi)
	}
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString("---\n")
		}
		for _, f := range l.fields {
			w.field(&b, f)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (w *Writer) field(b *strings.Builder, f field) {
	if f.bullets || !f.shown && plural(f.label) {
		fmt.Fprintf(b, "%s:\n", f.label)
		for range 2 + w.rng.IntN(3) {
			fmt.Fprintf(b, "- %s\n", w.named(f.label, 1))
		}
		return
	}
	fmt.Fprintf(b, "%s: %s\n", f.label, w.hinted(f))
}

func (w *Writer) hinted(f field) string {
	if !f.shown {
		return w.named(f.label, 2)
	}
	if lo, hi, decimals, ok := bounds(f.hint); ok {
		return strconv.FormatFloat(w.number(lo, hi, decimals), 'f', decimals, 64)
	}
	if of := choices(f.hint); len(of) > 1 {
		return pick(w, of)
	}
	return w.named(f.label, 2)
}

// bounds parses 0.0-1.0 or 1 to 10. A point gives two decimals.
func bounds(hint string) (lo, hi float64, decimals int, ok bool) {
	hint = strings.ReplaceAll(strings.ReplaceAll(hint, "–", "-"), " to ", "-")
	a, b, found := strings.Cut(hint, "-")
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if word, _, more := strings.Cut(b, " "); more {
		b = word
	}
	b = strings.TrimRight(b, ",;")
	if !found || !number(a) || !number(b) {
		return 0, 0, 0, false
	}
	lo, _ = strconv.ParseFloat(a, 64)
	hi, _ = strconv.ParseFloat(b, 64)
	if strings.Contains(a+b, ".") {
		decimals = 2
	}
	return lo, hi, decimals, lo < hi
}

// choices splits a/b/c or a|b.
func choices(hint string) (of []string) {
	sep := "|"
	if !strings.Contains(hint, sep) {
		sep = "/"
	}
	for _, c := range strings.Split(hint, sep) {
		c = strings.Trim(c, ` "'`)
		if c == "" || words(c) > 2 {
			return nil
		}
		of = append(of, c)
	}
	return of
}

func words(s string) int { return strings.Count(strings.TrimSpace(s), " ") + 1 }

func bullet(line string) bool { return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") }

func dashes(line string) bool { return len(line) > 2 && strings.Trim(line, "-") == "" }

func letters(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) == 0 }

func upper(s string) bool {
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_ -") == "" && strings.Trim(s, "_ -") != ""
}

// plural matches INSIGHTS or REMAINING.
func plural(label string) bool {
	label = strings.ToLower(label)
	return strings.HasSuffix(label, "s") && !strings.HasSuffix(label, "ss") && !strings.HasSuffix(label, "is") ||
		strings.Contains(label, "remaining") || strings.Contains(label, "open")
}
