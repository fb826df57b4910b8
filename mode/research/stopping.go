package research

import (
	"fmt"
	"math"
	"slices"

	"ponder/knowledge/evidence"
	"ponder/mode/internal/lookup"
)

// Constants of the stopping rule.
//
// Each doubling of the weight of independent evidence helps equally, so its value is the logarithm
// of the weight. The next round is assumed to bring half of the last, because its queries are
// rarer. The constants are a choice: a round of eight seconds and seven calls costs 0.11. So normal
// research ends after a round that brought less than a quarter of all known weight.
const (
	nextShare       = 0.5   // expected share of the last round's weight
	secondPrice     = 0.005 // a minute of waiting costs as much as 35 % more evidence brings
	callPrice       = 0.01
	maxRoundSeconds = 3600
	maxRoundCalls   = 1000
	keptRounds      = 20
	maxCompared     = 40 // best passages compared with each other
	minFit          = 0.25
)

type stopRule struct {
	price      float64 // multiplies the cost of a round
	minSources int     // sufficient number of agreeing independent sources
	minRounds  int     // rounds before that suffices
}

// stopRuleFor returns the stake of an effort. A trivial question needs one reliable source. A normal
// one needs three, as in journalism. A deep one needs more than the first view that five share.
func stopRuleFor(effort string) stopRule {
	switch effort {
	case trivial:
		return stopRule{price: 4, minSources: 1, minRounds: 1}
	case deep:
		return stopRule{price: 0.4, minSources: 5, minRounds: 2}
	}
	return stopRule{price: 1, minSources: 3, minRounds: 1}
}

// roundHistory is the history of rounds that decides whether another is worth its cost.
type roundHistory struct {
	Effort string       `json:"effort,omitempty"`
	Rounds int          `json:"rounds,omitempty"`
	Known  float64      `json:"known,omitempty"` // weight of all rounds before the last
	Last   []roundYield `json:"last,omitempty"`
}

type roundYield struct {
	Round    int     `json:"round"`
	Passages int     `json:"passages,omitempty"`
	New      int     `json:"new,omitempty"`    // passages of new voices, one each
	Weight   float64 `json:"weight,omitempty"` // of the new ones: fit times worth of the source
	Agreeing int     `json:"borne,omitempty"`  // maximum number of agreeing independent sources so far
	Seconds  float64 `json:"seconds,omitempty"`
	Calls    int     `json:"calls,omitempty"`
}

// measureRound computes the yield of a round from all gathered passages. Copies and passages of an older
// report are not new.
func measureRound(all []piece, round int, seconds float64, calls int) roundYield {
	y := roundYield{Round: round, Seconds: lookup.ClampTo(seconds, maxRoundSeconds), Calls: min(max(0, calls), maxRoundCalls), Agreeing: maxAgreeingSources(all)}
	knownVoices := make(map[string]bool)
	for _, p := range all {
		if p.Known || p.Round < round {
			knownVoices[p.voiceKey()] = true
		}
	}
	best := make(map[string]float64)
	var order []string
	for _, p := range all {
		if p.Round != round || p.Known {
			continue
		}
		y.Passages++
		if !p.isQuotable() || knownVoices[p.voiceKey()] {
			continue
		}
		if _, ok := best[p.voiceKey()]; !ok {
			order = append(order, p.voiceKey())
		}
		best[p.voiceKey()] = max(best[p.voiceKey()], lookup.ClampTo(p.weight(), 1))
	}
	y.New = len(order)
	for _, v := range order { // in passage order, for a deterministic sum
		y.Weight += best[v]
	}
	return y
}

// maxAgreeingSources returns the maximum number of independent sources that agree.
func maxAgreeingSources(all []piece) (most int) {
	list := slices.DeleteFunc(slices.Clone(all), func(p piece) bool { return !p.isQuotable() || p.weight() < minFit })
	slices.SortStableFunc(list, compareWeight)
	list = list[:min(len(list), maxCompared)]
	said, voices := make([]evidence.Piece, len(list)), make([]string, len(list))
	for i, p := range list {
		said[i] = evidence.Piece{ID: p.id(), Source: p.Source, URL: p.URL, Author: p.Author, Text: p.Quote}
		if p.URL == "" {
			said[i].Kind = p.Kind
		}
		voices[i] = p.voiceKey()
	}
	for i, s := range evidence.Corroborate(said, voices) {
		most = max(most, s.Voices, list[i].Voices)
	}
	return most
}

func (w roundHistory) addRound(y roundYield) roundHistory {
	if n := len(w.Last); n > 0 {
		w.Known += w.Last[n-1].Weight
	}
	y.Weight, y.Seconds, y.Calls = lookup.ClampTo(y.Weight, math.MaxFloat32), lookup.ClampTo(y.Seconds, maxRoundSeconds), min(max(0, y.Calls), maxRoundCalls)
	w.Rounds++
	w.Last = append(slices.Clone(w.Last[max(0, len(w.Last)+1-keptRounds):]), y)
	return w
}

func (w roundHistory) expectedGain() float64 {
	y := w.Last[len(w.Last)-1]
	if y.Weight == 0 {
		return 0
	}
	return math.Log1p(nextShare * y.Weight / (w.Known + y.Weight))
}

// expectedCost returns the expected cost of another round in units of gain.
func (w roundHistory) expectedCost() float64 {
	y := w.Last[len(w.Last)-1]
	return stopRuleFor(w.Effort).price * (secondPrice*y.Seconds + callPrice*float64(y.Calls))
}

// stopReason returns why another round is not worth it, or "". It is monotonic: more evidence never
// ends research earlier, and higher cost never ends it later. After one round only agreement can
// end research, because the trend is unknown.
func stopReason(w roundHistory) string {
	if len(w.Last) == 0 {
		return ""
	}
	y, s := w.Last[len(w.Last)-1], stopRuleFor(w.Effort)
	switch {
	case y.Agreeing >= s.minSources && w.Rounds >= s.minRounds:
		return fmt.Sprintf("the answer is supported by %s", formatSources(y.Agreeing))
	case w.Rounds < 2:
		return ""
	case y.Passages == 0:
		return fmt.Sprintf("no new evidence: round %d found no passages", y.Round)
	case y.New == 0:
		return fmt.Sprintf("no new evidence: none of %s of round %d was new", formatPassages(y.Passages), y.Round)
	case w.expectedGain() < w.expectedCost():
		return fmt.Sprintf("another round would cost more than it gains: of %s of round %d %s", formatPassages(y.Passages), y.Round, formatNew(y.New))
	}
	return ""
}

func formatSources(n int) string {
	if n == 1 {
		return "one reliable source"
	}
	return fmt.Sprintf("%d independent sources", n)
}

func formatPassages(n int) string {
	if n == 1 {
		return "1 passage"
	}
	return fmt.Sprintf("%d passages", n)
}

func formatNew(n int) string {
	if n == 1 {
		return "one was new"
	}
	return fmt.Sprintf("%d were new", n)
}
