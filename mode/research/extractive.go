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
	quotesFirst        = 6
	quotesEach         = 3
	quotesInAll        = 18
	quoteLength        = 700 // bytes
	maxShownQuery      = 300
	whyLength          = 300 // bytes
	minQuoteConfidence = 0.1 // confidence of a quote
	maxQuoteConfidence = 0.6
)

// searchCoverage describes how far the sources were searched.
type searchCoverage struct {
	ownQueries     []string
	searched       bool
	failed         []string // failed places in words
	whyNotSearched string   // why nothing was searched
	refused        bool     // the budget ended before the call for the answer
}

// openingText says why no model wrote an answer.
func openingText(why string, refused, quoted bool) string {
	if refused {
		text := strings.ToUpper(why[:1]) + why[1:] + " before the model could write the answer."
		if quoted {
			text += " These are quotations of the sources."
		}
		return text
	}
	if quoted {
		return "This answer was put together without a model, from quotations of the sources" + formatReason(why)
	}
	return "No model wrote this" + formatReason(why)
}

// quotedAnswer returns an answer of quotations, grouped by query, and its confidence from 0 to 0.6.
// It says first that no model wrote it, and why. Headings use the user's words only. Without quotes
// it lists the queries and the failed places.
func quotedAnswer(question string, list []piece, why string, r searchCoverage) (answer string, confidence float64) {
	best := bestQuotes(list)
	if len(best) == 0 {
		return nothingFound(question, len(list), why, r), 0
	}
	first := openingText(why, r.refused, true)
	if len(r.failed) > 0 {
		first += " " + failedSentence(r.failed)
	}
	var b strings.Builder
	groups := groupByQuery(best, append([]string{question}, r.ownQueries...))
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
				b.WriteString("\n" + formatHeading(group.about) + "\n\n")
			case i == 0:
				b.WriteString("\n")
			}
			b.WriteString("- “" + textkit.TruncateBytes(p.displayQuote(), quoteLength) + "” [" + p.id() + "]\n")
			total, quotes = total+quoteConfidence(p), append(quotes, p.Title+" "+p.Section+"\n"+p.displayQuote())
		}
	}
	return first + questionwords.DescribeMissing(question, quotes) + "\n" + strings.TrimRight(b.String(), "\n"), math.Round(total/float64(len(quotes))*100) / 100
}

func formatReason(why string) string {
	if why = strings.TrimRight(textkit.TruncateBytes(textkit.OneLine(why), whyLength), ". "); why == "" {
		return "."
	}
	return ": " + escapeFrame(why) + "."
}

func formatHeading(about string) string {
	return "**" + strings.ReplaceAll(escapeFrame(textkit.TruncateBytes(textkit.OneLine(about), maxShownQuery)), "*", "") + "**"
}

func failedSentence(places []string) string {
	said := strings.Join(places, " and ") + " could not be searched."
	return strings.ToUpper(said[:1]) + said[1:]
}

// quoteConfidence is low, because a quote proves neither truth nor relevance.
func quoteConfidence(p piece) float64 {
	return min(maxQuoteConfidence, minQuoteConfidence+lookup.ClampTo(p.weight(), 1)/2)
}

// bestQuotes returns the best passages: up to two per voice, the second at half weight, without
// repeats in meaning. It omits copies and snippets of read pages.
func bestQuotes(list []piece) (best []piece) {
	all := slices.DeleteFunc(dropSnippets(list), func(p piece) bool { return !p.isQuotable() || p.Orders || textkit.OneLine(p.Quote) == "" })
	slices.SortStableFunc(all, compareWeight)
	perVoice := make(map[string]int)
	var said []similarity.Text
	var more []piece
	for _, p := range all {
		if len(best) == 2*quotesInAll {
			break
		}
		t := similarity.Parse(textkit.TruncateBytes(p.displayQuote(), quoteLength))
		if _, v := similarity.Nearest(said, t); v == similarity.Same {
			continue
		}
		switch perVoice[p.voiceKey()]++; perVoice[p.voiceKey()] {
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

// dropSnippets returns list without snippets of read pages.
func dropSnippets(list []piece) []piece {
	read := make(map[string]bool)
	for _, p := range list {
		read[p.PageKey] = read[p.PageKey] || p.Tool == WebFetchTool && p.isQuotable()
	}
	return slices.DeleteFunc(slices.Clone(list), func(p piece) bool { return p.Tool == WebSearchTool && p.PageKey != "" && read[p.PageKey] })
}

// quoteGroup is the passages of one of the user's queries, or of all other queries.
type quoteGroup struct {
	about  string
	pieces []piece
}

// groupByQuery groups passages by the user's queries: other queries first, then by best passage. A
// leading "how" or "why" does not distinguish queries.
func groupByQuery(best []piece, own []string) (groups []quoteGroup) {
	at := make(map[string]int)
	for _, p := range best {
		about, key := p.Query, queryKey(p.Query)
		if !slices.ContainsFunc(own, func(q string) bool { return queryKey(q) == key }) {
			about, key = "", ""
		}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key], groups = i, append(groups, quoteGroup{about: about})
		}
		groups[i].pieces = append(groups[i].pieces, p)
	}
	slices.SortStableFunc(groups, func(a, b quoteGroup) int { return cmp.Compare(min(1, len(a.about)), min(1, len(b.about))) })
	return groups
}

// queryKey returns the folded query without a leading question word.
func queryKey(query string) string {
	key := lexical.Fold(query)
	if first, rest, ok := strings.Cut(key, " "); ok && inLexicon("asks", first) {
		return rest
	}
	return key
}

func nothingFound(question string, found int, why string, r searchCoverage) string {
	web, memory := heuristicQueries(question)
	var looked []string
	for _, q := range slices.Concat(web, memory) {
		if q = "“" + escapeFrame(textkit.TruncateBytes(q, maxShownQuery)) + "”"; !slices.Contains(looked, q) {
			looked = append(looked, q)
		}
	}
	s := openingText(why, r.refused, false)
	switch {
	case !r.searched && len(r.failed) > 0:
		return s + " " + failedSentence(r.failed) + " So no search was made, and an answer may exist."
	case !r.searched && found == 0:
		return s + " " + notSearchedText(r.whyNotSearched)
	case found > 0:
		s = fmt.Sprintf("%s No answer found: %s found, none can be quoted", s, formatPassages(found))
	default:
		s += " No answer found"
	}
	if len(looked) > 0 {
		s += "; searched for " + strings.Join(looked[:min(len(looked), maxQueries)], ", ")
	}
	if s += "."; len(r.failed) > 0 {
		s += " " + failedSentence(r.failed)
	}
	return s
}

func notSearchedText(why string) string {
	if why == "" {
		return "No search was made."
	}
	return "No search was made: " + why + "."
}
