package report

import (
	"fmt"
	"strconv"
	"strings"

	"ponder/internal/textkit"
)

// A Section is a part of an answer: a heading with its text, or a paragraph of an answer without
// headings.
type Section struct {
	Title      string
	Start, End int // bytes of the answer
}

// Sections splits an answer. Headings in code blocks do not count.
func Sections(answer string) (list []Section) {
	start, at, fenced, headings := -1, 0, false, false
	add := func(end int) {
		if start >= 0 && strings.TrimSpace(answer[start:end]) != "" {
			list = append(list, Section{sectionTitle(answer[start:end]), start, end})
		}
	}
	for line := range strings.Lines(answer) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~"):
			fenced = !fenced
		case !fenced && isHeading(text):
			add(at)
			start, headings = at, true
		}
		if start < 0 && text != "" {
			start = at
		}
		at += len(line)
	}
	add(at)
	if !headings {
		return paragraphs(answer)
	}
	return list
}

func isHeading(line string) bool {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	return n >= 1 && n <= 6 && strings.HasPrefix(line[n:], " ")
}

func paragraphs(answer string) (list []Section) {
	start, at, fenced := -1, 0, false
	add := func(end int) {
		if start >= 0 {
			list = append(list, Section{sectionTitle(answer[start:end]), start, end})
		}
		start = -1
	}
	for line := range strings.Lines(answer) {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
			fenced = !fenced
		}
		switch {
		case text == "" && !fenced:
			add(at)
		case start < 0:
			start = at
		}
		at += len(line)
	}
	add(at)
	return list
}

func sectionTitle(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return textkit.TruncateWords(textkit.OneLine(strings.TrimSpace(strings.TrimLeft(line, "#"))), 80)
}

// FindSection returns the section of an answer with a number, from 1, or the beginning of its title.
func FindSection(answer, name string) (Section, error) {
	list := Sections(answer)
	name = textkit.OneLine(strings.TrimSpace(name))
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(list) {
		return list[n-1], nil
	}
	var found []Section
	for _, s := range list {
		if strings.EqualFold(s.Title, name) {
			return s, nil
		}
		if name != "" && strings.HasPrefix(strings.ToLower(s.Title), strings.ToLower(name)) {
			found = append(found, s)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	for i, s := range list {
		names = append(names, fmt.Sprintf("%d: %s", i+1, textkit.TruncateWords(s.Title, 40)))
	}
	problem := "there is no section"
	if len(found) > 1 {
		problem = "more than one section begins with"
	}
	return Section{}, fmt.Errorf("%s %q: use a number of %s", problem, textkit.Truncate(name, 40), strings.Join(names, ", "))
}
