package research

import (
	"fmt"
	"math"
	"slices"

	"ponder/knowledge/evidence"
	"ponder/mode/internal/lookup"
)

// When another round is not worth it.
//
// What is known grows with the weight of what independent sources say, and each time
// it doubles that helps as much as the time before: its use is the logarithm of its
// weight. The next round is taken to bring half of what the last one did, for its
// queries ask for what is rarer. What that adds is held against what a round costs in
// seconds and calls, in the same measure. The numbers are a choice: a round of eight
// seconds and seven calls costs 0.11, so that normal research ends when a round has
// brought less than a quarter of all that is known.
const (
	nextShare   = 0.5   // of what the last round brought, for the next
	secondPrice = 0.005 // a minute of waiting is worth what 35 % more evidence is
	callPrice   = 0.01
	mostSeconds = 3600 // of a round; what is beyond is a fault of the clock
	mostCalls   = 1000
	keptRounds  = 20   // that are remembered
	weighed     = 40   // passages, the best of them, that are compared with each other
	leastFit    = 0.25 // weight of a passage that bears something out
)

// A stake is how much an answer is worth to who asks.
type stake struct {
	price float64 // what a round costs is multiplied by it
	borne int     // independent sources that must say the same
	least int     // rounds before that is enough
}

// stakeOf returns the stake of an effort. For a trivial question one source that can be
// relied on is enough, as for whoever looks something up; three are where reporters stop
// for a normal one; a deep one is to show more sides than the first that five agree on.
func stakeOf(effort string) stake {
	switch effort {
	case trivial:
		return stake{price: 4, borne: 1, least: 1}
	case deep:
		return stake{price: 0.4, borne: 5, least: 2}
	}
	return stake{price: 1, borne: 3, least: 1}
}

// A worth is what rounds of looking brought, to tell whether another is worth it.
type worth struct {
	Effort string  `json:"effort,omitempty"` // trivial, normal or deep
	Rounds int     `json:"rounds,omitempty"`
	Known  float64 `json:"known,omitempty"` // the weight of what rounds brought before the last one
	Last   []yield `json:"last,omitempty"`  // the last rounds
}

// A yield is what a round brought and what it cost.
type yield struct {
	Round    int     `json:"round"`
	Passages int     `json:"passages,omitempty"`
	New      int     `json:"new,omitempty"`     // of them, those of voices that were not heard before, each once
	Weight   float64 `json:"weight,omitempty"`  // of the new: how well they fit times what their sources are worth
	Borne    int     `json:"borne,omitempty"`   // the most independent sources, of all rounds, that say the same
	Seconds  float64 `json:"seconds,omitempty"` // that it took
	Calls    int     `json:"calls,omitempty"`   // of models and tools that it took
}

// yieldOf returns what a round brought, of all passages that were gathered. Copies, and
// what an older report had, are not new.
func yieldOf(all []piece, round int, seconds float64, calls int) yield {
	y := yield{Round: round, Seconds: lookup.Bound(seconds, mostSeconds), Calls: min(max(0, calls), mostCalls), Borne: borneOut(all)}
	heard := make(map[string]bool)
	for _, p := range all {
		if p.Known || p.Round < round {
			heard[p.voice()] = true
		}
	}
	best := make(map[string]float64)
	var order []string
	for _, p := range all {
		if p.Round != round || p.Known {
			continue
		}
		y.Passages++
		if !p.quotable() || heard[p.voice()] {
			continue
		}
		if _, ok := best[p.voice()]; !ok {
			order = append(order, p.voice())
		}
		best[p.voice()] = max(best[p.voice()], lookup.Bound(p.weight(), 1))
	}
	y.New = len(order)
	for _, v := range order { // in the order of the passages, so that the sum is the same for ever
		y.Weight += best[v]
	}
	return y
}

// borneOut returns how many independent sources say the same, the most there are.
func borneOut(all []piece) (most int) {
	list := slices.DeleteFunc(slices.Clone(all), func(p piece) bool { return !p.quotable() || p.weight() < leastFit })
	slices.SortStableFunc(list, byWeight)
	list = list[:min(len(list), weighed)]
	said, voices := make([]evidence.Piece, len(list)), make([]string, len(list))
	for i, p := range list {
		said[i] = evidence.Piece{ID: p.id(), Source: p.Source, URL: p.URL, Author: p.Author, Text: p.Quote}
		if p.URL == "" {
			said[i].Kind = p.Kind
		}
		voices[i] = p.voice()
	}
	for i, s := range evidence.Corroborate(said, voices) {
		most = max(most, s.Voices, list[i].Voices)
	}
	return most
}

// with returns the worth after another round.
func (w worth) with(y yield) worth {
	if n := len(w.Last); n > 0 {
		w.Known += w.Last[n-1].Weight
	}
	y.Weight, y.Seconds, y.Calls = lookup.Bound(y.Weight, math.MaxFloat32), lookup.Bound(y.Seconds, mostSeconds), min(max(0, y.Calls), mostCalls)
	w.Rounds++
	w.Last = append(slices.Clone(w.Last[max(0, len(w.Last)+1-keptRounds):]), y)
	return w
}

// gain returns what another round is likely to add to what is known.
func (w worth) gain() float64 {
	y := w.Last[len(w.Last)-1]
	if y.Weight == 0 {
		return 0
	}
	return math.Log1p(nextShare * y.Weight / (w.Known + y.Weight))
}

// cost returns what another round is likely to cost, in the measure of gain.
func (w worth) cost() float64 {
	y := w.Last[len(w.Last)-1]
	return stakeOf(w.Effort).price * (secondPrice*y.Seconds + callPrice*float64(y.Calls))
}

// enough says why another round is not worth it, or nothing. What agrees no more than
// before never ends research earlier by being more, and what costs more never ends it
// later. One round tells nothing of how the gain falls, so that after the first only
// what is borne out is enough.
func enough(w worth) string {
	if len(w.Last) == 0 {
		return ""
	}
	y, s := w.Last[len(w.Last)-1], stakeOf(w.Effort)
	switch {
	case y.Borne >= s.borne && w.Rounds >= s.least:
		return fmt.Sprintf("the answer is borne out by %s", independent(y.Borne))
	case w.Rounds < 2:
		return ""
	case y.Passages == 0:
		return fmt.Sprintf("nothing new came: round %d found no passages", y.Round)
	case y.New == 0:
		return fmt.Sprintf("nothing new came: of %s of round %d none was new", passages(y.Passages), y.Round)
	case w.gain() < w.cost():
		return fmt.Sprintf("another round would bring less than it costs: of %s of round %d %s", passages(y.Passages), y.Round, wereNew(y.New))
	}
	return ""
}

func independent(n int) string {
	if n == 1 {
		return "a source that can be relied on"
	}
	return fmt.Sprintf("%d independent sources", n)
}

func passages(n int) string {
	if n == 1 {
		return "1 passage"
	}
	return fmt.Sprintf("%d passages", n)
}

func wereNew(n int) string {
	if n == 1 {
		return "one was new"
	}
	return fmt.Sprintf("%d were new", n)
}
