package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A world is a subject with known answers: facts behind questions. A simulated model knows all of
// it but states only what it is asked for, see thinker. A seed determines the world.
type world struct {
	seed     uint64
	question string
	nodes    []node // the first is the root question
	facts    []fact

	// talk is the style of calls without new findings.
	talk talk

	// settles makes an exhaustive call say that nothing is left.
	settles bool
}

// A talk is a style of calls without new findings.
type talk int

const (
	mixed    talk = iota // reworded facts, connections of them, and vague remarks
	verbatim             // earlier facts, word for word
	reworded             // earlier facts in other words, with confidence
	vague                // remarks without a claim
)

// A node is a question. Its edges are the questions that arise from knowledge about it.
type node struct {
	name    string    // unique in the world and contained in its questions
	subject string    // "the Karvel mill"
	asks    [2]string // two wordings of the question
	edges   []edge
	facts   []int
	dead    bool // nothing is here or below

	worth float64 // importance here and below, discounted by depth
	hint  float64 // the model's noisy estimate of worth, 0 to 1
}

// An edge leads to a question in one wording. Two edges to one node ask the same question twice.
type edge struct{ to, wording int }

type fact struct {
	node   int
	name   string   // unique in the world and contained in each wording
	says   []string // wordings of the fact
	weight float64  // importance; the sum over a world is 1
}

// Parameters of worlds.
const (
	mostDepth  = 4
	leastNodes = 35
	mostNodes  = 60
	leastFacts = 25
	deadShare  = 0.30 // share of questions that lead nowhere
	twiceShare = 0.20 // share of edges with a duplicate
	hintNoise  = 0.30 // standard deviation of a hint
	fading     = 0.6  // discount of a worth per level
)

// newWorld returns a world of about fifty questions and forty facts.
func newWorld(seed uint64) *world {
	for try := uint64(0); ; try++ {
		b := newWorldBuilder(seed + try<<32)
		b.grow(0, 1, 1)
		if len(b.nodes) >= leastNodes && len(b.facts) >= leastFacts {
			b.repeat()
			return b.done()
		}
	}
}

// grow gives a node its facts and children. rich is the abundance of this part of the world.
func (b *worldBuilder) grow(at int, depth int, rich float64) {
	children := 2 + b.IntN(3)
	if depth == 1 {
		children = 4 + b.IntN(3)
		b.reveal(at, 2, rich)
	}
	for range children {
		if depth > mostDepth || len(b.nodes) == mostNodes || depth > 1 && b.Float64() < 0.3 {
			continue
		}
		to := b.node()
		b.nodes[at].edges = append(b.nodes[at].edges, edge{to, 0})
		b.nodes[to].dead = b.nodes[at].dead || b.Float64() < deadShare
		below := rich * math.Exp(0.5*b.NormFloat64())
		if !b.nodes[to].dead {
			b.reveal(to, b.IntN(4), below)
		}
		if !b.nodes[to].dead || b.Float64() < 0.5 {
			b.grow(to, depth+1, below)
		}
	}
}

func (b *worldBuilder) reveal(at, n int, rich float64) {
	for range n {
		b.fact(at, rich*math.Exp(0.7*b.NormFloat64()))
	}
}

// repeat adds edges that repeat questions in other words.
func (b *worldBuilder) repeat() {
	for to := 1; to < len(b.nodes); to++ {
		from := b.IntN(len(b.nodes))
		if b.Float64() < twiceShare && from != to {
			b.nodes[from].edges = append(b.nodes[from].edges, edge{to, 1})
		}
	}
}

func (b *worldBuilder) done() *world {
	w := &b.world
	total := 0.0
	for _, f := range w.facts {
		total += f.weight
	}
	for i := range w.facts {
		w.facts[i].weight /= total
	}
	var worths []float64
	for i := range w.nodes {
		w.nodes[i].worth = w.below(i, make([]bool, len(w.nodes)))
		worths = append(worths, w.nodes[i].worth)
	}
	slices.Sort(worths)
	for i := range w.nodes {
		n := &w.nodes[i]
		rank, _ := slices.BinarySearch(worths, n.worth)
		n.hint = float64(rank)/float64(len(worths)) + hintNoise*b.NormFloat64()
	}
	return w
}

// below returns the unseen importance at a node and below it.
func (w *world) below(at int, seen []bool) float64 {
	if seen[at] {
		return 0
	}
	seen[at] = true
	sum := 0.0
	for _, f := range w.nodes[at].facts {
		sum += w.facts[f].weight
	}
	for _, e := range w.nodes[at].edges {
		if e.wording == 0 {
			sum += fading * w.below(e.to, seen)
		}
	}
	return sum
}

// trivialWorld has one fact, which the first call states.
func trivialWorld(seed uint64, settles bool) *world {
	b := newWorldBuilder(seed)
	b.fact(0, 1)
	b.talk, b.settles = reworded, settles
	return b.done()
}

// loopWorld has a few facts, after which the model repeats itself endlessly.
func loopWorld(seed uint64, t talk) *world {
	b := newWorldBuilder(seed)
	b.reveal(0, 3, 1)
	for range mostNodes {
		to := b.node()
		b.nodes[to].dead = true
		b.nodes[0].edges = append(b.nodes[0].edges, edge{to, 0})
	}
	b.talk = t
	return b.done()
}

// random returns randomness that depends only on the world and a text.
func (w *world) random(text string) *rand.Rand {
	h := w.seed
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(w.seed, h))
}
