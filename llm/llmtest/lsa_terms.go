package llmtest

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// lsaBag returns how often each term is in a text.
func lsaBag(text string) map[string]int {
	bag := map[string]int{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) > 1 && len(word) <= 40 {
			bag[lsaStem(word)]++
		}
	}
	return bag
}

// lsaEndings are endings of English words, none before a longer one that ends
// with it. What is short without one keeps it.
var lsaEndings = strings.Fields("ization ational fulness ousness iveness ations ation ments ement ment ness ities ity ings ing edly ed ally ly ies ives ive ers er ic al es s e y")

// lsaStem returns a word without its ending, roughly: that endings mean little
// is all that is needed.
func lsaStem(word string) string {
	for _, e := range lsaEndings {
		if rest, ok := strings.CutSuffix(word, e); ok && len(rest) >= 3 {
			return rest
		}
	}
	return word
}

// weigh numbers the terms that more than one text has, and weighs them by how few
// have them.
func (l *LSA) weigh(bags []map[string]int) {
	in := map[string]int{}
	for _, bag := range bags {
		for term := range bag {
			in[term]++
		}
	}
	var terms []string
	for term, n := range in {
		if n > 1 {
			terms = append(terms, term)
		}
	}
	slices.SortFunc(terms, func(a, b string) int { return cmp.Or(cmp.Compare(in[b], in[a]), cmp.Compare(a, b)) })
	terms = terms[:min(len(terms), lsaTerms)]
	l.terms, l.weight = make(map[string]int, len(terms)), make([]float64, len(terms))
	for i, term := range terms {
		l.terms[term] = i
		l.weight[i] = math.Log(float64(len(bags)+1) / (float64(in[term]) + 0.5))
	}
}

// point returns the weights of the terms of a text, as a vector of length 1.
func (l *LSA) point(bag map[string]int) sparse {
	var out sparse
	for term, n := range bag {
		if i, ok := l.terms[term]; ok {
			out = append(out, entry{i, l.weight[i] * (1 + math.Log(float64(n)))})
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	sum := 0.0
	for _, e := range out {
		sum += e.value * e.value
	}
	for i := range out {
		out[i].value /= math.Sqrt(sum)
	}
	return out
}
