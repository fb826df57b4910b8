package subconscious

import (
	"time"
)

// Pace returns how long after the last tick the next one comes, where one comes every so
// often. While something new came within the time of two ticks, that is half as long. From
// then on it is as long as usual, and each time that nothing comes it grows by half, up to
// six times as long. It goes by the time that has passed alone, for a tick without
// anything to do leaves no trace.
func (v View) Pace(every time.Duration, now time.Time) time.Duration {
	quiet := now.Sub(v.News) - 2*every
	switch {
	case v.News.IsZero() || every <= 0:
		return every
	case quiet < 0:
		return every / 2
	}
	pace := every
	for quiet >= pace && pace < 6*every {
		quiet -= pace
		pace = min(pace*3/2, 6*every)
	}
	return pace
}

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
