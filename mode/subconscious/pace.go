package subconscious

import "time"

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
