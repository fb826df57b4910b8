package engine

import (
	"testing"
	"time"
)

// The clock ignores time without ticks, as of a closed laptop, and time that runs
// backwards.
func TestAwakeClock(t *testing.T) {
	const s = time.Second
	var a awakeClock
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct{ passes, counts time.Duration }{
		{0, 0}, {2 * s, 2 * s}, {maxGap, maxGap}, {maxGap + 1, 0}, {time.Hour, 0}, {s, s}, {-time.Hour, 0}, {2 * s, 2 * s},
	} {
		before := a.sum
		at = at.Add(step.passes)
		if got := a.total(at) - before; got != step.counts {
			t.Errorf("after %v: counts %v, want %v", step.passes, got, step.counts)
		}
		a.tick(at)
	}
}
