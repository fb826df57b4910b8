package hourlimit

import (
	"testing"
	"time"
)

// TestNext compares Next with its definition: at the returned time one more event fits, and a moment
// before it does not.
func TestNext(t *testing.T) {
	zero := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for limit := 1; limit <= 4; limit++ {
		var times Times
		for i := range 50 {
			now := zero.Add(time.Duration(i*i%7+i*9) * time.Minute)
			next := times.Next(now, 1, limit)
			if full := times.Count(now) >= limit; full == next.IsZero() {
				t.Fatalf("limit %d, %v: full: %v, next: %v", limit, times, full, next)
			}
			if next.IsZero() {
				times = times.Add(now)
				continue
			}
			if times.Count(next) >= limit || times.Count(next.Add(-time.Second)) < limit {
				t.Errorf("limit %d: %v is not the next time of %v", limit, next, times)
			}
		}
	}
	if got := (Times{}).Next(zero, 3, 2); got != zero.Add(time.Hour) {
		t.Errorf("more than the limit at once: %v", got)
	}
}
