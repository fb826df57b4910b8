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

// TestUnsupportedProperty checks that a tick without new observations raises no strength and adds no entry,
// whatever the roles say and whatever they were shown again.
func TestUnsupportedProperty(t *testing.T) {
	checked := 0
	for seed := range uint64(10) {
		w := newWorld(seed)
		s := NewState()
		for range 4 {
			_, got := w.randomTick(s)
			s = got.State
		}
		in := w.randomInput(s)
		for id, o := range in.Seen {
			if o.Again = true; w.IntN(2) == 0 {
				delete(in.Seen, id)
			} else {
				in.Seen[id] = o
			}
		}
		for _, r := range in.Reports {
			for i := range r.Findings {
				if w.IntN(2) == 0 {
					r.Findings[i].Rests = nil
				}
			}
		}
		before, got := s.DecayTo(w.now), Aggregate(s, in, w.now, rules)
		for _, c := range categories {
			for _, e := range *got.State.categoryEntries(c) {
				was, _ := before.findEntry(e.ID)
				at := slices.IndexFunc(got.Findings, func(f ponder.Finding) bool { return f.Entry == e.ID && f.MergeResult == outcomeAdded })
				switch {
				case was != nil && e.Strength > was.Strength:
					t.Fatalf("seed %d: %+v became %+v", seed, was, e)
				case was == nil && at < 0, at >= 0 && len(got.Findings[at].Observations) == 0:
					t.Fatalf("seed %d: added %+v", seed, e)
				}
				checked++
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d entries", checked)
	}
}

// TestReinforces lists the findings that reinforce an entry.
func TestReinforces(t *testing.T) {
	first := newObserved(1, "mail", "invoice", "new", "Invoice 4411 of Kessler is due.")
	more, other := newObserved(2, "mail", "reminder", "new", "Kessler wants 30 euros more for the delay."), newObserved(3, "system", "fan", "loud", "The fan is loud.")
	again, recalled := more, newObserved(4, LookUpSensor("oracle"), "Kessler", "found", "Kessler sent invoice 4411.")
	again.Again = true
	base := Aggregate(NewState(), newInput(1, []SeenObservation{first}, reportOf("watcher", Finding{Summary: "Invoice 4411 of Kessler is due.", Importance: 5, Rests: []string{first.ID}})), noon, rules).State
	named := Finding{Summary: "Kessler wrote about it.", Importance: 5, Reinforces: []string{"e1"}}
	for name, tt := range map[string]struct {
		role string
		seen []SeenObservation
		want int
	}{
		"new":                      {"watcher", []SeenObservation{more}, 5},
		"new, another role":        {"librarian", []SeenObservation{more}, 5},
		"no observation":           {"watcher", nil, 3},
		"none, another role":       {"librarian", nil, 3},
		"the same":                 {"watcher", []SeenObservation{first}, 3},
		"the same, another role":   {"librarian", []SeenObservation{first}, 3},
		"shown once more":          {"librarian", []SeenObservation{again}, 3},
		"about something else":     {"librarian", []SeenObservation{other}, 3},
		"looked up":                {"oracle", []SeenObservation{recalled}, 3},
		"the same and a new one":   {"librarian", []SeenObservation{first, more}, 5},
		"something else and a new": {"librarian", []SeenObservation{other, more}, 5},
	} {
		for _, same := range []bool{false, true} {
			f := named
			for _, o := range tt.seen {
				f.Rests = append(f.Rests, o.ID)
			}
			if same {
				f.Summary = "Invoice 4411 of Kessler is due."
			}
			got := Aggregate(base, newInput(2, tt.seen, reportOf(tt.role, f)), noon.Add(time.Minute), rules)
			if want := fmt.Sprintf("Invoice 4411 of Kessler is due. %d", tt.want); len(got.State.ActiveThreads) != 1 || summaries(got.State.ActiveThreads)[0] != want {
				t.Errorf("%s, same words %v: %v, %+v", name, same, summaries(got.State.ActiveThreads), got.Findings)
			}
		}
	}
}

// TestUnsupported checks that a finding without an observation becomes no entry of any list.
func TestUnsupported(t *testing.T) {
	for _, role := range testRoles() {
		for _, importance := range []int{3, 6, 10} {
			f := Finding{Summary: "The outages follow deployments.", Importance: importance, Rests: []string{"evt_77"}}
			got := Aggregate(NewState(), newInput(1, nil, reportOf(role.Name, f)), noon, rules)
			if n := len(got.State.Hunches) + len(got.State.Insights) + len(got.State.ActiveThreads) + len(got.State.Patterns); n != 0 || got.Findings[0].MergeResult != outcomeUnsupported {
				t.Errorf("%s, %d: %+v", role.Name, importance, got.State.Mind)
			}
			if p := got.State.ThreadState[role.Name].NoveltyPressure; p != 1 {
				t.Errorf("%s: pressure %d", role.Name, p)
			}
		}
	}
}

// TestRelatedEntries checks which entries from strangers a decision is shown, and that it then may only
// tell or dismiss.
func TestRelatedEntries(t *testing.T) {
	due := noon.Add(30 * time.Hour)
	seen := SeenObservation{ID: "evt_1", Seq: 1, At: noon, Observation: ponder.Observation{Sensor: "files:papers", Subject: "lease.md", State: "changed", Content: "The lease of Petra Kessler ends on Friday at 16:30.", Due: due}}
	e := ponder.Escalation{ID: "esc_1-1", Importance: 8, Reason: "soon", Content: "- The lease ends soon (watcher, importance 8, 2026-05-04 12:00)\n  why: soon\n", Observations: []string{"evt_1"}, Entries: []string{"e1"}}
	for name, tt := range map[string]struct {
		entry Entry
		about EntryMetadata
		shown bool
	}{
		"person":          {Entry{Summary: "Kessler wrote a long letter."}, EntryMetadata{}, true},
		"person first":    {Entry{Summary: "A letter of petra arrived."}, EntryMetadata{}, true},
		"source":          {Entry{Summary: "Notes were changed."}, EntryMetadata{Signature: []string{"files:papers|notes.md|changed"}}, true},
		"due time":        {Entry{Summary: "The rent is paid."}, EntryMetadata{Due: due.Add(-2 * time.Hour)}, true},
		"weekday":         {Entry{Summary: "A plumber comes on Friday."}, EntryMetadata{}, true},
		"time of the day": {Entry{Summary: "A call is planned at 16:30."}, EntryMetadata{}, true},
		"another time":    {Entry{Summary: "A plumber comes on Monday at 9:15."}, EntryMetadata{Due: due.Add(72 * time.Hour)}, false},
		"another person":  {Entry{Summary: "Brandt wrote a long letter."}, EntryMetadata{Signature: []string{"mail:work|m1|new"}}, false},
		"common words":    {Entry{Summary: "The printer is out of paper."}, EntryMetadata{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tt.entry.ID, tt.entry.Strength, tt.about.Untrusted = "e2", 3, true
			s := NewState()
			s.ActiveThreads = []Entry{{ID: "e1", Summary: "The lease ends soon", Strength: 3}}
			s.Insights = []Entry{tt.entry}
			s.Internal.Metadata = map[string]EntryMetadata{"e1": {Rests: []string{"evt_1"}}, "e2": tt.about}
			k := newKnowledge()
			k.News = []SeenObservation{seen}
			js, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			k = k.applyEvent(ponder.Event{Seq: 2, Body: ponder.Subconscious{State: js}}, DefaultRoles())
			k = k.applyEvent(ponder.Event{Seq: 3, Time: noon, Body: e}, DefaultRoles())
			d := newDecision(Options{Roles: DefaultRoles()}, ponder.Run{ID: "run_1", Input: e.ID, Started: noon}, k)
			if got := strings.Contains(d.buildContext(e), "e2 (insights, strength 3, from strangers): "+tt.entry.Summary); got != tt.shown {
				t.Errorf("shown: %v\n%s", got, d.buildContext(e))
			}
			if d.isTrusted(e) == tt.shown || d.isOffered(e, rememberTool) == tt.shown {
				t.Error("a decision that is shown strangers' text has more tools, or another one lacks them")
			}
			if got := d.buildEscalation(e, verdict{Outcome: Messaged, Text: "The lease ends."}); got.Untrusted != tt.shown || strings.Contains(got.Content, "strangers") != tt.shown {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestFullState checks that each role is shown all entries, ranked by strength, within the tokens of a mind.
func TestFullState(t *testing.T) {
	s := NewState()
	n := 0
	for _, c := range categories {
		list := s.categoryEntries(c)
		for range c.maxEntries() {
			n++
			*list = append(*list, Entry{ID: fmt.Sprintf("e%d", n), Summary: Summary(strings.Repeat("Überlänge ", n)), Strength: 1 + n%10, Created: noon, LastSeen: noon})
		}
	}
	for i := range maxHistory {
		s.EscalationHistory = append(s.EscalationHistory, EscalationRecord{ID: fmt.Sprint("x", i), Summary: fmt.Sprint("Escalation ", i), Outcome: Messaged, Created: noon})
	}
	s.ThreadState[librarian] = RoleState{LastFindings: []string{"A topic of old"}, NoveltyPressure: 4, FocusHint: "the archive"}
	s.Internal.Decayed = noon
	for _, role := range DefaultRoles() {
		text := Prompt(role, s, nil, noon).Messages[0].Text()
		for i := range n {
			if !strings.Contains(text, fmt.Sprintf("[e%d] ", i+1)) {
				t.Errorf("%s is not shown e%d", role.Name, i+1)
			}
		}
		for i := range maxHistory {
			if !strings.Contains(text, fmt.Sprint("Escalation ", i)) {
				t.Errorf("%s is not shown escalation %d", role.Name, i)
			}
		}
		if strings.Contains(text, "left out") || len(s.formatMind(noon, maxMind))+maxHistoryBytes+maxOthersBytes > MaxTokens*bytesPerToken {
			t.Errorf("%s: the state does not fit", role.Name)
		}
		if want := "- librarian, novelty pressure 4, hint: the archive, found: A topic of old\n"; role.Name != librarian && !strings.Contains(text, want) {
			t.Errorf("%s is not shown %q:\n%s", role.Name, want, text)
		}
	}
}

// TestOmittedProperty checks in any space that the sentence about omitted entries is true.
func TestOmittedProperty(t *testing.T) {
	cut := 0
	for seed := range uint64(6) {
		w := newWorld(seed)
		s := NewState()
		for range 6 {
			_, got := w.randomTick(s)
			s = got.State
			var all []Entry
			for _, c := range categories {
				all = append(all, *s.categoryEntries(c)...)
			}
			for range 20 {
				size := w.IntN(2500)
				text := s.formatMind(w.now, size)
				weakest, strongest, missing := MaxStrength, 0, 0
				for _, e := range all {
					if strings.Contains(text, "["+e.ID+"] strength "+fmt.Sprint(e.Strength)+",") {
						weakest = min(weakest, e.Strength)
					} else {
						strongest, missing = max(strongest, e.Strength), missing+1
					}
				}
				said := fmt.Sprintf("(left out: %s of strength %d or less)", formatEntries(missing), strongest)
				if strings.HasSuffix(text, said) != (missing > 0) || missing == 0 && strings.Contains(text, "left out") || missing > 0 && strongest > weakest {
					t.Fatalf("seed %d, %d bytes: %d entries are missing, the strongest %d, shown at least %d:\n%s", seed, size, missing, strongest, weakest, text)
				}
				if len(text) > size && missing < len(all) {
					t.Fatalf("seed %d: %d bytes in %d", seed, len(text), size)
				}
				if missing > 0 && missing < len(all) {
					cut++
				}
			}
		}
	}
	if cut < 50 {
		t.Errorf("only %d states were cut", cut)
	}
}
