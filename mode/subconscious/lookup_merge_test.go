package subconscious

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

func lookUpRules() Rules {
	roles := testRoles()
	for i := range roles {
		roles[i].Looks = LookUpMemory
	}
	return Rules{Roles: roles}
}

func newLookUpSeen(n int, role, words, content string) SeenObservation {
	return newObserved(n, LookUpSensor(role), words, LookedFound, content)
}

func lookUpReport(role, words string) Report { return Report{Role: role, LookUp: words} }

func listLookUps(s State) (list []string) {
	for _, w := range s.Internal.LookUpRequests {
		list = append(list, w.Role+": "+w.Text)
	}
	return list
}

func TestWanted(t *testing.T) {
	mail := newObserved(9, "mail", "m", "new", "Anna asks for the lease.")
	s := NewState()
	s.Internal.Tick, s.Internal.Read = 4, map[string]int64{"watcher": 5, "dreamer": 9}
	s.Internal.Hints = []Hint{{From: "watcher", To: "dreamer", Text: "leases", Tick: 4, Hops: 1}, {From: "watcher", To: "oracle", Text: "leases", Tick: 4}}
	for name, tt := range map[string]struct {
		report Report
		seen   []SeenObservation
		rules  Rules
		want   []string
	}{
		"one":                 {lookUpReport("librarian", "the lease"), []SeenObservation{mail}, lookUpRules(), []string{"librarian: the lease"}},
		"cleaned":             {lookUpReport("librarian", "lease\x1b[31m site:evil.example"), []SeenObservation{mail}, lookUpRules(), []string{"librarian: lease site evil.example"}},
		"at its own pace":     {lookUpReport("librarian", "the lease"), nil, lookUpRules(), []string{"librarian: the lease"}},
		"for a hint":          {lookUpReport("oracle", "the lease"), nil, lookUpRules(), []string{"oracle: the lease"}},
		"for a hint's hint":   {lookUpReport("dreamer", "the lease"), nil, lookUpRules(), nil},
		"nothing":             {lookUpReport("librarian", ""), []SeenObservation{mail}, lookUpRules(), nil},
		"may not":             {lookUpReport("librarian", "the lease"), []SeenObservation{mail}, rules, nil},
		"no role":             {lookUpReport("nobody", "the lease"), []SeenObservation{mail}, lookUpRules(), nil},
		"strangers":           {Report{Role: "librarian", LookUp: "the lease", Untrusted: true}, []SeenObservation{mail}, lookUpRules(), nil},
		"rules":               {Report{Role: "librarian", LookUp: "the lease", WithoutModel: true}, []SeenObservation{mail}, lookUpRules(), nil},
		"looked up":           {lookUpReport("watcher", "the lease"), []SeenObservation{newLookUpSeen(6, "watcher", "rent", "The rent is 900.")}, lookUpRules(), nil},
		"looked up, and news": {lookUpReport("watcher", "the lease"), []SeenObservation{newLookUpSeen(6, "watcher", "rent", "The rent is 900."), mail}, lookUpRules(), []string{"watcher: the lease"}},
		"of another role":     {lookUpReport("watcher", "the lease"), []SeenObservation{newLookUpSeen(6, "oracle", "rent", "The rent is 900.")}, lookUpRules(), []string{"watcher: the lease"}},
	} {
		got := Aggregate(s, newInput(5, tt.seen, tt.report), noon, tt.rules)
		if diff := cmp.Diff(tt.want, listLookUps(got.State)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if w := got.State.Internal.LookUpRequests; len(w) > 0 && (w[0].Tick != 5 || !w[0].At.Equal(noon)) {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// TestWantedAgain checks the rate limits of requests, also across a rollback.
func TestWantedAgain(t *testing.T) {
	s, old := NewState(), encodeJSON(t, NewState())
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
		o, now := newObserved(n, "mail", fmt.Sprint(n), "new", "Something else."), noon.Add(tt.after)
		s = Aggregate(s, newInput(n, []SeenObservation{o}, lookUpReport(tt.role, tt.words)), now, lookUpRules()).State
		if len(s.Internal.LookUpRequests) != tt.want {
			t.Errorf("after %s %s wants %q: %v", tt.after, tt.role, tt.words, listLookUps(s))
		}
		back := s.Apply(ponder.Event{Seq: 99, Time: now, Body: ponder.Resolution{As: asRolledBack, Ref: "1", State: []byte(old)}})
		if diff := cmp.Diff(s.Internal.LookUpRequests, back.Internal.LookUpRequests) + cmp.Diff(s.Internal.LookUpRecords, back.Internal.LookUpRecords); diff != "" {
			t.Errorf("after %s: rolled back:\n%s", tt.after, diff)
		}
		if again, ok := ReadState([]byte(encodeJSON(t, s))); !ok || encodeJSON(t, again) != encodeJSON(t, s) {
			t.Errorf("after %s it is stored as %s", tt.after, encodeJSON(t, again))
		}
	}
}

// TestWantedBounds lets many roles request at every tick of two days.
func TestWantedBounds(t *testing.T) {
	r, s, kept := Rules{}, NewState(), 0
	for i := range 12 {
		r.Roles = append(r.Roles, Role{Name: fmt.Sprintf("role-%d", i), Category: Hunches, Reads: []string{"*"}, Looks: LookUpWeb})
	}
	for n := range 2 * ticksOfDay {
		o := newObserved(n+1, "mail", fmt.Sprint(n), "new", "Something else.")
		var list []Report
		for _, role := range r.Roles {
			list = append(list, lookUpReport(role.Name, fmt.Sprintf("what number %d is", n)))
		}
		before := encodeJSON(t, s.Internal.LookUpRequests)
		s = Aggregate(s, newInput(n+1, []SeenObservation{o}, list...), noon.Add(time.Duration(n)*5*time.Minute), r).State
		if encodeJSON(t, s.Internal.LookUpRequests) != before {
			kept++
		}
		if len(s.Internal.LookUpRequests) > maxLookUpRequests || len(s.Internal.LookUpRecords) > maxLookUpRecords {
			t.Fatalf("%d wants, %d of the day", len(s.Internal.LookUpRequests), len(s.Internal.LookUpRecords))
		}
	}
	if kept != 48 {
		t.Errorf("wants were kept %d times in 48 hours", kept)
	}
}

// TestRecalled checks that look-ups strengthen no entry but may yield findings.
func TestRecalled(t *testing.T) {
	mail := newObserved(1, "mail", "msg-1", "new", "From Anna: the lease ends in May, I think.")
	const text = "Anna's lease ends in May."
	first := Aggregate(NewState(), newInput(1, []SeenObservation{mail}, reportOf("librarian", Finding{Type: "forgotten", Summary: text, Importance: 6, Rests: []string{mail.ID}})), noon, lookUpRules()).State
	for name, tt := range map[string]struct {
		content string
		finding Finding
		became  string
	}{
		"the same text":      {text, Finding{Summary: text, Importance: 9, Rests: []string{"evt_2"}}, outcomeEcho},
		"in other words":     {"Note: the lease of Anna ends in May.", Finding{Summary: "The lease of Anna ends in May.", Importance: 9, Rests: []string{"evt_2"}}, outcomeEcho},
		"more than the text": {"Note: the lease of Anna ends in May, and the rent is 900.", Finding{Summary: "The rent is 900.", Importance: 5, Rests: []string{"evt_2"}, Reinforces: []string{"e1"}}, outcomeKnown},
		"something else":     {"The rent is 900.", Finding{Summary: "The rent of the flat is 900.", Importance: 5, Rests: []string{"evt_2"}, Reinforces: []string{"e1"}}, outcomeKnown},
		"without a label":    {"The rent is 900.", Finding{Summary: "The rent of the flat is 900.", Importance: 5, Reinforces: []string{"e1"}}, outcomeKnown},
		"something new":      {"The rent is 900.", Finding{Summary: "The rent of the flat is 900.", Importance: 5, Rests: []string{"evt_2"}}, outcomeAdded},
	} {
		for _, role := range []string{"librarian", "oracle"} {
			got := Aggregate(first, newInput(2, []SeenObservation{newLookUpSeen(2, role, "lease", tt.content)}, reportOf(role, tt.finding)), noon, lookUpRules())
			if e, _ := got.State.findEntry("e1"); e.Strength != NewStrength || got.Findings[0].MergeResult != tt.became {
				t.Errorf("%s, %s: strength %d, %+v", name, role, e.Strength, got.Findings[0])
			}
		}
	}
	news := newObserved(3, "mail", "msg-2", "new", "From Anna: the landlord has answered, and agrees.")
	both := reportOf("librarian", Finding{Summary: text, Importance: 6, Rests: []string{"evt_2", "evt_3"}})
	if got := Aggregate(first, newInput(2, []SeenObservation{newLookUpSeen(2, "librarian", "lease", "The rent is 900."), news}, both), noon, lookUpRules()); got.State.ActiveThreads[0].Strength != NewStrength+Reinforcement {
		t.Errorf("got other entries: %v", summaries(got.State.ActiveThreads))
	}
}

func TestRecalledSettled(t *testing.T) {
	s := NewState()
	s.Internal.Settled = []SettledTopic{{Text: "Anna's lease ends in May.", At: noon}}
	o := newLookUpSeen(1, "librarian", "lease", "Anna's lease ends in May.")
	got := Aggregate(s, newInput(1, []SeenObservation{o}, reportOf("librarian", Finding{Summary: "Anna's lease ends in May.", Importance: 9, Rests: []string{o.ID}})), noon.Add(time.Hour), lookUpRules())
	if got.Findings[0].MergeResult != outcomeSuppressed {
		t.Errorf("%+v", got.Findings)
	}
}

// Hints after a look-up alone count as hints after a hint.
func TestRecalledHints(t *testing.T) {
	o := newLookUpSeen(1, "librarian", "lease", "The rent is 900.")
	r := Report{Role: "librarian", Hints: map[string]string{"dreamer": "rents"}}
	s := Aggregate(NewState(), newInput(1, []SeenObservation{o}, r), noon, lookUpRules()).State
	if len(s.Internal.Hints) != 1 || s.Internal.Hints[0].Hops != 1 {
		t.Fatalf("%+v", s.Internal.Hints)
	}
	next := Report{Role: "dreamer", Hints: map[string]string{"librarian": "leases"}, LookUp: "the lease"}
	in := newSupportedInput(2, next)
	in.Given["dreamer"] = s.Internal.Read["dreamer"]
	if s = Aggregate(s, in, noon, lookUpRules()).State; len(s.Internal.Hints) != 0 || len(s.Internal.LookUpRequests) != 0 {
		t.Errorf("%+v, %v", s.Internal.Hints, listLookUps(s))
	}
}

// TestEscalatedByRules escalates only the urgent findings of rules.
func TestEscalatedByRules(t *testing.T) {
	disk, feed, late := newObserved(1, "system", "disk", "critical", "The disk is full."), newObserved(2, "feed:news", "f", "new", "A feed has moved."), newObserved(3, "system", "load", "high", "The load is high.")
	r := reportOf("watcher", Finding{Type: "anomaly", Summary: "The disk is full.", Importance: 8, Rests: []string{disk.ID}},
		Finding{Type: "observation", Summary: "A feed has moved.", Importance: 6, Rests: []string{feed.ID}}, Finding{Type: "observation", Summary: "The load is high.", Importance: 7, Rests: []string{late.ID}})
	r.Escalate = "system: The disk is full (8 of 10)"
	for unaided, want := range map[bool]int{true: 1, false: 3} {
		r.WithoutModel = unaided
		got := Aggregate(NewState(), newInput(1, []SeenObservation{disk, feed, late}, r), noon, rules)
		if len(got.Escalations) != 1 || len(got.Escalations[0].Entries) != want || got.Escalations[0].WithoutModel != unaided {
			t.Errorf("without a model %t: %+v", unaided, got.Escalations)
		}
	}
	s := NewState()
	s.Internal.Settled = []SettledTopic{{Text: "The disk is full.", Signature: []string{signatureOf(disk)}, At: noon}}
	r.WithoutModel = true
	if got := Aggregate(s, newInput(1, []SeenObservation{disk, feed, late}, r), noon, rules); len(got.Escalations) != 0 {
		t.Errorf("got escalations of settled topics: %+v", got.Escalations)
	}
}
