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

func findConflicts(quotes []Quote, lines [][][]lexeme) (list []ponder.Conflict) {
	var found []statement
	for i, q := range quotes {
		of := readStatements(q, i, nil, lines[i])
		setQualifiers(of, lines[i], q)
		found = append(found, of...)
	}
	found = append(found, findAlteredStatements(quotes, buildFrames(quotes, lines))...)
	for _, group := range groupBySubject(found) {
		list = append(list, findSubjectConflicts(quotes, group)...)
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
	topics := parseQuestionTopics(question)
	quotes, lines := prepareQuotes(quotes)
	list := findOpposites(quotes, lines, questionFilter(question))
	if len(topics) == 0 {
		list = append(list, findConflicts(quotes, lines)...)
		return sortConflicts(append(list, findRelatedConflicts(quotes, lines, func([]lexeme) bool { return true }, list)...))
	}
	frames := buildFrames(quotes, lines)
	for _, t := range topics {
		list = append(list, findSubjectConflicts(quotes, t.collectStatements(quotes, lines, frames))...)
	}
	return sortConflicts(append(list, findRelatedConflicts(quotes, lines, questionFilter(question), list)...))
}

func (t questionTopic) collectStatements(quotes []Quote, lines [][][]lexeme, frames []frame) (list []statement) {
	framed := make([][]statement, len(quotes))
	for _, s := range t.findFramedStatements(quotes, frames) {
		framed[s.quote] = append(framed[s.quote], s)
	}
	for i, q := range quotes {
		of := framed[i]
		if t.isNamedIn(lines[i], q.Context) {
			of = append(of, readStatements(q, i, t.attribute, lines[i])...)
		}
		of = t.filterStatements(of, lines[i])
		setQualifiers(of, lines[i], q)
		list = append(list, of...)
	}
	return list
}

func setQualifiers(list []statement, lines [][]lexeme, q Quote) {
	if len(list) == 0 {
		return
	}
	lines = append(scanLexemes(q.Context, 200), lines...)
	for i := range list {
		list[i].qualifiers = slices.DeleteFunc(findQualifiers(lines, list[i].subject), func(w string) bool {
			return nameLinks[w] || slices.Contains(list[i].value.words, w) // "Red Sand (Jay Arn album)" may be the value
		})
	}
}

func prepareQuotes(quotes []Quote) ([]Quote, [][][]lexeme) {
	quotes = slices.Clone(quotes)
	slices.SortStableFunc(quotes, compareQuotes)
	quotes = quotes[:min(len(quotes), maxConflictQuotes)]
	lines := make([][][]lexeme, len(quotes))
	for i := range quotes {
		quotes[i].Text, quotes[i].Context = textkit.Prefix(quotes[i].Text, maxConflictText), textkit.Prefix(quotes[i].Context, maxConflictText)
		lines[i] = scanLexemes(quotes[i].Text, maxConflictWords)
	}
	return quotes, lines
}

// isNamedIn reports whether a quote has all words of the subject. Of three or more words,
// one may be missing.
func (t questionTopic) isNamedIn(lines [][]lexeme, context string) bool {
	return t.countMissing(append(slices.Clone(lines), scanLexemes(context, 200)...)) <= min(1, len(t.subject)/3)
}

func (t questionTopic) countMissing(lines [][]lexeme) (n int) {
	for _, w := range t.subject {
		if !slices.ContainsFunc(lines, func(line []lexeme) bool {
			return slices.ContainsFunc(line, func(x lexeme) bool { return x.fold == w })
		}) {
			n++
		}
	}
	return n
}

// filterStatements returns the statements about the asked thing. It prefers those with this exact
// subject, then those whose sentence names it, then copied sentences with another
// value, then those without another subject.
func (t questionTopic) filterStatements(list []statement, lines [][]lexeme) (out []statement) {
	best := 0
	for _, s := range list {
		i := slices.IndexFunc(lines, func(line []lexeme) bool { return line[0].start == s.start })
		named := t.countMissing(lines[i:i+1]) == 0
		switch {
		case !s.framed && slices.Equal(sortedSet(s.subject), sortedSet(t.subject)):
			s.rank = 3
		case named:
			s.rank = 2
		case s.framed:
			s.rank = 1
		case indefiniteArticles[lines[i][0].fold] || len(s.subject) > 0 && !slices.ContainsFunc(s.subject, func(w string) bool { return slices.Contains(t.subject, w) }):
			continue
		}
		best = max(best, s.rank)
		s.subject = t.subject
		out = append(out, s)
	}
	return slices.DeleteFunc(out, func(s statement) bool { return s.rank < best })
}

var indefiniteArticles = fieldSet(`a an another other some ein eine einer une un una otro otra autre`)

func groupBySubject(list []statement) (groups [][]statement) {
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

// A topicKey is the key that comparable statements share.
type topicKey struct{ attribute, dimension, time, scope string }

func findSubjectConflicts(quotes []Quote, list []statement) (out []ponder.Conflict) {
	groups := make(map[topicKey][]statement)
	for _, s := range list {
		m := topicKey{s.attribute.name, s.dimension, s.time, s.scope}
		groups[m] = append(groups[m], s)
	}
	for m, all := range groups {
		for _, group := range splitNamesakes(dropAmbiguous(all)) {
			if sides := groupSides(quotes, group); len(sides) > 1 {
				out = append(out, ponder.Conflict{Subject: spellSubject(quotes, group), Attribute: m.attribute, Time: m.time, Unit: m.dimension, Sides: sides})
			}
		}
	}
	return out
}

// dropAmbiguous drops statements of a quote that gives several values: the intended one is
// unknown.
func dropAmbiguous(list []statement) (out []statement) {
	by := make(map[int][]statement)
	for _, s := range list {
		by[s.quote] = append(by[s.quote], s)
	}
	for _, s := range list {
		if !slices.ContainsFunc(by[s.quote], func(o statement) bool { return !s.framed && !o.value.isCompatible(s.value) }) {
			out = append(out, s)
		}
	}
	return out
}

// groupSides groups compatible statements. A vaguer statement that fits several sides
// joins none.
func groupSides(quotes []Quote, list []statement) []ponder.Side {
	slices.SortStableFunc(list, func(a, b statement) int {
		return cmp.Or(cmp.Compare(a.value.number, b.value.number), cmp.Compare(a.value.valueKey(), b.value.valueKey()), compareQuotes(quotes[a.quote], quotes[b.quote]), cmp.Compare(a.start, b.start))
	})
	var values []statementValue // each once
	at := make([]int, len(list))
	for i, s := range list {
		if len(values) == 0 || values[len(values)-1].valueKey() != s.value.valueKey() {
			if len(values) == maxValues {
				list, at = list[:i], at[:i]
				break
			}
			values = append(values, s.value)
		}
		at[i] = len(values) - 1
	}
	side, n := assignSides(values)
	sides := make([][]statement, n)
	for i, s := range list {
		if k := side[at[i]]; k >= 0 {
			sides[k] = append(sides[k], s)
		}
	}
	return buildSides(quotes, slices.DeleteFunc(sides, func(s []statement) bool { return len(s) == 0 }))
}

// assignSides returns the side of each value, or -1, and the number of sides. Values of
// equal precision that fit each other share a side. A vaguer value joins the only side
// that it fits.
func assignSides(values []statementValue) (side []int, n int) {
	side = make([]int, len(values))
	coarse := make([]bool, len(values))
	for i, v := range values {
		side[i] = -1
		coarse[i] = slices.ContainsFunc(values, func(o statementValue) bool { return o.isMorePrecise(v) })
	}
	for i := range values {
		if coarse[i] {
			continue
		}
		side[i], n = n, n+1
		for k := range i {
			if !coarse[k] && side[k] != side[i] && values[k].isCompatible(values[i]) {
				replaceSide(side, side[i], side[k])
			}
		}
	}
	for i := range values {
		for k := range values {
			if !coarse[i] || coarse[k] || !values[k].isCompatible(values[i]) {
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

func replaceSide(list []int, from, to int) {
	for i := range list {
		if list[i] == from {
			list[i] = to
		}
	}
}

func compareQuotes(a, b Quote) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Voice, b.Voice), a.Published.Compare(b.Published))
}

// buildSides returns the sides with their voices, most voices first. One voice does not
// disagree with itself, except altered copies of a text.
func buildSides(quotes []Quote, groups [][]statement) []ponder.Side {
	var sides []ponder.Side
	all, changed := make(map[string]bool), false
	for _, group := range groups {
		side := ponder.Side{Value: commonSpelling(quotes, group)}
		voices := make(map[string]bool)
		for _, s := range group {
			q := quotes[s.quote]
			changed = changed || s.framed
			voices[voiceKey(q)], all[voiceKey(q)] = true, true
			side.Newest = laterTime(side.Newest, q.Published)
		}
		for _, s := range orderByVoice(quotes, group) {
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

// orderByVoice puts the longest quote of each voice first, then the others. It keeps one
// of two equal passages of a page, such as a search hit and the page itself.
func orderByVoice(quotes []Quote, group []statement) (list []statement) {
	best := make(map[string]statement)
	for _, s := range group {
		voice := voiceKey(quotes[s.quote])
		if o, ok := best[voice]; !ok || len(quotes[s.quote].Text) > len(quotes[o.quote].Text) {
			best[voice] = s
		}
	}
	said, spoke := make(map[[3]string]bool), make(map[string]bool)
	keep := func(s statement) {
		q := quotes[s.quote]
		title, _, _ := strings.Cut(q.Context, ".")
		key := [3]string{voiceKey(q), title, strings.Join(strings.Fields(q.Text[s.start:s.end]), " ")}
		if !said[key] {
			list = append(list, s)
		}
		said[key] = true
	}
	for _, s := range group {
		if voice := voiceKey(quotes[s.quote]); !spoke[voice] {
			keep(best[voice])
			spoke[voice] = true
		}
	}
	for _, s := range group {
		keep(s)
	}
	return list
}

// voiceKey returns the voice key of a quote. A quote without a voice is its own voice.
func voiceKey(q Quote) string {
	if q.Voice != "" {
		return "v" + q.Voice
	}
	return "q" + q.ID + "\x00" + q.Text
}

// commonSpelling returns the spelling of a value that most voices use, or else the most exact
// and longest.
func commonSpelling(quotes []Quote, group []statement) string {
	voices := make(map[string]map[string]bool)
	for _, s := range group {
		if voices[s.value.text] == nil {
			voices[s.value.text] = make(map[string]bool)
		}
		voices[s.value.text][voiceKey(quotes[s.quote])] = true
	}
	return slices.MaxFunc(group, func(a, b statement) int {
		return cmp.Or(cmp.Compare(len(voices[a.value.text]), len(voices[b.value.text])), cmp.Compare(b.value.slack, a.value.slack),
			cmp.Compare(len(a.value.text), len(b.value.text)), cmp.Compare(b.value.text, a.value.text))
	}).value.text
}

func laterTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func spellSubject(quotes []Quote, group []statement) string {
	name := slices.Clone(group[0].subject)
	for i, w := range name {
		for _, s := range group {
			q := quotes[s.quote]
			if said := spellWord(q.Context+"\n"+q.Text, w); said != "" {
				name[i] = said
				break
			}
		}
	}
	return strings.Join(name, " ")
}

func spellWord(text, fold string) string {
	for _, line := range scanLexemes(text, maxConflictWords) {
		for _, x := range line {
			if x.fold == fold {
				return strings.TrimSuffix(strings.TrimSuffix(text[x.start:x.end], "'s"), "’s")
			}
		}
	}
	return ""
}

func sortConflicts(list []ponder.Conflict) []ponder.Conflict {
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
