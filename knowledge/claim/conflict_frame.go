package claim

import (
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
)

const (
	maxFrameUnits = 64   // per sentence
	maxFramePairs = 6000 // pairs of sentences
	minFrame      = 5    // units in common
	strongFrame   = 10
	longFrame     = 14
	maxSlots      = 3 // differences
)

// A frame is a sentence as a sequence of alignable units: words, and each name, number
// or date as one. Frames that differ in hardly more than one of those are versions of
// one sentence about one thing.
type frame struct {
	quote int
	line  []lexeme
	units []frameUnit
}

type frameUnit struct {
	key      string
	from, to int // lexemes
	name     bool
	worth    worth
	known    bool // worth is set
	dim      string
}

type slot struct{ a, b int }

func frameOf(text string, quote int, line []lexeme) (f frame) {
	f.quote, f.line = quote, line
	for i := 0; i < len(line) && len(f.units) < maxFrameUnits; {
		u := unitAtLexeme(text, line, i)
		if line[i].kind != lexMark {
			f.units = append(f.units, u)
		}
		i = u.to
	}
	return f
}

func unitAtLexeme(text string, line []lexeme, i int) frameUnit {
	if v, n := statedDateAt(text, line, i); n > 0 {
		v.slack = dateSlack(line, i, v)
		return frameUnit{key: v.key(), from: i, to: i + n, worth: v, known: true}
	}
	if m, ok := statedNumberAt(text, line, i); ok {
		return frameUnit{key: m.worth.key() + m.dimension, from: i, to: m.to, worth: m.worth, known: true, dim: m.dimension}
	}
	k := i + 1
	if line[i].kind != lexWord || !line[i].upper || notNames[line[i].fold] {
		return frameUnit{key: line[i].fold, from: i, to: k}
	}
	for k < len(line) && line[k].kind == lexWord && line[k].upper && k < i+6 {
		k++
	}
	v := worth{kind: nameWorth, text: text[line[i].start:line[k-1].end]}
	for _, x := range line[i:k] {
		v.words = append(v.words, x.fold)
	}
	return frameUnit{key: strings.Join(v.words, " "), from: i, to: k, name: true, worth: v, known: true}
}

// An alignment lists the differences between two frames, each of one or two units per
// side.
type alignment struct {
	slots  []slot
	strong bool // the frames are one sentence otherwise
	long   bool // too long for an independent repetition
}

// A commonUnits is the table of longest common subsequences of two frames' suffixes.
type commonUnits [maxFrameUnits + 1][maxFrameUnits + 1]uint8

func (c *commonUnits) fill(f, o frame) {
	for i := len(f.units) - 1; i >= 0; i-- {
		for k := len(o.units) - 1; k >= 0; k-- {
			if f.units[i].key == o.units[k].key {
				c[i][k] = c[i+1][k+1] + 1
			} else {
				c[i][k] = max(c[i+1][k], c[i][k+1])
			}
		}
	}
}

func (c *commonUnits) next(f, o frame, i, k int) (int, int) {
	if c[i][k] == 0 {
		return len(f.units), len(o.units)
	}
	for f.units[i].key != o.units[k].key {
		if c[i+1][k] >= c[i][k+1] {
			i++
		} else {
			k++
		}
	}
	return i, k
}

// align compares two frames. ok is false if they share too little.
func (f frame) align(o frame) (al alignment, ok bool) {
	n, m := len(f.units), len(o.units)
	least := max(minFrame, max(n, m)*6/10)
	if min(n, m) < least {
		return al, false
	}
	var c commonUnits
	c.fill(f, o)
	all := int(c[0][0])
	if all < least {
		return al, false
	}
	for i, k := 0, 0; i < n && k < m; {
		j, l := c.next(f, o, i, k)
		if j-i == l-k && j > i && j-i <= 2 {
			al.slots = append(al.slots, slot{i, k})
		}
		i, k = j+1, l+1
	}
	al.strong = all >= max(strongFrame, max(n, m)*8/10)
	al.long = al.strong && all >= longFrame
	return al, len(al.slots) > 0 && len(al.slots) <= maxSlots
}

// pairs yields each pair of sentences of different quotes with three equal units in a
// row, once.
func pairs(frames []frame, yield func(a, b frame)) {
	by := make(map[string][]int)
	seen := make(map[[2]int]bool)
	for i, f := range frames {
		for k := 0; k+3 <= len(f.units); k++ {
			key := f.units[k].key + "\x00" + f.units[k+1].key + "\x00" + f.units[k+2].key
			list := by[key]
			for _, j := range list[max(0, len(list)-40):] {
				at := [2]int{j, i}
				if frames[j].quote == f.quote || seen[at] {
					continue
				}
				if len(seen) >= maxFramePairs {
					return
				}
				seen[at] = true
				yield(frames[j], f)
			}
			if len(list) == 0 || list[len(list)-1] != i {
				by[key] = append(list, i)
			}
		}
	}
}

func (t askedTopic) framed(quotes []Quote, frames []frame) (list []stated) {
	pairs(frames, func(a, b frame) {
		al, ok := a.align(b)
		if !ok || !al.strong && !t.near(quotes[a.quote], quotes[b.quote]) {
			return
		}
		for _, s := range al.slots {
			x, y := t.value(quotes[a.quote].Text, a, s.a), t.value(quotes[b.quote].Text, b, s.b)
			if x.attribute == nil || y.attribute == nil || x.dimension != y.dimension || x.worth.fits(y.worth) || !t.cued(a, s.a) || !t.cued(b, s.b) {
				continue
			}
			x.copied, y.copied = al.long, al.long
			list = append(list, x, y)
			if t.attribute.kind != numberWorth {
				break // later slots belong to other attributes
			}
		}
	})
	return list
}

// value reads the unit at k as a value of the asked attribute. The attribute stays nil
// if the kind differs.
func (t askedTopic) value(text string, f frame, k int) (s stated) {
	u := f.units[k]
	s = stated{quote: f.quote, start: f.line[0].start, end: f.line[len(f.line)-1].end, subject: t.subject, worth: u.worth, framed: true}
	a := t.attribute
	switch a.kind {
	case termWorth:
		if v, ok := a.termOf(text, f.line, u); ok {
			s.attribute, s.worth = a, v
		}
	case numberWorth:
		if u.known && u.worth.kind == numberWorth && fitsDimension(statedNumber{dimension: u.dim}, a) {
			s.attribute, s.dimension, s.time = a, u.dim, timeAt(text, f.line, u.from, u.to)
		}
	case dateWorth:
		if u.known && u.worth.kind == dateWorth && u.worth.date[0] > 0 {
			s.attribute = a
		}
	case nameWorth, placeWorth:
		if u.name && k > 0 {
			s.attribute = a
			s.worth.text = extended(text, f.line, u, a.kind)
		}
	}
	return s
}

func (a *attribute) termOf(text string, line []lexeme, u frameUnit) (v worth, ok bool) {
	for i, t := range a.terms {
		for at := u.from; at < u.to; at++ {
			if n := phraseAny(line, at, t.forms); n > 0 && at+n >= u.to-1 {
				v = worth{kind: termWorth, words: []string{a.terms[i].name}, broad: t.broad, text: text[line[at].start:line[at+n-1].end]}
			}
		}
	}
	return v, v.text != ""
}

func extended(text string, line []lexeme, u frameUnit, kind worthKind) string {
	end := u.to
	if kind == placeWorth && end+1 < len(line) && line[end].fold == "," && line[end+1].upper {
		for end++; end < len(line) && line[end].kind == lexWord && line[end].upper; end++ {
		}
	}
	return text[line[u.from].start:line[end-1].end]
}

// near reports whether one of two quotes with a common sentence names the asked thing,
// at least in part.
func (t askedTopic) near(a, b Quote) bool {
	named := 0
	text := " " + lexical.Fold(a.Text+" "+a.Context+" "+b.Text+" "+b.Context) + " "
	for _, w := range t.subject {
		if strings.Contains(text, w) {
			named++
		}
	}
	return named > 0 && named*2 >= len(t.subject)
}

func (t askedTopic) cued(f frame, k int) bool {
	a, u := t.attribute, f.units[k]
	if a.kind == nameWorth {
		return f.led(a, u)
	}
	if f.says(a, u) {
		return true
	}
	switch a.kind {
	case termWorth:
		return slices.ContainsFunc(f.line[:u.from], func(x lexeme) bool { return copulas[x.fold] }) || u.from < 4
	case placeWorth:
		return foldAt(f.line, u.from-1, "in", "of", "at", "(")
	case dateWorth:
		return f.spans(a, u)
	}
	return false
}

func (f frame) says(a *attribute, u frameUnit) bool {
	for i := max(0, u.from-14); i < min(len(f.line), u.to+4); i++ {
		switch {
		case i >= u.from && i < u.to:
		case a.asks[f.line[i].fold], i < u.from && phraseAny(f.line, i, a.before) > 0, i >= u.to && phraseAny(f.line, i, a.behind) > 0:
			return true
		}
	}
	return false
}

// led reports whether name u follows a phrase such as "directed by".
func (f frame) led(a *attribute, u frameUnit) bool {
	for i := u.from - 1; i >= max(0, u.from-8); i-- {
		if n := phraseAny(f.line, i, a.before); n > 1 && i+n <= u.from || n == 1 && i+n == u.from {
			return true
		}
		if x := f.line[i]; x.kind == lexWord && x.upper && !demonyms[x.fold] {
			return false
		}
	}
	return false
}

func framesOf(quotes []Quote, lines [][][]lexeme) (frames []frame) {
	for i := range lines {
		for _, line := range lines[i] {
			frames = append(frames, frameOf(quotes[i].Text, i, line))
		}
	}
	return frames
}

// changed returns statements of sentences that differ in one number or date only, with
// a named subject and a table attribute.
func changed(quotes []Quote, frames []frame) (list []stated) {
	pairs(frames, func(a, b frame) {
		al, ok := a.align(b)
		if !ok || !al.strong || len(al.slots) != 1 || len(a.units) != len(b.units) {
			return
		}
		for _, attr := range attributes() {
			t := askedTopic{attribute: attr, subject: a.names()}
			if attr.kind != numberWorth && attr.kind != dateWorth || len(t.subject) == 0 {
				continue
			}
			x, y := t.value(quotes[a.quote].Text, a, al.slots[0].a), t.value(quotes[b.quote].Text, b, al.slots[0].b)
			if x.attribute != nil && y.attribute != nil && x.dimension == y.dimension && x.time == y.time && !x.worth.fits(y.worth) && t.cued(a, al.slots[0].a) {
				x.copied, y.copied = al.long, al.long
				list = append(list, x, y)
				return
			}
		}
	})
	return list
}

func (f frame) names() []string {
	for _, u := range f.units {
		if u.name {
			return u.worth.words
		}
	}
	return nil
}

// spans reports whether date u is the birth or death in "(8 February 1900 – 2 March
// 1977)".
func (f frame) spans(a *attribute, u frameUnit) bool {
	switch a.name {
	case "born":
		return foldAt(f.line, u.from-1, "(") && foldAt(f.line, u.to, "–", "-", "—")
	case "died":
		return foldAt(f.line, u.from-1, "–", "-", "—") && foldAt(f.line, u.to, ")")
	}
	return false
}
