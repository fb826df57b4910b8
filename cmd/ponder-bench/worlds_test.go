package main

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/mode/session"
)

// firstWorlds returns the first worlds of the scenario.
func firstWorlds(n int) (list []*world) {
	for i := range n {
		list = append(list, newWorld(worldSeed+uint64(i)))
	}
	return list
}

func TestSameSeedSameWorld(t *testing.T) {
	for seed := range uint64(20) {
		if a, b := newWorld(seed), newWorld(seed); !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d makes two worlds", seed)
		}
	}
	if reflect.DeepEqual(newWorld(1), newWorld(2)) {
		t.Error("two seeds make one world")
	}
}

// TestWorld checks the properties of worlds that the figures rely on.
func TestWorld(t *testing.T) {
	dead, twice, nodes := 0, 0, 0
	for _, w := range firstWorlds(50) {
		names := []string{}
		sum := 0.0
		for i, f := range w.facts {
			names, sum = append(names, f.name), sum+f.weight
			if !slices.Contains(w.nodes[f.node].facts, i) {
				t.Errorf("world %d: fact %d is not where it is", w.seed, i)
			}
			for _, text := range f.wordings {
				if !slices.Equal(w.factsNamed(text), []int{i}) || strings.Contains(text, "@") {
					t.Errorf("world %d: fact %d in %q", w.seed, i, text)
				}
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("world %d: importance %v in all", w.seed, sum)
		}
		reached := make([]bool, len(w.nodes))
		w.worthBelow(0, reached)
		for i, n := range w.nodes {
			names = append(names, n.name)
			nodes++
			if n.dead {
				dead++
				if len(n.facts) > 0 {
					t.Errorf("world %d: dead end %d has facts", w.seed, i)
				}
			}
			for _, e := range n.edges {
				twice += e.wording
			}
			if !reached[i] || n.asks[0] == n.asks[1] {
				t.Errorf("world %d: question %d %q is out of reach, or has one wording", w.seed, i, n.asks[0])
			}
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != len(w.facts)+len(w.nodes) {
			t.Errorf("world %d: two things of one name", w.seed)
		}
		if len(w.nodes) < minNodes || len(w.nodes) > maxNodes || len(w.facts) < minFacts {
			t.Errorf("world %d: %d questions, %d facts", w.seed, len(w.nodes), len(w.facts))
		}
	}
	t.Logf("of %d questions, %d are dead ends and %d are asked twice", nodes, dead, twice)
	if dead < nodes/5 || dead > nodes*2/3 || twice < nodes/10 {
		t.Errorf("of %d questions, %d are dead ends and %d are asked twice", nodes, dead, twice)
	}
}

// TestHints checks that question priorities are informative but imperfect.
func TestHints(t *testing.T) {
	var hints, ranks []float64
	for _, w := range firstWorlds(50) {
		for _, n := range w.nodes[1:] {
			hints, ranks = append(hints, n.hint), append(ranks, w.importanceRank(n.worth))
		}
	}
	if c := correlationOf(hints, ranks); c < 0.6 || c > 0.9 {
		t.Errorf("hints correlate with worth by %.2f", c)
	}
}

func correlationOf(xs, ys []float64) float64 {
	mx, _ := meanAndError(xs)
	my, _ := meanAndError(ys)
	xy, xx, yy := 0.0, 0.0, 0.0
	for i := range xs {
		x, y := xs[i]-mx, ys[i]-my
		xy, xx, yy = xy+x*y, xx+x*x, yy+y*y
	}
	return xy / math.Sqrt(xx*yy)
}

// TestOracle checks that no strategy is ever ahead of the oracle.
func TestOracle(t *testing.T) {
	for _, w := range firstWorlds(3) {
		for _, budget := range []int{2, 10, 40} {
			best := oracleCurve(w, budget)
			for _, s := range strategies {
				o, err := playStrategy(t.Context(), s, w, budget)
				if err != nil {
					t.Fatal(err)
				}
				for i, found := range o.found {
					if found > best[i]+1e-9 {
						t.Errorf("%s on world %d has found %.3f after %d of %d calls, the oracle %.3f", s.name, w.seed, found, i, budget, best[i])
					}
				}
				if r := o.oracleRegret(w); r < -1e-9 || r > 1 {
					t.Errorf("%s on world %d: regret %v", s.name, w.seed, r)
				}
			}
		}
	}
}

// TestReplay checks that a sequential strategy is deterministic.
func TestReplay(t *testing.T) {
	for _, s := range strategies {
		if strings.Contains(s.name, "foci") {
			continue
		}
		w := newWorld(7)
		a, err := playStrategy(t.Context(), s, w, 30)
		if err != nil {
			t.Fatal(err)
		}
		b, err := playStrategy(t.Context(), s, w, 30)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s:\n%s", s.name, diff)
		}
	}
}

func askThinker(t *testing.T, w *world, schema, prompt string) (string, callResult) {
	t.Helper()
	th := &thinker{world: w}
	resp, err := llm.Collect(th.Generate(t.Context(), &llm.Request{Schema: &llm.Schema{JSON: []byte(schema)}, Messages: []llm.Message{llm.Say(llm.User, prompt)}}))
	if err != nil {
		t.Fatal(err)
	}
	return resp.Message.Text(), th.calls[0]
}

// TestThinker checks that a thinker knows only its world and its prompt.
func TestThinker(t *testing.T) {
	const thoughts, questions, answer = `{"thoughts":{}}`, `{"questions":{}}`, `{"answer":{}}`
	w := newWorld(worldSeed)
	at := w.facts[len(w.facts)-1].node
	text, told := askThinker(t, w, thoughts, "Focus: "+w.nodes[at].asks[1])
	if told.node != at || len(told.facts) == 0 || len(told.facts) > maxFacts || !slices.Equal(sortedCopy(w.factsNamed(text)), sortedCopy(told.facts)) {
		t.Errorf("thoughts on %d: %+v, %s", at, told, text)
	}
	for _, f := range told.facts {
		if w.facts[f].node != at {
			t.Errorf("fact %d is of %d", f, w.facts[f].node)
		}
	}
	if text, told := askThinker(t, w, answer, "Answer."); len(told.shown) != 0 || len(w.factsNamed(text)) != 0 {
		t.Errorf("an answer from nothing: %s", text)
	}
	if text, told := askThinker(t, w, answer, w.facts[3].wordings[2]); !slices.Equal(told.shown, []int{3}) || !slices.Equal(w.factsNamed(text), []int{3}) {
		t.Errorf("an answer from one fact: %s", text)
	}
	text, _ = askThinker(t, w, questions, "Give up to 2.")
	for i := range w.nodes {
		raised := strings.Contains(text, w.nodes[i].name) && i > 0
		if raised && !slices.ContainsFunc(w.nodes[0].edges, func(e edge) bool { return e.to == i }) {
			t.Errorf("question %d does not follow from the first", i)
		}
	}
	if n := strings.Count(text, `"priority"`); n != 2 {
		t.Errorf("%d questions: %s", n, text)
	}
}

func sortedCopy(xs []int) []int { return slices.Sorted(slices.Values(xs)) }

// TestMerged checks the measure of merging on a session.
func TestMerged(t *testing.T) {
	w := newWorld(worldSeed)
	th := &thinker{world: w}
	evs, err := runSession(t.Context(), th, session.Options{SynthesisInterval: 86400}, 20)
	if err != nil {
		t.Fatal(err)
	}
	if lost, twice := w.mergeShares(th.calls, nil); lost != 1 || twice != 0 {
		t.Errorf("without thoughts, %.2f are lost and %.2f are there twice", lost, twice)
	}
	if lost, twice := w.mergeShares(th.calls, append(evs, evs...)); lost > 0.2 || twice < 0.1 {
		t.Errorf("of thoughts that are all there twice, %.2f are lost and %.2f are there twice", lost, twice)
	}
}

// TestTreeCalls checks the cost of breadth by depth.
func TestTreeCalls(t *testing.T) {
	for _, c := range []struct{ breadth, depth, want int }{{3, 0, 0}, {3, 1, 4}, {4, 2, 1 + 4*(1+3)}, {1, 3, 1 + 1 + 1 + 1 + 1 + 1}} {
		if got := treeCalls(c.breadth, c.depth); got != c.want {
			t.Errorf("treeCalls(%d, %d) = %d, want %d", c.breadth, c.depth, got, c.want)
		}
	}
}
