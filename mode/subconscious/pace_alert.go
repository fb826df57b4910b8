package subconscious

import "time"

// How often the user is told something at most.
const (
	manyTold    = 10             // messages in a day, from which on they come more rarely
	maxTellings = 16             // times of messages that are kept
	longPause   = 4 * time.Hour  // between escalations, unless the cooldown is longer
	leastGrow   = time.Minute    // what a cooldown grows from that is shorter
	toldDay     = 24 * time.Hour // within which messages count
)

// pause returns how long after the last escalation the next may be raised: the cooldown.
// From ten messages within a day on, each further one doubles it, up to four hours.
func (r Rules) pause(s State) time.Duration {
	pause, n := r.cooldown(), 0
	for _, at := range s.Aside.Told {
		if at.After(s.Aside.Raised.Add(-toldDay)) {
			n++
		}
	}
	if n < manyTold {
		return pause
	}
	return max(pause, min(max(pause, leastGrow)<<(n-manyTold+1), longPause))
}
