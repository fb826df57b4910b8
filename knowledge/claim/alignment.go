package claim

import "strings"

// A wordAlignment is the word alignment of a claim with one sentence of a quote.
type wordAlignment struct {
	*check
	unit        *unit
	sentence    string // text of the sentence
	claimAtoms  []atom
	sourceAtoms []atom
	termAtoms   []int   // by term of the claim: its atom in mine
	termPlaces  [][]int // by term of the claim: the supporting atoms in theirs
	clauseOf    []int   // by atom of theirs: its clause
	clauseHits  []int   // by clause: the number of supported terms
}

func (c *check) parseAtoms(text string) []atom {
	r := reader{lang: c.lang, text: text}
	r.tokenize()
	return r.atoms
}

func (c *check) alignUnit(u *unit) *wordAlignment {
	if b := c.alignments[u]; b != nil {
		return b
	}
	if c.alignments == nil {
		c.alignments = make(map[*unit]*wordAlignment)
	}
	b := &wordAlignment{check: c, unit: u, sentence: c.quotes[u.quote].Text[u.start:u.end]}
	b.claimAtoms, b.sourceAtoms = c.parseAtoms(c.text), c.parseAtoms(b.sentence)
	b.clauseOf = clauseIndexes(b.sourceAtoms)
	if n := len(b.clauseOf); n > 0 {
		b.clauseHits = make([]int, b.clauseOf[n-1]+1)
	}
	for i, t := range c.terms {
		b.termAtoms = append(b.termAtoms, t.nth)
		var places []int
		seen := make(map[int]bool)
		for k, id := range u.ids {
			if n := u.terms[k].nth; n < len(b.clauseOf) && c.supportsTerm(i, id) {
				places = append(places, n)
				if !seen[b.clauseOf[n]] {
					seen[b.clauseOf[n]] = true
					b.clauseHits[b.clauseOf[n]]++
				}
			}
		}
		b.termPlaces = append(b.termPlaces, places)
	}
	c.alignments[u] = b
	return b
}

// clauseWords begin a clause or a list member.
var clauseWords = fieldSet(`and but while whereas although though yet or und aber sondern wahrend obwohl oder et mais tandis ou y pero mientras aunque o`)

func clauseIndexes(atoms []atom) []int {
	list := make([]int, len(atoms))
	n := 0
	for i := range atoms {
		if i > 0 && (atoms[i].comma || clauseWords[atoms[i].fold] && !atoms[i-1].comma) {
			n++
		}
		list[i] = n
	}
	return list
}

// bestPlaces returns the places in the clause that supports most terms.
func (b *wordAlignment) bestPlaces(places []int) (list []int) {
	most := 0
	for _, n := range places {
		if h := b.clauseHits[b.clauseOf[n]]; h > most {
			most, list = h, list[:0]
		}
		if b.clauseHits[b.clauseOf[n]] == most {
			list = append(list, n)
		}
	}
	return list
}

// checkStance notes words that make the sentence weaker than the claim, or about
// something else. Each check returns a reason, or "".
func (c *check) checkStance() {
	b := c.alignUnit(&c.units[c.windows[0].unit])
	for _, look := range []func() string{b.findRefutation, b.findReversal, b.findQuestion, b.findQuotation, b.findOpinion, b.findNegatedEvent, b.findLowerRank, b.findException, b.findLimit, b.findFuture,
		func() string { return findContrast(b.claimAtoms, b.sourceAtoms) }, b.findRelationMismatch, b.findPairMismatch, b.findNeighbourMismatch, b.findRoleMismatch} {
		if c.stanceReason == "" {
			c.stanceReason = look()
		}
	}
	if c.stanceReason == "" {
		c.swapReason = b.findSubstitution()
	}
	c.unsupportedTail = b.findUnsupportedClause()
}

// sourceOnlyWord returns the first word of a class in the sentence and its index, unless
// the claim has the class too.
func (b *wordAlignment) sourceOnlyWord(class string) (string, int) {
	list := stances()[class]
	if list.hasAny(b.claimAtoms) {
		return "", -1
	}
	return list.findIn(b.sourceAtoms)
}

// claimExtent returns the first and last place of claim words in the sentence, or -1.
func (b *wordAlignment) claimExtent() (first, last int) {
	first, last = -1, -1
	for _, places := range b.termPlaces {
		for _, n := range b.bestPlaces(places) {
			if first < 0 || n < first {
				first = n
			}
			last = max(last, n)
		}
	}
	return first, last
}

func (b *wordAlignment) findRefutation() string {
	w, i := b.sourceOnlyWord("refute")
	if w == "" || b.nots > 0 || i > 0 && negations[b.sourceAtoms[i-1].fold] && w != "deny" {
		return ""
	}
	return "the source calls it wrong: " + w
}

// findReversal finds an undoing in the same clause.
func (b *wordAlignment) findReversal() string {
	w, i := b.sourceOnlyWord("undo")
	if w == "" || b.clauseHits[b.clauseOf[i]] < min(2, len(b.terms)) {
		return ""
	}
	return "the source says " + w
}

func (b *wordAlignment) findQuestion() string {
	if len(b.sourceAtoms) > 0 && stances()["ask"].hasWord(b.sourceAtoms[0].fold) && strings.HasSuffix(strings.TrimRight(b.sentence, " \"'”’»)*_"), "?") && !strings.HasSuffix(b.text, "?") {
		return "the source asks it"
	}
	return ""
}

func (b *wordAlignment) findQuotation() string {
	first, last := b.claimExtent()
	if first < 0 || first == last || strings.ContainsAny(b.text, "\"“„«") {
		return ""
	}
	open := strings.LastIndexAny(b.sentence[:b.sourceAtoms[first].start], "\"“„«")
	if open < 0 {
		return ""
	}
	inside := b.sentence[open:b.sourceAtoms[last].end]
	if strings.Count(inside, "\"") > 1 || strings.ContainsAny(strings.TrimPrefix(inside, "“"), "”»") {
		return ""
	}
	if !strings.ContainsAny(b.sentence[b.sourceAtoms[last].end:], "\"”“»") {
		return ""
	}
	return "the source quotes it"
}

func (b *wordAlignment) findOpinion() string {
	w, i := b.sourceOnlyWord("opinion")
	first, last := b.claimExtent()
	if w == "" || first < 0 || i > last || i < first && first-i > 6 {
		return ""
	}
	if i > first && !(i > 0 && auxiliaries[b.sourceAtoms[i-1].fold]) { // the claim names the holder
		return ""
	}
	return "the source calls it an opinion: " + w
}

var auxiliaries = fieldSet(`was were is are been wurde wurden wird`)

// findNegatedEvent finds a preceding word that negates the event.
func (b *wordAlignment) findNegatedEvent() string {
	list := stances()["turn"]
	if list.hasAny(b.claimAtoms) {
		return ""
	}
	for i := range b.termPlaces {
		if b.view.names[i] {
			continue
		}
		for _, n := range b.bestPlaces(b.termPlaces[i]) {
			for k := n - 1; k >= 0 && k >= n-2 && b.clauseOf[k] == b.clauseOf[n]; k-- {
				if list.hasWord(b.sourceAtoms[k].fold) {
					return "the source says " + b.sourceAtoms[k].fold + " before " + b.sourceAtoms[n].fold
				}
			}
		}
	}
	return ""
}

// findLowerRank finds an adjacent word that lowers a title or rank.
func (b *wordAlignment) findLowerRank() string {
	list, orders := stances()["rank"], stances()["order"]
	if list.hasAny(b.claimAtoms) {
		return ""
	}
	for i := range b.termPlaces {
		for _, n := range b.bestPlaces(b.termPlaces[i]) {
			if n > 0 && list.hasWord(b.sourceAtoms[n-1].fold) && !b.sourceAtoms[n].comma && b.addsWord(i, n-1) && (!orders.hasWord(b.sourceAtoms[n-1].fold) || isSuperlativeForm(b.sourceAtoms[n].fold)) {
				return "the source says " + b.sourceAtoms[n-1].fold + " " + b.sourceAtoms[n].fold
			}
			if n > 2 && b.sourceAtoms[n-1].fold == "the" && b.sourceAtoms[n-2].fold == "of" && b.sourceAtoms[n-3].fold == "one" && isSuperlativeForm(b.sourceAtoms[n].fold) && !b.hasOneOf() {
				return "the source says one of the " + b.sourceAtoms[n].fold
			}
		}
	}
	return ""
}

func isSuperlativeForm(word string) bool {
	for _, end := range []string{"est", "most", "ste", "sten", "ster", "stes"} {
		if strings.HasSuffix(word, end) && len(word) > len(end)+1 {
			return true
		}
	}
	return word == "most" || word == "best" || word == "plus"
}

// addsWord reports whether the claim lacks the word at, so that it adds to term i.
func (b *wordAlignment) addsWord(i, at int) bool {
	word := b.sourceAtoms[at].fold
	for k := range b.claimAtoms {
		if b.claimAtoms[k].fold == word {
			return false
		}
	}
	return !b.view.names[i] || !b.sourceAtoms[at].upper || word == "former"
}

func (b *wordAlignment) hasOneOf() bool {
	for i := range b.claimAtoms {
		if b.claimAtoms[i].fold == "one" || b.claimAtoms[i].fold == "among" {
			return true
		}
	}
	return false
}

func (b *wordAlignment) findException() string {
	w, i := b.sourceOnlyWord("except")
	if first, _ := b.claimExtent(); w == "" || i < first && i > 0 {
		return ""
	}
	return "the source names exceptions: " + w
}

func (b *wordAlignment) findLimit() string {
	w, i := b.sourceOnlyWord("limit")
	first, _ := b.claimExtent()
	if w == "" || i > first && i > 1 {
		return ""
	}
	return "the source limits it: " + w
}

func (b *wordAlignment) findFuture() string {
	if stances()["future"].hasAny(b.claimAtoms) || b.cues.hedge != "" {
		return ""
	}
	_, say := stances()["speech"].findIn(b.sourceAtoms)
	w, i := stances()["future"].findIn(b.sourceAtoms)
	if say < 0 || i < say || i+1 >= len(b.sourceAtoms) {
		return ""
	}
	for t := range b.termPlaces {
		for _, n := range b.termPlaces[t] {
			if n > i && n <= i+3 && !b.view.names[t] {
				return "the source says that it " + w + " be so"
			}
		}
	}
	return ""
}

// findEllipticUnit returns the best sentence if the claim's first word occurs only in a
// negated final clause of it: "apples contain it; pears do not". Otherwise it returns
// nil.
func (c *check) findEllipticUnit() *unit {
	u := &c.units[c.windows[0].unit]
	b := c.alignUnit(u)
	if len(b.termPlaces) < 2 || len(b.termPlaces[0]) == 0 || b.clauseOf[len(b.clauseOf)-1] == 0 {
		return nil
	}
	for _, n := range b.termPlaces[0] {
		last := n
		for last+1 < len(b.clauseOf) && b.clauseOf[last+1] == b.clauseOf[n] {
			last++
		}
		if w := b.sourceAtoms[last].fold; !negations[w] && w != "t" || last-n > 3 {
			return nil
		}
	}
	return u
}

// matchesClause reports whether a clause or clause prefix of the sentence satisfies is, so
// that an opposite meaning belongs to another part.
func (b *wordAlignment) matchesClause(is func(text string) bool) bool {
	n := len(b.clauseOf)
	if n == 0 || b.clauseOf[n-1] == 0 || b.clauseOf[n-1] > 8 {
		return false
	}
	start := 0
	for i := 1; i <= n; i++ {
		if i < n && b.clauseOf[i] == b.clauseOf[i-1] {
			continue
		}
		end := len(b.sentence)
		if i < n {
			end = len(strings.TrimRight(b.sentence[:b.sourceAtoms[i].start], " ,;:()—–"))
		}
		if i < n && is(b.sentence[:end]) || start > 0 && is(b.sentence[b.sourceAtoms[start].start:end]) {
			return true
		}
		start = i
	}
	return false
}
