package subconscious

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func looking() Rules {
	roles := four()
	for i := range roles {
		roles[i].Looks = LooksMemory
	}
	return Rules{Roles: roles}
}

func recall(n int, role, words, content string) Seen {
	return see(n, LookUpSensor(role), words, LookedFound, content)
}

func wanting(role, words string) Report { return Report{Role: role, LookUp: words} }

func wants(s State) (list []string) {
	for _, w := range s.Aside.Wanted {
		list = append(list, w.Role+": "+w.Text)
	}
	return list
}

func TestWanted(t *testing.T) {
	mail := see(9, "mail", "m", "new", "Anna asks for the lease.")
	s := NewState()
	s.Aside.Tick, s.Aside.Read = 4, map[string]int64{"watcher": 5, "dreamer": 9}
	s.Aside.Hints = []Hint{{From: "watcher", To: "dreamer", Text: "leases", Tick: 4, Hops: 1}, {From: "watcher", To: "oracle", Text: "leases", Tick: 4}}
	for name, tt := range map[string]struct {
		report Report
		seen   []Seen
		rules  Rules
		want   []string
	}{
		"one":                 {wanting("librarian", "the lease"), []Seen{mail}, looking(), []string{"librarian: the lease"}},
		"cleaned":             {wanting("librarian", "lease\x1b[31m site:evil.example"), []Seen{mail}, looking(), []string{"librarian: lease site evil.example"}},
		"at its own pace":     {wanting("librarian", "the lease"), nil, looking(), []string{"librarian: the lease"}},
		"for a hint":          {wanting("oracle", "the lease"), nil, looking(), []string{"oracle: the lease"}},
		"for a hint's hint":   {wanting("dreamer", "the lease"), nil, looking(), nil},
		"nothing":             {wanting("librarian", ""), []Seen{mail}, looking(), nil},
		"may not":             {wanting("librarian", "the lease"), []Seen{mail}, rules, nil},
		"no role":             {wanting("nobody", "the lease"), []Seen{mail}, looking(), nil},
		"strangers":           {Report{Role: "librarian", LookUp: "the lease", Untrusted: true}, []Seen{mail}, looking(), nil},
		"rules":               {Report{Role: "librarian", LookUp: "the lease", Unaided: true}, []Seen{mail}, looking(), nil},
		"looked up":           {wanting("watcher", "the lease"), []Seen{recall(6, "watcher", "rent", "The rent is 900.")}, looking(), nil},
		"looked up, and news": {wanting("watcher", "the lease"), []Seen{recall(6, "watcher", "rent", "The rent is 900."), mail}, looking(), []string{"watcher: the lease"}},
		"of another role":     {wanting("watcher", "the lease"), []Seen{recall(6, "oracle", "rent", "The rent is 900.")}, looking(), []string{"watcher: the lease"}},
	} {
		got := Aggregate(s, input(5, tt.seen, tt.report), noon, tt.rules)
		if diff := cmp.Diff(tt.want, wants(got.State)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if w := got.State.Aside.Wanted; len(w) > 0 && (w[0].Tick != 5 || !w[0].At.Equal(noon)) {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// TestWantedAgain checks the rate limits of requests, also across a rollback.
func TestWantedAgain(t *testing.T) {
	s, old := NewState(), stored(t, NewState())
	n := 0
	for _, tt := range []struct {
		after       time.Duration
		role, words string
		want        int
	}{
		{0, "librarian", "Anna's lease", 1},
		{30 * time.Minute, "librarian", "the rent", 1},
		{30 * time.Minute, "oracle", "Anna's lease", 2},
		{61 * time.Minute, "librarian", "the lease of Anna", 1},
		{62 * time.Minute, "librarian", "the rent", 2},
		{23 * time.Hour, "librarian", "lease Anna", 0},
		{25 * time.Hour, "librarian", "lease Anna", 1},
	} {
		n++
		o, now := see(n, "mail", fmt.Sprint(n), "new", "Something else."), noon.Add(tt.after)
		s = Aggregate(s, input(n, []Seen{o}, wanting(tt.role, tt.words)), now, looking()).State
		if len(s.Aside.Wanted) != tt.want {
			t.Errorf("after %s %s wants %q: %v", tt.after, tt.role, tt.words, wants(s))
		}
		back := s.Apply(ponder.Event{Seq: 99, Time: now, Body: ponder.Resolved{As: asRolledBack, Ref: "1", State: []byte(old)}})
		if diff := cmp.Diff(s.Aside.Wanted, back.Aside.Wanted) + cmp.Diff(s.Aside.Asked, back.Aside.Asked); diff != "" {
			t.Errorf("after %s: rolled back:\n%s", tt.after, diff)
		}
		if again, ok := ReadState([]byte(stored(t, s))); !ok || stored(t, again) != stored(t, s) {
			t.Errorf("after %s it is stored as %s", tt.after, stored(t, again))
		}
	}
}

// TestWantedBounds lets many roles request at every tick of two days.
func TestWantedBounds(t *testing.T) {
	r, s, kept := Rules{}, NewState(), 0
	for i := range 12 {
		r.Roles = append(r.Roles, Role{Name: fmt.Sprintf("role-%d", i), Category: Hunches, Reads: []string{"*"}, Looks: LooksWeb})
	}
	for n := range 2 * ticksOfDay {
		o := see(n+1, "mail", fmt.Sprint(n), "new", "Something else.")
		var list []Report
		for _, role := range r.Roles {
			list = append(list, wanting(role.Name, fmt.Sprintf("what number %d is", n)))
		}
		before := stored(t, s.Aside.Wanted)
		s = Aggregate(s, input(n+1, []Seen{o}, list...), noon.Add(time.Duration(n)*5*time.Minute), r).State
		if stored(t, s.Aside.Wanted) != before {
			kept++
		}
		if len(s.Aside.Wanted) > maxWanted || len(s.Aside.Asked) > mostAsked {
			t.Fatalf("%d wants, %d of the day", len(s.Aside.Wanted), len(s.Aside.Asked))
		}
	}
	if kept != 48 {
		t.Errorf("wants were kept %d times in 48 hours", kept)
	}
}

// TestRecalled checks that look-ups strengthen no entry but may yield findings.
func TestRecalled(t *testing.T) {
	mail := see(1, "mail", "msg-1", "new", "From Anna: the lease ends in May, I think.")
	const text = "Anna's lease ends in May."
	first := Aggregate(NewState(), input(1, []Seen{mail}, found("librarian", Finding{Type: "forgotten", Summary: text, Importance: 6, Rests: []string{mail.ID}})), noon, looking()).State
	for name, tt := range map[string]struct {
		content string
		finding Finding
		became  string
	}{
		"the same text":      {text, Finding{Summary: text, Importance: 9, Rests: []string{"evt_2"}}, echo},
		"in other words":     {"Note: the lease of Anna ends in May.", Finding{Summary: "The lease of Anna ends in May.", Importance: 9, Rests: []string{"evt_2"}}, echo},
		"more than the text": {"Note: the lease of Anna ends in May, and the rent is 900.", Finding{Summary: "The rent is 900.", Importance: 5, Rests: []string{"evt_2"}, Reinforces: []string{"e1"}}, known},
		"something else":     {"The rent is 900.", Finding{Summary: "The rent of the flat is 900.", Importance: 5, Rests: []string{"evt_2"}, Reinforces: []string{"e1"}}, known},
		"without a label":    {"The rent is 900.", Finding{Summary: "The rent of the flat is 900.", Importance: 5, Reinforces: []string{"e1"}}, known},
		"something new":      {"The rent is 900.", Finding{Summary: "The rent of the flat is 900.", Importance: 5, Rests: []string{"evt_2"}}, added},
	} {
		for _, role := range []string{"librarian", "oracle"} {
			got := Aggregate(first, input(2, []Seen{recall(2, role, "lease", tt.content)}, found(role, tt.finding)), noon, looking())
			if e, _ := got.State.find("e1"); e.Strength != NewStrength || got.Findings[0].Became != tt.became {
				t.Errorf("%s, %s: strength %d, %+v", name, role, e.Strength, got.Findings[0])
			}
		}
	}
	news := see(3, "mail", "msg-2", "new", "From Anna: the landlord has answered, and agrees.")
	both := found("librarian", Finding{Summary: text, Importance: 6, Rests: []string{"evt_2", "evt_3"}})
	if got := Aggregate(first, input(2, []Seen{recall(2, "librarian", "lease", "The rent is 900."), news}, both), noon, looking()); got.State.ActiveThreads[0].Strength != NewStrength+Reinforcement {
		t.Errorf("what is new beside it: %v", summaries(got.State.ActiveThreads))
	}
}

func TestRecalledSettled(t *testing.T) {
	s := NewState()
	s.Aside.Settled = []Settled{{Text: "Anna's lease ends in May.", At: noon}}
	o := recall(1, "librarian", "lease", "Anna's lease ends in May.")
	got := Aggregate(s, input(1, []Seen{o}, found("librarian", Finding{Summary: "Anna's lease ends in May.", Importance: 9, Rests: []string{o.ID}})), noon.Add(time.Hour), looking())
	if got.Findings[0].Became != suppressed {
		t.Errorf("%+v", got.Findings)
	}
}

// Hints after a look-up alone count as hints after a hint.
func TestRecalledHints(t *testing.T) {
	o := recall(1, "librarian", "lease", "The rent is 900.")
	r := Report{Role: "librarian", Hints: map[string]string{"dreamer": "rents"}}
	s := Aggregate(NewState(), input(1, []Seen{o}, r), noon, looking()).State
	if len(s.Aside.Hints) != 1 || s.Aside.Hints[0].Hops != 1 {
		t.Fatalf("%+v", s.Aside.Hints)
	}
	next := Report{Role: "dreamer", Hints: map[string]string{"librarian": "leases"}, LookUp: "the lease"}
	in := input(2, nil, next)
	in.Given["dreamer"] = s.Aside.Read["dreamer"]
	if s = Aggregate(s, in, noon, looking()).State; len(s.Aside.Hints) != 0 || len(s.Aside.Wanted) != 0 {
		t.Errorf("%+v, %v", s.Aside.Hints, wants(s))
	}
}

// TestEscalatedByRules escalates only the urgent findings of rules.
func TestEscalatedByRules(t *testing.T) {
	disk, feed, late := see(1, "system", "disk", "critical", "The disk is full."), see(2, "feed:news", "f", "new", "A feed has moved."), see(3, "system", "load", "high", "The load is high.")
	r := found("watcher", Finding{Type: "anomaly", Summary: "The disk is full.", Importance: 8, Rests: []string{disk.ID}},
		Finding{Type: "observation", Summary: "A feed has moved.", Importance: 6, Rests: []string{feed.ID}}, Finding{Type: "observation", Summary: "The load is high.", Importance: 7, Rests: []string{late.ID}})
	r.Escalate = "system: The disk is full (8 of 10)"
	for unaided, want := range map[bool]int{true: 1, false: 3} {
		r.Unaided = unaided
		got := Aggregate(NewState(), input(1, []Seen{disk, feed, late}, r), noon, rules)
		if len(got.Raised) != 1 || len(got.Raised[0].Entries) != want || got.Raised[0].Unaided != unaided {
			t.Errorf("without a model %t: %+v", unaided, got.Raised)
		}
	}
	s := NewState()
	s.Aside.Settled = []Settled{{Text: "The disk is full.", Signature: []string{signature(disk)}, At: noon}}
	r.Unaided = true
	if got := Aggregate(s, input(1, []Seen{disk, feed, late}, r), noon, rules); len(got.Raised) != 0 {
		t.Errorf("what is escalated in the place of what is settled: %+v", got.Raised)
	}
}
