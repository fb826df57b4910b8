package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func eventsOf(bodies ...ponder.Body) (evs []ponder.Event) {
	for i, b := range bodies {
		ev := ponder.Event{ID: fmt.Sprintf("evt_%d", i+1), Run: testRun, Cause: fmt.Sprintf("k-%d/1.1", i+1), Elapsed: time.Duration(i) * time.Second, Body: b}
		if i == 1 {
			ev.Cause = firstKey + "/1.1"
		}
		switch b.(type) {
		case ponder.Steer, ponder.RunPaused, ponder.Resolution:
			ev.Cause = "input-" + ev.ID
		}
		evs = append(evs, ev.Stamp("thr_test", ponder.Seq(i+1), epoch.Add(ev.Elapsed)))
	}
	return evs
}

// fullSession is a session with every kind of event.
func fullSession() []ponder.Event {
	out := 1.0
	return eventsOf(
		ponder.RunStarted{Mode: Name, Input: "Why?", Budget: ponder.Budget{Time: time.Minute}, Options: []byte(`{"parallel":2}`)},
		ponder.Progress{Stage: "focus", Content: "Why?", Iteration: 1},
		ponder.Evidence{Content: "Said before.", ID: "e1", Source: "thread:thr_old", Title: "Why, once?"},
		ponder.Thought{Content: "A", Number: 0, Kind: "insight", Focus: "Why?", Cites: []string{"e1"}},
		ponder.SubQuestion{Content: "How?", ID: "q1", Priority: 5},
		ponder.SubQuestion{Content: "When?", ID: "q2", Priority: 7},
		ponder.SubQuestion{Content: "How much?", ID: "q3", Parent: "q1", Priority: 3}, // 7th event
		ponder.Progress{Stage: "focus", Content: "When?", Iteration: 2, Ref: "q2"},
		ponder.Progress{Stage: "focus", Content: "How?", Iteration: 3, Ref: "q1"},
		ponder.Steer{Do: "add_question", Content: "Who?", Args: []byte(`{"priority":9}`)}, // evt_10
		ponder.SubQuestion{Content: "Who?", ID: "q4", Priority: 9, By: "user"},
		ponder.Progress{Stage: "steered", Ref: "evt_10", Label: "add_question", Content: "question q4 added: Who?"},
		ponder.Thought{Content: "B", Number: 1, Kind: "critique", Focus: "When?", Question: "q2"},
		ponder.QuestionUpdated{ID: "q2", Explored: true, Insights: "In spring."},
		ponder.Steer{Do: "correct", Content: "It was autumn."}, // evt_15
		ponder.Progress{Stage: "steered", Ref: "evt_15", Label: "correct", Content: "c1: It was autumn."},
		ponder.Thought{Content: "C", Number: 2, Kind: "exploration", Focus: "How?", Question: "q1", Against: []string{"c1", "c7", "x"}},
		ponder.Progress{Stage: "merged", Thoughts: []int{0, 2, 99}, Content: "said again"},
		ponder.QuestionUpdated{ID: "q3", Priority: 6, Reason: "asked again"},
		ponder.Steer{Do: "drop_question", Args: []byte(`{"question":"q3"}`)}, // evt_20
		ponder.QuestionUpdated{ID: "q3", Dropped: true},
		ponder.Progress{Stage: "steered", Ref: "evt_20", Label: "drop_question", Content: "question q3 dropped", Cancelled: []string{"thoughts-4"}},
		ponder.Steer{Do: "pin_source", Args: []byte(`{"source":"/a.md"}`)}, // evt_23
		ponder.Progress{Stage: "steered", Ref: "evt_23", Label: "pin_source", Content: "pinned"},
		ponder.Steer{Do: "ban_source", Args: []byte(`{"source":"e1"}`)}, // evt_25
		ponder.Progress{Stage: "steered", Ref: "evt_25", Label: "ban_source", Content: "banned"},
		ponder.Steer{Do: ponder.SetBudget, Args: []byte(`{"time_ns":120000000000,"calls":9}`)}, // evt_27
		ponder.Progress{Stage: "steered", Ref: "evt_27", Label: "budget", Content: "2 minutes, 9 calls"},
		ponder.Synthesis{Content: "So far.", Number: 0, Confidence: 0.5, Trend: "converging", Basis: ponder.Basis{Agreement: 0.5, Support: 0.25}},
		ponder.Progress{Stage: "focus", Content: "Who?", Iteration: 4, Ref: "q4"},
		ponder.Steer{Do: ponder.AnswerNow}, // evt_31
		ponder.Progress{Stage: "steered", Ref: "evt_31", Label: "answer_now", Content: "answering"},
		ponder.BudgetSpent{What: "time"},
		ponder.Steer{Do: "rank_question", Args: []byte(`{"question":"q99","priority":2}`)}, // evt_34
		ponder.Progress{Stage: "steered", Ref: "evt_34", Label: "rank_question", Content: "there is no question q99", Refused: true},
		ponder.Synthesis{Content: "So.", Number: 1, Confidence: 0.75, Trend: "plateau", Final: true},
		ponder.RunFinished{Status: ponder.Completed, Answer: "So.", Reason: "the user requested the answer"},
		ponder.Resolution{Ref: string(testRun), Outcome: &out, Content: "It was so."},
	)
}

func TestTree(t *testing.T) {
	var b strings.Builder
	for n := range viewOf(fullSession()).Tree() {
		fmt.Fprintf(&b, "%s%s %s %d %s%s\n", n.Guide, n.ID, n.State, n.Priority, n.Text, strings.Repeat(" again", n.Repeats))
	}
	want := `├─ q4 open 9 Who?
├─ q2 explored 7 When?
└─ q1 open 5 How?
   └─ q3 dropped 6 How much? again
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTreeOfHostileParents(t *testing.T) {
	start := ponder.RunStarted{Mode: Name, Input: "Why?"}
	for _, tt := range []struct {
		name string
		qs   []ponder.SubQuestion
		want string
	}{
		{"its own parent", []ponder.SubQuestion{{ID: "q1", Parent: "q1"}}, "0q1"},
		{"a circle", []ponder.SubQuestion{{ID: "q1", Parent: "q2"}, {ID: "q2", Parent: "q1"}}, "0q1 1q2"},
		{"no such parent", []ponder.SubQuestion{{ID: "q1", Parent: "q9"}}, "0q1"},
		{"a source as parent", []ponder.SubQuestion{{ID: "q1"}, {ID: "q2", Parent: "e1"}}, "0q1 0q2"},
		{"one id twice", []ponder.SubQuestion{{ID: "q1"}, {ID: "q1", Parent: "q1"}}, "0q1"},
		{"no id", []ponder.SubQuestion{{}, {}}, ""},
		{"by priority", []ponder.SubQuestion{{ID: "q1", Priority: 2}, {ID: "q2", Priority: 3}, {ID: "q3", Priority: 3}}, "0q2 0q3 0q1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bodies := []ponder.Body{start, ponder.Progress{Stage: "focus"}, ponder.Evidence{ID: "e1"}}
			for _, q := range tt.qs {
				bodies = append(bodies, q)
			}
			var got []string
			for n := range viewOf(eventsOf(bodies...)).Tree() {
				got = append(got, fmt.Sprint(n.Depth, n.ID))
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDeepTree(t *testing.T) {
	v := viewOf(eventsOf(ponder.RunStarted{Mode: Name, Input: "Why?"}))
	for i := range 5000 {
		v = v.Apply(ponder.Event{Run: testRun, Body: ponder.SubQuestion{ID: fmt.Sprint("q", i), Parent: fmt.Sprint("q", i-1)}})
	}
	n := 0
	for node := range v.Tree() {
		if node.ID != fmt.Sprint("q", n) || node.Depth != min(n, maxDepth) || len(node.Guide) > 40 {
			t.Fatalf("node %d is %s at %d after %q", n, node.ID, node.Depth, node.Guide)
		}
		n++
	}
	if n != 5000 {
		t.Errorf("%d nodes", n)
	}
}

// The current foci after each event.
func TestFoci(t *testing.T) {
	v := NewView()
	for i, want := range []string{"", "Why?", "Why?", "", "", "", "", "When?/q2", "When?/q2 How?/q1", "When?/q2 How?/q1", "When?/q2 How?/q1", "When?/q2 How?/q1", "How?/q1", "How?/q1", "How?/q1", "How?/q1", ""} {
		v = v.Apply(fullSession()[i])
		var got []string
		for _, f := range v.Session.Progress.Foci {
			text := f.Text
			if f.Question != "" {
				text += "/" + f.Question
			}
			got = append(got, text)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("after event %d: %q, want %q", i+1, got, want)
		}
		if q, ok := v.findQuestion("q1"); ok && (q.State == Exploring) != strings.Contains(want, "q1") {
			t.Errorf("after event %d: q1 is %s", i+1, q.State)
		}
	}
}
