package document

import (
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// Bounds on a question.
const (
	maxQuery      = 8 << 10 // bytes
	maxQueryTerms = 48
)

// A query is a question as an index understands it.
type query struct {
	terms []queryTerm
	pairs map[[2]int32]float64 // terms that follow each other, and what finding them so is worth
	ids   []int32              // of the terms, sorted; nil if no sentence has them all
	ideal float64              // the score of a sentence that has every term once
}

// pairWeight is what two terms add that stand together as they do in the
// question, as a part of what they score alone.
const pairWeight = 0.2

// asked is what a sentence counts that asks the question itself.
const asked = 0.5

// parse takes a question apart.
func (x *index) parse(text string) query {
	words := queryWords(text)
	var q query
	at := map[string]int{}
	var before *queryTerm
	q.pairs = map[[2]int32]float64{}
	for _, w := range words {
		t := term(w)
		i, ok := at[t]
		if !ok {
			i = len(q.terms)
			at[t] = i
			q.terms = append(q.terms, x.queryTerm(w, t))
		}
		q.terms[i].weight += emphasis(w)
		now := q.terms[i]
		if before != nil && before.id >= 0 && now.id >= 0 && before.id != now.id {
			q.pairs[[2]int32{before.id, now.id}] = pairWeight * (before.idf + now.idf)
		}
		before = &now
	}
	if len(q.terms) > maxQueryTerms {
		slices.SortStableFunc(q.terms, func(a, b queryTerm) int { return compare(b.idf, a.idf) })
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

// has reports whether a term is one of the question's.
func (q query) has(term int32) bool {
	return slices.ContainsFunc(q.terms, func(t queryTerm) bool { return t.id == term })
}

// emphasis returns how much a word of a question counts: less if it is one that
// is in questions about anything.
func emphasis(word string) float64 {
	if fillers[strings.ToLower(word)] {
		return 0.7
	}
	return 1
}

// queryWords returns the words of a question that say what it is about, or all
// if none does.
func queryWords(text string) []string {
	text = subject(text[:wholeRunes(text[:min(len(text), maxQuery)])])
	var all, content []string
	lexical.Tokens(text, func(t lexical.Token) {
		w := text[t.Start:t.End]
		all = append(all, w)
		if !stopped(w) {
			content = append(content, w)
		}
	})
	if len(content) == 0 {
		return all
	}
	return content
}

// asks begin a question and say nothing of its subject.
var asks = []string{
	"what do the documents say about ", "what do my notes say about ", "what is known about ", "what do you know about ",
	"what do we know about ", "what can you tell me about ", "tell me about ", "tell me what ", "what is there about ",
	"give me an overview of ", "give an overview of ", "please ", "can you ", "could you ", "explain ", "describe ", "summarize ",
	"summarise ", "i want to know ", "i would like to know ", "do you know ",
}

// subject returns a question without how it is asked.
func subject(text string) string {
	text = strings.TrimSpace(text)
	for again := true; again; {
		again = false
		for _, ask := range asks {
			if len(text) > len(ask) && strings.EqualFold(text[:len(ask)], ask) {
				text, again = text[len(ask):], true
			}
		}
	}
	return text
}

func (x *index) queryTerm(word, term string) queryTerm {
	id, ok := x.terms[term]
	n, df := float64(len(x.units)), 0.0
	if ok {
		df = float64(x.lists[id].units)
	} else {
		id = -1
	}
	return queryTerm{id: id, word: word, idf: ranking.Rarity(n, df)}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// tally scores everything by a question.
func (c *Collection) tally(q query) *tally {
	t := c.tallies.Get().(*tally)
	for _, term := range q.terms {
		if term.id >= 0 {
			t.count(c.index, term)
		}
	}
	t.inherit(c.index)
	return t
}

// release gives back what tally returned.
func (c *Collection) release(t *tally) {
	t.clear()
	c.tallies.Put(t)
}
