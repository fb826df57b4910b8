package llmtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// LSAModel is the name by which a [Sim] that has an [LSA] serves it.
const LSAModel = "sim-lsa"

// An LSA is an embedder that is fitted to a collection by latent semantic
// analysis: texts are near each other that are about the same, also in other
// words of which the collection shows that they belong together. So it can do
// what an embedding model does for a search, without one. It is the same for the
// same texts, and safe for concurrent use.
//
// A text is its terms, weighted by how often they are in it and how rare they are
// in the collection; what is embedded is where that points among the directions
// in which the texts of the collection differ most.
type LSA struct {
	terms  map[string]int
	weight []float64   // of each term
	axes   [][]float64 // one of length 1 for each dimension, the most telling first
}

// What an LSA is fitted to at most.
const (
	lsaTexts = 20_000 // more are sampled evenly
	lsaTerms = 30_000 // those in the most texts
	lsaLine  = 16 << 20
)

// NewLSA returns an embedder with up to so many dimensions for texts like
// these; a collection has fewer if it is small. It takes some seconds for some
// thousand texts and 256 dimensions.
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
	l.weigh(bags)
	if len(l.weight) == 0 {
		return nil, errors.New("fit embedder: the texts share no words")
	}
	rows := make([]sparse, len(bags))
	for i, bag := range bags {
		rows[i] = l.point(bag)
	}
	l.axes = principal(rows, len(l.weight), dimensions)
	return l, nil
}

// ReadLSA returns an embedder for the texts of collections in the form of BEIR: a
// JSON object a line, with title and text.
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

// Dimensions is how long the vectors are.
func (l *LSA) Dimensions() int { return len(l.axes) }

// Embed returns a vector of length 1. That of a text without any term of the
// collection points anywhere.
func (l *LSA) Embed(text string) []float32 { return l.embed(text, len(l.axes)) }

// embed returns a vector of some dimensions, up to those there are.
func (l *LSA) embed(text string, size int) []float32 {
	if size <= 0 || size > len(l.axes) {
		size = len(l.axes)
	}
	point, sum := l.point(lsaBag(text)), 0.0
	v := make([]float64, size)
	for i, axis := range l.axes[:size] {
		v[i] = point.dot(axis)
		sum += v[i] * v[i]
	}
	if sum == 0 {
		return embedding(text, size)
	}
	out := make([]float32, size)
	for i, x := range v {
		out[i] = float32(x / math.Sqrt(sum))
	}
	return out
}
