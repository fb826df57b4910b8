package session

import (
	"testing"
	"time"
)

// BenchmarkCalls is what the mode itself costs for a call of a long session:
// reading the answer, and asking the next.
func BenchmarkCalls(b *testing.B) {
	calls := 0
	for b.Loop() {
		d := newDriver(b, "What is consciousness?", Options{}, 2*time.Hour, sensible)
		d.quick = true
		calls += len(d.work().actions)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(calls), "µs/call")
}
