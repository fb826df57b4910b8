package research

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/similarity"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/questionwords"
)

const (
	quotesFirst = 6
	quotesEach  = 3
	quotesInAll = 18
	quoteLength = 700 // bytes
	askedLength = 300
	whyLength   = 300 // bytes
	leastQuoted = 0.1 // confidence of a quote
	mostQuoted  = 0.6
)

// reach describes how far the sources were searched.
type reach struct {
	own    []string
	looked bool
	failed []string // failed places in words
	none   string   // why nothing was searched
}

// quotedAnswer returns an answer of quotations, grouped by query, and its confidence from 0 to 0.6.
// It says first that no model wrote it, and why. Headings use the user's words only. Without quotes
// it lists the queries and the failed places.
func quotedAnswer(question string, list []piece, why string, r reach) (answer string, confidence float64) {
	best := quotedBest(list)
	if len(best) == 0 {
		return nothingFound(question, len(list), why, r), 0
	}
	first := "This answer was put together without a model, from quotations of the sources" + because(why)
	if len(r.failed) > 0 {
		first += " " + sentence(r.failed)
	}
	var b strings.Builder
	groups := groupsOf(best, append([]string{question}, r.own...))
	var quotes []string
	total := 0.0
	for g, group := range groups {
		most := quotesEach
		if g == 0 {
			most = quotesFirst
		}
		for i, p := range group.pieces[:min(len(group.pieces), most, quotesInAll-len(quotes))] {
			switch {
			case i == 0 && len(groups) > 1 && group.about != "":
				b.WriteString("\n" + heading(group.about) + "\n\n")
			case i == 0:
				b.WriteString("\n")
			}
			b.WriteString("- “" + textkit.TruncateBytes(p.shown(), quoteLength) + "” [" + p.id() + "]\n")
			total, quotes = total+quotedConfidence(p), append(quotes, p.Title+" "+p.Section+"\n"+p.shown())
		}
	}
	return first + questionwords.Lack(question, quotes) + "\n" + strings.TrimRight(b.String(), "\n"), math.Round(total/float64(len(quotes))*100) / 100
}

func because(why string) string {
	if why = strings.TrimRight(textkit.TruncateBytes(textkit.OneLine(why), whyLength), ". "); why == "" {
		return "."
	}
	return ": " + framed(why) + "."
}

func heading(about string) string {
	return "**" + strings.ReplaceAll(framed(textkit.TruncateBytes(textkit.OneLine(about), askedLength)), "*", "") + "**"
}

func sentence(places []string) string {
	said := strings.Join(places, " and ") + " could not be searched."
	return strings.ToUpper(said[:1]) + said[1:]
}

// quotedConfidence is low, because a quote proves neither truth nor relevance.
func quotedConfidence(p piece) float64 {
	return min(mostQuoted, leastQuoted+lookup.Bound(p.weight(), 1)/2)
}

// quotedBest returns the best passages: up to two per voice, the second at half weight, without
// repeats in meaning. It omits copies and snippets of read pages.
func quotedBest(list []piece) (best []piece) {
	all := slices.DeleteFunc(notSaidBySearch(list), func(p piece) bool { return !p.quotable() || p.Orders || textkit.OneLine(p.Quote) == "" })
	slices.SortStableFunc(all, byWeight)
	heard := make(map[string]int)
	var said []similarity.Text
	var more []piece
	for _, p := range all {
		if len(best) == 2*quotesInAll {
			break
		}
		t := similarity.Of(textkit.TruncateBytes(p.shown(), quoteLength))
		if _, v := similarity.Nearest(said, t); v == similarity.Same {
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

// notSaidBySearch returns list without snippets of read pages.
func notSaidBySearch(list []piece) []piece {
	read := make(map[string]bool)
	for _, p := range list {
		read[p.Page] = read[p.Page] || p.Tool == WebFetchTool && p.quotable()
	}
	return slices.DeleteFunc(slices.Clone(list), func(p piece) bool { return p.Tool == WebSearchTool && p.Page != "" && read[p.Page] })
}

// group is the passages of one of the user's queries, or of all other queries.
type group struct {
	about  string
	pieces []piece
}

// groupsOf groups passages by the user's queries: other queries first, then by best passage. A
// leading "how" or "why" does not distinguish queries.
func groupsOf(best []piece, own []string) (groups []group) {
	at := make(map[string]int)
	for _, p := range best {
		about, key := p.Query, askedFor(p.Query)
		if !slices.ContainsFunc(own, func(q string) bool { return askedFor(q) == key }) {
			about, key = "", ""
		}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key], groups = i, append(groups, group{about: about})
		}
		groups[i].pieces = append(groups[i].pieces, p)
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(min(1, len(a.about)), min(1, len(b.about))) })
	return groups
}

// askedFor returns the folded query without a leading question word.
func askedFor(query string) string {
	key := lexical.Fold(query)
	if first, rest, ok := strings.Cut(key, " "); ok && among("asks", first) {
		return rest
	}
	return key
}

func nothingFound(question string, found int, why string, r reach) string {
	web, memory := queriesOf(question)
	var looked []string
	for _, q := range slices.Concat(web, memory) {
		if q = "“" + framed(textkit.TruncateBytes(q, askedLength)) + "”"; !slices.Contains(looked, q) {
			looked = append(looked, q)
		}
	}
	s := "No model wrote this" + because(why)
	switch {
	case !r.looked && len(r.failed) > 0:
		return s + " " + sentence(r.failed) + " So nothing was looked up, and there may be an answer."
	case !r.looked && found == 0:
		return s + " " + unlooked(r.none)
	case found > 0:
		s = fmt.Sprintf("%s Nothing was found that answers the question: of %s none can be quoted", s, passages(found))
	default:
		s += " Nothing was found that answers the question"
	}
	if len(looked) > 0 {
		s += "; what was looked for is " + strings.Join(looked[:min(len(looked), maxQueries)], ", ")
	}
	if s += "."; len(r.failed) > 0 {
		s += " " + sentence(r.failed)
	}
	return s
}

func unlooked(why string) string {
	if why == "" {
		return "Nothing was looked up."
	}
	return "Nothing was looked up: " + why + "."
}
