package claim

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"ponder/words"
)

// An attribute is something that sources say of things, and how they say it.
type attribute struct {
	name      string
	kind      worthKind
	dimension string          // of a number; money is any currency
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
	a := &attribute{name: strings.TrimSpace(cells[0]), kind: worthKinds[kind[0]], asks: wordSet(cells[2]), before: cuePhrases(cells[3]), behind: cuePhrases(cells[4])}
	if len(kind) > 1 {
		a.dimension = kind[1]
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

// phraseAt returns how many lexemes a phrase takes at i, or 0. In a number of words "-"
// counts for nothing.
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

// An askedTopic is what a question asks for.
type askedTopic struct {
	attribute *attribute
	subject   []string // words that name the thing
}

// askedTopicOf reads a question. There is no attribute if the question asks for none of the
// table, and none of the kinds that its first words tell.
func askedTopicOf(question string) (t askedTopic) {
	var all []lexeme
	for _, line := range lexemes(question, 200) {
		all = append(all, line...)
	}
	t.attribute = askedFor(all)
	lang, _ := words.Detect(question)
	quoted, first := false, true
	for _, x := range all {
		if x.fold == `"` || x.fold == "“" || x.fold == "”" || x.fold == "„" {
			quoted = !quoted
			continue
		}
		if x.kind == lexMark || len(t.subject) >= 12 {
			continue
		}
		named := quoted || x.upper && !(first && asking[x.fold]) || x.kind == lexNumber
		first = false
		if named && (quoted || !words.Stop(x.fold, lang)) {
			t.subject = append(t.subject, x.fold)
		}
	}
	if len(t.subject) == 0 {
		for i, x := range all {
			if i > 0 && x.kind != lexMark && !words.Stop(x.fold, lang) && (t.attribute == nil || !t.attribute.asks[x.fold]) && len(t.subject) < 12 {
				t.subject = append(t.subject, x.fold)
			}
		}
	}
	return t
}

// asking are words that questions begin with.
var asking = wordSet(`what which who whom whose when where why how in at on is are was were do does did can could has have wer was wann wo wie welche welcher welches ist sind hat qui que quoi quand ou combien quel quelle est quien cuando donde cuanto cuantos cual es`)

// askedFor returns the attribute of the table that a question asks for: the one whose
// kind fits how the question begins, and whose word comes first.
func askedFor(all []lexeme) *attribute {
	if len(all) == 0 {
		return nil
	}
	when := beginsWith(all, "when", "wann", "quand", "cuando") || hasWord(all, "year", "date", "jahr", "annee", "ano", "datum")
	who := beginsWith(all, "who", "wer", "qui", "quien", "whom")
	where := beginsWith(all, "where", "wo", "ou", "donde") || beginsWith(all, "in") && hasWord(all, "city", "country", "town", "state")
	var best *attribute
	for _, x := range all {
		for _, a := range attributes() {
			if !a.asks[x.fold] || x.upper && x.start > 0 {
				continue
			}
			fits := (a.kind == dateWorth) == when && (!who || a.kind == nameWorth) && (a.kind == placeWorth) == where
			if fits && best == nil {
				best = a
			}
		}
	}
	return best
}

func beginsWith(all []lexeme, list ...string) bool { return slices.Contains(list, all[0].fold) }

func hasWord(all []lexeme, list ...string) bool {
	for _, x := range all {
		if slices.Contains(list, x.fold) {
			return true
		}
	}
	return false
}
