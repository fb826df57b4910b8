package claim

import (
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
)

// An askedTopic is what a question asks for.
type askedTopic struct {
	attribute *attribute
	subject   []string // words that name the thing
}

// askedTopics reads a question: one topic for each attribute that it asks for. There is
// none if it names nothing, or asks for nothing of the table and is not of a kind that
// tells what it asks for.
func askedTopics(question string) (list []askedTopic) {
	var all []lexeme
	for _, line := range lexemes(question, maxQuestion) {
		all = append(all, line...)
	}
	var asked []*attribute
	add := func(a *attribute) {
		if a != nil && !slices.Contains(asked, a) {
			asked = append(asked, a)
		}
	}
	add(askedFor(all))
	from := 0
	for i, x := range all {
		if i > from && joining[x.fold] {
			add(askedFor(all[from:i]))
			from = i + 1
		}
	}
	if from > 0 && from < len(all) {
		add(askedFor(all[from:]))
	}
	if len(asked) == 0 {
		add(unlisted(all))
	}
	for _, a := range asked {
		if subject := askedOf(question, all, a); len(subject) > 0 {
			list = append(list, askedTopic{a, subject})
		}
	}
	return list
}

const maxQuestion = 200 // words and marks of a question

var joining = fieldSet(`and und et y , ; ?`)

// askedOf returns the words that name what a question is of: names, what is in quotation
// marks, and numbers; or else all that mean something.
func askedOf(question string, all []lexeme, a *attribute) (name []string) {
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
		case quoted || x.kind == lexNumber || x.upper && !(first && asking[x.fold]) && !lexical.Stop(x.fold, lang):
			name = append(name, x.fold)
		case !asking[x.fold] && !hearsay[x.fold] && !lexical.Stop(x.fold, lang) && !lexical.Stop(x.fold, "en") && !a.asks[x.fold]:
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

// asking are words that questions begin with.
var asking = fieldSet(`compare contrast tell give find list show explain describe summarize check please vergleiche nenne erklare zeige finde compara explique explica donne busca what which who whom whose when where why how in at on is are was were do does did can could has have wer was wann wo wie welche welcher welches ist sind hat qui que quoi quand ou combien quel quelle est quien cuando donde cuanto cuantos cual es`)

// hearsay are words of questions about what sources say, and name nothing.
var hearsay = fieldSet(`report reports reported reporting source sources say says said claim claims differ differs different disagree agree contradict right wrong correct true false according figure figures answer answers between bericht berichte quelle quellen sagen unterschied richtig selon rapports fuente fuentes`)

// askedFor returns the attribute of the table that a question asks for: the one whose
// kind fits how the question begins, and which has most of its words.
func askedFor(all []lexeme) *attribute {
	if len(all) == 0 {
		return nil
	}
	when := beginsWith(all, "when", "wann", "quand", "cuando") || hasWord(all, "year", "date", "jahr", "annee", "ano", "datum")
	who := beginsWith(all, "who", "wer", "qui", "quien", "whom")
	where := beginsWith(all, "where", "wo", "ou", "donde") || beginsWith(all, "in") && hasWord(all, "city", "country", "town", "state")
	var best *attribute
	most := 0
	for _, a := range attributes() {
		if (a.kind == dateWorth) != when || who && a.kind != nameWorth || (a.kind == placeWorth) != where {
			continue
		}
		n := 0
		for _, x := range all {
			if a.asks[x.fold] && (!x.upper || x.start == 0) {
				n++
			}
		}
		if n > most {
			best, most = a, n
		}
	}
	return best
}

// unlisted makes an attribute of the words of a question that asks when something was,
// how many there are, or by whom it was; nil for other questions.
func unlisted(all []lexeme) *attribute {
	if len(all) == 0 {
		return nil
	}
	var list []string
	for i, x := range all {
		if i > 0 && x.kind == lexWord && !x.upper && !asking[x.fold] && len(x.fold) > 2 && !helpers[x.fold] {
			list = append(list, x.fold)
		}
	}
	if len(list) == 0 {
		return nil
	}
	a := &attribute{name: strings.Join(list[:min(3, len(list))], " "), asks: map[string]bool{}}
	last := list[len(list)-1:]
	switch {
	case beginsWith(all, "when", "wann", "quand", "cuando"):
		a.kind, a.before = dateWorth, [][]string{list, last}
	case beginsWith(all, "how", "wie", "combien", "cuantos", "cuantas") && (hasWord(all, "many", "viele", "combien", "cuantos", "cuantas")):
		a.kind, a.behind = numberWorth, [][]string{list[:1]}
	case beginsWith(all, "who"):
		a.kind, a.before = nameWorth, [][]string{{list[0], "by"}}
	default:
		return nil
	}
	return a
}

// helpers are small words of questions that say nothing of what is asked.
var helpers = fieldSet(`the many much was were wurde wurden hat haben hatte viele der die das des den dem les des une est ete tiene los las del fue for and from with its his her their been not ever`)

func beginsWith(all []lexeme, list ...string) bool { return slices.Contains(list, all[0].fold) }

func hasWord(all []lexeme, list ...string) bool {
	return slices.ContainsFunc(all, func(x lexeme) bool { return slices.Contains(list, x.fold) })
}
