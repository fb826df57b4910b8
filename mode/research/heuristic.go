package research

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

const (
	maxSteps     = 8
	maxTerms     = 8
	maxQueries   = 3 // each, of the web and the memory
	maxItem      = 400
	maxWords     = 16 // of a query from a question; more would match nothing
	longQuestion = 30 // words of a question that count as a task
)

// keyTerms returns the key terms of a question, most specific first: quoted phrases, names, numbers,
// other words. Terms keep their spelling.
func keyTerms(question string) []string {
	a := parseQuestion(question)
	var terms []string
	add := func(term string) {
		term = strings.TrimSpace(cleanQuery(term))
		low := lexical.Fold(term)
		has := func(t string) bool { return strings.Contains(" "+lexical.Fold(t)+" ", " "+low+" ") }
		if utf8.RuneCountInString(term) > 1 && len(terms) < maxTerms && !slices.ContainsFunc(terms, has) {
			terms = append(terms, term)
		}
	}
	for _, f := range a.fields {
		if f.phrase {
			add(f.text)
		}
	}
	for _, name := range a.findNames() {
		add(name)
	}
	for _, f := range a.fields {
		if strings.ContainsFunc(f.text, unicode.IsDigit) {
			add(f.text)
		}
	}
	for _, f := range a.fields {
		if f.isContent() && !f.time && !inLexicon("comparing", f.folded) {
			add(f.text)
		}
	}
	return terms
}

func (f field) isContent() bool {
	return !f.plain && !inLexicon("filler", f.folded) && !inLexicon("negation", f.folded) && !inLexicon("polite", f.folded)
}

// findNames returns runs of capitalized words. A single word must not start a sentence, or must have an
// inner capital. German capitalizes nouns, so there a name needs two words.
func (a *parsedQuestion) findNames() (list []string) {
	for i := 0; i < len(a.fields); {
		n := 0
		for i+n < len(a.fields) && a.fields[i+n].isCapitalized() && (n == 0 || !a.fields[i+n-1].ends) {
			n++
		}
		if n > 1 || n == 1 && (!a.fields[i].first && a.lang != "de" || isMixed(a.fields[i].text)) {
			var run []string
			for _, f := range a.fields[i : i+n] {
				run = append(run, f.text)
			}
			list = append(list, strings.Join(run, " "))
		}
		i += max(1, n)
	}
	return list
}

func isMixed(s string) bool {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ContainsFunc(s[n:], unicode.IsUpper)
}

func (f field) isCapitalized() bool {
	r, _ := utf8.DecodeRuneInString(f.text)
	return unicode.IsUpper(r) && f.isContent() && !f.phrase && !f.time && !inLexicon("comparing", f.folded)
}

// heuristicQueries returns one to three queries each for the web and the memory, without function words.
// It adds a query for each side of a comparison and each part of a question.
func heuristicQueries(question string) (web, memory []string) {
	a := parseQuestion(question)
	if isSum(a) {
		whole := cleanQueries([]string{a.text})
		return whole, slices.Clone(whole)
	}
	when := a.timePeriod()
	parts, sides := a.splitSubquestions(), a.comparisonSides()
	if len(sides) < 2 && len(parts) > maxQueries-1 { // the whole would be too broad
		return a.distinctQueries(nil, parts, when, true), a.distinctQueries(nil, parts, when, false)
	}
	more := parts
	if len(sides) == 2 {
		more = sides
	}
	whole := [][]field{a.fields}
	return a.distinctQueries(whole, more, when, true), a.distinctQueries(whole, more, when, false)
}

// distinctQueries returns distinct queries for lists of fields, each with the period. It never returns none.
func (a *parsedQuestion) distinctQueries(whole, more [][]field, when string, web bool) []string {
	var list []string
	for i, fields := range slices.Concat(whole, more) {
		q := queryFor(fields, web && i < len(whole)+len(more))
		if q != "" && when != "" && !strings.Contains(lexical.Fold(q), lexical.Fold(when)) {
			q += " " + when
		}
		q = cleanQuery(q)
		same := func(o string) bool { return lexical.Fold(o) == lexical.Fold(q) }
		if q != "" && len(list) < maxQueries && !slices.ContainsFunc(list, same) {
			list = append(list, q)
		}
	}
	if len(list) == 0 {
		if q := cleanQuery(a.text); q != "" {
			list = append(list, q)
		}
	}
	return list
}

// queryFor returns the searchable words of fields. Web queries keep "how" and "why".
func queryFor(fields []field, web bool) string {
	var kept []string
	for i, f := range fields {
		asks := web && i == 0 && inLexicon("asks", f.folded) && (len(fields) == 1 || !inLexicon("filler", fields[1].folded)) // as in "how many"
		if !f.time && !asks && !inLexicon("negation", f.folded) && (f.plain || inLexicon("polite", f.folded) || inLexicon("filler", f.folded) && i < leadingFillers(fields)) {
			continue
		}
		if len(kept) == maxWords {
			break
		}
		if f.phrase {
			kept = append(kept, `"`+f.text+`"`)
		} else {
			kept = append(kept, f.text)
		}
	}
	return strings.Join(kept, " ")
}

func leadingFillers(fields []field) int {
	for i, f := range fields {
		if !f.plain && !inLexicon("filler", f.folded) || f.phrase {
			return i
		}
	}
	return len(fields)
}

// timePeriod returns the time expression of a question if it has exactly one.
func (a *parsedQuestion) timePeriod() string {
	var found []string
	for i := 0; i < len(a.fields); i++ {
		var run []string
		for ; i < len(a.fields) && a.fields[i].time; i++ {
			run = append(run, a.fields[i].text)
		}
		if len(run) > 0 {
			found = append(found, strings.Join(run, " "))
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

var sumForm = regexp.MustCompile(`^[^\pL]*\d[\d\s.,]*(?:[-+*/×÷^xX=%−]|\s(?:plus|minus|times|mal|fois|por)\s)[-\d\s.,+*/×÷^xX()=%−?]*$`)

// Maximum length of a simple factual question, in content words or, for unspaced scripts, in
// characters.
const (
	shortQuestion = 5
	shortUnspaced = 20
)

// classifyEffort classifies a question as trivial, normal or deep.
func classifyEffort(question string) string {
	a := parseQuestion(question)
	bare := strings.TrimSpace(question)
	if len(bare) > maxReading {
		return deep
	}
	if isSum(a) {
		return trivial
	}
	if a.hasPhrase("comparison") || a.hasPhrase("deep") || len(a.fields) > longQuestion || len(a.splitSubquestions()) > 1 || a.isComparison() {
		return deep
	}
	if a.isSimple() && !a.hasPhrase("open") && !a.isTimeDependent() {
		return trivial
	}
	return normal
}

// isSimple reports whether a question is short and begins like a factual one.
func (a *parsedQuestion) isSimple() bool {
	if isUnspaced(a.text) {
		return (a.beginsWithPhrase("simple") || a.hasPhrase("fact")) && utf8.RuneCountInString(a.text) <= shortUnspaced
	}
	n := countContent(a.fields)
	return n > 0 && n <= shortQuestion && a.beginsSimply()
}

func isSum(a *parsedQuestion) bool {
	s := a.text
	for i := range a.fields {
		if strings.ContainsFunc(a.fields[i].text, unicode.IsDigit) {
			at := strings.Index(s, a.fields[i].text)
			return at >= 0 && sumForm.MatchString(s[at:]) && i <= 3 && countContent(a.fields[:i]) == 0
		}
	}
	return false
}

// beginsSimply reports whether a question begins like a factual one, after leading words.
func (a *parsedQuestion) beginsSimply() bool {
	if a.beginsWithPhrase("simple") {
		return true
	}
	for i, f := range a.fields {
		if i > 0 && i <= 6 && a.skipFields(i).beginsWithPhrase("simple") {
			return true
		}
		if !f.plain && !inLexicon("filler", f.folded) {
			return false
		}
	}
	return false
}

func (a *parsedQuestion) skipFields(i int) *parsedQuestion {
	b := &parsedQuestion{fields: a.fields[i:], folded: a.folded, padded: " "}
	for _, f := range b.fields {
		b.padded += f.folded + " "
	}
	return b
}

// isTimeDependent reports whether the answer may change over time.
func (a *parsedQuestion) isTimeDependent() bool {
	return slices.ContainsFunc(a.fields, func(f field) bool { return f.time && !f.matchesForm("year") && !f.matchesForm("before") })
}
