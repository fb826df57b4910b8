package subconscious

import (
	"time"
)

// Pace returns the interval to the next tick, given the normal interval. It is half after recent
// news, and grows by half per quiet tick up to six times. It depends only on elapsed time, because
// idle ticks leave no event.
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

const (
	manyMessages    = 10 // messages a day after which the pause grows
	maxMessageTimes = 16
	maxPause        = 4 * time.Hour // maximum pause, unless the cooldown is longer
	minGrowingPause = time.Minute   // minimum cooldown to double
	messageDay      = 24 * time.Hour
)

// escalationPause returns the minimum time between escalations. It is the cooldown, doubled for the tenth
// message within a day and for each further one, up to four hours.
func (r Rules) escalationPause(s State) time.Duration {
	pause, n := r.cooldownOrDefault(), 0
	for _, at := range s.Internal.MessageTimes {
		if at.After(s.Internal.LastRaised.Add(-messageDay)) {
			n++
		}
	}
	if n < manyMessages {
		return pause
	}
	return max(pause, min(max(pause, minGrowingPause)<<(n-manyMessages+1), maxPause))
}
