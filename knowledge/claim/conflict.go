package claim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

// Input bounds. Text beyond them is not read.
const (
	maxConflictQuotes = 400
	maxConflictText   = 4 << 10 // bytes of a quote
	maxConflictWords  = 1000    // words and marks of a quote
	maxConflicts      = 32
	maxSideQuotes     = 16
	maxValues         = 400 // of one matter
)

func conflicts(quotes []Quote, lines [][][]lexeme) (list []ponder.Conflict) {
	var found []stated
	for i, q := range quotes {
		of := statedIn(q, i, nil, lines[i])
		tellApart(of, lines[i], q)
		found = append(found, of...)
	}
	found = append(found, changed(quotes, framesOf(quotes, lines))...)
	for _, group := range bySubject(found) {
		list = append(list, dissent(quotes, group)...)
	}
	return list
}

// ConflictsAbout returns conflicts between quotes: different values of one attribute
// of one thing at one time, in one unit. Conflicts with most voices come first, at
// most 32. Quotes of one voice count once. A side reports its newest publication date,
// but newer does not win. The order of quotes does not matter. At most 400 quotes are
// read, 4 KiB each.
//
// Precision comes before recall. A statement is one of:
//
//   - A phrase of conflict_attributes.txt beside a value: a number with a unit, a date,
//     a name, a place or a listed term. Its subject begins the sentence, or is that of
//     the quote.
//   - A sentence that two quotes have with one different value.
//   - Two sentences that package similarity finds opposite, unless each is limited to
//     something else ("in hospitals", "outdoors").
//   - Two sentences that differ only in a number, the date of a unique event, or the
//     name of an office holder or superlative.
//
// Compatible values do not conflict: rounded ("about 3,500"), in range ("10,935 ± 6"),
// converted, less precise, or of another year. A year contains its days, a place
// smaller places, and rugby rugby union. Namesakes ("Blue Lake, Michigan"), local and
// total revenue, and two values within one quote do not conflict either. A number
// without a year is not compared with a dated one, except measured lengths and areas.
//
// The question names thing and attribute. A quote counts if its text or context names
// the thing and the sentence has no other subject. Two copies of a sentence with
// different values always count. If the question asks for no comparable attribute,
// every sentence counts.
func ConflictsAbout(question string, quotes []Quote) []ponder.Conflict {
	topics := askedTopics(question)
	quotes, lines := prepared(quotes)
	list := opposed(quotes, lines, asksAbout(question))
	if len(topics) == 0 {
		list = append(list, conflicts(quotes, lines)...)
		return ordered(append(list, related(quotes, lines, func([]lexeme) bool { return true }, list)...))
	}
	frames := framesOf(quotes, lines)
	for _, t := range topics {
		list = append(list, dissent(quotes, t.statements(quotes, lines, frames))...)
	}
	return ordered(append(list, related(quotes, lines, asksAbout(question), list)...))
}

func (t askedTopic) statements(quotes []Quote, lines [][][]lexeme, frames []frame) (list []stated) {
	framed := make([][]stated, len(quotes))
	for _, s := range t.framed(quotes, frames) {
		framed[s.quote] = append(framed[s.quote], s)
	}
	for i, q := range quotes {
		of := framed[i]
		if t.named(lines[i], q.Context) {
			of = append(of, statedIn(q, i, t.attribute, lines[i])...)
		}
		of = t.of(of, lines[i])
		tellApart(of, lines[i], q)
		list = append(list, of...)
	}
	return list
}

func tellApart(list []stated, lines [][]lexeme, q Quote) {
	if len(list) == 0 {
		return
	}
	lines = append(lexemes(q.Context, 200), lines...)
	for i := range list {
		list[i].qualifiers = slices.DeleteFunc(qualifiers(lines, list[i].subject), func(w string) bool {
			return nameLinks[w] || slices.Contains(list[i].worth.words, w) // "Red Sand (Jay Arn album)" may be the value
		})
	}
}

func prepared(quotes []Quote) ([]Quote, [][][]lexeme) {
	quotes = slices.Clone(quotes)
	slices.SortStableFunc(quotes, compareQuotes)
	quotes = quotes[:min(len(quotes), maxConflictQuotes)]
	lines := make([][][]lexeme, len(quotes))
	for i := range quotes {
		quotes[i].Text, quotes[i].Context = textkit.Prefix(quotes[i].Text, maxConflictText), textkit.Prefix(quotes[i].Context, maxConflictText)
		lines[i] = lexemes(quotes[i].Text, maxConflictWords)
	}
	return quotes, lines
}

// named reports whether a quote has all words of the subject. Of three or more words,
// one may be missing.
func (t askedTopic) named(lines [][]lexeme, context string) bool {
	return t.missing(append(slices.Clone(lines), lexemes(context, 200)...)) <= min(1, len(t.subject)/3)
}

func (t askedTopic) missing(lines [][]lexeme) (n int) {
	for _, w := range t.subject {
		if !slices.ContainsFunc(lines, func(line []lexeme) bool {
			return slices.ContainsFunc(line, func(x lexeme) bool { return x.fold == w })
		}) {
			n++
		}
	}
	return n
}

// of returns the statements about the asked thing. It prefers those with this exact
// subject, then those whose sentence names it, then copied sentences with another
// value, then those without another subject.
func (t askedTopic) of(list []stated, lines [][]lexeme) (out []stated) {
	best := 0
	for _, s := range list {
		i := slices.IndexFunc(lines, func(line []lexeme) bool { return line[0].start == s.start })
		named := t.missing(lines[i:i+1]) == 0
		switch {
		case !s.framed && slices.Equal(sortedSet(s.subject), sortedSet(t.subject)):
			s.rank = 3
		case named:
			s.rank = 2
		case s.framed:
			s.rank = 1
		case another[lines[i][0].fold] || len(s.subject) > 0 && !slices.ContainsFunc(s.subject, func(w string) bool { return slices.Contains(t.subject, w) }):
			continue
		}
		best = max(best, s.rank)
		s.subject = t.subject
		out = append(out, s)
	}
	return slices.DeleteFunc(out, func(s stated) bool { return s.rank < best })
}

var another = fieldSet(`a an another other some ein eine einer une un una otro otra autre`)

func bySubject(list []stated) (groups [][]stated) {
	at := make(map[string]int)
	for _, s := range list {
		if len(s.subject) == 0 {
			continue
		}
		key := strings.Join(sortedSet(s.subject), " ")
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

// A matter is the key that comparable statements share.
type matter struct{ attribute, dimension, time, scope string }

func dissent(quotes []Quote, list []stated) (out []ponder.Conflict) {
	groups := make(map[matter][]stated)
	for _, s := range list {
		m := matter{s.attribute.name, s.dimension, s.time, s.scope}
		groups[m] = append(groups[m], s)
	}
	for m, all := range groups {
		for _, group := range apart(clearOnes(all)) {
			if sides := sidesOf(quotes, group); len(sides) > 1 {
				out = append(out, ponder.Conflict{Subject: nameOf(quotes, group), Attribute: m.attribute, Time: m.time, Unit: m.dimension, Sides: sides})
			}
		}
	}
	return out
}

// clearOnes drops statements of a quote that gives several values: the intended one is
// unknown.
func clearOnes(list []stated) (out []stated) {
	by := make(map[int][]stated)
	for _, s := range list {
		by[s.quote] = append(by[s.quote], s)
	}
	for _, s := range list {
		if !slices.ContainsFunc(by[s.quote], func(o stated) bool { return !s.framed && !o.worth.fits(s.worth) }) {
			out = append(out, s)
		}
	}
	return out
}

// sidesOf groups compatible statements. A vaguer statement that fits several sides
// joins none.
func sidesOf(quotes []Quote, list []stated) []ponder.Side {
	slices.SortStableFunc(list, func(a, b stated) int {
		return cmp.Or(cmp.Compare(a.worth.number, b.worth.number), cmp.Compare(a.worth.key(), b.worth.key()), compareQuotes(quotes[a.quote], quotes[b.quote]), cmp.Compare(a.start, b.start))
	})
	var values []worth // each once
	at := make([]int, len(list))
	for i, s := range list {
		if len(values) == 0 || values[len(values)-1].key() != s.worth.key() {
			if len(values) == maxValues {
				list, at = list[:i], at[:i]
				break
			}
			values = append(values, s.worth)
		}
		at[i] = len(values) - 1
	}
	side, n := divide(values)
	sides := make([][]stated, n)
	for i, s := range list {
		if k := side[at[i]]; k >= 0 {
			sides[k] = append(sides[k], s)
		}
	}
	return voiced(quotes, slices.DeleteFunc(sides, func(s []stated) bool { return len(s) == 0 }))
}

// divide returns the side of each value, or -1, and the number of sides. Values of
// equal precision that fit each other share a side. A vaguer value joins the only side
// that it fits.
func divide(values []worth) (side []int, n int) {
	side = make([]int, len(values))
	coarse := make([]bool, len(values))
	for i, v := range values {
		side[i] = -1
		coarse[i] = slices.ContainsFunc(values, func(o worth) bool { return o.finer(v) })
	}
	for i := range values {
		if coarse[i] {
			continue
		}
		side[i], n = n, n+1
		for k := range i {
			if !coarse[k] && side[k] != side[i] && values[k].fits(values[i]) {
				renumber(side, side[i], side[k])
			}
		}
	}
	for i := range values {
		for k := range values {
			if !coarse[i] || coarse[k] || !values[k].fits(values[i]) {
				continue
			}
			if side[i] >= 0 && side[i] != side[k] {
				side[i] = -1
				break
			}
			side[i] = side[k]
		}
	}
	return side, n
}

func renumber(list []int, from, to int) {
	for i := range list {
		if list[i] == from {
			list[i] = to
		}
	}
}

func compareQuotes(a, b Quote) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Voice, b.Voice), a.Published.Compare(b.Published))
}

// voiced returns the sides with their voices, most voices first. One voice does not
// disagree with itself, except altered copies of a text.
func voiced(quotes []Quote, groups [][]stated) []ponder.Side {
	var sides []ponder.Side
	all, changed := make(map[string]bool), false
	for _, group := range groups {
		side := ponder.Side{Value: spoken(quotes, group)}
		voices := make(map[string]bool)
		for _, s := range group {
			q := quotes[s.quote]
			changed = changed || s.framed
			voices[voiceOf(q)], all[voiceOf(q)] = true, true
			side.Newest = later(side.Newest, q.Published)
		}
		for _, s := range bestFirst(quotes, group) {
			p := ponder.Passage{Evidence: quotes[s.quote].ID, Start: s.start, End: s.end}
			if len(side.Quotes) < maxSideQuotes && !slices.Contains(side.Quotes, p) {
				side.Quotes = append(side.Quotes, p)
			}
		}
		side.Voices = len(voices)
		sides = append(sides, side)
	}
	if len(all) < 2 && !changed {
		return nil
	}
	slices.SortStableFunc(sides, func(a, b ponder.Side) int {
		return cmp.Or(cmp.Compare(b.Voices, a.Voices), cmp.Compare(a.Value, b.Value))
	})
	return sides
}

// bestFirst puts the longest quote of each voice first, then the others. It keeps one
// of two equal passages of a page, such as a search hit and the page itself.
func bestFirst(quotes []Quote, group []stated) (list []stated) {
	best := make(map[string]stated)
	for _, s := range group {
		voice := voiceOf(quotes[s.quote])
		if o, ok := best[voice]; !ok || len(quotes[s.quote].Text) > len(quotes[o.quote].Text) {
			best[voice] = s
		}
	}
	said, spoke := make(map[[3]string]bool), make(map[string]bool)
	keep := func(s stated) {
		q := quotes[s.quote]
		title, _, _ := strings.Cut(q.Context, ".")
		key := [3]string{voiceOf(q), title, strings.Join(strings.Fields(q.Text[s.start:s.end]), " ")}
		if !said[key] {
			list = append(list, s)
		}
		said[key] = true
	}
	for _, s := range group {
		if voice := voiceOf(quotes[s.quote]); !spoke[voice] {
			keep(best[voice])
			spoke[voice] = true
		}
	}
	for _, s := range group {
		keep(s)
	}
	return list
}

// voiceOf returns the voice key of a quote. A quote without a voice is its own voice.
func voiceOf(q Quote) string {
	if q.Voice != "" {
		return "v" + q.Voice
	}
	return "q" + q.ID + "\x00" + q.Text
}

// spoken returns the spelling of a value that most voices use, or else the most exact
// and longest.
func spoken(quotes []Quote, group []stated) string {
	voices := make(map[string]map[string]bool)
	for _, s := range group {
		if voices[s.worth.text] == nil {
			voices[s.worth.text] = make(map[string]bool)
		}
		voices[s.worth.text][voiceOf(quotes[s.quote])] = true
	}
	return slices.MaxFunc(group, func(a, b stated) int {
		return cmp.Or(cmp.Compare(len(voices[a.worth.text]), len(voices[b.worth.text])), cmp.Compare(b.worth.slack, a.worth.slack),
			cmp.Compare(len(a.worth.text), len(b.worth.text)), cmp.Compare(b.worth.text, a.worth.text))
	}).worth.text
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func nameOf(quotes []Quote, group []stated) string {
	name := slices.Clone(group[0].subject)
	for i, w := range name {
		for _, s := range group {
			q := quotes[s.quote]
			if said := written(q.Context+"\n"+q.Text, w); said != "" {
				name[i] = said
				break
			}
		}
	}
	return strings.Join(name, " ")
}

func written(text, fold string) string {
	for _, line := range lexemes(text, maxConflictWords) {
		for _, x := range line {
			if x.fold == fold {
				return strings.TrimSuffix(strings.TrimSuffix(text[x.start:x.end], "'s"), "’s")
			}
		}
	}
	return ""
}

func ordered(list []ponder.Conflict) []ponder.Conflict {
	voices := func(c ponder.Conflict) (n int) {
		for _, s := range c.Sides {
			n += s.Voices
		}
		return n
	}
	slices.SortStableFunc(list, func(a, b ponder.Conflict) int {
		return cmp.Or(cmp.Compare(voices(b), voices(a)), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Attribute, b.Attribute), cmp.Compare(a.Time, b.Time), cmp.Compare(a.Unit, b.Unit))
	})
	return list[:min(len(list), maxConflicts)]
}
