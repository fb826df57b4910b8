package research

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ponder/mode/internal/text"
	"ponder/same"
	"ponder/words"
)

// Bounds on an answer that is put together.
const (
	quotesFirst = 6 // of the group that says most
	quotesEach  = 3 // of each other
	quotesInAll = 18
	quoteLength = 700 // bytes
	askedLength = 300 // bytes of the question
	whyLength   = 300 // bytes
	leastQuoted = 0.1 // confidence in a quote
	mostQuoted  = 0.6
)

// quotedAnswer returns the answer that is made without a model: the best quotations,
// of each voice one or two, grouped by what was looked for, and how sure it is, from 0 to 0.6.
// Its first line says that no model wrote it, and why. It is never empty: where nothing
// was found it says what was looked for.
func quotedAnswer(question string, list []piece, why string) (answer string, confidence float64) {
	best := quotedBest(list)
	if len(best) == 0 {
		return nothingFound(question, len(list), why), 0
	}
	var b strings.Builder
	b.WriteString("This answer was put together without a model, from quotations of the sources" + because(why) + "\n")
	groups := groupsOf(best)
	n, total := 0, 0.0
	for g, group := range groups {
		most := quotesEach
		if g == 0 {
			most = quotesFirst
		}
		for i, p := range group[:min(len(group), most, quotesInAll-n)] {
			switch {
			case i == 0 && len(groups) > 1:
				b.WriteString("\n" + heading(p, question) + "\n\n")
			case i == 0:
				b.WriteString("\n")
			}
			b.WriteString("- “" + text.Clip(p.shown(), quoteLength) + "” [" + p.id() + "]\n")
			n, total = n+1, total+quotedConfidence(p)
		}
	}
	return strings.TrimRight(b.String(), "\n"), math.Round(total/float64(n)*100) / 100
}

// because returns why there is no model, as the end of a sentence.
func because(why string) string {
	if why = strings.TrimRight(text.Clip(text.Line(why), whyLength), ". "); why == "" {
		return "."
	}
	return ": " + framed(why) + "."
}

// heading says what a group of quotations is about.
func heading(p piece, question string) string {
	about := cmp.Or(p.Query, question)
	return "**" + strings.ReplaceAll(framed(text.Clip(text.Line(about), askedLength)), "*", "") + "**"
}

// quotedConfidence is that of a quotation: low, for that a source says something does
// not make it true, and nobody has judged whether it fits the question.
func quotedConfidence(p piece) float64 {
	return min(mostQuoted, leastQuoted+bound(p.weight(), 1)/2)
}

// quotedBest returns what is worth quoting, the best first: of each voice one passage
// and, for half of what it counts, another one, and none that says what another has
// said. Copies are not among them, for they say nothing of their own; nor is what a
// search said of a page that was read.
func quotedBest(list []piece) (best []piece) {
	all := slices.DeleteFunc(notSaidBySearch(list), func(p piece) bool { return !p.quotable() || text.Line(p.Quote) == "" })
	slices.SortStableFunc(all, byWeight)
	heard := make(map[string]int)
	var said []same.Text
	var more []piece
	for _, p := range all {
		if len(best) == 2*quotesInAll {
			break
		}
		t := same.Of(text.Clip(p.shown(), quoteLength))
		if _, v := same.Nearest(said, t); v == same.Same {
			continue
		}
		switch heard[p.voice()]++; heard[p.voice()] {
		case 1:
			best = append(best, p)
		case 2:
			more = append(more, p)
		default:
			continue
		}
		said = append(said, t)
	}
	best = append(best, more...)
	again := make(map[int]bool)
	for _, p := range more {
		again[p.N] = true
	}
	counts := func(p piece) float64 {
		if again[p.N] {
			return p.weight() / 2
		}
		return p.weight()
	}
	slices.SortStableFunc(best, func(a, b piece) int { return cmp.Compare(counts(b), counts(a)) })
	return best
}

// notSaidBySearch returns pieces without what a search said of pages that were read.
func notSaidBySearch(list []piece) []piece {
	read := make(map[string]bool)
	for _, p := range list {
		read[p.Page] = read[p.Page] || p.Tool == WebFetchTool && p.quotable()
	}
	return slices.DeleteFunc(slices.Clone(list), func(p piece) bool { return p.Tool == WebSearchTool && p.Page != "" && read[p.Page] })
}

// groupsOf returns passages by the query that found them, the group first that has the
// best. Whether a query asks how or why makes no other of it.
func groupsOf(best []piece) (groups [][]piece) {
	at := make(map[string]int)
	for _, p := range best {
		key := words.Fold(p.Query)
		if first, rest, ok := strings.Cut(key, " "); ok && among("asks", first) {
			key = rest
		}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// nothingFound says that there is nothing to quote, and what was looked for.
func nothingFound(question string, found int, why string) string {
	web, memory := queriesOf(question)
	var looked []string
	for _, q := range slices.Concat(web, memory) {
		if q = "“" + framed(text.Clip(q, askedLength)) + "”"; !slices.Contains(looked, q) {
			looked = append(looked, q)
		}
	}
	s := "No model wrote this" + because(why) + " Nothing was found that answers the question"
	if found > 0 {
		s = fmt.Sprintf("%s: of %s none can be quoted", s, passages(found))
	}
	if len(looked) > 0 {
		s += "; what was looked for is " + strings.Join(looked[:min(len(looked), maxQueries)], ", ")
	}
	return s + "."
}
