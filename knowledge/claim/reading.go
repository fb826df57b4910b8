package claim

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

type term struct {
	span
	fold string // without case and accents
	stem string
	name bool // a proper name
	head bool // first in the sentence, so its capital is not significant
	not  int  // distance in words to a negation before it, or 0
	nth  int  // index among all words of the sentence
}

type parsedSentence struct {
	terms   []term
	figures []figure
	days    []day
	cues    cues
	nots    int  // number of negations
	passive bool // passive with an agent
}

type reader struct {
	lang  lexical.Language
	text  string
	base  int // added to offsets
	atoms []atom
	out   parsedSentence
}

// An atom is an unclassified word, number or date in digits.
type atom struct {
	span
	fold   string
	upper  bool
	number bool
	plain  bool // digits without groups and points
	day    day
	value  float64
	step   float64
	suffix string // unit or scale directly after
	order  bool   // ordinal, as 1st
	comma  bool   // a clause mark precedes
}

func readSentence(text string, at span, lang lexical.Language) parsedSentence {
	r := reader{lang: lang, text: text[at.start:at.end], base: at.start}
	r.tokenize()
	for i := 0; i < len(r.atoms); {
		i += r.readAtom(i)
	}
	r.markNegations()
	r.out.cues = findCues(r.atoms)
	r.out.passive = isPassive(r.atoms)
	return r.out
}

const maxAtoms = 600

func (r *reader) tokenize() {
	last := 0
	lexical.Tokens(r.text, func(t lexical.Token) {
		if t.Start < last || len(r.atoms) >= maxAtoms {
			return
		}
		a := atom{span: span{t.Start, t.End}, comma: last > 0 && strings.ContainsAny(r.text[last:t.Start], ",;:()—–")}
		first, _ := utf8.DecodeRuneInString(r.text[t.Start:])
		if _, digit := digitOf(first); digit && !isNameSuffix(r.text, t.Start) {
			r.readNumber(&a)
		}
		if !a.number && a.day.countParts() == 0 {
			a.end = max(a.end, t.End)
			a.fold = lexical.Fold(r.text[a.start:a.end])
			a.upper = unicode.IsUpper(first) || strings.IndexFunc(r.text[t.Start:t.End], unicode.IsUpper) > 0
		}
		last = a.end
		r.atoms = append(r.atoms, a)
	})
}

// isNameSuffix reports whether the digits at i belong to a name: COVID-19, F-16.
func isNameSuffix(text string, i int) bool {
	if i < 2 || text[i-1] != '-' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i-1])
	return unicode.IsLetter(before)
}

func (r *reader) readNumber(a *atom) {
	rest := r.text[a.start:]
	if d, n := parseNumericDate(rest); n > 0 {
		a.day, a.end = d, a.start+n
		return
	}
	value, step, end, ok := parseDigits(r.text, a.start)
	if !ok {
		return
	}
	suffix, to, ok := numberSuffix(r.text, end)
	if !ok {
		return
	}
	digits := r.text[a.start:end]
	a.number, a.value, a.step, a.suffix = true, value, step, suffix
	a.plain = !strings.ContainsAny(digits, ",.'’\u00a0\u202f\u2009")
	if a.plain && to > end && suffix == "" {
		switch r.text[end:to] {
		case "s":
			a.suffix = "s"
		default:
			a.order = true
		}
	}
	a.fold = digits
	a.end = to
}

func (r *reader) readAtom(i int) int {
	a := &r.atoms[i]
	if a.day.countParts() > 0 {
		d := a.day
		r.addDay(i, i, d)
		return 1
	}
	if n := r.readDate(i); n > 0 {
		return n
	}
	if n := r.readAmount(i); n > 0 {
		return n
	}
	r.addTerm(i)
	return 1
}

func (r *reader) addDay(from, to int, d day) {
	d.span = span{r.base + r.atoms[from].start, r.base + r.atoms[to].end}
	d.text = collapseSpaces(r.text[r.atoms[from].start:r.atoms[to].end])
	r.out.days = append(r.out.days, d)
}

func collapseSpaces(s string) string { return strings.Join(strings.Fields(s), " ") }

func (r *reader) addTerm(i int) {
	a := &r.atoms[i]
	if a.number || negations[a.fold] || lexical.Stop(a.fold, r.lang) || genericWords[a.fold] || quantities[a.fold] != quantityNone || a.fold == "t" {
		return
	}
	if utf8.RuneCountInString(a.fold) < 2 && !unicode.IsUpper(firstRune(r.text[a.start:])) && !lexical.Unspaced(firstRune(a.fold)) {
		return
	}
	t := term{span: span{r.base + a.start, r.base + a.end}, fold: a.fold, stem: lexical.Stem(r.text[a.start:a.end], r.lang), nth: i, head: i == 0}
	t.name = r.isName(i)
	r.out.terms = append(r.out.terms, t)
}

func (r *reader) isName(i int) bool {
	a := &r.atoms[i]
	if !a.upper || weekdays[a.fold] || monthNames[a.fold] > 0 {
		return false
	}
	word := r.text[a.start:a.end]
	if strings.IndexFunc(word[1:], unicode.IsUpper) >= 0 && utf8.RuneCountInString(word) > 1 {
		return true
	}
	follows := i+1 < len(r.atoms) && r.atoms[i+1].upper && !r.atoms[i+1].comma
	if i == 0 {
		return follows && r.lang != "de"
	}
	if r.lang != "de" {
		return true
	}
	before := r.atoms[i-1]
	return follows || before.upper && i > 1 || germanPlaces[before.fold]
}

// markNegations marks the terms after a negation in its clause; in German also those before.
func (r *reader) markNegations() {
	for i := range r.atoms {
		if !r.isNegation(i) {
			continue
		}
		r.out.nots++
		end := i + 1
		for end < len(r.atoms) && end < i+8 && !(r.atoms[end].comma && end > i+1) && !scopeEnds[r.atoms[end].fold] {
			end++
		}
		start := i
		if r.lang == "de" {
			for start > 0 && start > i-4 && !r.atoms[start].comma {
				start--
			}
		}
		n := 0
		for k := range r.out.terms {
			t := &r.out.terms[k]
			if t.nth > start && t.nth < end {
				n++
				t.not = n
			}
		}
	}
}

// isNegation reports whether the word at i is a negation in its context.
func (r *reader) isNegation(i int) bool {
	a := &r.atoms[i]
	next := ""
	if i+1 < len(r.atoms) {
		next = r.atoms[i+1].fold
		if a.fold == "no" && r.atoms[i+1].number {
			return false
		}
	}
	if a.fold == "t" {
		return i > 0 && a.start > 0 && strings.HasSuffix(strings.ReplaceAll(r.text[:a.start], "’", "'"), "n'")
	}
	switch next {
	case "only", "just", "merely", "simply", "doubt", "less", "nur", "seulement", "solo", "necessarily":
		return false
	}
	return negations[a.fold]
}

func isPassive(atoms []atom) bool {
	be := -1
	for i, a := range atoms {
		switch a.fold {
		case "was", "were", "is", "are", "been", "be", "being", "wurde", "wurden", "wird", "worden", "fue", "fueron", "ete":
			be = i
		case "by", "von", "par", "por":
			if be >= 0 && i-be <= 5 {
				return true
			}
		}
	}
	return false
}
