package research

import (
	"regexp"
	"slices"
	"strings"
)

// splitSubquestions returns the subquestions of a question, or nil if it has one. A part without a subject gets
// the subject of the first.
func (a *parsedQuestion) splitSubquestions() (list [][]field) {
	begin := 0
	for i := range a.fields {
		last := i == len(a.fields)-1
		if !last && !a.endsPart(i) {
			continue
		}
		p := a.fields[begin : i+1]
		begin = i + 1
		if n := countContent(p); n > 0 {
			list = append(list, p)
		}
	}
	if len(list) < 2 {
		return nil
	}
	subject := findSubject(list[0])
	for i := 1; i < len(list); i++ {
		refers := slices.ContainsFunc(list[i], func(f field) bool { return f.plain && inLexicon("pronoun", f.folded) })
		if refers || countContent(list[i]) < 2 {
			list[i] = slices.Concat(subject, list[i])
		}
	}
	return list
}

func (a *parsedQuestion) endsPart(i int) bool {
	next := a.fields[i+1]
	if next.first {
		return true
	}
	return !next.phrase && inLexicon("joins", next.folded) && i+2 < len(a.fields) && inLexicon("question", a.fields[i+2].folded) && a.fields[i+2].plain
}

func countContent(fields []field) (n int) {
	for _, f := range fields {
		if f.isContent() {
			n++
		}
	}
	return n
}

func findSubject(fields []field) (subject []field) {
	for _, f := range fields {
		if f.phrase || f.isCapitalized() && !f.first {
			subject = append(subject, f)
		}
	}
	if len(subject) == 0 {
		for _, f := range fields {
			if f.isContent() && !f.time {
				subject = append(subject, f)
			}
		}
		subject = subject[max(0, len(subject)-2):]
	}
	return subject[:min(len(subject), 4)]
}

// comparisonForms are patterns of comparisons, with the two sides as groups.
var comparisonForms = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:differences?|comparison|compare|choose|choice|trade-?offs?) (?:between |of )?(.+?) (?:and|with|to|versus|vs\.?|or) (.+)`),
	regexp.MustCompile(`(?i)\b(?:unterschiede?|vergleiche?n?|wahl)(?: sie)? (?:zwischen |von )?(.+?) (?:und|mit|oder|vs\.?) (.+)`),
	regexp.MustCompile(`(?i)(?:diff[ée]rences?|compare[rz]?|comparaison|choisir) (?:entre |de )?(.+?) (?:et|[àa]|avec|ou|vs\.?) (.+)`),
	regexp.MustCompile(`(?i)(?:diferencias?|compara[rn]?|comparaci[óo]n|elegir) (?:entre |de )?(.+?) (?:y|e|con|o|vs\.?) (.+)`),
	regexp.MustCompile(`(?i)(.+?) (?:vs\.?|versus) (.+)`),
	regexp.MustCompile(`(?i)(.+?) (?:more \S+|less \S+|better|worse|\S{2,}er) than (.+)`),
	regexp.MustCompile(`(?i)(.+?) (?:besser|schlechter|mehr|weniger|\S{3,}er) als (.+)`),
	regexp.MustCompile(`(?i)(.+?) (?:meilleure?s?|mieux|pire|plus \S+|moins \S+) que (.+)`),
	regexp.MustCompile(`(?i)(.+?) (?:mejor|peor|m[áa]s \S+|menos \S+) que (.+)`),
	regexp.MustCompile(`(.+?)(?:和|与|與|跟|比)(.+?)(?:之间|之間)?的?(?:区别|區別|差异|差異|比较|比較|哪个|哪個|更|好)`),
	regexp.MustCompile(`([^、。]+?)と([^、。]+?)(?:との|の|は)?(?:違い|比較|どちら|どっち)`),
	regexp.MustCompile(`(?i)(.+?) (?:or|oder|ou|o) (.+)`),
}

// aboutBoth matches the start of a qualifier that applies to both sides.
var aboutBoth = regexp.MustCompile(`(?i)[,?!:;]|\s(?:for|in|with|when|regarding|concerning|on|if|für|bei|beim|im|wenn|hinsichtlich|pour|dans|en|para|cuando)\s|(?:在|について)`)

// comparisonSides returns the two sides of a comparison with their common qualifier, or nil.
func (a *parsedQuestion) comparisonSides() [][]field {
	for _, form := range comparisonForms {
		m := form.FindStringSubmatch(a.text)
		if m == nil {
			continue
		}
		left, right, about := m[1], m[2], ""
		if at := aboutBoth.FindStringIndex(right); at != nil {
			right, about = right[:at[0]], strings.TrimSpace(right[at[0]:])
		}
		if at := strings.LastIndexAny(left, ",:;?"); at >= 0 && countContent(a.parsePart(left[at+1:])) > 0 {
			left = left[at+1:]
		}
		one, other := a.contentFields(left), a.contentFields(right)
		if len(one) == 0 || len(other) == 0 || len(other) > maxSide {
			continue
		}
		one = one[max(0, len(one)-max(len(other), trailingNames(one))):]
		rest := a.contentFields(about)
		rest = rest[:min(len(rest), maxSide)]
		return [][]field{slices.Concat(one, rest), slices.Concat(other, rest)}
	}
	return nil
}

const maxSide = 5

func trailingNames(fields []field) (n int) {
	for n < len(fields) && fields[len(fields)-1-n].isCapitalized() {
		n++
	}
	return n
}

// parsePart parses a part of a question in the question's language.
func (a *parsedQuestion) parsePart(s string) []field {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	p := parseQuestion(s)
	for i := range p.fields {
		p.fields[i].plain = !p.fields[i].phrase && (&parsedQuestion{text: a.text, lang: a.lang}).isPlain(p.fields[i])
	}
	return p.fields
}

func (a *parsedQuestion) contentFields(s string) []field {
	return slices.DeleteFunc(a.parsePart(s), func(f field) bool { return !f.isContent() })
}

var preferenceForm = regexp.MustCompile(`(?i)\b(?:better|best|prefer|besser|lieber|mieux|meilleure?|mejor)\b.* (?:or|oder|ou|o) `)

// isComparison reports whether a question explicitly compares two things; a mere "or" does not count.
func (a *parsedQuestion) isComparison() bool {
	if preferenceForm.MatchString(a.text) {
		return true
	}
	for _, form := range comparisonForms[:len(comparisonForms)-1] {
		if m := form.FindStringSubmatch(a.text); m != nil && len(a.contentFields(m[1])) > 0 && len(a.contentFields(m[2])) > 0 {
			return true
		}
	}
	return false
}
