package claim

import (
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/similarity"
)

const (
	maxOpposed       = 256
	maxSideText      = 160 // bytes of the sentence that represents a side
	minSentenceWords = 4   // words
	maxOppositions   = 8
)

type polaritySentence struct {
	quote      int
	start, end int
	text       string
	sense      similarity.Text
	stems      map[string]bool
	limits     []string // stems of limiting circumstances
	numbers    string   // numbers and units; sentences that differ there are compared as numbers
}

// findOpposites returns conflicts between sentences of different quotes that package
// similarity finds opposite: equal except for a negation or antonym.
func findOpposites(quotes []Quote, lines [][][]lexeme, wanted func([]lexeme) bool) []ponder.Conflict {
	list := collectSentences(quotes, lines, wanted)
	side := make([]int, len(list)) // 0 none, else a number whose sign is the side
	groups := 0
	for i := range list {
		for k := range i {
			a, b := list[k], list[i]
			if a.quote == b.quote || a.numbers != b.numbers {
				continue
			}
			verdict := a.sense.Compare(b.sense)
			switch {
			case verdict == similarity.Different || side[k] != 0 && side[i] != 0 || verdict == similarity.Same && side[k] == 0 && side[i] == 0:
				continue
			case verdict == similarity.Opposite && haveDifferentLimits(a, b):
				continue
			case side[k] == 0 && side[i] == 0:
				groups++
				side[k], side[i] = groups, -groups
			case verdict == similarity.Opposite:
				side[i], side[k] = firstNonZero(side[i], -side[k]), firstNonZero(side[k], -side[i])
			default:
				side[i], side[k] = firstNonZero(side[i], side[k]), firstNonZero(side[k], side[i])
			}
		}
	}
	return buildOppositions(quotes, list, side, groups)
}

func firstNonZero(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

func collectSentences(quotes []Quote, lines [][][]lexeme, wanted func([]lexeme) bool) (list []polaritySentence) {
	for i := range lines {
		for _, line := range lines[i] {
			if len(list) >= maxOpposed {
				return list
			}
			if len(line) < minSentenceWords || isTabulated(line) || line[len(line)-1].fold == "?" || !wanted(line) {
				continue
			}
			s := polaritySentence{quote: i, start: line[0].start, end: line[len(line)-1].end}
			s.text = quotes[i].Text[s.start:s.end]
			s.sense = similarity.Parse(s.text)
			s.stems, s.limits = findCircumstances(line)
			for _, x := range line {
				if _, unit := measureUnits[x.fold]; unit || x.kind == lexNumber {
					s.numbers += x.fold + " "
				}
			}
			list = append(list, s)
		}
	}
	return list
}

// circumstanceWords introduce a limiting circumstance; placeAdverbs are one.
var (
	circumstanceWords = fieldSet(`in for among at on during with without under within outside inside near after before bei fur wahrend unter nach vor ohne chez pour dans pendant sans para durante entre sin en`)
	placeAdverbs      = fieldSet(`outdoors indoors outside inside abroad online locally draussen drinnen`)
)

const (
	maxCircumstance = 4 // words after such a word
	stemBytes       = 5 // compared bytes of a word, in any language
)

func findCircumstances(line []lexeme) (stems map[string]bool, where []string) {
	stems = make(map[string]bool)
	behind := 0
	for _, x := range line {
		stem := x.fold[:min(len(x.fold), stemBytes)]
		stems[stem] = true
		switch {
		case circumstanceWords[x.fold] && !placeAdverbs[x.fold]:
			behind = maxCircumstance
		case placeAdverbs[x.fold] || behind > 0 && x.kind == lexWord && !lexical.Stop(x.fold, "en") && !articles[x.fold]:
			where = append(where, stem)
			behind--
		}
	}
	return stems, where
}

// haveDifferentLimits reports whether each sentence has a limit that the other does not mention,
// as "in hospitals" and "outdoors".
func haveDifferentLimits(a, b polaritySentence) bool {
	alone := func(s, o polaritySentence) bool {
		return slices.ContainsFunc(s.limits, func(w string) bool { return !o.stems[w] })
	}
	return alone(a, b) && alone(b, a)
}

func buildOppositions(quotes []Quote, list []polaritySentence, side []int, groups int) (out []ponder.Conflict) {
	for g := 1; g <= min(groups, maxOppositions); g++ {
		var sides [2][]statement
		subject := ""
		for i, s := range list {
			if side[i] != g && side[i] != -g {
				continue
			}
			at := 0
			if side[i] < 0 {
				at = 1
			}
			sides[at] = append(sides[at], statement{quote: s.quote, start: s.start, end: s.end, value: statementValue{kind: nameValue, text: textkit.Line(s.text, maxSideText)}})
			if subject == "" {
				subject = topicWords(s.text)
			}
		}
		if voiced := buildSides(quotes, sides[:]); len(voiced) == 2 {
			out = append(out, ponder.Conflict{Subject: subject, Attribute: "statement", Sides: voiced})
		}
	}
	return out
}

func topicWords(s string) string {
	lang, _ := lexical.Detect(s)
	var list []string
	lexical.Tokens(s, func(t lexical.Token) {
		if w := s[t.Start:t.End]; len(list) < 4 && !lexical.Stop(w, lang) {
			list = append(list, w)
		}
	})
	return strings.Join(list, " ")
}

func questionFilter(question string) func([]lexeme) bool {
	lang, _ := lexical.Detect(question)
	var stems []string
	lexical.Tokens(question, func(t lexical.Token) {
		if w := question[t.Start:t.End]; !lexical.Stop(w, lang) && !questionWords[lexical.Fold(w)] {
			stems = append(stems, lexical.Stem(w, lang))
		}
	})
	return func(line []lexeme) bool {
		n := 0
		for _, s := range stems {
			if slices.ContainsFunc(line, func(x lexeme) bool { return lexical.Stem(x.fold, lang) == s }) {
				n++
			}
		}
		return n > 0 && n*3 >= len(stems)*2
	}
}
