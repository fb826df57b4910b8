package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A world is a subject with known answers: facts behind questions. A simulated model knows all of
// it but states only requested facts, see thinker. A seed determines the world.
type world struct {
	seed     uint64
	question string
	nodes    []node // the first is the root question
	facts    []fact

	// style is the style of calls without new findings.
	style callStyle

	// settles makes an exhaustive call say that nothing is left.
	settles bool
}

// A callStyle is a style of calls without new findings.
type callStyle int

const (
	styleMixed    callStyle = iota // reworded facts, connections of them, and vague remarks
	styleVerbatim                  // earlier facts, word for word
	styleReworded                  // earlier facts in other words, with confidence
	styleVague                     // remarks without a claim
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
	node     int
	name     string   // unique in the world and contained in each wording
	wordings []string // wordings of the fact
	weight   float64  // importance; the sum over a world is 1
}

// Parameters of worlds.
const (
	maxDepth      = 4
	minNodes      = 35
	maxNodes      = 60
	minFacts      = 25
	deadShare     = 0.30 // share of questions that lead nowhere
	twiceShare    = 0.20 // share of edges with a duplicate
	hintNoise     = 0.30 // standard deviation of a hint
	depthDiscount = 0.6  // discount of a worth per level
)

// newWorld returns a world of about fifty questions and forty facts.
func newWorld(seed uint64) *world {
	for try := uint64(0); ; try++ {
		b := newWorldBuilder(seed + try<<32)
		b.growNode(0, 1, 1)
		if len(b.nodes) >= minNodes && len(b.facts) >= minFacts {
			b.addRepeatEdges()
			return b.finishWorld()
		}
	}
}

// growNode gives a node its facts and children. rich is the abundance of this part of the world.
func (b *worldBuilder) growNode(at int, depth int, rich float64) {
	children := 2 + b.IntN(3)
	if depth == 1 {
		children = 4 + b.IntN(3)
		b.addFacts(at, 2, rich)
	}
	for range children {
		if depth > maxDepth || len(b.nodes) == maxNodes || depth > 1 && b.Float64() < 0.3 {
			continue
		}
		to := b.addNode()
		b.nodes[at].edges = append(b.nodes[at].edges, edge{to, 0})
		b.nodes[to].dead = b.nodes[at].dead || b.Float64() < deadShare
		below := rich * math.Exp(0.5*b.NormFloat64())
		if !b.nodes[to].dead {
			b.addFacts(to, b.IntN(4), below)
		}
		if !b.nodes[to].dead || b.Float64() < 0.5 {
			b.growNode(to, depth+1, below)
		}
	}
}

func (b *worldBuilder) addFacts(at, n int, rich float64) {
	for range n {
		b.addFact(at, rich*math.Exp(0.7*b.NormFloat64()))
	}
}

// addRepeatEdges adds edges that repeat questions in other words.
func (b *worldBuilder) addRepeatEdges() {
	for to := 1; to < len(b.nodes); to++ {
		from := b.IntN(len(b.nodes))
		if b.Float64() < twiceShare && from != to {
			b.nodes[from].edges = append(b.nodes[from].edges, edge{to, 1})
		}
	}
}

func (b *worldBuilder) finishWorld() *world {
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
		w.nodes[i].worth = w.worthBelow(i, make([]bool, len(w.nodes)))
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

// worthBelow returns the unseen importance at a node and below it.
func (w *world) worthBelow(at int, seen []bool) float64 {
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
			sum += depthDiscount * w.worthBelow(e.to, seen)
		}
	}
	return sum
}

// trivialWorld has one fact, which the first call states.
func trivialWorld(seed uint64, settles bool) *world {
	b := newWorldBuilder(seed)
	b.addFact(0, 1)
	b.style, b.settles = styleReworded, settles
	return b.finishWorld()
}

// loopWorld has a few facts, after which the model repeats itself endlessly.
func loopWorld(seed uint64, t callStyle) *world {
	b := newWorldBuilder(seed)
	b.addFacts(0, 3, 1)
	for range maxNodes {
		to := b.addNode()
		b.nodes[to].dead = true
		b.nodes[0].edges = append(b.nodes[0].edges, edge{to, 0})
	}
	b.style = t
	return b.finishWorld()
}

// textRandom returns randomness that depends only on the world and a text.
func (w *world) textRandom(text string) *rand.Rand {
	h := w.seed
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(w.seed, h))
}
