package session

import (
	"fmt"
	"math"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
	"slices"

	"ponder"
)

// When it is enough. The numbers were chosen with the simulated worlds of bench.
const (
	staleCalls   = 2    // in a row that said nothing new, or hardly anything: it goes in circles
	mostlyNew    = 3    // one in so many thoughts is hardly anything
	plateauSums  = 3    // syntheses of nearly the same confidence
	smallChange  = 0.03 // of a confidence
	urgent       = 7    // the priority of a question that is worth asking on a plateau
	settledAt    = 0.9  // confidence of each thought on a question that is settled
	leastGain    = 0.15 // of the best gain: what a call must bring to be worth it
	plateauGain  = 0.5  // likewise, on a plateau
	gainMemory   = 0.3  // the weight of the newest call in the mean gain
	leastRounds  = 6    // before a falling gain means anything
	claimAt      = 0.3  // a thought of less confidence claims nothing
	maxTrend     = 6    // confidences that are remembered
	firstThought = 0.5  // the importance of a thought of which none is said
)

// A worth is what the calls were worth so far.
type worth struct {
	Stale int     `json:"stale,omitempty"` // calls in a row that said nothing new
	Asked bool    `json:"asked,omitempty"` // for questions, since the last new thought
	News  int     `json:"news,omitempty"`  // new thoughts since the last synthesis
	Old   int     `json:"old,omitempty"`   // thoughts of the wave at hand that hardly say anything new
	Fresh float64 `json:"fresh,omitempty"` // what the wave at hand brings
	Gain  float64 `json:"gain,omitempty"`  // of a call: importance times confidence of new thoughts, a moving mean
	Best  float64 `json:"best,omitempty"`  // the highest Gain

	Unranked  int       `json:"unranked,omitempty"`  // new thoughts since the open questions were ranked
	Agreed    int       `json:"agreed,omitempty"`    // thoughts that two foci came to
	Supported int       `json:"supported,omitempty"` // that cite evidence
	Opposed   int       `json:"opposed,omitempty"`   // that others contradict
	Sure      []float64 `json:"sure,omitempty"`      // confidences of the last syntheses
	Stable    int       `json:"stable,omitempty"`    // small changes of them in a row

	Settled bool `json:"settled,omitempty"` // the question is simple and answered
}

// with returns the worth after a new thought.
func (w worth) with(t ponder.Thought, opposed, supported bool) worth {
	w.News++
	w.Unranked++
	w.Fresh += weight(t)
	if supported {
		w.Supported++
	}
	if opposed {
		w.Opposed++
	}
	return w
}

// sure returns the worth after a synthesis.
func (w worth) sure(confidence float64) worth {
	if n := len(w.Sure); n > 0 && math.Abs(confidence-w.Sure[n-1]) <= smallChange {
		w.Stable++
	} else {
		w.Stable = 0
	}
	w.Sure = runstate.Push(w.Sure, confidence, maxTrend)
	return w
}

// trend says where the confidence goes: it converges if the newest is higher
// than the mean of those before it, as the seed of this mode has it; a plateau is
// where the last three hardly differ.
func (w worth) trend() string {
	n := len(w.Sure)
	if n < 2 {
		return ""
	}
	if w.plateau() {
		return "plateau"
	}
	sum := 0.0
	before := w.Sure[max(0, n-plateauSums) : n-1]
	for _, c := range before {
		sum += c
	}
	switch change := w.Sure[n-1] - sum/float64(len(before)); {
	case change > smallChange:
		return "converging"
	case change < -smallChange:
		return "diverging"
	}
	return "plateau"
}

// plateau reports whether the last syntheses were equally sure.
func (w worth) plateau() bool {
	if len(w.Sure) < plateauSums {
		return false
	}
	sure := w.Sure[len(w.Sure)-plateauSums:]
	return slices.Max(sure)-slices.Min(sure) <= smallChange
}

// basis returns what speaks for the understanding so far.
func (s *state) basis() ponder.Basis {
	all := float64(max(1, s.Counts.Thoughts))
	w := s.Worth
	return ponder.Basis{
		Agreement: lookup.Rounded(lookup.Unit(float64(w.Agreed) / all)), Support: lookup.Rounded(lookup.Unit(float64(w.Supported) / all)),
		Contradiction: lookup.Rounded(lookup.Unit(float64(w.Opposed) / all)), Stability: lookup.Rounded(lookup.Unit(float64(w.Stable) / plateauSums)),
	}
}

// weigh takes stock of a wave that brought so many new thoughts.
func (s *state) weigh(wave []cell, news int) {
	calls, claims, sure := 0, 0, true
	ready := false
	for i := range wave {
		c := &wave[i]
		if c.Failed.Error != "" {
			continue
		}
		calls++
		ready = ready || c.Settled
		for _, h := range c.Heard {
			if h.Confidence >= claimAt {
				claims++
			}
			sure = sure && h.Confidence >= settledAt
		}
	}
	if calls == 0 {
		return
	}
	w := &s.Worth
	news -= w.Old
	w.Old = 0
	switch {
	case news > 0 && news*mostlyNew > claims:
		w.Stale, w.Asked = 0, false
	case news > 0 && len(s.Open) > 0: // there is something left to ask
	case claims > 0: // what claims nothing repeats nothing: that way is a dead end, but others may not be
		w.Stale += calls
	}
	gain := w.Fresh / float64(calls)
	w.Fresh = 0
	if w.Best == 0 {
		w.Gain = gain
	} else {
		w.Gain += (1 - math.Pow(1-gainMemory, float64(calls))) * (gain - w.Gain)
	}
	w.Best = max(w.Best, w.Gain)
	w.Settled = s.Counts.Rounds == len(wave) && claims > 0 && sure && (ready || news == 1)
}

// enough says why another call is not worth it, or nothing.
func (s *state) enough() string {
	w := s.Worth
	switch {
	case s.opts.ToTheEnd:
	case w.Settled:
		return "the question is settled"
	case w.Stale >= staleCalls:
		return fmt.Sprintf("it goes in circles: the last %d calls said hardly anything new", w.Stale)
	case w.plateau() && w.Stable >= plateauSums-1 && !s.urgent() && w.Gain < plateauGain*w.Best:
		return fmt.Sprintf("a plateau: the confidence stays at %.2f", w.Sure[len(w.Sure)-1])
	case s.Counts.Rounds >= max(leastRounds, s.opts.Parallel) && w.Gain < leastGain*w.Best:
		return "another call would bring less than it costs"
	}
	return ""
}

// stuck reports whether nothing new came, no question is open, and none was asked
// for since something new came: then that is to be tried before it is enough.
func (s *state) stuck() bool {
	w := s.Worth
	return !s.Unaided && !w.Settled && w.Stale > 0 && !w.Asked && len(s.Open) == 0
}

// urgent reports whether a question is open that is worth asking on a plateau.
func (s *state) urgent() bool {
	return slices.ContainsFunc(s.Open, func(q *question) bool { return q.Priority >= urgent })
}
