package research

import (
	"testing"
	"time"
)

func BenchmarkRun(b *testing.B) {
	f := manyPages(400)
	for b.Loop() {
		d := newDriver(b, deepest, Options{Web: true, MaxItemsPerSource: 40, Effort: deep}, 3*time.Minute, f.answerAction)
		d.quick = true
		d.runToEnd()
	}
}
