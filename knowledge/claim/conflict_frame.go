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
	value    statementValue
	known    bool // worth is set
	dim      string
}

type slot struct{ a, b int }

func newFrame(text string, quote int, line []lexeme) (f frame) {
	f.quote, f.line = quote, line
	for i := 0; i < len(line) && len(f.units) < maxFrameUnits; {
		u := frameUnitAt(text, line, i)
		if line[i].kind != lexMark {
			f.units = append(f.units, u)
		}
		i = u.to
	}
	return f
}

func frameUnitAt(text string, line []lexeme, i int) frameUnit {
	if v, n := parseDateAt(text, line, i); n > 0 {
		v.slack = dateSlack(line, i, v)
		return frameUnit{key: v.valueKey(), from: i, to: i + n, value: v, known: true}
	}
	if m, ok := parseNumberAt(text, line, i); ok {
		return frameUnit{key: m.value.valueKey() + m.dimension, from: i, to: m.to, value: m.value, known: true, dim: m.dimension}
	}
	k := i + 1
	if line[i].kind != lexWord || !line[i].upper || notNames[line[i].fold] {
		return frameUnit{key: line[i].fold, from: i, to: k}
	}
	for k < len(line) && line[k].kind == lexWord && line[k].upper && k < i+6 {
		k++
	}
	v := statementValue{kind: nameValue, text: text[line[i].start:line[k-1].end]}
	for _, x := range line[i:k] {
		v.words = append(v.words, x.fold)
	}
	return frameUnit{key: strings.Join(v.words, " "), from: i, to: k, name: true, value: v, known: true}
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

func (c *commonUnits) nextCommon(f, o frame, i, k int) (int, int) {
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
		j, l := c.nextCommon(f, o, i, k)
		if j-i == l-k && j > i && j-i <= 2 {
			al.slots = append(al.slots, slot{i, k})
		}
		i, k = j+1, l+1
	}
	al.strong = all >= max(strongFrame, max(n, m)*8/10)
	al.long = al.strong && all >= longFrame
	return al, len(al.slots) > 0 && len(al.slots) <= maxSlots
}

// eachFramePair yields each pair of sentences of different quotes with three equal units in a
// row, once.
func eachFramePair(frames []frame, yield func(a, b frame)) {
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

func (t questionTopic) findFramedStatements(quotes []Quote, frames []frame) (list []statement) {
	eachFramePair(frames, func(a, b frame) {
		al, ok := a.align(b)
		if !ok || !al.strong && !t.isPartlyNamed(quotes[a.quote], quotes[b.quote]) {
			return
		}
		for _, s := range al.slots {
			x, y := t.readValue(quotes[a.quote].Text, a, s.a), t.readValue(quotes[b.quote].Text, b, s.b)
			if x.attribute == nil || y.attribute == nil || x.dimension != y.dimension || x.value.isCompatible(y.value) || !t.hasValueCue(a, s.a) || !t.hasValueCue(b, s.b) {
				continue
			}
			x.copied, y.copied = al.long, al.long
			list = append(list, x, y)
			if t.attribute.kind != numberValue {
				break // later slots belong to other attributes
			}
		}
	})
	return list
}

// readValue reads the unit at k as a value of the asked attribute. The attribute stays nil
// if the kind differs.
func (t questionTopic) readValue(text string, f frame, k int) (s statement) {
	u := f.units[k]
	s = statement{quote: f.quote, start: f.line[0].start, end: f.line[len(f.line)-1].end, subject: t.subject, value: u.value, framed: true}
	a := t.attribute
	switch a.kind {
	case termValue:
		if v, ok := a.matchTerm(text, f.line, u); ok {
			s.attribute, s.value = a, v
		}
	case numberValue:
		if u.known && u.value.kind == numberValue && fitsDimension(numberMention{dimension: u.dim}, a) {
			s.attribute, s.dimension, s.time = a, u.dim, validityYear(text, f.line, u.from, u.to)
		}
	case dateValue:
		if u.known && u.value.kind == dateValue && u.value.date[0] > 0 {
			s.attribute = a
		}
	case nameValue, placeValue:
		if u.name && k > 0 {
			s.attribute = a
			s.value.text = extendName(text, f.line, u, a.kind)
		}
	}
	return s
}

func (a *attribute) matchTerm(text string, line []lexeme, u frameUnit) (v statementValue, ok bool) {
	for i, t := range a.terms {
		for at := u.from; at < u.to; at++ {
			if n := matchAnyPhrase(line, at, t.forms); n > 0 && at+n >= u.to-1 {
				v = statementValue{kind: termValue, words: []string{a.terms[i].name}, broad: t.broad, text: text[line[at].start:line[at+n-1].end]}
			}
		}
	}
	return v, v.text != ""
}

func extendName(text string, line []lexeme, u frameUnit, kind valueKind) string {
	end := u.to
	if kind == placeValue && end+1 < len(line) && line[end].fold == "," && line[end+1].upper {
		for end++; end < len(line) && line[end].kind == lexWord && line[end].upper; end++ {
		}
	}
	return text[line[u.from].start:line[end-1].end]
}

// isPartlyNamed reports whether one of two quotes with a common sentence names the asked thing,
// at least in part.
func (t questionTopic) isPartlyNamed(a, b Quote) bool {
	named := 0
	text := " " + lexical.Fold(a.Text+" "+a.Context+" "+b.Text+" "+b.Context) + " "
	for _, w := range t.subject {
		if strings.Contains(text, w) {
			named++
		}
	}
	return named > 0 && named*2 >= len(t.subject)
}

func (t questionTopic) hasValueCue(f frame, k int) bool {
	a, u := t.attribute, f.units[k]
	if a.kind == nameValue {
		return f.hasLeadingCue(a, u)
	}
	if f.hasCue(a, u) {
		return true
	}
	switch a.kind {
	case termValue:
		return slices.ContainsFunc(f.line[:u.from], func(x lexeme) bool { return copulas[x.fold] }) || u.from < 4
	case placeValue:
		return hasFoldAt(f.line, u.from-1, "in", "of", "at", "(")
	case dateValue:
		return f.isLifespanDate(a, u)
	}
	return false
}

func (f frame) hasCue(a *attribute, u frameUnit) bool {
	for i := max(0, u.from-14); i < min(len(f.line), u.to+4); i++ {
		switch {
		case i >= u.from && i < u.to:
		case a.askWords[f.line[i].fold], i < u.from && matchAnyPhrase(f.line, i, a.phrasesBefore) > 0, i >= u.to && matchAnyPhrase(f.line, i, a.phrasesAfter) > 0:
			return true
		}
	}
	return false
}

// hasLeadingCue reports whether name u follows a phrase such as "directed by".
func (f frame) hasLeadingCue(a *attribute, u frameUnit) bool {
	for i := u.from - 1; i >= max(0, u.from-8); i-- {
		if n := matchAnyPhrase(f.line, i, a.phrasesBefore); n > 1 && i+n <= u.from || n == 1 && i+n == u.from {
			return true
		}
		if x := f.line[i]; x.kind == lexWord && x.upper && !demonyms[x.fold] {
			return false
		}
	}
	return false
}

func buildFrames(quotes []Quote, lines [][][]lexeme) (frames []frame) {
	for i := range lines {
		for _, line := range lines[i] {
			frames = append(frames, newFrame(quotes[i].Text, i, line))
		}
	}
	return frames
}

// findAlteredStatements returns statements of sentences that differ in one number or date only, with
// a named subject and a table attribute.
func findAlteredStatements(quotes []Quote, frames []frame) (list []statement) {
	eachFramePair(frames, func(a, b frame) {
		al, ok := a.align(b)
		if !ok || !al.strong || len(al.slots) != 1 || len(a.units) != len(b.units) {
			return
		}
		for _, attr := range attributes() {
			t := questionTopic{attribute: attr, subject: a.firstName()}
			if attr.kind != numberValue && attr.kind != dateValue || len(t.subject) == 0 {
				continue
			}
			x, y := t.readValue(quotes[a.quote].Text, a, al.slots[0].a), t.readValue(quotes[b.quote].Text, b, al.slots[0].b)
			if x.attribute != nil && y.attribute != nil && x.dimension == y.dimension && x.time == y.time && !x.value.isCompatible(y.value) && t.hasValueCue(a, al.slots[0].a) {
				x.copied, y.copied = al.long, al.long
				list = append(list, x, y)
				return
			}
		}
	})
	return list
}

func (f frame) firstName() []string {
	for _, u := range f.units {
		if u.name {
			return u.value.words
		}
	}
	return nil
}

// isLifespanDate reports whether date u is the birth or death in "(8 February 1900 – 2 March
// 1977)".
func (f frame) isLifespanDate(a *attribute, u frameUnit) bool {
	switch a.name {
	case "born":
		return hasFoldAt(f.line, u.from-1, "(") && hasFoldAt(f.line, u.to, "–", "-", "—")
	case "died":
		return hasFoldAt(f.line, u.from-1, "–", "-", "—") && hasFoldAt(f.line, u.to, ")")
	}
	return false
}
