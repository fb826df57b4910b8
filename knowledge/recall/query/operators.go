package query

import (
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
)

// filters has the operators, by what they filter by.
var filters = map[string]string{
	"kind": "kind", "type": "kind", "source": "source", "in": "source", "tag": "tag", "tags": "tag", "label": "tag",
	"before": "before", "until": "before", "after": "after", "since": "after", "date": "date", "on": "date", "during": "date",
	"author": "person", "by": "person", "from": "person", "person": "person",
}

// kinds has other names of kinds.
var kinds = map[string]string{
	"memories": "memory", "documents": "document", "doc": "document", "docs": "document", "file": "document", "files": "document",
	"posts": "post", "journals": "journal", "note": "journal", "notes": "journal", "threads": "thread", "session": "thread", "sessions": "thread",
}

// operators reads filters, phrases in quotes, and what stands before and behind words.
func (p *parser) operators() {
	for i := 0; i < len(p.list); {
		n := p.filter(i)
		if n == 0 {
			n = p.quote(i)
		}
		i += max(n, 1)
	}
	for i := range p.list {
		p.affix(i)
	}
}

// filter reads "tag:x", and returns how many tokens it is.
func (p *parser) filter(i int) int {
	field := filters[p.at(i).text]
	if field == "" || !p.is(i+1, ":") || !p.tight(i+1) || !p.tight(i+2) || i > 0 && !p.list[i].space {
		return 0
	}
	value, n := p.value(i + 2)
	if value == "" || !p.apply(field, value) {
		return 0
	}
	p.take(i, 2+n, operator)
	return 2 + n
}

// value reads what stands behind the colon: up to the next space, or in quotes.
func (p *parser) value(i int) (text string, n int) {
	if p.is(i, `"`) {
		if end := p.closing(i); end > 0 {
			return strings.TrimSpace(p.source(i+1, end-i-1)), end + 1 - i
		}
	}
	n = 1
	for i+n < len(p.list) && !p.list[i+n].space && n < 64 {
		n++
	}
	for n > 1 && p.is(i+n-1, ",.;!?)") {
		n--
	}
	return p.source(i, n), n
}

// closing returns the quotation mark that closes the one at i, or 0.
func (p *parser) closing(i int) int {
	for k := i + 1; k < len(p.list) && k < i+64; k++ {
		if p.is(k, `"`) {
			return k
		}
	}
	return 0
}

// apply filters by a value, if it can be read.
func (p *parser) apply(field, value string) bool {
	switch field {
	case "kind":
		k := lexical.Fold(value)
		if other, ok := kinds[k]; ok {
			k = other
		}
		addOnce(&p.q.Kinds, k)
	case "source":
		addOnce(&p.q.Sources, value)
	case "tag":
		addOnce(&p.q.Tags, strings.TrimPrefix(value, "#"))
	case "person":
		addOnce(&p.q.People, value)
	default:
		return p.limit(field, value)
	}
	return true
}

func addOnce(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// maxDate bounds the bytes of a date behind an operator.
const maxDate = 60

// limit limits the range by an operator. A period counts from its beginning, so
// that after:2024 is what is not before 2024.
func (p *parser) limit(field, value string) bool {
	if len(value) > maxDate {
		return false
	}
	inner := newParser(value, p.now)
	inner.in(p.lang)
	s, n := inner.period(0, true)
	if n == 0 || n < len(inner.list) {
		return false
	}
	r := Range{From: s.from, To: s.to}
	switch field {
	case "before":
		r = Range{To: s.from}
	case "after":
		r = Range{From: s.from}
	}
	q := &p.q.Time
	q.From, q.To, q.Strict = later(q.From, r.From), sooner(q.To, r.To), true
	if q.Text != "" {
		q.Text += ", "
	}
	q.Text += field + ":" + value
	return true
}

// quote reads a phrase in quotation marks.
func (p *parser) quote(i int) int {
	if !p.is(i, `"`) || p.list[i].uses != 0 {
		return 0
	}
	end := p.closing(i)
	if end < i+2 {
		return 0
	}
	phrase := strings.Join(strings.Fields(p.source(i+1, end-i-1)), " ")
	p.take(i, 1, operator)
	p.take(end, 1, operator)
	if p.is(i-1, "-") && p.tight(i) && (i < 2 || p.list[i-1].space) {
		p.take(i-1, end+2-i, operator)
		p.q.Words = append(p.q.Words, Word{Text: phrase, Not: true})
		return end + 1 - i
	}
	if p.is(i-1, "+") && p.tight(i) {
		p.take(i-1, 1, operator)
	}
	p.take(i+1, end-i-1, quoted)
	addOnce(&p.q.Phrases, phrase)
	return end + 1 - i
}

// affix reads "-not", "+must" and "prefix*".
func (p *parser) affix(i int) {
	t := &p.list[i]
	if t.kind == mark || t.uses != 0 {
		return
	}
	if p.is(i+1, "*") && p.tight(i+1) && len(t.text) > 1 && (i+2 >= len(p.list) || p.list[i+2].space) {
		t.uses |= prefix
		p.take(i+1, 1, operator)
	}
	if !p.is(i-1, "+-") || !p.tight(i) || !p.list[i-1].space || t.kind == number {
		return
	}
	p.take(i-1, 1, operator)
	if p.list[i-1].text == "+" {
		t.uses |= must
		return
	}
	t.uses |= not | operator
}
