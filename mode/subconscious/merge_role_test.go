package subconscious

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
)

// TestHabituation checks that repeats lower a topic's weight and time restores it.
func TestHabituation(t *testing.T) {
	s, now := NewState(), noon
	weight := func(after time.Duration, role string) (n int) {
		now = now.Add(after)
		m := newMerge(s, newSupportedInput(1, reportOf(role, Finding{Summary: "The office plant needs water.", Importance: 8})), now, rules)
		m.mergeClaim(m.claims[0])
		n, s = m.claims[0].weight, m.state
		return n
	}
	for i, tt := range []struct {
		after time.Duration
		role  string
		want  int
	}{
		{0, "dreamer", 8}, {0, "dreamer", 7}, {30 * time.Minute, "dreamer", 6}, {0, "oracle", 8},
		{29 * time.Minute, "dreamer", 5}, {61 * time.Minute, "dreamer", 6}, {24 * time.Hour, "dreamer", 8},
	} {
		if got := weight(tt.after, tt.role); got != tt.want {
			t.Errorf("%d: %d, not %d", i, got, tt.want)
		}
	}
}

func TestPressure(t *testing.T) {
	s := NewState()
	for range 12 {
		s = Aggregate(s, newSupportedInput(1, reportOf("dreamer")), noon, rules).State
	}
	if got := s.ThreadState["dreamer"]; got.NoveltyPressure != MaxPressure || len(got.LastFindings) != 0 {
		t.Errorf("%+v", got)
	}
	s = Aggregate(s, newSupportedInput(1, reportOf("dreamer", Finding{Summary: "Try tea.", Importance: 3}, Finding{Summary: "Or milk.", Importance: 4})), noon, rules).State
	if got := s.ThreadState["dreamer"]; got.NoveltyPressure != 0 || fmt.Sprintf("%q", got.LastFindings) != `["Or milk." "Try tea."]` {
		t.Errorf("%+v", got)
	}
	for i, want := range []int{3, 3, 1, 0} {
		list := []Finding{{Summary: "Or coffee.", Importance: 3}}
		s = Aggregate(s, newSupportedInput(1, reportOf("dreamer", list[:max(0, 1-i)]...)), noon, rules).State
		if got := s.ThreadState["dreamer"].LastFindings; len(got) != want {
			t.Errorf("%d: %q", i, got)
		}
	}
	if got, ok := s.ThreadState["oracle"]; !ok || got.LastFindings == nil || got.NoveltyPressure != 0 {
		t.Errorf("a role that did not run: %+v", got)
	}
}

func TestHintsTakeTurns(t *testing.T) {
	s := NewState()
	give := func(from string) Report {
		return Report{Role: from, Hints: map[string]string{"oracle": "from " + from, "nobody": "x", from: "x"}}
	}
	s = Aggregate(s, newSupportedInput(1, give("watcher"), give("librarian"), give("dreamer")), noon, rules).State
	var got []string
	for range 3 {
		got = append(got, s.ThreadState["oracle"].FocusHint)
		s = Aggregate(s, newSupportedInput(2, reportOf("oracle")), noon, rules).State
	}
	slices.Sort(got)
	if want := "[from dreamer from librarian from watcher]"; fmt.Sprint(got) != want || s.ThreadState["oracle"].FocusHint != "" {
		t.Errorf("%v, then %q", got, s.ThreadState["oracle"].FocusHint)
	}
}

// TestReadOfRolesInTime keeps observations unread for roles without a report.
func TestReadOfRolesInTime(t *testing.T) {
	in := newSupportedInput(1, reportOf("watcher"))
	in.Given = map[string]int64{"watcher": 7, "oracle": 7}
	if got := Aggregate(NewState(), in, noon, rules).State.Internal.Read; len(got) != 1 || got["watcher"] != 7 {
		t.Errorf("%v", got)
	}
}

func TestFit(t *testing.T) {
	s := NewState()
	long := strings.Repeat("<&> ", 40)
	for _, c := range categories {
		for i := range c.maxEntries() {
			*s.categoryEntries(c) = append(*s.categoryEntries(c), Entry{ID: fmt.Sprintf("%c%d", c[0], i), Summary: fmt.Sprintf("%.150s", long), Strength: 3 + i})
		}
	}
	for i := range maxHistory {
		s.EscalationHistory = append(s.EscalationHistory, EscalationRecord{ID: fmt.Sprint(i), Summary: long, Reason: long, Outcome: long})
	}
	for i := range maxRoles {
		s.ThreadState[fmt.Sprint("role-", i)] = RoleState{LastFindings: []string{long, long, long}, FocusHint: long}
	}
	got := Aggregate(s, Input{Tick: 1}, noon, rules)
	if why := describeInvalid(got.State); why != "" || len(got.State.ActiveThreads) == 0 || got.State.ActiveThreads[len(got.State.ActiveThreads)-1].Strength != 7 {
		t.Errorf("%s: %v", why, summaries(got.State.ActiveThreads))
	}
}

// TestTwelveStates escalates twelve changes, each found by two roles and repeated.
func TestTwelveStates(t *testing.T) {
	s, raised := NewState(), 0
	for n := range 288 {
		now := noon.Add(time.Duration(n) * DecayEvery)
		in := Input{Tick: n + 1, Seen: map[string]SeenObservation{}, Given: map[string]int64{}}
		if n%24 < 3 {
			o := newObserved(n, "files", fmt.Sprint("file-", n/24), "changed", fmt.Sprintf("The file %c was changed.", 'A'+n/24))
			o.At = now
			in.Seen[o.ID] = o
			f := Finding{Type: "anomaly", Summary: o.Content, Importance: 8, Rests: []string{o.ID}}
			in.Reports = []Report{{Role: "watcher", Findings: []Finding{f}, Escalate: "It matters."}, {Role: "dreamer", Findings: []Finding{f}, Escalate: "It does."}}
		}
		got := Aggregate(s, in, now, rules)
		raised += len(got.Escalations)
		s = NewState().Apply(ponder.Event{Body: ponder.Subconscious{State: json.RawMessage(encodeJSON(t, got.State))}})
	}
	if raised != 12 || len(s.Internal.Pending) != 0 {
		t.Errorf("%d raised, %d wait", raised, len(s.Internal.Pending))
	}
}
