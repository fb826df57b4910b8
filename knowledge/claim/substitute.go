package claim

import (
	"cmp"
	_ "embed" // for the tables
	"regexp"
	"slices"
	"strings"
	"sync"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/similarity"
)

// findSubstitution reports, as a reason, a word of the source in place of one of the claim.
func (b *wordAlignment) findSubstitution() string {
	left := 0
	odd := -1
	for i, x := range b.credit {
		if x >= 0.5 {
			continue
		}
		left++
		odd = i
		if w := b.substituteWord(b.termAtoms[i]); w != "" {
			return "the source says " + w + ", not " + b.terms[i].fold
		}
	}
	if left == 1 && len(b.terms) > 2 && b.isIndispensable(odd) && len(b.stemMatches[odd]) == 0 && !commonWords[b.terms[odd].fold] && b.weightedShare(b.windows[0].credit) >= sameSubjectShare {
		return "no quote says " + b.terms[odd].fold
	}
	return ""
}

// isIndispensable reports whether term i is indispensable: the claim is short or lists the term,
// or it is a capitalized German noun.
func (b *wordAlignment) isIndispensable(i int) bool {
	n := b.termAtoms[i]
	return len(b.terms) <= 4 || n > 0 && n < len(b.claimAtoms) && (b.claimAtoms[n].comma || clauseWords[b.claimAtoms[n-1].fold]) && len(b.terms) <= 8 || b.lang == "de" && n > 0 && n < len(b.claimAtoms) && b.claimAtoms[n].upper
}

// substituteWord returns the word of the sentence in the same position as word n of the
// claim, if the claim lacks it, or "".
func (b *wordAlignment) substituteWord(n int) string {
	for k := range b.sourceAtoms {
		same := b.countAgreement(n, k, -1) + b.countAgreement(n, k, 1)
		if same < 2 || b.countAgreement(n, k, -1) == 0 && n > 1 || b.countAgreement(n, k, 1) == 0 && n < len(b.claimAtoms)-1 {
			continue
		}
		if w := b.sourceAtoms[k]; !w.number && !lexical.Unspaced(firstRune(w.fold)) && w.fold != b.claimAtoms[n].fold && b.isTerm(k) && !b.claimHasWord(w.fold) {
			return w.fold
		}
	}
	return ""
}

// countAgreement counts the equal words next to n and k in direction way, at most two.
func (b *wordAlignment) countAgreement(n, k, way int) (same int) {
	for d := 1; d <= 2; d++ {
		i, j := n+d*way, k+d*way
		if i < 0 || j < 0 || i >= len(b.claimAtoms) || j >= len(b.sourceAtoms) || b.claimAtoms[i].fold != b.sourceAtoms[j].fold {
			break
		}
		same++
	}
	return same
}

func (b *wordAlignment) isTerm(at int) bool {
	return slices.ContainsFunc(b.unit.terms, func(t term) bool { return t.nth == at })
}

func (b *wordAlignment) claimHasWord(word string) bool {
	for i := range b.claimAtoms {
		if b.claimAtoms[i].fold == word {
			return true
		}
	}
	return false
}

var additions = fieldSet(`and but which who whose where because using while with making und aber sondern weil wobei et mais qui dont y pero que porque`)

// findUnsupportedClause returns the words of a later clause of the claim that the quotes hardly
// support, or "".
func (b *wordAlignment) findUnsupportedClause() string {
	part, parts := 0, make([]int, len(b.claimAtoms))
	for i := range b.claimAtoms {
		if i > 0 && (b.claimAtoms[i].comma || additions[b.claimAtoms[i].fold]) {
			part++
		}
		parts[i] = part
	}
	facts := make([]float64, part+1)
	for _, x := range findFactMentions(&b.parsedSentence, 0, b.claimAtoms) {
		if x.at >= 0 {
			facts[parts[x.at]] += factWeight
		}
	}
	for p := 1; p <= part; p++ {
		got, all, n, lost := facts[p], facts[p], 0, ""
		for i := range b.terms {
			if parts[b.termAtoms[i]] != p {
				continue
			}
			all += b.weights[i]
			got += b.weights[i] * b.credit[i]
			if b.credit[i] < 0.5 && !b.view.names[i] {
				n++
			}
			if b.credit[i] < 0.5 && !b.view.names[i] && !commonWords[b.terms[i].fold] {
				if lost != "" {
					lost += ", "
				}
				lost += b.terms[i].fold
			}
		}
		if lost != "" && got < 0.4*all {
			if n == 1 { // it may be paraphrased
				b.swapReason = cmp.Or(b.swapReason, "no quote says "+lost)
				continue
			}
			return lost
		}
	}
	return ""
}

// A changeRole is the relation of a number to a change: by, to or from.
type changeRole uint8

const (
	noChange changeRole = iota
	changedBy
	changedTo
	changedFrom
)

var changeWords = map[lexical.Language]map[string]changeRole{
	"en": {"by": changedBy, "to": changedTo, "from": changedFrom},
	"de": {"um": changedBy, "auf": changedTo},
	"fr": {"de": changedBy, "a": changedTo},
	"es": {"en": changedBy, "al": changedTo, "hasta": changedTo},
}

var periods = func() map[string]string {
	all := make(map[string]string)
	for name, list := range map[string]string{
		"year": "year yearly annum jahr an annee ano", "month": "month monat mois mes", "week": "week woche semaine semana",
		"day": "day tag jour dia", "hour": "hour stunde heure hora", "minute": "minute minuto", "second": "second sekunde seconde segundo", "quarter": "quarter quartal trimestre",
	} {
		for w := range fieldSet(list) {
			all[w] = name
		}
	}
	return all
}()

var perWords = fieldSet(`per pro par por each every`)

type figureRelation struct {
	role changeRole
	rate string
}

// parseFigureRelation reads the relation of the figure from atom i to byte offset end.
func parseFigureRelation(atoms []atom, i, end int, lang lexical.Language) (r figureRelation) {
	for k := i - 1; k >= 0 && k >= i-2 && r.role == noChange; k-- {
		r.role = changeWords[lang][atoms[k].fold]
		if precisionWords[atoms[k].fold] == exact {
			break
		}
	}
	for k := i; k+1 < len(atoms) && k < i+6; k++ {
		if k > i && (atoms[k].comma || atoms[k].number) {
			break
		}
		if perWords[atoms[k].fold] {
			r.rate = periods[atoms[k+1].fold]
			break
		}
	}
	return r
}

// findRelationMismatch returns a reason if the source has a number in another relation: by for to,
// over for under, per month for per year.
func (b *wordAlignment) findRelationMismatch() string {
	lang := b.lang
	for _, f := range findFactMentions(&b.parsedSentence, 0, b.claimAtoms) {
		if f.isDate || f.at < 0 {
			continue
		}
		ours, why := parseFigureRelation(b.claimAtoms, f.at, f.figure.end, lang), ""
		for _, g := range findFactMentions(&b.unit.parsedSentence, b.unit.start, b.sourceAtoms) {
			if g.isDate || g.at < 0 || !f.isSupportedBy(g) {
				continue
			}
			other := describeDifference(f.figure, g.figure, ours, parseFigureRelation(b.sourceAtoms, g.at, g.figure.end-b.unit.start, lang))
			if why = other; other == "" {
				break
			}
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// describeDifference describes the difference between the relations of two equal figures, or
// returns "".
func describeDifference(f, g figure, a, b figureRelation) string {
	switch {
	case a.role != noChange && b.role != noChange && a.role != b.role:
		return "the source relates " + g.text + " to the change in another way"
	case a.rate != "" && b.rate != "" && a.rate != b.rate:
		return "the source says " + g.text + " per " + b.rate + ", not per " + a.rate
	case f.precision == atLeast && g.precision == atMost:
		return "the source says at most, or under, " + g.text
	case f.precision == atMost && g.precision == atLeast:
		return "the source says at least, or over, " + g.text
	}
	return ""
}

const inSynonym = 0.8

const maxSenses = 40

func (c *check) checkSenses() {
	w := &c.windows[0]
	u := &c.units[w.unit]
	var theirs []similarity.Text
	for _, t := range u.terms[:min(len(u.terms), maxSenses)] {
		theirs = append(theirs, similarity.Parse(t.fold))
	}
	for i := range c.terms {
		if w.credit[i] >= 0.5 || c.view.names[i] || i >= maxSenses {
			continue
		}
		c.compareSense(i, u, theirs)
	}
}

// checkWhole notes that the best sentence is the opposite of the claim. It skips
// rounded figures, which would look opposite.
func (c *check) checkWhole() {
	u := &c.units[c.windows[0].unit]
	if c.negationReason != "" || c.lackingCount > 0 || c.inexact || c.roughReason != "" || c.unitShare(u) < sameSubjectShare {
		return
	}
	if c.findEllipticUnit() != nil {
		return
	}
	mine := similarity.Parse(c.text)
	if mine.Compare(similarity.Parse(c.quotes[u.quote].Text[u.start:u.end])) != similarity.Opposite {
		return
	}
	if !c.alignUnit(u).matchesClause(func(text string) bool { return mine.Compare(similarity.Parse(text)) == similarity.Same }) {
		c.negationReason, c.counterUnit = "the source says the opposite", u
	}
}

func (c *check) compareSense(i int, u *unit, theirs []similarity.Text) {
	mine := similarity.Parse(c.terms[i].fold)
	for k := range theirs {
		switch mine.Compare(theirs[k]) {
		case similarity.Same:
			c.windows[0].credit[i] = max(c.windows[0].credit[i], inSynonym)
		case similarity.Opposite:
			if c.negationReason == "" && (c.terms[i].not > 0) == (u.terms[k].not > 0) && !c.hasStem(u.terms[k].stem) {
				c.negationReason, c.counterUnit = "the source says "+u.terms[k].fold+", not "+c.terms[i].fold, u
			}
		}
	}
}

func (c *check) hasStem(stem string) bool {
	return slices.ContainsFunc(c.terms, func(t term) bool { return t.stem == stem })
}

func (c *check) unitShare(u *unit) float64 {
	s := &c.quotes[u.quote]
	for k := s.first; k < s.last; k++ {
		if &c.units[k] == u {
			return c.weightedShare(c.rows[int32(k)])
		}
	}
	return 0
}

//go:embed contrasts.txt
var contrastTable string

//go:embed stances.txt
var stanceTable string

type wordList struct {
	whole  map[string]bool
	begins []string
}

func (l *wordList) addWords(list string) {
	if l.whole == nil {
		l.whole = make(map[string]bool)
	}
	for w := range strings.FieldsSeq(list) {
		if p, ok := strings.CutSuffix(w, "*"); ok {
			l.begins = append(l.begins, p)
		} else {
			l.whole[w] = true
		}
	}
}

func (l *wordList) hasWord(word string) bool {
	if l.whole[word] {
		return true
	}
	return slices.ContainsFunc(l.begins, func(p string) bool { return strings.HasPrefix(word, p) })
}

func (l *wordList) findIn(atoms []atom) (string, int) {
	for i := range atoms {
		if !atoms[i].number && l.hasWord(atoms[i].fold) {
			return atoms[i].fold, i
		}
	}
	return "", -1
}

func tableLines(table string, yield func(line string)) {
	for line := range strings.Lines(table) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			yield(line)
		}
	}
}

var contrasts = sync.OnceValue(func() (groups [][]wordList) {
	tableLines(contrastTable, func(line string) {
		var sides []wordList
		for side := range strings.SplitSeq(line, "|") {
			var l wordList
			l.addWords(side)
			sides = append(sides, l)
		}
		groups = append(groups, sides)
	})
	return groups
})

var stances = sync.OnceValue(func() map[string]*wordList {
	all := make(map[string]*wordList)
	tableLines(stanceTable, func(line string) {
		class, list, _ := strings.Cut(line, ":")
		if all[class] == nil {
			all[class] = new(wordList)
		}
		all[class].addWords(list)
	})
	return all
})

// findContrast returns a reason if the source has a word that excludes a word of the
// claim, or "".
func findContrast(mine, theirs []atom) string {
	for _, sides := range contrasts() {
		for i := range sides {
			w, _ := sides[i].findIn(mine)
			if w == "" {
				continue
			}
			if same, _ := sides[i].findIn(theirs); same != "" {
				continue
			}
			for k := range sides {
				if o, _ := sides[k].findIn(theirs); k != i && o != "" && !sides[k].hasAny(mine) {
					return "the source says " + o + ", not " + w
				}
			}
		}
	}
	return ""
}

func (l *wordList) hasAny(atoms []atom) bool { w, _ := l.findIn(atoms); return w != "" }

// conclusionPhrases matches phrases that present a claim as a conclusion.
var conclusionPhrases = regexp.MustCompile(`(?i)(^|[;,:—–] ?|\band )(so|therefore|thus|hence|consequently|accordingly|it follows that|(this|that|which|these (figures|facts|results|findings)|all (of )?this|taken together,? th(is|ese|ey)) (together )?(suggests?|implies|imply|indicates?|means|points? to)|` +
	`daher|deshalb|daraus folgt|folglich|somit|das (legt nahe|deutet|bedeutet)|dies (legt nahe|deutet|bedeutet)|donc|par conséquent|cela (suggère|implique|signifie|indique)|on peut en (conclure|déduire)|por (lo )?tanto|por consiguiente|esto (sugiere|implica|significa|indica)|así que|因此|所以|したがって)([\s,]|$)`)

func isConclusion(text string) bool {
	m := conclusionPhrases.FindStringIndex(text)
	return m != nil && !strings.HasPrefix(strings.ToLower(text), "so far")
}

// VerifyAll checks the factual claims of an answer in order; the other findings stay
// zero. A claim that presents itself as a conclusion is an inference if earlier
// supported claims have its words.
func (c *Corpus) VerifyAll(sentences []Sentence) []Finding {
	findings := make([]Finding, len(sentences))
	var ground []Quote
	for i, s := range sentences {
		if !s.Factual {
			continue
		}
		findings[i] = c.Verify(s)
		f := &findings[i]
		switch {
		case f.Verdict == Supported:
			ground = append(ground, Quote{ID: "ground", Text: s.Text})
		case isConclusion(s.Text) && f.Verdict != Contradicted && f.Verdict != Inference && len(ground) > 0:
			if isGrounded(s, ground) {
				f.Verdict, f.Reason = Inference, "it is concluded from claims that are supported"
			}
		}
	}
	return findings
}

const minGroundShare = 0.35

func isGrounded(s Sentence, ground []Quote) bool {
	k := NewCorpus(ground).matchClaim(s).runChecks(nil)
	return len(k.windows) > 0 && k.cover >= minGroundShare && k.lackingCount == 0 && len(k.missingNames) == 0
}
