package claim

import (
	"math"
	"sort"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

const (
	maxQuotes  = 2000
	maxQuote   = 64 << 10 // bytes read of a quote
	maxContext = 2 << 10
	maxUnits   = 20_000
)

// A Corpus is an immutable index of quotes, safe for concurrent use.
type Corpus struct {
	quotes   []indexedQuote
	units    []unit
	lang     lexical.Language
	vocab    map[string]int32 // stems
	prefix   map[string][]int32
	stems    []string
	postings [][]int32      // by stem: its units, ascending
	names    map[string]int // folded words capitalized inside sentences
}

type indexedQuote struct {
	Quote
	first, last int // units, last exclusive
	context     parsedSentence
	stems       map[int32]bool // of its context
}

type unit struct {
	parsedSentence
	span
	quote int
	ids   []int32 // stems of its terms
}

// NewCorpus indexes the first 2,000 quotes, 64 KiB of each.
func NewCorpus(quotes []Quote) *Corpus {
	c := &Corpus{vocab: make(map[string]int32), prefix: make(map[string][]int32), names: make(map[string]int)}
	quotes = quotes[:min(len(quotes), maxQuotes)]
	c.lang = majorityLanguage(quotes)
	for _, q := range quotes {
		c.addQuote(q)
	}
	return c
}

func majorityLanguage(quotes []Quote) lexical.Language {
	votes := make(map[lexical.Language]int)
	best := lexical.Language("")
	for i := 0; i < len(quotes); i += 1 + len(quotes)/16 {
		lang, _ := lexical.Detect(quotes[i].Text)
		if votes[lang]++; lang != "" && (best == "" || votes[lang] > votes[best]) {
			best = lang
		}
	}
	return best
}

func (c *Corpus) addQuote(q Quote) {
	s := indexedQuote{Quote: q, first: len(c.units), stems: make(map[int32]bool)}
	s.context = readSentence(q.Context, span{0, len(textkit.Prefix(q.Context, maxContext))}, c.lang)
	for _, t := range s.context.terms {
		s.stems[c.internStem(t.stem)] = true
		c.names[t.fold]++
	}
	for _, at := range splitUnits(q.Text) {
		if len(c.units) == maxUnits {
			break
		}
		u := unit{parsedSentence: readSentence(q.Text, at, c.lang), span: at, quote: len(c.quotes)}
		for _, t := range u.terms {
			id := c.internStem(t.stem)
			u.ids = append(u.ids, id)
			if n := len(c.postings[id]); n == 0 || c.postings[id][n-1] != int32(len(c.units)) {
				c.postings[id] = append(c.postings[id], int32(len(c.units)))
			}
			if t.name && !t.head {
				c.names[t.fold]++
			}
		}
		c.units = append(c.units, u)
	}
	s.last = len(c.units)
	c.quotes = append(c.quotes, s)
}

// splitUnits returns the sentences of a quote. Lines that are short or end with a stop
// are separate, because pages have headings and tables.
func splitUnits(text string) []span {
	var list []span
	text = textkit.Prefix(text, maxQuote)
	start := 0
	for start < len(text) {
		end := start
		for end < len(text) {
			n := strings.IndexByte(text[end:], '\n')
			if n < 0 {
				end = len(text)
				break
			}
			end += n + 1
			if n < 60 || end < len(text) && text[end] == '\n' || strings.ContainsAny(text[end-2:end-1], ".!?:|") {
				break
			}
		}
		for _, s := range sentencesIn(text, span{start, end}) {
			for _, p := range splitLong(text, s) {
				if p = trimSpan(text, p); hasLetter(text[p.start:p.end]) {
					list = append(list, p)
				}
			}
		}
		start = end
	}
	return list
}

func (c *Corpus) internStem(stem string) int32 {
	if id, ok := c.vocab[stem]; ok {
		return id
	}
	id := int32(len(c.stems))
	c.vocab[stem] = id
	c.stems = append(c.stems, stem)
	c.postings = append(c.postings, nil)
	if p := stemPrefix(stem); p != "" {
		c.prefix[p] = append(c.prefix[p], id)
	}
	return id
}

func stemPrefix(stem string) string {
	if len(stem) < 5 || strings.ContainsAny(stem[:4], "0123456789") {
		return ""
	}
	return stem[:4]
}

type stemMatch struct {
	id     int32
	credit float64
}

const maxStemMatches = 24

func (c *Corpus) matchStems(t term) []stemMatch {
	var list []stemMatch
	if id, ok := c.vocab[t.stem]; ok {
		list = append(list, stemMatch{id, 1})
	}
	p := stemPrefix(t.stem)
	if p == "" {
		return list
	}
	for _, id := range c.prefix[p] {
		if s := c.stems[id]; s != t.stem {
			if credit := stemSimilarity(t.stem, s); credit > 0 {
				list = append(list, stemMatch{id, credit})
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].credit > list[j].credit })
	return list[:min(len(list), maxStemMatches)]
}

// stemSimilarity returns the similarity of two stems with a common prefix, such as
// "croatia" and "croatian", 0 to 1.
func stemSimilarity(a, b string) float64 {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	short, long := min(len(a), len(b)), max(len(a), len(b))
	switch {
	case n == short && n >= 4 && long-n <= 3:
		return 0.85
	case n >= 5 && long-n <= 3:
		return 0.7
	case n >= 6 && long-n <= 5:
		return 0.6
	}
	return 0
}

const commonWeight = 0.4

func (c *Corpus) termWeight(t term, list []stemMatch) float64 {
	n := 0
	if len(list) > 0 && list[0].credit == 1 {
		n = len(c.postings[list[0].id])
	}
	w := math.Log(1 + float64(len(c.units)+40)/float64(n+2))
	if !t.name && commonWords[t.fold] {
		w *= commonWeight
	}
	return w
}
