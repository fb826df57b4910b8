// Package ranking scores texts by the words of a query and keeps the best.
//
// The score is BM25: a term counts more the fewer texts have it, each further
// occurrence counts less, and occurrences in a long text count less. Postings are
// the stored form of the texts that have a term.
package ranking

import "math"

// Saturation is k1 of BM25: how soon further occurrences of a term stop counting.
const Saturation = 1.2

// Rarity returns the inverse frequency of a term that df of n texts have.
func Rarity(n, df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }

// A Scorer scores one term in texts of one kind.
type Scorer struct{ weight, fixed, lean float32 }

// NewScorer returns the scorer of a term of a weight, its rarity included. Lean, b of
// BM25, is how much the length of a text counts, beside the average length.
func NewScorer(weight, average, lean float64) Scorer {
	return Scorer{float32(weight * (Saturation + 1)), float32(Saturation * (1 - lean)), float32(Saturation * lean / max(average, 1))}
}

// Score returns the score of a text of a length that has the term so often.
func (s Scorer) Score(freq, length float32) float32 {
	return s.weight * freq / (freq + s.fixed + s.lean*length)
}
