package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/llm/llmtest"
	"ponder/mode/internal/pendingwrites"
)

func randomAnswer(a ponder.Action) ponder.Body {
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
		return textAnswer(`{"thoughts":[` + strings.Join(list, ",") + `]}`)
	case questions:
		return textAnswer(fmt.Sprintf(`{"questions":[{"question":%q,"priority":6,"why":%q},{"question":%q,"priority":5,"why":%q}]}`, text(15), text(10), text(15), text(10)))
	}
	return defaultAnswer(a)
}

// BenchmarkCalls measures the mode's own cost per call of a long session.
func BenchmarkCalls(b *testing.B) {
	calls := 0
	for b.Loop() {
		d := newDriver(b, "What is consciousness?", Options{ToTheEnd: true}, 2*time.Hour, randomAnswer)
		d.quick = true
		calls += len(d.runToEnd().actions)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(calls), "µs/call")
}

type sessionRecord struct {
	run ponder.Run
	log []ponder.Event
}

func playSessions(b *testing.B, n int) (list []sessionRecord) {
	answer := llmtest.Plausible(1)
	for i := range n {
		d := newDriver(b, fmt.Sprintf("#%d# What makes a good question?", i), Options{ToTheEnd: true, SynthesisInterval: 3600}, time.Hour, func(a ponder.Action) ponder.Body {
			c := a.(ponder.Call)
			m, err := answer(&c.Request)
			if err != nil {
				b.Fatal(err)
			}
			return ponder.CallFinished{Message: m, Model: "sim/model"}
		})
		d.quick, d.takes = true, 90*time.Second
		d.runToEnd()
		list = append(list, sessionRecord{d.run, d.log})
	}
	return list
}

// BenchmarkFold measures the cost per call of a hundred interleaved sessions.
func BenchmarkFold(b *testing.B) {
	list := playSessions(b, 100)
	events, calls := 0, 0
	for _, p := range list {
		for _, ev := range p.log {
			if _, ok := ev.Body.(ponder.CallFinished); ok {
				calls++
			}
		}
		events = max(events, len(p.log))
	}
	b.ReportAllocs()
	for b.Loop() {
		states := make([]ponder.State, len(list))
		for i, p := range list {
			states[i] = New().Start(p.run)
		}
		for at := range events {
			for i, p := range list {
				if at >= len(p.log) {
					continue
				}
				ev := p.log[at]
				if states[i] = states[i].Apply(ev); pendingwrites.IsLastEvent(ev.Cause) || ev.Body.Type() == (ponder.CallFinished{}).Type() {
					states[i].Next(ponder.Moment{Spent: ev.Elapsed, Wall: ev.Time})
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls)/1000, "µs/call")
}
