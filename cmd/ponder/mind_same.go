package main

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/knowledge/recall/vector"
)

// A meaning compares texts by their vectors. It is safe for concurrent use.
type meaning struct {
	vector.Embedder

	mu   sync.Mutex
	seen map[string][]float32
	rest time.Time // until then it is not asked, for it failed
}

// Numbers of comparing by meaning.
const (
	sameMeaning = 0.88 // cosine from which texts say the same, unless their facts differ
	embedTime   = 3 * time.Second
	embedRest   = time.Minute
	mostSeen    = 2000 // texts whose vectors are kept
)

// sameByMeaning returns what tells whether two texts say the same, if a model for that
// runs on this machine; else nil, and words are compared.
func sameByMeaning(l *app.ModelSet) func(a, b string) bool {
	models := l.Choices.Of(ponder.Embed).Models
	if len(models) == 0 {
		return nil
	}
	name, _, _ := strings.Cut(models[0], "/")
	if p, err := l.Provider(name); err != nil || !p.Local {
		return nil
	}
	m := &meaning{Embedder: l.EmbedderOf(models[0]), seen: make(map[string][]float32)}
	return m.same
}

func (m *meaning) same(a, b string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, y := m.of(a), m.of(b)
	return cosine(x, y) >= sameMeaning
}

// of returns the vector of a text, or nil. The caller holds m.mu.
func (m *meaning) of(text string) []float32 {
	if v, ok := m.seen[text]; ok {
		return v
	}
	if time.Now().Before(m.rest) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), embedTime)
	defer cancel()
	vectors, err := m.Embed(ctx, []string{text})
	if err != nil {
		slog.Warn("findings are compared by words alone", "model", m.Model, "error", err)
		m.rest = time.Now().Add(embedRest)
		return nil
	}
	if len(m.seen) >= mostSeen {
		clear(m.seen)
	}
	m.seen[text] = vectors[0]
	return vectors[0]
}

// cosine returns the cosine of the angle between two vectors, 0 if there is none.
func cosine(x, y []float32) float64 {
	if len(x) == 0 || len(x) != len(y) {
		return 0
	}
	var dot, xx, yy float64
	for i := range x {
		a, b := float64(x[i]), float64(y[i])
		dot, xx, yy = dot+a*b, xx+a*a, yy+b*b
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return dot / math.Sqrt(xx*yy)
}
