package session

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func TestLoop(t *testing.T) {
	d := newDriver(t, "What is consciousness?", Options{SynthesisInterval: 60}, 2*time.Minute, sensible).work()
	want := []string{
		"thoughts-1", "thoughts-2", "questions-1", "thoughts-3", "thoughts-4", "questions-2", "synthesis-1",
		"thoughts-5", "thoughts-6", "questions-3", "thoughts-7", "thoughts-8", "final",
	}
	if diff := cmp.Diff(want, d.keys()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&ponder.RunFinished{
		Answer: "The answer, because of reasons.", Status: ponder.Completed, Reason: "time is spent", Confidence: 0.8,
	}, d.fin); diff != "" {
		t.Errorf("finished (-want +got):\n%s", diff)
	}
}
