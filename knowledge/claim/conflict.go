package claim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

// Bounds on what is compared. What is beyond them is not read.
const (
	maxConflictQuotes = 400
	maxConflictText   = 4 << 10 // of a quote, bytes
	maxConflictWords  = 1000    // and words and marks of it
	maxConflicts      = 32
	maxSideQuotes     = 16
	maxValues         = 400 // of one matter
)

// conflicts returns where quotes say different things of what they themselves name.
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

// ConflictsAbout returns where quotes disagree: where they say different things of one
// attribute of one thing at one time, in one unit. Those of most voices are first; there
// are at most 32. Quotes of one voice are one: on each side the voices are counted, and
// when the newest of it was published is told, but newer does not win. The order of
// quotes does not matter. Of the first 400 quotes, in an order of their own, 4 KiB each
// are read.
//
// It is meant to be right rather than complete, and finds a statement in four ways:
//
//   - A phrase of a table (conflict_attributes.txt, in English, German, French and
//     Spanish) beside a value: a number with its unit, a date, a name, a place, or a term
//     of a list. Its thing is what its sentence begins with, or else the quote.
//   - A sentence that stands in two quotes and differs in one value.
//   - A sentence that is the opposite of another, as package same sees it, if they are not
//     each limited to something else ("in hospitals", "outdoors").
//   - A sentence that has the words of another but for a number, the date of what happens
//     once, or the name of who holds an office or is the most of a kind.
//
// Values are no conflict if both can be right: one is rounded ("about 3,500", "10.9
// million"), within the margin or range of the other ("10,935 ± 6"), converted, a part of
// the other (a year and a day of it, a name in short, a place and what it lies in, rugby
// and rugby union), or of another year; nor if things of one name are told apart ("Blue
// Lake, Michigan", "Jay Arn, the painter,"); nor revenue in a place and in all; nor what
// one quote says twice in two ways. A number without a year is not compared with one of a
// year, but for lengths and areas that somebody measured then.
//
// The question names the thing and the attribute, so that a quote counts which names the
// thing anywhere, in its text or context, as long as the sentence is not about another. A
// sentence that stands in two quotes with another value counts without that. Where a
// question asks for nothing that can be compared so, every sentence counts.
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

// tellApart sets the qualifiers of the statements of a quote.
func tellApart(list []stated, lines [][]lexeme, q Quote) {
	if len(list) == 0 {
		return
	}
	lines = append(lexemes(q.Context, 200), lines...)
	for i := range list {
		list[i].qualifiers = slices.DeleteFunc(qualifiers(lines, list[i].subject), func(w string) bool {
			return nameLinks[w] || slices.Contains(list[i].worth.words, w) // "Red Sand (Jay Arn album)" may be what is said
		})
	}
}

// prepared returns the quotes that are compared, in an order of their own, and their
// sentences.
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

// named reports whether a quote names what is asked about: all words of it, or of three
// and more all but one.
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

// of returns the statements of a quote that are of what is asked: those that say so of
// the very thing, or else whose sentence names it, or else that other quotes say otherwise
// in the same sentence, or else whose sentence does not begin with the name of another.
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

// another has the words with which sentences of other things of a kind begin.
var another = fieldSet(`a an another other some ein eine einer une un una otro otra autre`)

// bySubject brings statements together that are of one thing.
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

// A matter is what statements must have in common to be compared.
type matter struct{ attribute, dimension, time, scope string }

// dissent returns the conflicts among statements of one thing.
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

// clearOnes drops what a quote says that says several things: which it means is not known.
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

// sidesOf brings the statements together that can all be right. What fits several sides,
// because it says less, is of none.
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

// divide returns for each value the number of its side, or -1, and how many sides there
// are. Values that say as much as any other and fit each other are of one side; what says
// less joins the only side that it fits.
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

// voiced returns the sides with their voices, the one of most voices first. One voice
// alone does not disagree with itself, but copies of a text do that say otherwise.
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

// bestFirst orders statements: of each voice first the quote that has most around it, and
// then what the same voices say again. What one page says twice in the same words, as a
// hit of a search does and the passage that was read, is left in once.
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

// voiceOf names who says a quote. One of whom nothing is known is a voice of its own.
func voiceOf(q Quote) string {
	if q.Voice != "" {
		return "v" + q.Voice
	}
	return "q" + q.ID + "\x00" + q.Text
}

// spoken returns the form of a value that most voices say, or else the most exact and
// the longest.
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

// nameOf returns the name of what statements are of, as the first source writes it.
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

// written returns a word of a text in the form that it has there, or "".
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

// ordered sorts conflicts: first those of most voices.
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
