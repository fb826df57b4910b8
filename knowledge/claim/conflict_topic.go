package claim

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"ponder/internal/textkit/lexical"
)

type questionTopic struct {
	attribute *attribute
	subject   []string // words of the thing's name
}

// parseQuestionTopics returns one topic per asked attribute. It returns none if the question
// names no thing, or asks neither for a table attribute nor in a form that unlisted
// reads.
func parseQuestionTopics(question string) (list []questionTopic) {
	var all []lexeme
	for _, line := range scanLexemes(question, maxQuestion) {
		all = append(all, line...)
	}
	var asked []*attribute
	add := func(a *attribute) {
		if a != nil && !slices.Contains(asked, a) {
			asked = append(asked, a)
		}
	}
	add(questionAttribute(all))
	from := 0
	for i, x := range all {
		if i > from && conjunctions[x.fold] {
			add(questionAttribute(all[from:i]))
			from = i + 1
		}
	}
	if from > 0 && from < len(all) {
		add(questionAttribute(all[from:]))
	}
	if len(asked) == 0 {
		add(deriveAttribute(all))
	}
	for _, a := range asked {
		if subject := questionSubject(question, all, a); len(subject) > 0 {
			list = append(list, questionTopic{a, subject})
		}
	}
	return list
}

const maxQuestion = 200 // words and marks of a question

var conjunctions = fieldSet(`and und et y , ; ?`)

// questionSubject returns the words that name the subject of a question: names, quoted text
// and numbers, or else all content words.
func questionSubject(question string, all []lexeme, a *attribute) (name []string) {
	lang, _ := lexical.Detect(question)
	quoted, first := false, true
	var rest []string
	for _, x := range all {
		switch {
		case quoteMarks[x.fold]:
			quoted = !quoted
			continue
		case x.kind == lexMark:
			continue
		case quoted || x.kind == lexNumber || x.upper && !(first && questionWords[x.fold]) && !lexical.Stop(x.fold, lang):
			name = append(name, x.fold)
		case !questionWords[x.fold] && !reportingWords[x.fold] && !lexical.Stop(x.fold, lang) && !lexical.Stop(x.fold, "en") && !a.askWords[x.fold]:
			rest = append(rest, x.fold)
		}
		first = false
	}
	if len(name) == 0 {
		name = rest
	}
	return name[:min(len(name), maxAskedWords)]
}

const maxAskedWords = 12

var questionWords = fieldSet(`compare contrast tell give find list show explain describe summarize check please vergleiche nenne erklare zeige finde compara explique explica donne busca what which who whom whose when where why how in at on is are was were do does did can could has have wer was wann wo wie welche welcher welches ist sind hat qui que quoi quand ou combien quel quelle est quien cuando donde cuanto cuantos cual es`)

var reportingWords = fieldSet(`report reports reported reporting source sources say says said claim claims differ differs different disagree agree contradict right wrong correct true false according figure figures answer answers between bericht berichte quelle quellen sagen unterschied richtig selon rapports fuente fuentes`)

// questionAttribute returns the table attribute whose kind fits the form of the question and
// which shares most words with it.
func questionAttribute(all []lexeme) *attribute {
	if len(all) == 0 {
		return nil
	}
	when := beginsWith(all, "when", "wann", "quand", "cuando") || hasWord(all, "year", "date", "jahr", "annee", "ano", "datum")
	who := beginsWith(all, "who", "wer", "qui", "quien", "whom")
	where := beginsWith(all, "where", "wo", "ou", "donde") || beginsWith(all, "in") && hasWord(all, "city", "country", "town", "state")
	var best *attribute
	most := 0
	for _, a := range attributes() {
		if (a.kind == dateValue) != when || who && a.kind != nameValue || (a.kind == placeValue) != where {
			continue
		}
		n := 0
		for _, x := range all {
			if a.askWords[x.fold] && (!x.upper || x.start == 0) {
				n++
			}
		}
		if n > most {
			best, most = a, n
		}
	}
	return best
}

// deriveAttribute derives an attribute from the words of a when, how many or by whom
// question. It returns nil for other questions.
func deriveAttribute(all []lexeme) *attribute {
	if len(all) == 0 {
		return nil
	}
	var list []string
	for i, x := range all {
		if i > 0 && x.kind == lexWord && !x.upper && !questionWords[x.fold] && len(x.fold) > 2 && !auxiliaryWords[x.fold] {
			list = append(list, x.fold)
		}
	}
	if len(list) == 0 {
		return nil
	}
	a := &attribute{name: strings.Join(list[:min(3, len(list))], " "), askWords: map[string]bool{}}
	last := list[len(list)-1:]
	switch {
	case beginsWith(all, "when", "wann", "quand", "cuando"):
		a.kind, a.phrasesBefore = dateValue, [][]string{list, last}
	case beginsWith(all, "how", "wie", "combien", "cuantos", "cuantas") && (hasWord(all, "many", "viele", "combien", "cuantos", "cuantas")):
		a.kind, a.phrasesAfter = numberValue, [][]string{list[:1]}
	case beginsWith(all, "who"):
		a.kind, a.phrasesBefore = nameValue, [][]string{{list[0], "by"}}
	default:
		return nil
	}
	return a
}

var auxiliaryWords = fieldSet(`the many much was were wurde wurden hat haben hatte viele der die das des den dem les des une est ete tiene los las del fue for and from with its his her their been not ever`)

func beginsWith(all []lexeme, list ...string) bool { return slices.Contains(list, all[0].fold) }

func hasWord(all []lexeme, list ...string) bool {
	return slices.ContainsFunc(all, func(x lexeme) bool { return slices.Contains(list, x.fold) })
}

// An attribute is a property of things and the phrases that state it.
type attribute struct {
	name          string
	kind          valueKind
	dimension     string          // of a number; "money" is any currency
	parts         bool            // the value for a place is part of a total
	askWords      map[string]bool // words of questions about it
	phrasesBefore [][]string      // folded phrases before a value
	phrasesAfter  [][]string      // folded phrases after a value
	terms         []listedTerm
}

type listedTerm struct {
	name  string
	broad []string   // broader terms
	forms [][]string // folded phrases, the name included
}

//go:embed conflict_attributes.txt
var attributeTable string

var attributes = sync.OnceValue(func() (list []*attribute) {
	for line := range strings.Lines(attributeTable) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if more, ok := strings.CutPrefix(line, "+"); ok {
			a := list[len(list)-1]
			for entry := range strings.SplitSeq(more, ";") {
				a.terms = append(a.terms, parseListedTerm(entry))
			}
			continue
		}
		list = append(list, parseAttribute(strings.Split(line, "|")))
	}
	return list
})

var valueKinds = map[string]valueKind{"number": numberValue, "date": dateValue, "name": nameValue, "place": placeValue, "term": termValue}

func parseAttribute(cells []string) *attribute {
	kind := strings.Fields(cells[1])
	a := &attribute{name: strings.TrimSpace(cells[0]), kind: valueKinds[kind[0]], askWords: fieldSet(cells[2]), phrasesBefore: parsePhrases(cells[3]), phrasesAfter: parsePhrases(cells[4])}
	for _, k := range kind[1:] {
		if k == "parts" {
			a.parts = true
		} else {
			a.dimension = k
		}
	}
	return a
}

func parseListedTerm(entry string) (t listedTerm) {
	forms, broad, _ := strings.Cut(entry, "<")
	t.forms = parsePhrases(forms)
	t.name = strings.Join(t.forms[0], " ")
	for _, b := range parsePhrases(broad) {
		t.broad = append(t.broad, strings.Join(b, " "))
	}
	return t
}

func parsePhrases(cell string) (list [][]string) {
	for p := range strings.SplitSeq(cell, ",") {
		if f := strings.Fields(p); len(f) > 0 {
			list = append(list, f)
		}
	}
	return list
}

func matchPhrase(line []lexeme, i int, phrase []string) int {
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

func matchAnyPhrase(line []lexeme, i int, list [][]string) (n int) {
	for _, p := range list {
		n = max(n, matchPhrase(line, i, p))
	}
	return n
}

// copulas link a thing to its class; clauseTurns change the subject of a sentence.
var (
	copulas     = fieldSet(`is was are were ist war sind est etait es fue era son plays played play`)
	clauseTurns = fieldSet(`based who which that where whose on in at by from for with of about after before and but or as der die das qui que mit auf von sur dans para con ; : ( not no never nicht pas`)
)

// readTerms reads listed values after "is a", after the attribute name ("Genre: jazz") and
// in brackets after the thing.
func (r *statementReader) readTerms(line []lexeme, subject []string) {
	if i := slices.IndexFunc(line, func(x lexeme) bool { return copulas[x.fold] }); i >= 0 {
		r.readTermRegion(line, i+1, subject)
	}
	for i := range line {
		for _, a := range attributes() {
			if a.kind == termValue && (r.attribute == nil || r.attribute == a) && a.askWords[line[i].fold] {
				r.readLabel(line, i+1, a, subject)
			}
		}
	}
	for i := 1; i+2 < len(line) && i < 12; i++ {
		if line[i].fold == "(" && line[i-1].upper {
			r.readBracket(line, i+1, subject)
		}
	}
}

func (r *statementReader) readTermRegion(line []lexeme, k int, subject []string) {
	end := k
	for end < len(line) && end < k+16 && !clauseTurns[line[end].fold] {
		end++
	}
	r.addTerms(line, line[k:end], subject, nil)
}

func (r *statementReader) readLabel(line []lexeme, k int, a *attribute, subject []string) {
	if k < len(line) && line[k].fold == ":" {
		k++
	}
	if k < len(line) && slices.ContainsFunc(cuesByWord()[line[k].fold], func(c attributeCue) bool { return c.listedTerm != nil && c.attribute == a }) {
		r.addTerms(line, line[k:min(len(line), k+3)], subject, a)
	}
}

func (r *statementReader) readBracket(line []lexeme, k int, subject []string) {
	end := k
	for end < len(line) && end < k+6 && line[end].fold != ")" {
		end++
	}
	if end < len(line) && line[end].fold == ")" {
		r.addTerms(line, line[k:end], subject, nil)
	}
}

// addTerms reads the terms of a part of a sentence. Incompatible terms of one attribute
// cancel each other.
func (r *statementReader) addTerms(line, part []lexeme, subject []string, only *attribute) {
	found := make(map[*attribute][]statementValue)
	var order []*attribute
	for i := 0; i < len(part); {
		step := 1
		for _, c := range cuesByWord()[part[i].fold] {
			if c.listedTerm == nil || r.attribute != nil && c.attribute != r.attribute || only != nil && c.attribute != only {
				continue
			}
			n := matchPhrase(part, i, c.phrase)
			if n == 0 {
				continue
			}
			if found[c.attribute] == nil {
				order = append(order, c.attribute)
			}
			v := statementValue{kind: termValue, words: []string{c.listedTerm.name}, broad: c.listedTerm.broad, text: r.text[part[i].start:part[i+n-1].end]}
			found[c.attribute] = append(found[c.attribute], v)
			step = max(step, n)
		}
		i += step
	}
	for _, a := range order {
		if v, ok := narrowestTerm(found[a]); ok {
			r.addStatement(line, subject, a, "", "", v)
		}
	}
}

func narrowestTerm(list []statementValue) (best statementValue, ok bool) {
	for i, v := range list {
		for _, o := range list[:i] {
			if !v.isCompatible(o) {
				return best, false
			}
		}
		if i == 0 || v.isMorePrecise(best) {
			best = v
		}
	}
	return best, len(list) > 0
}
