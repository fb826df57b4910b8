package document

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

const maxKeyWords = 3

// KeyTerms returns the n most important terms of a text. Words that are rare in the
// collection count most.
func (c *Collection) KeyTerms(text string, n int) []string {
	return keyTerms(text, n, c.termRarity, nil)
}

// Topics returns at most n key terms of the hit's passage that the question does not
// have.
func (c *Collection) Topics(h Hit, question string, n int) []string {
	known := map[string]bool{}
	for _, w := range queryWords(question) {
		known[indexTerm(w)] = true
	}
	return keyTerms(h.Document.passageText(h.Sentence), n, c.termRarity, known)
}

// passageText returns up to three sentences on each side of sentence i within its
// section, without code.
func (d *Document) passageText(i int) string {
	var b strings.Builder
	for j := max(0, i-3); j < min(len(d.Sentences), i+4); j++ {
		if s := d.Sentences[j]; s.Section == d.Sentences[i].Section && s.Kind != Code {
			b.WriteString(d.Quote(j))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// termRarity returns the inverse passage frequency of a term, or 0 for frequent terms of
// larger collections.
func (c *Collection) termRarity(term string) float64 {
	n, df := float64(len(c.passages)), 0.0
	if id, ok := c.terms[term]; ok {
		df = float64(c.lists[id].passages)
	}
	if n > 50 && df > n/5 {
		return 0
	}
	return math.Log(1 + n/(df+0.5))
}

type phrase struct {
	text   string
	terms  []string
	first  int // offset in the text
	count  int
	isNoun bool // a name, or in noun position at least once
	score  float64
}

func keyTerms(text string, n int, rarity func(term string) float64, known map[string]bool) []string {
	text = text[:wholeRunes(text[:min(len(text), 1<<20)])]
	list := dropSingleUses(findPhrases(text))
	counts := map[string]int{}
	for _, p := range list {
		for _, t := range p.terms {
			counts[t] += p.count
		}
	}
	for _, p := range list {
		for _, t := range p.terms {
			if !known[t] {
				p.score += rarity(t) * (1 + math.Log(float64(counts[t])))
			}
		}
		p.score *= (1 + math.Log(float64(p.count))) / math.Sqrt(float64(len(p.terms)))
	}
	slices.SortStableFunc(list, func(a, b *phrase) int {
		if c := compareFloats(b.score, a.score); c != 0 {
			return c
		}
		return a.first - b.first
	})
	return topDistinct(nounPhrases(list), n)
}

// dropSingleUses drops single occurrences of longer phrases with a part that stands alone
// elsewhere.
func dropSingleUses(list []*phrase) []*phrase {
	alone := map[string]bool{}
	for _, p := range list {
		if len(p.terms) == 1 {
			alone[p.terms[0]] = true
		}
	}
	return slices.DeleteFunc(list, func(p *phrase) bool {
		return p.count == 1 && len(p.terms) > 1 && slices.ContainsFunc(p.terms, func(t string) bool { return alone[t] })
	})
}

func topDistinct(list []*phrase, n int) []string {
	var out []string
	var taken [][]string
	for _, p := range list {
		if len(out) >= n || p.score <= 0 {
			break
		}
		if !slices.ContainsFunc(taken, func(t []string) bool { return isSubset(t, p.terms) || isSubset(p.terms, t) }) {
			taken = append(taken, p.terms)
			out = append(out, p.text)
		}
	}
	return out
}

func isSubset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(t string) bool { return !slices.Contains(b, t) })
}

func findPhrases(text string) []*phrase {
	seen := map[string]*phrase{}
	var list []*phrase
	names := findNames(text)
	all := collectTokens(text)
	add := func(from, to int) {
		p := newPhrase(text, all, from, to, names)
		if p == nil {
			return
		}
		key := strings.Join(p.terms, " ")
		if seen[key] == nil {
			seen[key] = p
			list = append(list, p)
		}
		seen[key].count++
		seen[key].isNoun = seen[key].isNoun || p.isNoun
	}
	from := 0
	for i, t := range all {
		w := text[t.Start:t.End]
		if i > from && !isJoined(text, all[i-1], t) {
			add(from, i)
			from = i
		}
		if isStopWord(w) || lexical.Unspaced(firstRune(w)) && strings.ContainsFunc(w, isParticle) {
			add(from, i)
			from = i + 1
		}
	}
	add(from, len(all))
	return list
}

func collectTokens(text string) (all []lexical.Token) {
	lexical.Tokens(text, func(t lexical.Token) { all = append(all, t) })
	return all
}

// isParticle reports whether a letter of a script without spaces is grammatical. Letters of
// scripts without word detection all are.
func isParticle(r rune) bool {
	return !unicode.In(r, unicode.Han, unicode.Katakana, unicode.Hangul) && r != 'ー' || strings.ContainsRune(particleLetters, r)
}

func isJoined(text string, a, b lexical.Token) bool {
	if lexical.Unspaced(firstRune(text[a.Start:])) || lexical.Unspaced(firstRune(text[b.Start:])) {
		return b.Start < a.End
	}
	gap := text[min(a.End, b.Start):b.Start]
	return len(gap) == 1 && strings.Contains(" -_", gap) || gap == "‑"
}

// newPhrase returns the key term in a word run, or nil. It takes the last words
// because English puts the head noun last.
func newPhrase(text string, all []lexical.Token, from, to int, names map[string]bool) *phrase {
	if from < to && lexical.Unspaced(firstRune(text[all[from].Start:])) {
		return unspacedPhrase(text, all[from:to])
	}
	if to-from > 1 && isVerbBeforeObject(text, all, to-1) {
		to--
	}
	begins := from
	from, to = trimWeak(text, all, from, to)
	if to-from > maxKeyWords {
		begins = to - maxKeyWords
		from, to = trimWeak(text, all, begins, to)
	}
	if from == to {
		return nil
	}
	p := &phrase{first: all[from].Start, text: text[all[from].Start:all[to-1].End]}
	named := false
	for _, t := range all[from:to] {
		w := text[t.Start:t.End]
		p.terms = append(p.terms, indexTerm(w))
		named = named || names[strings.ToLower(w)]
	}
	p.isNoun = named || isNounPosition(text, all, begins, to) || isNounPosition(text, all, from, to)
	if !named {
		p.text = strings.ToLower(p.text)
	}
	if to-from == 1 && utf8.RuneCountInString(p.text) < 4 && !named {
		return nil
	}
	return p
}

func trimWeak(text string, all []lexical.Token, from, to int) (int, int) {
	for from < to && isWeakWord(text, all[from], false) && !strings.HasPrefix(text[all[from].End:], "-") {
		from++
	}
	for from < to && isWeakWord(text, all[to-1], to-from > 1) {
		to--
	}
	return from, to
}

const maxUnspaced = 7

// unspacedPhrase returns the key term of a run of letter pairs, or nil if the run is
// too long.
func unspacedPhrase(text string, run []lexical.Token) *phrase {
	p := &phrase{first: run[0].Start, text: text[run[0].Start:run[len(run)-1].End], isNoun: true}
	if len(run) > maxUnspaced || utf8.RuneCountInString(p.text) < 2 {
		return nil
	}
	for _, t := range run {
		p.terms = append(p.terms, indexTerm(text[t.Start:t.End]))
	}
	return p
}

// isWeakWord reports whether a word cannot begin or end a key term; after is set for the
// last of several words.
func isWeakWord(text string, t lexical.Token, after bool) bool {
	w := strings.ToLower(text[t.Start:t.End])
	switch {
	case utf8.RuneCountInString(w) < 2, fillerWords[w], strings.Trim(w, "0123456789") == "":
		return true
	case strings.HasSuffix(w, "ly") && len(w) > 5:
		return true
	}
	return after && strings.HasSuffix(w, "ed") && len(w) > 4
}

func findNames(text string) map[string]bool {
	names := map[string]bool{}
	before := 0
	lexical.Tokens(text, func(t lexical.Token) {
		w := text[t.Start:t.End]
		begins := before == 0 || strings.ContainsAny(text[min(before, t.Start):t.Start], ".!?:\n\"“•")
		before = t.End
		low := strings.ToLower(w)
		upper := unicode.IsUpper(firstRune(w))
		switch {
		case upper && len(w) > 1 && w == strings.ToUpper(w):
			names[low] = true
		case begins:
		case !upper:
			names[low] = false
		default:
			if _, ok := names[low]; !ok {
				names[low] = true
			}
		}
	})
	return names
}

// english is the stemming language for all texts; queries are stemmed alike.
const english lexical.Language = "en"

// indexTerm returns the index form of a word: its English stem without case and accents.
func indexTerm(word string) string { return lexical.Stem(word, english) }

// stopWords are function words. The index has them; a query drops them if it has other
// words.
var stopWords = wordSet(`a about an and any are aren as at be because been being but by can cannot could couldn d did didn do
	does doesn doing don each either else etc for from had hadn has hasn have haven having he her here hers herself him
	himself his how however i if in into is isn it its itself just ll m me my myself no nor not o of off on onto or our
	ours ourselves re s shall she should shouldn so some such t than that the their theirs them themselves then there
	therefore these they this those though thus to too until upon us ve very was wasn we were weren what whatever when
	where whether which while who whom whose why will with within would wouldn yes you your yours yourself
	der das dem ein eine einer eines einem einen und oder ist sind waren wird werden nicht auch auf aus bei bis durch fur
	mit nach ohne zu zum zur ich du sie es wir ihr wie wo wann warum
	le la les du et ou mais est sont dans par avec ce cette ces qui que quoi il elle nous vous ils elles
	el los las uno una pero en por este esta estos estas cual como donde cuando`)

// fillerWords and stops cannot begin or end a key term.
var fillerWords = wordSet(`six seven eight nine hundred thousand million billion second third twice daily able above across actually after again against ago all almost alone along already also although
	always am among another anyone anything apart around ask asked away back became become becomes before began behind
	below best better between both bring brought came case cases certain come comes compare course day days define
	describe difference different discuss done down due during early easy enough even ever every everyone everything
	example examples explain far few find first five following found four full further gave general generally get gets
	getting give given gives go goes going gone good got great hand happen happened hard help hence high important
	indeed instead interesting keep kept kind kinds know known large last late later least less let like likely list
	little long look made main make makes making many may maybe mean means might more most mostly much must near nearly
	need needs neither never new next none nothing now number often ok okay old once one ones only other others out
	outline over own part particular people perhaps place please point possible probably put question quite rather
	really reason reasons regarding related right said same saw say says see seem seems seen several short show shown
	shows side similar simply since small something sometimes soon sort sorts still summarise summarize take taken takes
	tell ten thank thanks thing things think three through throughout time times together told took toward towards
	true turn two type types under unless unlike up use used useful uses using usually various via want wants way ways
	week weeks well went whole without word words work works year years yet`)

// particleLetters are grammatical letters of Chinese and Japanese.
const particleLetters = "的是了在和與与或及也就而被把這这那們们我你他她它很"

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// Words before and after nouns in English, before nouns in German, French and Spanish,
// and articles that follow a verb: "a lease ends the call".
var (
	nounLeads = wordSet(`a an the its his her their our my your this these those each every both any some all no
		two three four five six seven eight nine ten hundred thousand million
		of in on at for with from into onto about between without within during under over per among through
		der die das den dem des ein eine einen einem einer eines kein keine
		le la les un une du de au aux ce cette ces son sa ses leur leurs
		el los las una unos unas del al su sus`)
	nounFollowers = wordSet(`is are was were has have had isn aren wasn weren hasn can could cannot will would should does`)
	articles      = wordSet(`a an the its his her their our my your this these those each every`)
)

// isNounPosition reports whether the words from..to are in noun position by their neighbours.
// Labels and list items are.
func isNounPosition(text string, all []lexical.Token, from, to int) bool {
	before, after := adjacentWord(text, all, from-1, from-1), adjacentWord(text, all, to-1, to)
	number := before != "" && strings.Trim(before, "0123456789") == ""
	return before == "" && after == "" || number || nounLeads[before] || nounFollowers[after] && !nounFollowers[before]
}

// isVerbBeforeObject reports whether the word at i is a verb before its object.
func isVerbBeforeObject(text string, all []lexical.Token, i int) bool {
	return articles[adjacentWord(text, all, i, i+1)] && strings.HasSuffix(text[:all[i].End], "s")
}

// adjacentWord returns word i in lower case, or "" unless at most a space separates word gap
// from the next. A possessive ("Anna's") counts as an article.
func adjacentWord(text string, all []lexical.Token, gap, i int) string {
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

// nounPhrases returns the phrases in noun position. If they are few, as in notes and
// unsupported languages, it returns all.
func nounPhrases(list []*phrase) []*phrase {
	var kept []*phrase
	for _, p := range list {
		if p.isNoun {
			kept = append(kept, p)
		}
	}
	if len(kept) < len(list)/3 {
		return list
	}
	return kept
}
