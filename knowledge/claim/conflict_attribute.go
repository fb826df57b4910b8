package claim

import (
	_ "embed"
	"strings"
	"sync"
)

// An attribute is something that sources say of things, and how they say it.
type attribute struct {
	name      string
	kind      worthKind
	dimension string          // of a number; money is any currency
	parts     bool            // what is in a place is a part of all of it
	asks      map[string]bool // words of questions about it
	before    [][]string      // cuePhrases that stand before a value, folded
	behind    [][]string      // and behind it
	terms     []listedTerm
}

// A listedTerm is a value of a closed list.
type listedTerm struct {
	name  string
	broad []string   // what it is a kind of
	forms [][]string // how it is said, folded, itself among them
}

//go:embed conflict_attributes.txt
var attributeTable string

// attributes are those of the table, in its order.
var attributes = sync.OnceValue(func() (list []*attribute) {
	for line := range strings.Lines(attributeTable) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if more, ok := strings.CutPrefix(line, "+"); ok {
			a := list[len(list)-1]
			for entry := range strings.SplitSeq(more, ";") {
				a.terms = append(a.terms, listedTermOf(entry))
			}
			continue
		}
		list = append(list, attributeOf(strings.Split(line, "|")))
	}
	return list
})

var worthKinds = map[string]worthKind{"number": numberWorth, "date": dateWorth, "name": nameWorth, "place": placeWorth, "term": termWorth}

func attributeOf(cells []string) *attribute {
	kind := strings.Fields(cells[1])
	a := &attribute{name: strings.TrimSpace(cells[0]), kind: worthKinds[kind[0]], asks: fieldSet(cells[2]), before: cuePhrases(cells[3]), behind: cuePhrases(cells[4])}
	for _, k := range kind[1:] {
		if k == "parts" {
			a.parts = true
		} else {
			a.dimension = k
		}
	}
	return a
}

func listedTermOf(entry string) (t listedTerm) {
	forms, broad, _ := strings.Cut(entry, "<")
	t.forms = cuePhrases(forms)
	t.name = strings.Join(t.forms[0], " ")
	for _, b := range cuePhrases(broad) {
		t.broad = append(t.broad, strings.Join(b, " "))
	}
	return t
}

func cuePhrases(cell string) (list [][]string) {
	for p := range strings.SplitSeq(cell, ",") {
		if f := strings.Fields(p); len(f) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// phraseAt returns how many lexemes a phrase takes at i, or 0.
func phraseAt(line []lexeme, i int, phrase []string) int {
	if i+len(phrase) > len(line) {
		return 0
	}
	for k, w := range phrase {
		if line[i+k].fold != w {
			return 0
		}
	}
	return len(phrase)
}

// phraseAny returns how many lexemes the longest of some cuePhrases takes at i, or 0.
func phraseAny(line []lexeme, i int, list [][]string) (n int) {
	for _, p := range list {
		n = max(n, phraseAt(line, i, p))
	}
	return n
}
