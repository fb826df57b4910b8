package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ponder"
)

func longSession(n int) []ponder.Event {
	bodies := []ponder.Body{ponder.RunStarted{Mode: Name, Input: "Why?", Budget: ponder.Budget{Time: 2 * time.Hour}}}
	for i := range n {
		q := fmt.Sprint("q", i/2+1)
		if i%2 == 0 {
			bodies = append(bodies,
				ponder.Evidence{Content: "It is known.", ID: fmt.Sprint("e", i/2+1), Source: "/docs/a.md"},
				ponder.SubQuestion{Content: fmt.Sprint("What of ", i, "?"), ID: q, Parent: fmt.Sprint("q", i/4), Priority: i%10 + 1},
				ponder.Progress{Stage: "focus", Content: fmt.Sprint("What of ", i, "?"), Iteration: i/2 + 1, Ref: q},
				ponder.CallFinished{Model: "m", Spent: ponder.Cost{Calls: 1, Tokens: 100}},
			)
		}
		bodies = append(bodies, ponder.Thought{Content: strings.Repeat("This is a thought. ", 8), Number: i, Kind: "insight", Confidence: 0.5, Question: q, Cites: []string{fmt.Sprint("e", i/2+1)}})
		switch {
		case i%2 == 1:
			bodies = append(bodies, ponder.QuestionUpdated{ID: q, Explored: true, Insights: "So it is."}, ponder.Progress{Stage: "merged", Thoughts: []int{i / 3}})
		case i%50 == 0:
			bodies = append(bodies, ponder.Synthesis{Content: "So far.", Number: i / 50, Confidence: 0.5})
		case i%100 == 2:
			bodies = append(bodies, ponder.Steer{Do: "correct", Content: "No."}, ponder.Progress{Stage: "steered", Ref: fmt.Sprint("evt_", len(bodies)+1)})
		}
	}
	return eventsOf(bodies...)
}

// BenchmarkView measures the cost per event, which must not depend on length.
func BenchmarkView(b *testing.B) {
	for _, n := range []int{500, 5000} {
		b.Run(fmt.Sprint(n, "-thoughts"), func(b *testing.B) {
			evs := longSession(n)
			b.ReportAllocs()
			for b.Loop() {
				viewOf(evs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(evs)), "ns/event")
		})
	}
}

// Allocation per event does not grow with the session; BenchmarkView measures its time.
func TestViewCostPerEvent(t *testing.T) {
	perEvent := func(n int) float64 {
		evs := longSession(n)
		return testing.AllocsPerRun(3, func() { viewOf(evs) }) / float64(len(evs))
	}
	if short, long := perEvent(500), perEvent(5000); long > 1.2*short {
		t.Errorf("%.2f allocations an event of 500 thoughts, %.2f of 5,000", short, long)
	}
}
