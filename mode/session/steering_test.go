package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder"
)

func TestSteering(t *testing.T) {
	v := viewOf(fullSession())
	want := []SteerCommand{
		{ID: "evt_10", Order: "add_question", Content: "Who?", Target: "priority 9", Offset: 8, Seq: 12, Effect: "question q4 added: Who?", At: 10},
		{ID: "evt_15", Order: "correct", Content: "It was autumn.", Offset: 13, Seq: 16, Effect: "c1: It was autumn.", At: 14},
		{ID: "evt_20", Order: "drop_question", Target: "q3", Offset: 18, Seq: 22, Effect: "question q3 dropped", Cancelled: []string{"thoughts-4"}, At: 20},
		{ID: "evt_23", Order: "pin_source", Target: "/a.md", Offset: 21, Seq: 24, Effect: "pinned", At: 22},
		{ID: "evt_25", Order: "ban_source", Target: "e1", Offset: 23, Seq: 26, Effect: "banned", At: 24},
		{ID: "evt_27", Order: "budget", Target: "2m0s of thinking, 9 calls", Offset: 25, Seq: 28, Effect: "2 minutes, 9 calls", At: 26},
		{ID: "evt_31", Order: "answer_now", Offset: 29, Seq: 32, Effect: "answering", At: 30},
		{ID: "evt_34", Order: "rank_question", Target: "q99, priority 2", Offset: 32, Seq: 35, Effect: "there is no question q99", Refused: true, At: 33},
	}
	if diff := cmp.Diff(want, v.Steering, cmpopts.IgnoreFields(SteerCommand{}, "Created"), cmpopts.IgnoreUnexported(SteerCommand{})); diff != "" {
		t.Errorf("steering (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Correction{{ID: "c1", Text: "It was autumn.", Offset: 14, Against: []int{2}}}, v.Corrections); diff != "" {
		t.Errorf("corrections (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"/a.md"}, {"thread:thr_old"}}, [][]string{v.Pinned, v.Banned}); diff != "" {
		t.Errorf("pinned and banned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Limits{Seconds: 120, Calls: 9}, v.Session.Budget); diff != "" || v.Session.Minutes != 2 {
		t.Errorf("%v minutes, budget (-want +got):\n%s", v.Session.Minutes, diff)
	}
}

func TestViewOfARichSession(t *testing.T) {
	v := viewOf(fullSession())
	s := v.Session
	got := Progress{Thoughts: 3, Questions: 4, Syntheses: 2, Explored: 1, Dropped: 1, Merged: 3, Percentage: 100, PercentageOf: "time", TimePercentage: 30, Elapsed: 36}
	if diff := cmp.Diff(got, s.Progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if s.Trend != "plateau" || v.Syntheses[0].Trend != "converging" || v.Syntheses[0].Basis.Agreement != 0.5 {
		t.Errorf("trend %q, %+v", s.Trend, v.Syntheses)
	}
	if v.Thoughts[0].Repeats != 1 || v.Thoughts[1].Repeats != 0 || v.Thoughts[2].Repeats != 1 {
		t.Errorf("thoughts %+v", v.Thoughts)
	}
	if id, ok := v.Sources[0].Earlier(); !ok || id != "thr_old" || !v.Sources[0].Cited {
		t.Errorf("source %+v", v.Sources[0])
	}
	if r := s.Resolution; r == nil || r.Outcome == nil || *r.Outcome != 1 || r.Note != "It was so." {
		t.Errorf("resolution %+v", r)
	}
}

func TestHostileSteering(t *testing.T) {
	start := ponder.RunStarted{Mode: Name, Input: "Why?"}
	for _, tt := range []struct {
		name   string
		bodies []ponder.Body
	}{
		{"of nothing", []ponder.Body{ponder.Progress{Stage: "steered", Ref: "evt_77"}}},
		{"of a question", []ponder.Body{ponder.SubQuestion{ID: "q1"}, ponder.Progress{Stage: "steered", Ref: "q1"}}},
		{"limits below zero", []ponder.Body{ponder.Steer{Do: ponder.SetBudget, Args: []byte(`{"time_ns":-5,"calls":-1}`)}, ponder.Progress{Stage: "steered", Ref: "evt_2"}}},
		{"args that are none", []ponder.Body{ponder.Steer{Do: "pin_source", Args: []byte(`[7]`)}, ponder.Progress{Stage: "steered", Ref: "evt_2"}}},
		{"of another run", []ponder.Body{ponder.Steer{Do: "correct", Content: "no"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			evs := eventsOf(append([]ponder.Body{start}, tt.bodies...)...)
			if tt.name == "of another run" {
				evs[1].Run = "run_other"
			}
			v := viewOf(evs)
			if v.Session.Budget != (Limits{Seconds: 300}) || len(v.Corrections)+len(v.Pinned)+len(v.Banned) > 0 {
				t.Errorf("changed: %+v", v)
			}
			if tt.name == "of another run" && len(v.Steering) > 0 {
				t.Errorf("steered by another's: %+v", v.Steering)
			}
		})
	}
}
