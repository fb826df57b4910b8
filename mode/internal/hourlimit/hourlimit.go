// Package hourlimit limits events per hour.
package hourlimit

import (
	"slices"
	"time"
)

// Times are the times of the admitted events of the last hour, oldest first.
type Times []time.Time

// Add returns the times of the hour before at, with at.
func (t Times) Add(at time.Time) Times { return append(slices.Clip(t.recent(at)), at) }

// Count returns the number of times in the hour before now.
func (t Times) Count(now time.Time) int { return len(t.recent(now)) }

// Next returns the time of the next event if more events now would exceed the limit, or zero.
func (t Times) Next(now time.Time, more, limit int) time.Time {
	list := t.recent(now)
	over := len(list) + more - limit
	switch {
	case over <= 0:
		return time.Time{}
	case over > len(list):
		return now.Add(time.Hour)
	}
	return list[over-1].Add(time.Hour)
}

func (t Times) recent(now time.Time) Times {
	i := 0
	for i < len(t) && now.Sub(t[i]) >= time.Hour {
		i++
	}
	return t[i:]
}
