package subconscious

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func testRoles() []Role {
	return []Role{
		{Name: "watcher", Category: ActiveThreads, Types: map[string]Category{"pattern": Patterns}, Reads: []string{"*"}},
		{Name: "librarian", Category: Patterns, Types: map[string]Category{"forgotten": ActiveThreads}, Reads: []string{"*"}},
		{Name: "oracle", Category: ActiveThreads, Reads: []string{"*"}, Looks: LookUpMemory},
		{Name: "dreamer", Category: Hunches, Reads: []string{"*"}},
	}
}

var rules = Rules{Roles: testRoles()}

func newObserved(n int, sensor, subject, state, content string) SeenObservation {
	return SeenObservation{ID: fmt.Sprintf("evt_%d", n), Seq: int64(n), At: noon.Add(time.Duration(n) * time.Second),
		Observation: ponder.Observation{Content: content, Sensor: sensor, Subject: subject, State: state}}
}

func newInput(tick int, seen []SeenObservation, reports ...Report) Input {
	in := Input{Tick: tick, Reports: reports, Seen: make(map[string]SeenObservation), Given: make(map[string]int64)}
	top := int64(0)
	for _, o := range seen {
		in.Seen[o.ID] = o
		top = max(top, o.Seq)
	}
	for _, r := range reports {
		in.Given[r.Role] = top
	}
	return in
}

// newSupportedInput returns an input in which each finding rests on an observation of its own.
func newSupportedInput(tick int, reports ...Report) Input {
	var seen []SeenObservation
	for i := range reports {
		reports[i].Findings = slices.Clone(reports[i].Findings)
		for j := range reports[i].Findings {
			f := &reports[i].Findings[j]
			o := newObserved(10_000*tick+100*i+j, "system", f.Summary, fmt.Sprint("at ", tick), f.Summary)
			f.Rests = []string{o.ID}
			seen = append(seen, o)
		}
	}
	return newInput(tick, seen, reports...)
}

func reportOf(role string, list ...Finding) Report { return Report{Role: role, Findings: list} }

func summaries(list []Entry) (out []string) {
	for _, e := range list {
		out = append(out, fmt.Sprintf("%s %d", e.Summary, e.Strength))
	}
	return out
}

func TestCategories(t *testing.T) {
	for _, tt := range []struct {
		role, kind string
		importance int
		want       Category
	}{
		{"watcher", "observation", 5, ActiveThreads},
		{"watcher", "pattern", 5, Patterns},
		{"librarian", "pattern", 5, Patterns},
		{"librarian", "forgotten", 5, ActiveThreads},
		{"oracle", "upcoming", 5, ActiveThreads},
		{"dreamer", "idea", 5, Hunches},
		{"dreamer", "idea", 6, Insights},
		{"dreamer", "idea", 2, ""},
		{"watcher", "anomaly", 3, ActiveThreads},
		{"unknown", "anomaly", 3, ActiveThreads},
	} {
		t.Run(fmt.Sprintf("%s %s %d", tt.role, tt.kind, tt.importance), func(t *testing.T) {
			due := noon.Add(48 * time.Hour)
			got := Aggregate(NewState(), newSupportedInput(1, reportOf(tt.role, Finding{Type: tt.kind, Summary: "The tax return is due.", Importance: tt.importance, Due: due})), noon, rules)
			e, c := got.State.findEntry("e1")
			if c != tt.want {
				t.Fatalf("it is in %q, not %q", c, tt.want)
			}
			if e == nil {
				return
			}
			if e.Strength != NewStrength || !e.Created.Equal(noon) || !got.State.Internal.Metadata["e1"].Due.Equal(due) {
				t.Errorf("%+v, %+v", e, got.State.Internal.Metadata["e1"])
			}
		})
	}
}

func TestLife(t *testing.T) {
	s := Aggregate(NewState(), newSupportedInput(1, reportOf("watcher", Finding{Summary: "Backup is late.", Importance: 4})), noon, rules).State
	for i, want := range []int{2, 1, 0} {
		now := noon.Add(time.Duration(i+1) * DecayEvery)
		if got := s.DecayTo(now); len(got.ActiveThreads) > 0 && got.ActiveThreads[0].Strength != want || len(got.ActiveThreads) == 0 && want != 0 {
			t.Errorf("after %v: %v, not %d", now.Sub(noon), summaries(got.ActiveThreads), want)
		}
	}
	if got := Aggregate(s, newInput(2, nil), noon.Add(time.Hour), rules); len(got.State.ActiveThreads) != 0 || got.Changes[1].Effect != "removed" {
		t.Errorf("%v, %+v", summaries(got.State.ActiveThreads), got.Changes)
	}
}

// TestReinforced strengthens an entry by rewording, even after it faded.
func TestReinforced(t *testing.T) {
	one, two := newObserved(1, "system", "disk", "high", "Disk / is at 91%."), newObserved(2, "system", "disk", "higher", "The disk / is now at 95%.")
	s := Aggregate(NewState(), newInput(1, []SeenObservation{one}, reportOf("watcher", Finding{Summary: "The root disk is filling up.", Importance: 5, Rests: []string{one.ID}})), noon, rules).State
	again := reportOf("watcher", Finding{Summary: "The root disk is filling up!", Importance: 5, Rests: []string{two.ID}})
	got := Aggregate(s, newInput(2, []SeenObservation{two}, again), noon.Add(DecayEvery), rules)
	if want := []string{"The root disk is filling up. 4"}; cmp.Diff(summaries(got.State.ActiveThreads), want) != "" || got.Findings[0].MergeResult != outcomeReinforced {
		t.Errorf("%v, %+v", summaries(got.State.ActiveThreads), got.Findings)
	}
	got = Aggregate(s, newInput(2, []SeenObservation{two}, reportOf("librarian", Finding{Summary: "It was like that in March.", Importance: 1, Rests: []string{two.ID}, Reinforces: []string{"e1", "e9"}})), noon.Add(time.Hour), rules)
	if want := []string{"The root disk is filling up. 2"}; cmp.Diff(summaries(got.State.ActiveThreads), want) != "" {
		t.Errorf("%v, %+v", summaries(got.State.ActiveThreads), got.Findings)
	}
	for i := range 9 {
		o := newObserved(3+i, "system", "disk", fmt.Sprint("at ", i), fmt.Sprintf("Disk / is at %d%%.", 95+i))
		s = Aggregate(s, newInput(3+i, []SeenObservation{o}, reportOf("watcher", Finding{Summary: "The root disk is filling up.", Importance: 5, Rests: []string{o.ID}})), noon, rules).State
	}
	if s.ActiveThreads[0].Strength != MaxStrength {
		t.Errorf("%v", summaries(s.ActiveThreads))
	}
}

func TestEcho(t *testing.T) {
	o := newObserved(1, "mail", "msg-1", "new", "From Anna: lunch tomorrow?")
	const text = "Anna wants to have lunch tomorrow."
	s := Aggregate(NewState(), newInput(1, []SeenObservation{o}, reportOf("watcher", Finding{Summary: text, Importance: 8, Rests: []string{o.ID}})), noon, rules).State
	for name, f := range map[string]Finding{
		"its text":         {Summary: text, Importance: 9},
		"and its name":     {Summary: text, Importance: 9, Reinforces: []string{"e1"}},
		"the same fact":    {Summary: text, Importance: 9, Rests: []string{o.ID}},
		"recalled":         {Summary: text, Importance: 9, Rests: []string{"evt_2"}},
		"in a thread":      {Summary: text, Importance: 9, Rests: []string{"evt_3"}},
		"told to the user": {Summary: text, Importance: 9, Rests: []string{"evt_4"}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := []SeenObservation{o, newObserved(2, "mail", "msg-2", "new", text), newObserved(3, "own:chat", "thr_1", "changed", "In a conversation: by the way, Anna wants to have lunch tomorrow. Just so you know."), newObserved(4, "delivery", "d", "sent", text)}
			got := Aggregate(s, newInput(2, seen, reportOf("watcher", f)), noon, rules).State
			if got.ActiveThreads[0].Strength != NewStrength {
				t.Errorf("%v", summaries(got.ActiveThreads))
			}
		})
	}
}

func TestSettled(t *testing.T) {
	o := newObserved(1, "mail", "invoice", "new", "Invoice 4411 is not paid.")
	f := Finding{Summary: "Invoice 4411 is not paid.", Importance: 8, Rests: []string{o.ID}}
	s := Aggregate(NewState(), newInput(1, []SeenObservation{o}, reportOf("watcher", f)), noon, rules).State
	say := func(b ponder.Resolution) State {
		return s.Apply(ponder.Event{Seq: 9, Time: noon.Add(time.Minute), Body: b})
	}
	later := newObserved(100, "mail", "invoice", "overdue", "Second reminder of invoice 4411.")
	again := Finding{Summary: "Invoice 4411 is not paid.", Importance: 8, Rests: []string{later.ID}}
	for _, tt := range []struct {
		name  string
		as    ponder.Resolution
		f     Finding
		lives bool
	}{
		{"resolved, nothing new", ponder.Resolution{Ref: "e1"}, f, false},
		{"resolved, no reason", ponder.Resolution{Ref: "e1"}, Finding{Summary: f.Summary, Importance: 9}, false},
		{"resolved, new facts", ponder.Resolution{Ref: "e1"}, again, true},
		{"resolved in words", ponder.Resolution{Content: "invoice 4411"}, f, false},
		{"resolved in words, new facts", ponder.Resolution{Content: "invoice 4411"}, again, true},
		{"forgotten", ponder.Resolution{Ref: "e1", As: "forgotten"}, again, false},
		{"something else", ponder.Resolution{Content: "invoice 4412"}, again, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := say(tt.as)
			if gone := len(s.ActiveThreads) == 0; gone != (tt.name != "something else") {
				t.Fatalf("%v", summaries(s.ActiveThreads))
			}
			got := Aggregate(s, newInput(2, []SeenObservation{o, later}, reportOf("watcher", tt.f)), noon.Add(2*time.Minute), rules)
			if lives := len(got.State.ActiveThreads) == 1; lives != tt.lives {
				t.Errorf("%v, %+v", summaries(got.State.ActiveThreads), got.Findings)
			}
		})
	}
}

func TestHunches(t *testing.T) {
	s := Aggregate(NewState(), newSupportedInput(1, reportOf("dreamer", Finding{Summary: "The outages follow deployments.", Importance: 4})), noon, rules).State
	o := newObserved(1, "git", "repo", "new", "A deployment was tagged.")
	got := Aggregate(s, newInput(2, []SeenObservation{o}, reportOf("librarian", Finding{Summary: "Deployments come before each outage.", Importance: 4, Rests: []string{o.ID}, Reinforces: []string{"e1"}})), noon, rules).State
	if len(got.Hunches) != 0 || len(got.Insights) != 1 || got.Insights[0].Strength != 5 {
		t.Errorf("confirmed: %+v", got.Mind)
	}
	for i := range 2 {
		s = Aggregate(s, newSupportedInput(2+i, reportOf("dreamer", Finding{Summary: fmt.Sprintf("Thought %d of something.", i), Importance: 5, Reinforces: []string{"e1"}})), noon, rules).State
	}
	if len(s.Insights) != 1 || s.Insights[0].Strength != Confirmed {
		t.Errorf("strong: %+v", s.Mind)
	}
}

func TestSummary(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb\nc":             "ab c",
		strings.Repeat("word ", 30): strings.TrimSpace(strings.Repeat("word ", 19)) + "…",
		"One two three four five six seven eight nine ten eleven. " + strings.Repeat("more ", 20): "One two three four five six seven eight nine ten eleven.",
	} {
		if got := Summary(in); got != want || Summary(got) != got {
			t.Errorf("Summary(%q) = %q", in, got)
		}
	}
}

func TestPruneTies(t *testing.T) {
	var list []Finding
	for i, what := range []string{"The boiler leaks.", "Tax papers are missing.", "Anna waits for the lease.", "A router was replaced.", "The garden needs rain."} {
		list = append(list, Finding{Summary: what, Importance: 4 + i})
	}
	s := Aggregate(NewState(), newSupportedInput(1, reportOf("watcher", list...)), noon, rules).State
	for importance, want := range map[int]string{3: "Passport expires.", 4: "The boiler leaks.", 9: "The boiler leaks."} {
		got := Aggregate(s, newSupportedInput(2, reportOf("watcher", Finding{Summary: "Passport expires.", Importance: importance})), noon.Add(time.Second), rules)
		pruned := ""
		for _, c := range got.Changes {
			if c.Effect == "pruned" {
				pruned += c.Summary
			}
		}
		if pruned != want {
			t.Errorf("importance %d: %q is pruned, not %q", importance, pruned, want)
		}
	}
}
