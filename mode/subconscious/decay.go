package subconscious

import (
	"math"
	"time"
)

// DecayTo returns the state at a time without new events: strengths decay and entries without strength
// disappear.
func (s State) DecayTo(now time.Time) State {
	s = s.clampLimits()
	s.applyDecay(now, 0)
	for _, c := range categories {
		for _, e := range *s.categoryEntries(c) {
			if e.Strength <= 0 {
				delete(s.Internal.Metadata, e.ID)
			}
		}
		dropWhere(s.categoryEntries(c), func(e Entry) bool { return e.Strength <= 0 })
	}
	return s
}

// applyDecay applies the decay up to now, by each entry's own clock, and returns the decay by entry.
// It keeps entries, with at least the given strength.
func (s *State) applyDecay(now time.Time, minStrength int) (lost map[string]int) {
	now, lost = storableTime(now), make(map[string]int)
	for _, c := range categories {
		list := *s.categoryEntries(c)
		for i := range list {
			e, about := &list[i], s.Internal.Metadata[list[i].ID]
			if about.Decayed.IsZero() { // stored by earlier versions
				about.Decayed = s.Internal.Decayed
			}
			lost[e.ID] = advanceClock(&about.Decayed, now, DecayEvery, MaxStrength)
			e.Strength = max(minStrength, e.Strength-lost[e.ID])
			s.Internal.Metadata[e.ID] = about
		}
	}
	s.Internal.Decayed = now
	s.raisePressure(now)
	return lost
}

// raisePressure raises the novelty pressure of each role by one for each hour in which it did not run.
func (s *State) raisePressure(now time.Time) {
	for name, at := range s.Internal.Pressed {
		r, ok := s.ThreadState[name]
		if !ok {
			continue
		}
		r.NoveltyPressure = min(r.NoveltyPressure+advanceClock(&at, now, PressureEvery, MaxPressure), MaxPressure)
		s.ThreadState[name], s.Internal.Pressed[name] = r, at
	}
}

// advanceClock returns the whole steps from a clock to now, at most limit, and advances the clock by
// them. It starts a clock that is zero, or ahead by a step because the time was set back.
func advanceClock(clock *time.Time, now time.Time, step time.Duration, limit int) int {
	elapsed := now.Sub(*clock)
	switch {
	case clock.IsZero(), elapsed <= -step:
		*clock = now
		return 0
	case elapsed > math.MaxInt64/2: // near the maximum Duration
		*clock = now
		return limit
	}
	n := max(0, elapsed/step)
	*clock = clock.Add(n * step)
	return int(min(n, time.Duration(limit)))
}
