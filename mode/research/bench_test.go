package research

import (
	"testing"
	"time"
)

func BenchmarkRun(b *testing.B) {
	f := many(400)
	for b.Loop() {
		d := newDriver(b, deepest, Options{Web: true, MaxItemsPerSource: 40, Effort: deep}, 3*time.Minute, f.answer)
		d.quick = true
		d.work()
	}
}
