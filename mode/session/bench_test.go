package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ponder"
)

// wordy answers as a sensible model does, at the length of a real one's.
func wordy(a ponder.Action) ponder.Body {
	what, n := stepOf(keyOf(a))
	rng := rand.New(rand.NewPCG(uint64(n), uint64(len(what))))
	syllables := strings.Fields("mi la ser to vul ran ke pol dri sa men tor ba lin gu fer no tas ri con")
	word := func() string { return syllables[rng.IntN(20)] + syllables[rng.IntN(20)] + syllables[rng.IntN(2)] }
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(word() + " ")
		}
		return strings.TrimSpace(b.String()) + "."
	}
	switch what {
	case thoughts:
		var list []string
		for range 4 {
			list = append(list, fmt.Sprintf(`{"thought":%q,"type":"insight","confidence":0.6,"importance":0.5}`, text(40)))
		}
		return says(`{"thoughts":[` + strings.Join(list, ",") + `]}`)
	case questions:
		return says(fmt.Sprintf(`{"questions":[{"question":%q,"priority":6,"why":%q},{"question":%q,"priority":5,"why":%q}]}`, text(15), text(10), text(15), text(10)))
	}
	return sensible(a)
}

// BenchmarkCalls is what the mode itself costs for a call of a long session:
// reading the answer, and asking the next.
func BenchmarkCalls(b *testing.B) {
	calls := 0
	for b.Loop() {
		d := newDriver(b, "What is consciousness?", Options{ToTheEnd: true}, 2*time.Hour, wordy)
		d.quick = true
		calls += len(d.work().actions)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(calls), "µs/call")
}
