package claim

import "strings"

// A beside is the word alignment of a claim with one sentence of a quote.
type beside struct {
	*check
	unit   *unit
	said   string // text of the sentence
	mine   []atom
	theirs []atom
	ours   []int   // by term of the claim: its atom in mine
	at     [][]int // by term of the claim: the supporting atoms in theirs
	clause []int   // by atom of theirs: its clause
	hits   []int   // by clause: the number of supported terms
}

func (c *check) atomsOf(text string) []atom {
	r := reader{lang: c.lang, text: text}
	r.atomise()
	return r.atoms
}

func (c *check) lay(u *unit) *beside {
	if b := c.laid[u]; b != nil {
		return b
	}
	if c.laid == nil {
		c.laid = make(map[*unit]*beside)
	}
	b := &beside{check: c, unit: u, said: c.quotes[u.quote].Text[u.start:u.end]}
	b.mine, b.theirs = c.atomsOf(c.text), c.atomsOf(b.said)
	b.clause = clausesOf(b.theirs)
	if n := len(b.clause); n > 0 {
		b.hits = make([]int, b.clause[n-1]+1)
	}
	for i, t := range c.terms {
		b.ours = append(b.ours, t.nth)
		var places []int
		seen := make(map[int]bool)
		for k, id := range u.ids {
			if n := u.terms[k].nth; n < len(b.clause) && c.resembles(i, id) {
				places = append(places, n)
				if !seen[b.clause[n]] {
					seen[b.clause[n]] = true
					b.hits[b.clause[n]]++
				}
			}
		}
		b.at = append(b.at, places)
	}
	c.laid[u] = b
	return b
}

// clauseWords begin a clause or a list member.
var clauseWords = fieldSet(`and but while whereas although though yet or und aber sondern wahrend obwohl oder et mais tandis ou y pero mientras aunque o`)

func clausesOf(atoms []atom) []int {
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

// best returns the places in the clause that supports most terms.
func (b *beside) best(places []int) (list []int) {
	most := 0
	for _, n := range places {
		if h := b.hits[b.clause[n]]; h > most {
			most, list = h, list[:0]
		}
		if b.hits[b.clause[n]] == most {
			list = append(list, n)
		}
	}
	return list
}

// checkStance notes words that make the sentence weaker than the claim, or about
// something else. Each check returns a reason, or "".
func (c *check) checkStance() {
	b := c.lay(&c.units[c.windows[0].unit])
	for _, look := range []func() string{b.refuted, b.undone, b.asked, b.quoted, b.held, b.turnedRound, b.ranked, b.excepted, b.limited, b.promised,
		func() string { return contrast(b.mine, b.theirs) }, b.related, b.paired, b.neighbours, b.placedFor} {
		if c.odd == "" {
			c.odd = look()
		}
	}
	if c.odd == "" {
		c.swap = b.substituted()
	}
	c.tail = b.untold()
}

// theirsOnly returns the first word of a class in the sentence and its index, unless
// the claim has the class too.
func (b *beside) theirsOnly(class string) (string, int) {
	list := stances()[class]
	if list.hasAny(b.mine) {
		return "", -1
	}
	return list.in(b.theirs)
}

// extent returns the first and last place of claim words in the sentence, or -1.
func (b *beside) extent() (first, last int) {
	first, last = -1, -1
	for _, places := range b.at {
		for _, n := range b.best(places) {
			if first < 0 || n < first {
				first = n
			}
			last = max(last, n)
		}
	}
	return first, last
}

func (b *beside) refuted() string {
	w, i := b.theirsOnly("refute")
	if w == "" || b.nots > 0 || i > 0 && negations[b.theirs[i-1].fold] && w != "deny" {
		return ""
	}
	return "the source speaks of it as wrong: " + w
}

// undone finds an undoing in the same clause.
func (b *beside) undone() string {
	w, i := b.theirsOnly("undo")
	if w == "" || b.hits[b.clause[i]] < min(2, len(b.terms)) {
		return ""
	}
	return "the source says " + w
}

func (b *beside) asked() string {
	if len(b.theirs) > 0 && stances()["ask"].has(b.theirs[0].fold) && strings.HasSuffix(strings.TrimRight(b.said, " \"'”’»)*_"), "?") && !strings.HasSuffix(b.text, "?") {
		return "the source asks it"
	}
	return ""
}

func (b *beside) quoted() string {
	first, last := b.extent()
	if first < 0 || first == last || strings.ContainsAny(b.text, "\"“„«") {
		return ""
	}
	open := strings.LastIndexAny(b.said[:b.theirs[first].start], "\"“„«")
	if open < 0 {
		return ""
	}
	inside := b.said[open:b.theirs[last].end]
	if strings.Count(inside, "\"") > 1 || strings.ContainsAny(strings.TrimPrefix(inside, "“"), "”»") {
		return ""
	}
	if !strings.ContainsAny(b.said[b.theirs[last].end:], "\"”“»") {
		return ""
	}
	return "the source quotes it"
}

func (b *beside) held() string {
	w, i := b.theirsOnly("opinion")
	first, last := b.extent()
	if w == "" || first < 0 || i > last || i < first && first-i > 6 {
		return ""
	}
	if i > first && !(i > 0 && auxiliaries[b.theirs[i-1].fold]) { // the claim names the holder
		return ""
	}
	return "the source says that it is held to be so: " + w
}

var auxiliaries = fieldSet(`was were is are been wurde wurden wird`)

// turnedRound finds a preceding word that negates the event.
func (b *beside) turnedRound() string {
	list := stances()["turn"]
	if list.hasAny(b.mine) {
		return ""
	}
	for i := range b.at {
		if b.view.names[i] {
			continue
		}
		for _, n := range b.best(b.at[i]) {
			for k := n - 1; k >= 0 && k >= n-2 && b.clause[k] == b.clause[n]; k-- {
				if list.has(b.theirs[k].fold) {
					return "the source says " + b.theirs[k].fold + " before " + b.theirs[n].fold
				}
			}
		}
	}
	return ""
}

// ranked finds an adjacent word that lowers a title or rank.
func (b *beside) ranked() string {
	list, orders := stances()["rank"], stances()["order"]
	if list.hasAny(b.mine) {
		return ""
	}
	for i := range b.at {
		for _, n := range b.best(b.at[i]) {
			if n > 0 && list.has(b.theirs[n-1].fold) && !b.theirs[n].comma && b.stands(i, n-1) && (!orders.has(b.theirs[n-1].fold) || mostOfAll(b.theirs[n].fold)) {
				return "the source says " + b.theirs[n-1].fold + " " + b.theirs[n].fold
			}
			if n > 2 && b.theirs[n-1].fold == "the" && b.theirs[n-2].fold == "of" && b.theirs[n-3].fold == "one" && mostOfAll(b.theirs[n].fold) && !b.oneOf() {
				return "the source says one of the " + b.theirs[n].fold
			}
		}
	}
	return ""
}

func mostOfAll(word string) bool {
	for _, end := range []string{"est", "most", "ste", "sten", "ster", "stes"} {
		if strings.HasSuffix(word, end) && len(word) > len(end)+1 {
			return true
		}
	}
	return word == "most" || word == "best" || word == "plus"
}

// stands reports whether the claim lacks the word at, so that it adds to term i.
func (b *beside) stands(i, at int) bool {
	word := b.theirs[at].fold
	for k := range b.mine {
		if b.mine[k].fold == word {
			return false
		}
	}
	return !b.view.names[i] || !b.theirs[at].upper || word == "former"
}

func (b *beside) oneOf() bool {
	for i := range b.mine {
		if b.mine[i].fold == "one" || b.mine[i].fold == "among" {
			return true
		}
	}
	return false
}

func (b *beside) excepted() string {
	w, i := b.theirsOnly("except")
	if first, _ := b.extent(); w == "" || i < first && i > 0 {
		return ""
	}
	return "the source leaves some out: " + w
}

func (b *beside) limited() string {
	w, i := b.theirsOnly("limit")
	first, _ := b.extent()
	if w == "" || i > first && i > 1 {
		return ""
	}
	return "the source limits it: " + w
}

func (b *beside) promised() string {
	if stances()["future"].hasAny(b.mine) || b.cues.hedge != "" {
		return ""
	}
	_, say := stances()["speech"].in(b.theirs)
	w, i := stances()["future"].in(b.theirs)
	if say < 0 || i < say || i+1 >= len(b.theirs) {
		return ""
	}
	for t := range b.at {
		for _, n := range b.at[t] {
			if n > i && n <= i+3 && !b.view.names[t] {
				return "the source says that it " + w + " be so"
			}
		}
	}
	return ""
}

// elliptic returns the best sentence if the claim's first word occurs only in a
// negated final clause of it: "apples contain it; pears do not". Otherwise it returns
// nil.
func (c *check) elliptic() *unit {
	u := &c.units[c.windows[0].unit]
	b := c.lay(u)
	if len(b.at) < 2 || len(b.at[0]) == 0 || b.clause[len(b.clause)-1] == 0 {
		return nil
	}
	for _, n := range b.at[0] {
		last := n
		for last+1 < len(b.clause) && b.clause[last+1] == b.clause[n] {
			last++
		}
		if w := b.theirs[last].fold; !negations[w] && w != "t" || last-n > 3 {
			return nil
		}
	}
	return u
}

// partly reports whether a clause or clause prefix of the sentence satisfies is, so
// that an opposite meaning belongs to another part.
func (b *beside) partly(is func(text string) bool) bool {
	n := len(b.clause)
	if n == 0 || b.clause[n-1] == 0 || b.clause[n-1] > 8 {
		return false
	}
	start := 0
	for i := 1; i <= n; i++ {
		if i < n && b.clause[i] == b.clause[i-1] {
			continue
		}
		end := len(b.said)
		if i < n {
			end = len(strings.TrimRight(b.said[:b.theirs[i].start], " ,;:()—–"))
		}
		if i < n && is(b.said[:end]) || start > 0 && is(b.said[b.theirs[start].start:end]) {
			return true
		}
		start = i
	}
	return false
}
