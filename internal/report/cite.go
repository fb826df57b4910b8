package report

import (
	"regexp"
	"strings"

	"ponder/mode/session"
)

// A numbering numbers what a report cites, from 1, in the order in which it is cited.
type numbering struct {
	of    map[string]int // the number of a source, by its id
	known map[string]bool
	order []string
}

// citation is how texts cite sources: [e1], or [e1, e2].
var citation = regexp.MustCompile(`\[(e\d{1,9}(?:\s*[,;]\s*e\d{1,9})*)\]`)

var sourceID = regexp.MustCompile(`e\d{1,9}`)

// number numbers the sources of a session that texts cite, in the order of the texts.
func number(sources []session.Source, texts ...string) *numbering {
	n := &numbering{of: make(map[string]int), known: make(map[string]bool)}
	for _, s := range sources {
		n.known[s.ID] = true
	}
	n.cited(texts...)
	return n
}

// cited numbers what texts cite and those before did not.
func (n *numbering) cited(texts ...string) {
	for _, text := range texts {
		for _, m := range citation.FindAllString(text, -1) {
			for _, id := range sourceID.FindAllString(m, -1) {
				n.add(id)
			}
		}
	}
}

func (n *numbering) rest(sources []session.Source) {
	for _, s := range sources {
		if s.Cited {
			n.add(s.ID)
		}
	}
}

func (n *numbering) add(id string) {
	if n.known[id] && n.of[id] == 0 {
		n.order = append(n.order, id)
		n.of[id] = len(n.order)
	}
}

// blocks makes the citations in blocks spans of their own.
func (n *numbering) blocks(list []block) []block {
	for i := range list {
		list[i].blocks, list[i].spans = n.blocks(list[i].blocks), n.spans(list[i].spans)
	}
	return list
}

// spans makes the citations in spans, but for those in links, spans of their own.
func (n *numbering) spans(list []span) (out []span) {
	for _, s := range list {
		switch s.kind {
		case plain:
			out = append(out, n.split(s.text)...)
			continue
		case emphasis, strong, strike:
			s.spans = n.spans(s.spans)
		}
		out = append(out, s)
	}
	return out
}

// split cuts a text at its citations. What names no source stays text.
func (n *numbering) split(text string) (out []span) {
	from := 0
	for _, m := range citation.FindAllStringIndex(text, -1) {
		var cites []span
		for _, id := range sourceID.FindAllString(text[m[0]:m[1]], -1) {
			if n.of[id] > 0 {
				cites = append(cites, span{kind: cite, text: id})
			}
		}
		if len(cites) == 0 {
			continue
		}
		if m[0] > from {
			out = append(out, span{text: strings.TrimRight(text[from:m[0]], " \t")})
		}
		out, from = append(out, cites...), m[1]
	}
	if from < len(text) {
		out = append(out, span{text: text[from:]})
	}
	return out
}
