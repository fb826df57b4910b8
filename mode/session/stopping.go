package session

import (
	"fmt"
	"math"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
	"slices"

	"ponder"
)

// Stopping rules. The constants were chosen with the simulated worlds of bench.
const (
	staleCalls     = 2 // consecutive calls with hardly anything new
	mostlyNew      = 3 // one new thought in so many is hardly new
	plateauSums    = 3 // syntheses of similar confidence
	smallChange    = 0.03
	trendStart     = 0.05 // departure of the confidence that begins a trend; models state steps of 0.05
	urgentPriority = 7    // priority of a question worth asking on a plateau
	settledAt      = 0.9  // minimum confidence of thoughts on a settled question
	minGainShare   = 0.15 // minimum gain of a call, as a share of the best gain
	plateauGain    = 0.5  // on a plateau
	gainMemory     = 0.3  // weight of the newest call in the mean gain
	minRounds      = 6    // before a falling gain counts
	claimAt        = 0.3  // minimum confidence of a claim
	maxTrend       = 6
	firstThought   = 0.5 // default importance of a thought
)

// callValue tracks the value of calls.
type callValue struct {
	Stale       int     `json:"stale,omitempty"` // consecutive calls without news
	Asked       bool    `json:"asked,omitempty"` // questions were asked since the last new thought
	NewThoughts int     `json:"news,omitempty"`  // new thoughts since the last synthesis
	HardlyNew   int     `json:"old,omitempty"`   // hardly new thoughts of this wave
	WaveValue   float64 `json:"fresh,omitempty"` // value of this wave
	Gain        float64 `json:"gain,omitempty"`  // moving mean per call of importance times confidence
	Best        float64 `json:"best,omitempty"`

	Unranked    int       `json:"unranked,omitempty"`  // new thoughts since the last ranking
	Agreed      int       `json:"agreed,omitempty"`    // thoughts found from two foci
	Supported   int       `json:"supported,omitempty"` // thoughts that cite evidence
	Opposed     int       `json:"opposed,omitempty"`   // thoughts that others contradict
	Confidences []float64 `json:"sure,omitempty"`
	Stable      int       `json:"stable,omitempty"` // consecutive small changes of confidence

	Settled bool `json:"settled,omitempty"` // the question is simple and answered
}

func (w callValue) addThought(t ponder.Thought, opposed, supported bool) callValue {
	w.NewThoughts++
	w.Unranked++
	w.WaveValue += thoughtWeight(t)
	if supported {
		w.Supported++
	}
	if opposed {
		w.Opposed++
	}
	return w
}

func (w callValue) addConfidence(confidence float64) callValue {
	if n := len(w.Confidences); n > 0 && math.Abs(confidence-w.Confidences[n-1]) <= smallChange {
		w.Stable++
	} else {
		w.Stable = 0
	}
	w.Confidences = runstate.AppendLast(w.Confidences, confidence, maxTrend)
	return w
}

// confidenceTrend returns the trend of the last movements of the confidence. It has hysteresis, as a Schmitt
// trigger (O. H. Schmitt, A thermionic trigger, Journal of Scientific Instruments 15, 1938): a trend begins
// with a departure of trendStart and lasts while each synthesis moves on in its direction. Otherwise, and
// while the last three confidences hardly differ, the confidence is on a plateau.
func (w callValue) confidenceTrend() string {
	if len(w.Confidences) < 2 {
		return ""
	}
	from, last, direction := w.Confidences[0], w.Confidences[0], 0
	for _, c := range w.Confidences[1:] {
		switch departure := math.Round((c-from)*100) / 100; {
		case departure >= trendStart:
			from, direction = c, 1
		case departure <= -trendStart:
			from, direction = c, -1
		case float64(direction)*(c-last) <= 0:
			direction = 0
		}
		last = c
	}
	switch {
	case direction > 0 && !w.isPlateau():
		return "converging"
	case direction < 0 && !w.isPlateau():
		return "diverging"
	}
	return "plateau"
}

func (w callValue) isPlateau() bool {
	if len(w.Confidences) < plateauSums {
		return false
	}
	sure := w.Confidences[len(w.Confidences)-plateauSums:]
	return slices.Max(sure)-slices.Min(sure) <= smallChange
}

func (s *state) claimBasis() ponder.Basis {
	all := float64(max(1, s.Counts.Thoughts))
	w := s.CallValue
	return ponder.Basis{
		Agreement: lookup.RoundCents(lookup.ClampUnit(float64(w.Agreed) / all)), Support: lookup.RoundCents(lookup.ClampUnit(float64(w.Supported) / all)),
		Contradiction: lookup.RoundCents(lookup.ClampUnit(float64(w.Opposed) / all)), Stability: lookup.RoundCents(lookup.ClampUnit(float64(w.Stable) / plateauSums)),
	}
}

// evaluateWave evaluates a wave with news new thoughts.
func (s *state) evaluateWave(wave []slot, news int) {
	calls, claims, sure := 0, 0, true
	ready := false
	for i := range wave {
		c := &wave[i]
		if c.Failed.Error != "" {
			continue
		}
		calls++
		ready = ready || c.Settled
		for _, h := range c.Thoughts {
			if h.Confidence >= claimAt {
				claims++
			}
			sure = sure && h.Confidence >= settledAt
		}
	}
	if calls == 0 {
		return
	}
	w := &s.CallValue
	news -= w.HardlyNew
	w.HardlyNew = 0
	switch {
	case news > 0 && news*mostlyNew > claims:
		w.Stale, w.Asked = 0, false
	case news > 0 && len(s.Open) > 0:
	case claims > 0: // a call without claims repeats nothing: only that focus is a dead end
		w.Stale += calls
	}
	gain := w.WaveValue / float64(calls)
	w.WaveValue = 0
	if w.Best == 0 {
		w.Gain = gain
	} else {
		w.Gain += (1 - math.Pow(1-gainMemory, float64(calls))) * (gain - w.Gain)
	}
	w.Best = max(w.Best, w.Gain)
	w.Settled = s.Counts.Rounds == len(wave) && claims > 0 && sure && ready
}

// stopReason returns why another call is not worth it, or no reason.
func (s *state) stopReason() (r runstate.Reason) {
	w := s.CallValue
	switch {
	case s.opts.ToTheEnd:
	case w.Settled:
		r = runstate.Reason{Code: ponder.EndSettled, Text: "the question is settled"}
	case w.Stale >= staleCalls:
		r = runstate.Reason{Code: ponder.EndLoop, Text: fmt.Sprintf("loop: the last %d calls added almost nothing new", w.Stale)}
	case w.isPlateau() && w.Stable >= plateauSums-1 && !s.hasUrgent() && w.Gain < plateauGain*w.Best:
		r = runstate.Reason{Code: ponder.EndPlateau, Text: fmt.Sprintf("plateau: the confidence stays at %.2f", w.Confidences[len(w.Confidences)-1])}
	case s.Counts.Rounds >= max(minRounds, s.opts.Parallel) && w.Gain < minGainShare*w.Best:
		r = runstate.Reason{Code: ponder.EndLowValue, Text: "another call would cost more than it gains"}
	}
	return r
}

// needsQuestions reports whether nothing new came, nothing is open, and no questions were asked since. Then
// questions must be tried first.
func (s *state) needsQuestions() bool {
	w := s.CallValue
	return !s.Unaided && !w.Settled && w.Stale > 0 && !w.Asked && len(s.Open) == 0
}

// hasUrgent reports whether a question worth asking on a plateau is open.
func (s *state) hasUrgent() bool {
	return slices.ContainsFunc(s.Open, func(q *question) bool { return q.Priority >= urgentPriority })
}
