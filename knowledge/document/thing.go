package document

import (
	"strings"

	"ponder/internal/textkit/lexical"
)

// Words that stand directly before a thing, or behind one, in English, and such before one in
// German, French and Spanish; and those that stand behind what is done to a thing: "a lease
// ends the call".
var (
	leads = wordSet(`a an the its his her their our my your this these those each every both any some all no
		two three four five six seven eight nine ten hundred thousand million
		of in on at for with from into onto about between without within during under over per among through
		der die das den dem des ein eine einen einem einer eines kein keine
		le la les un une du de au aux ce cette ces son sa ses leur leurs
		el los las una unos unas del al su sus`)
	follows  = wordSet(`is are was were has have had isn aren wasn weren hasn can could cannot will would should does`)
	articles = wordSet(`a an the its his her their our my your this these those each every`)
)

// isThing reports whether the words from one on, up to another, stand where a thing does, by
// what stands beside them. A label is one, and so is an item of a list.
func isThing(text string, all []lexical.Token, from, to int) bool {
	before, after := beside(text, all, from-1, from-1), beside(text, all, to-1, to)
	number := before != "" && strings.Trim(before, "0123456789") == ""
	return before == "" && after == "" || number || leads[before] || follows[after] && !follows[before]
}

// isDone reports whether a word that others stand before says what is done to the next.
func isDone(text string, all []lexical.Token, i int) bool {
	return articles[beside(text, all, i, i+1)] && strings.HasSuffix(text[:all[i].End], "s")
}

// beside returns the ith word in small letters, and nothing if more than a space is between
// the word at gap and the next. An owner ("Anna's") stands for the article that it is.
func beside(text string, all []lexical.Token, gap, i int) string {
	if gap < 0 || gap+1 >= len(all) {
		return ""
	}
	switch between := strings.Join(strings.Fields(text[min(all[gap].End, all[gap+1].Start):all[gap+1].Start]), " "); between {
	case "":
		return strings.ToLower(text[all[i].Start:all[i].End])
	case "'s", "’s":
		return "its"
	}
	return ""
}

// things returns the phrases that stand somewhere where a thing does. Where few of them do,
// as in notes and in languages that are not known here, it returns all.
func things(list []*phrase) []*phrase {
	var kept []*phrase
	for _, p := range list {
		if p.thing {
			kept = append(kept, p)
		}
	}
	if len(kept) < len(list)/3 {
		return list
	}
	return kept
}
