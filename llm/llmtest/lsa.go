package llmtest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// LSAModel is a [Sim]'s name for its [LSA].
const LSAModel = "sim-lsa"

// An LSA embeds texts by latent semantic analysis of a collection. Texts on a topic are
// close, even in other words that the collection relates. It replaces an embedding model
// in search tests. It is deterministic and safe for concurrent use.
//
// It weights terms by frequency and rarity and projects them onto the directions of
// greatest variance.
type LSA struct {
	terms  map[string]int
	weight []float64   // by term
	axes   [][]float64 // unit vectors, most significant first
}

const (
	lsaTexts = 20_000 // sampled evenly beyond
	lsaTerms = 30_000 // most frequent
	lsaLine  = 16 << 20
)

// NewLSA fits an embedder with up to dimensions dimensions. It takes seconds for
// thousands of texts and 256 dimensions.
func NewLSA(texts []string, dimensions int) (*LSA, error) {
	if dimensions < 1 || dimensions > 1024 {
		return nil, fmt.Errorf("fit embedder: %d dimensions are not from 1 to 1024", dimensions)
	}
	if step := (len(texts) + lsaTexts - 1) / lsaTexts; step > 1 {
		some := make([]string, 0, lsaTexts)
		for i := 0; i < len(texts); i += step {
			some = append(some, texts[i])
		}
		texts = some
	}
	bags := make([]map[string]int, len(texts))
	for i, t := range texts {
		bags[i] = lsaBag(t)
	}
	l := &LSA{}
	l.weightTerms(bags)
	if len(l.weight) == 0 {
		return nil, errors.New("fit embedder: the texts share no words")
	}
	rows := make([]sparseVector, len(bags))
	for i, bag := range bags {
		rows[i] = l.termVector(bag)
	}
	l.axes = principalAxes(rows, len(l.weight), dimensions)
	return l, nil
}

// ReadLSA fits an embedder to BEIR collections: a JSON object with title and text a line.
func ReadLSA(dimensions int, collections ...io.Reader) (*LSA, error) {
	var texts []string
	for _, r := range collections {
		s := bufio.NewScanner(r)
		s.Buffer(nil, lsaLine)
		for n := 1; s.Scan(); n++ {
			var doc struct{ Title, Text string }
			if len(bytes.TrimSpace(s.Bytes())) == 0 {
				continue
			}
			if err := json.Unmarshal(s.Bytes(), &doc); err != nil {
				return nil, fmt.Errorf("read collection: line %d: %w", n, err)
			}
			texts = append(texts, doc.Title+"\n"+doc.Text)
		}
		if err := s.Err(); err != nil {
			return nil, fmt.Errorf("read collection: %w", err)
		}
	}
	return NewLSA(texts, dimensions)
}

// Dimensions returns the length of the vectors.
func (l *LSA) Dimensions() int { return len(l.axes) }

// Embed returns a unit vector, arbitrary without known terms.
func (l *LSA) Embed(text string) []float32 { return l.embedDimensions(text, len(l.axes)) }

// embedDimensions returns a vector of size dimensions, or all.
func (l *LSA) embedDimensions(text string, size int) []float32 {
	if size <= 0 || size > len(l.axes) {
		size = len(l.axes)
	}
	point, sum := l.termVector(lsaBag(text)), 0.0
	v := make([]float64, size)
	for i, axis := range l.axes[:size] {
		v[i] = point.dotProduct(axis)
		sum += v[i] * v[i]
	}
	if sum == 0 {
		return hashEmbedding(text, size)
	}
	out := make([]float32, size)
	for i, x := range v {
		out[i] = float32(x / math.Sqrt(sum))
	}
	return out
}

// A sparseVector vector is sorted by index.
type sparseVector []sparseEntry

type sparseEntry struct {
	at    int
	value float64
}

func (s sparseVector) dotProduct(v []float64) (sum float64) {
	for _, e := range s {
		sum += e.value * v[e.at]
	}
	return sum
}

const lsaRounds = 4

// principalAxes returns up to n orthonormal vectors near the first right singular vectors'
// span, in about their order. It iterates a random subspace (Halko, Martinsson and Tropp,
// 2011), without the final rotation, which changes no angle.
func principalAxes(rows []sparseVector, width, n int) [][]float64 {
	n = min(n, len(rows), width)
	left := computeColumns(n, func(i int) []float64 {
		rng := rand.New(rand.NewPCG(uint64(i), lsaRounds))
		start := make([]float64, width)
		for j := range start {
			start[j] = rng.NormFloat64()
		}
		return multiplyRows(rows, start)
	})
	for range lsaRounds {
		left = orthonormalize(left)
		left = computeColumns(len(left), func(i int) []float64 { return multiplyRows(rows, multiplyTransposed(rows, left[i], width)) })
	}
	left = orthonormalize(left)
	return orthonormalize(computeColumns(len(left), func(i int) []float64 { return multiplyTransposed(rows, left[i], width) }))
}

// computeColumns computes n columns on all cores.
func computeColumns(n int, make1 func(i int) []float64) [][]float64 {
	out := make([][]float64, n)
	var wg sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for c := range cores {
		wg.Go(func() {
			for i := c; i < n; i += cores {
				out[i] = make1(i)
			}
		})
	}
	wg.Wait()
	return out
}

func multiplyRows(rows []sparseVector, v []float64) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = r.dotProduct(v)
	}
	return out
}

func multiplyTransposed(rows []sparseVector, v []float64, width int) []float64 {
	out := make([]float64, width)
	for i, r := range rows {
		for _, e := range r {
			out[e.at] += e.value * v[i]
		}
	}
	return out
}

// orthonormalize orthonormalizes its argument in place (Gram-Schmidt) and drops dependent
// vectors.
func orthonormalize(vectors [][]float64) [][]float64 {
	out := vectors[:0]
	for _, v := range vectors {
		before := vectorNorm(v)
		for range 2 { // against rounding errors
			for _, axis := range out {
				along := 0.0
				for i, x := range axis {
					along += x * v[i]
				}
				for i, x := range axis {
					v[i] -= along * x
				}
			}
		}
		length := vectorNorm(v)
		if length <= 1e-9*before || before == 0 {
			continue
		}
		for i := range v {
			v[i] /= length
		}
		out = append(out, v)
	}
	return out
}

func vectorNorm(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum)
}

func lsaBag(text string) map[string]int {
	bag := map[string]int{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) > 1 && len(word) <= 40 {
			bag[lsaStem(word)]++
		}
	}
	return bag
}

// lsaEndings are English suffixes; a longer one precedes its own endings.
var lsaEndings = strings.Fields("ization ational fulness ousness iveness ations ation ments ement ment ness ities ity ings ing edly ed ally ly ies ives ive ers er ic al es s e y")

// lsaStem removes a suffix, which carries little meaning.
func lsaStem(word string) string {
	for _, e := range lsaEndings {
		if rest, ok := strings.CutSuffix(word, e); ok && len(rest) >= 3 {
			return rest
		}
	}
	return word
}

// weightTerms weights terms of several texts by rarity.
func (l *LSA) weightTerms(bags []map[string]int) {
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

// termVector returns term weights as a unit vector.
func (l *LSA) termVector(bag map[string]int) sparseVector {
	var out sparseVector
	for term, n := range bag {
		if i, ok := l.terms[term]; ok {
			out = append(out, sparseEntry{i, l.weight[i] * (1 + math.Log(float64(n)))})
		}
	}
	slices.SortFunc(out, func(a, b sparseEntry) int { return cmp.Compare(a.at, b.at) })
	sum := 0.0
	for _, e := range out {
		sum += e.value * e.value
	}
	for i := range out {
		out[i].value /= math.Sqrt(sum)
	}
	return out
}
