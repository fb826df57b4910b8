package document

import (
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

const (
	maxQuery      = 8 << 10 // bytes
	maxQueryTerms = 48
)

type query struct {
	terms []queryTerm
	pairs map[[2]int32]float64 // adjacent terms and the value of their adjacency
	ids   []int32              // sorted; nil if no sentence can have all
	ideal float64              // score of a sentence with every term once
}

// pairWeight is the bonus for two terms in question order, as a fraction of their own
// score.
const pairWeight = 0.2

// questionFactor is the factor for a sentence that is the question itself.
const questionFactor = 0.5

func (x *index) parseQuery(text string) query {
	words := queryWords(text)
	var q query
	at := map[string]int{}
	var before *queryTerm
	q.pairs = map[[2]int32]float64{}
	for _, w := range words {
		t := indexTerm(w)
		i, ok := at[t]
		if !ok {
			i = len(q.terms)
			at[t] = i
			q.terms = append(q.terms, x.newQueryTerm(w, t))
		}
		q.terms[i].weight += wordWeight(w)
		now := q.terms[i]
		if before != nil && before.id >= 0 && now.id >= 0 && before.id != now.id {
			q.pairs[[2]int32{before.id, now.id}] = pairWeight * (before.idf + now.idf)
		}
		before = &now
	}
	if len(q.terms) > maxQueryTerms {
		slices.SortStableFunc(q.terms, func(a, b queryTerm) int { return compareFloats(b.idf, a.idf) })
		q.terms = q.terms[:maxQueryTerms]
	}
	for _, t := range q.terms {
		q.ideal += t.weight * t.idf
		q.ids = append(q.ids, t.id)
	}
	slices.Sort(q.ids)
	if len(q.ids) > 0 && q.ids[0] < 0 {
		q.ids = nil
	}
	return q
}

func (q query) hasTerm(term int32) bool {
	return slices.ContainsFunc(q.terms, func(t queryTerm) bool { return t.id == term })
}

func wordWeight(word string) float64 {
	if fillerWords[strings.ToLower(word)] {
		return 0.7
	}
	return 1
}

// queryWords returns the content words of a question, or all words if it has none.
func queryWords(text string) []string {
	text = stripLeadIns(text[:wholeRunes(text[:min(len(text), maxQuery)])])
	var all, content []string
	lexical.Tokens(text, func(t lexical.Token) {
		w := text[t.Start:t.End]
		all = append(all, w)
		if !isStopWord(w) {
			content = append(content, w)
		}
	})
	if len(content) == 0 {
		return all
	}
	return content
}

var leadIns = []string{
	"what do the documents say about ", "what do my notes say about ", "what is known about ", "what do you know about ",
	"what do we know about ", "what can you tell me about ", "tell me about ", "tell me what ", "what is there about ",
	"give me an overview of ", "give an overview of ", "please ", "can you ", "could you ", "explain ", "describe ", "summarize ",
	"summarise ", "i want to know ", "i would like to know ", "do you know ",
}

func stripLeadIns(text string) string {
	text = strings.TrimSpace(text)
	for again := true; again; {
		again = false
		for _, ask := range leadIns {
			if len(text) > len(ask) && strings.EqualFold(text[:len(ask)], ask) {
				text, again = text[len(ask):], true
			}
		}
	}
	return text
}

func (x *index) newQueryTerm(word, term string) queryTerm {
	id, ok := x.terms[term]
	n, df := float64(len(x.units)), 0.0
	if ok {
		df = float64(x.lists[id].units)
	} else {
		id = -1
	}
	return queryTerm{id: id, word: word, idf: ranking.Rarity(n, df)}
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (c *Collection) tallyQuery(q query) *tally {
	t := c.tallies.Get().(*tally)
	for _, term := range q.terms {
		if term.id >= 0 {
			t.addTermScores(c.index, term)
		}
	}
	t.addParentScores(c.index)
	return t
}

func (c *Collection) releaseTally(t *tally) {
	t.reset()
	c.tallies.Put(t)
}
