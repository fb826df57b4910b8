package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A world is a subject with known answers: facts that are hidden behind questions.
// A simulated model knows all of it, but says only what it is asked for; see
// thinker. The same seed makes the same world.
type world struct {
	seed     uint64
	question string
	nodes    []node // the first is the question itself
	facts    []fact

	// talk is what a call says that finds nothing new.
	talk talk

	// settles says that a call that tells all there is says so.
	settles bool
}

// A talk is a manner of saying nothing.
type talk int

const (
	mixed    talk = iota // what was said before in other words, connections of it, and vague remarks
	verbatim             // what was said before, word for word
	reworded             // what was said before, in other words, and surely
	vague                // remarks that claim nothing
)

// A node is a question of a world. Its edges are the questions that arise once
// something was said about it.
type node struct {
	name    string    // unique in its world, and in its questions
	subject string    // "the Karvel mill"
	asks    [2]string // the question in two wordings
	edges   []edge
	facts   []int
	dead    bool // nothing is to be found there, nor below

	worth float64 // importance of what is there and below, which counts less the deeper it is
	hint  float64 // what the model takes the worth for, 0 to 1: a noisy signal
}

// An edge leads to a question, in one of its wordings: two edges to one question
// are the same question asked twice.
type edge struct{ to, wording int }

// A fact is something to find.
type fact struct {
	node   int
	name   string   // unique in its world, and in each of the sentences
	says   []string // the fact in several wordings
	weight float64  // its importance; all of a world are 1
}

// How worlds are made.
const (
	mostDepth  = 4
	leastNodes = 35
	mostNodes  = 60
	leastFacts = 25
	deadShare  = 0.30 // of questions, those that lead nowhere
	twiceShare = 0.20 // of edges, those with another that asks the same
	hintNoise  = 0.30 // standard deviation of a hint that is from 0 to 1
	fading     = 0.6  // of a worth, from a question to the one above it
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

// grow gives the node at the depth its facts and what is below it. Rich says how
// much there is to find in this part of the world.
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

// reveal puts n facts at a node.
func (b *worldBuilder) reveal(at, n int, rich float64) {
	for range n {
		b.fact(at, rich*math.Exp(0.7*b.NormFloat64()))
	}
}

// repeat adds edges that ask in other words what is asked elsewhere.
func (b *worldBuilder) repeat() {
	for to := 1; to < len(b.nodes); to++ {
		from := b.IntN(len(b.nodes))
		if b.Float64() < twiceShare && from != to {
			b.nodes[from].edges = append(b.nodes[from].edges, edge{to, 1})
		}
	}
}

// done weighs the world that was built.
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

// below returns what is at a node and below it that was not seen.
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

// trivialWorld has one fact, which is said at once.
func trivialWorld(seed uint64, settles bool) *world {
	b := newWorldBuilder(seed)
	b.fact(0, 1)
	b.talk, b.settles = reworded, settles
	return b.done()
}

// loopWorld has a few facts, and after them the model goes on without an end:
// whatever it is asked, it says what it has said.
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

// random returns chance that depends on the world and a text alone.
func (w *world) random(text string) *rand.Rand {
	h := w.seed
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(w.seed, h))
}
