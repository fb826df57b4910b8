package subconscious

import (
	"math"
	"time"
)

// At returns the state as it is at a time at which nothing new came: strengths have
// decayed, and what came to nothing is gone.
func (s State) At(now time.Time) State {
	s = s.bounded()
	s.decay(now)
	for _, c := range categories {
		for _, e := range *s.list(c) {
			if e.Strength <= 0 {
				delete(s.Aside.About, e.ID)
			}
		}
		drop(s.list(c), func(e Entry) bool { return e.Strength <= 0 })
	}
	return s
}

// decay takes from all entries what has decayed up to now, and returns how much that is.
// Entries of no strength are left where they are.
func (s *State) decay(now time.Time) int {
	n := s.Aside.fade(now)
	for _, c := range categories {
		list := *s.list(c)
		for i := range list {
			list[i].Strength = max(0, list[i].Strength-n)
		}
	}
	return n
}

// fade returns how many strengths have decayed since it was asked last, at most
// [MaxStrength], and takes note of that. It rounds, and what it rounded counts next time.
func (a *Aside) fade(now time.Time) int {
	elapsed := now.Sub(a.Decayed)
	switch {
	case a.Decayed.IsZero(), elapsed < -DecayEvery: // the clock was set back
		a.Decayed = now
		return 0
	case elapsed > math.MaxInt64/2: // as much as a duration can tell
		a.Decayed = now
		return MaxStrength
	}
	n := max(0, int((elapsed+DecayEvery/2)/DecayEvery))
	a.Decayed = a.Decayed.Add(time.Duration(n) * DecayEvery)
	return min(n, MaxStrength)
}
