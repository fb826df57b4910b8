// Package planfile reads and writes the plan of a research as text that a person edits, or as JSON.
//
// The text has one section for each kind of line. A section begins with its name and a colon, each
// line of it begins with a dash, and lines that begin with # are comments:
//
//	Questions:
//	- Who measured the trench?
//
//	Web queries:
//	- challenger deep 1875
//
// The JSON is an object with the lists steps, terms, web_queries and memory_queries.
package planfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ponder"
	"ponder/internal/textkit"
)

// MaxBytes is the maximal size of a plan.
const MaxBytes = 64 << 10

type section struct {
	name  string
	other []string // further accepted names
	list  func(*ponder.Plan) *[]string
}

var sections = []section{
	{"Questions", []string{"question", "steps"}, func(p *ponder.Plan) *[]string { return &p.Steps }},
	{"Web queries", []string{"web"}, func(p *ponder.Plan) *[]string { return &p.Web }},
	{"Memory queries", []string{"memory", "memory and document queries"}, func(p *ponder.Plan) *[]string { return &p.Memory }},
	{"Terms", []string{"important terms"}, func(p *ponder.Plan) *[]string { return &p.Terms }},
}

// Text returns the non-empty sections of a plan.
func Text(p ponder.Plan) string {
	var parts []string
	for _, s := range sections {
		if list := *s.list(&p); len(list) > 0 {
			parts = append(parts, s.text(list))
		}
	}
	return strings.Join(parts, "\n")
}

func (s section) text(list []string) string {
	var b strings.Builder
	b.WriteString(s.name + ":\n")
	for _, one := range list {
		b.WriteString("- " + textkit.OneLine(one) + "\n")
	}
	return b.String()
}

// EditText returns the text for an editor: all sections, after comments about the question and the
// rules.
func EditText(question string, p ponder.Plan) string {
	var b strings.Builder
	b.WriteString("# Plan for: " + textkit.TruncateWords(textkit.OneLine(question), 200) + `
#
# Change, add or remove lines that begin with a dash. The research searches
# these queries and no others. The answer covers the questions. Lines that
# begin with # have no effect. An empty file cancels.
`)
	for _, s := range sections {
		b.WriteString("\n" + s.text(*s.list(&p)))
	}
	return b.String()
}

// ErrEmpty means that a text has no line of a plan.
var ErrEmpty = errors.New("the plan is empty")

// Parse reads a plan from its text or its JSON. An error is one line.
func Parse(text []byte) (p ponder.Plan, err error) {
	if len(text) > MaxBytes {
		return p, fmt.Errorf("the plan has more than %s", textkit.Bytes(MaxBytes))
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if bytes.HasPrefix(text, []byte("{")) {
		p, err = parseJSON(text)
	} else {
		p, err = parseText(string(text))
	}
	if err == nil && len(p.Steps)+len(p.Terms)+len(p.Web)+len(p.Memory) == 0 {
		err = ErrEmpty
	}
	return p, err
}

func parseJSON(text []byte) (p ponder.Plan, err error) {
	var in struct {
		Steps  []string `json:"steps"`
		Terms  []string `json:"terms"`
		Web    []string `json:"web_queries"`
		Memory []string `json:"memory_queries"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&in); err != nil {
		return p, fmt.Errorf("read the plan: %s", textkit.OneLine(err.Error()))
	}
	return ponder.Plan{Steps: in.Steps, Terms: in.Terms, Web: in.Web, Memory: in.Memory}, nil
}

func parseText(text string) (p ponder.Plan, err error) {
	var list *[]string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		item, dashed := cutDash(line)
		switch s := findSection(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case !dashed && s != nil:
			list = s.list(&p)
		case list == nil:
			return p, fmt.Errorf("line %d of the plan is in no section: begin with a line such as %q", n, sections[0].name+":")
		case !dashed:
			return p, fmt.Errorf("line %d of the plan does not begin with a dash: %q", n, textkit.TruncateWords(textkit.OneLine(line), 60))
		case item != "":
			*list = append(*list, item)
		}
	}
	return p, nil
}

func cutDash(line string) (item string, dashed bool) {
	for _, dash := range []string{"-", "*", "•"} {
		if item, dashed = strings.CutPrefix(line, dash); dashed {
			return strings.TrimSpace(item), true
		}
	}
	return line, false
}

func findSection(line string) *section {
	name, colon := strings.CutSuffix(line, ":")
	if !colon {
		return nil
	}
	for i, s := range sections {
		for _, known := range append([]string{s.name}, s.other...) {
			if strings.EqualFold(strings.TrimSpace(name), known) {
				return &sections[i]
			}
		}
	}
	return nil
}
