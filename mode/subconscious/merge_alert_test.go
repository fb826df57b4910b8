package subconscious

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ponder"
)

func alarmReport(o SeenObservation, summary string, importance int) Report {
	return Report{Role: "watcher", Escalate: "It matters.", Findings: []Finding{{Type: "anomaly", Summary: summary, Importance: importance, Rests: []string{o.ID}}}}
}

func TestOneAlertForAState(t *testing.T) {
	s, now := NewState(), noon
	var raised []ponder.Escalation
	look := func(n int, after time.Duration, state, summary string) {
		now = now.Add(after)
		o := newObserved(n, "system", "disk", state, "Disk is "+state+".")
		o.At = now
		got := Aggregate(s, newInput(n, []SeenObservation{o}, alarmReport(o, summary, 8)), now, rules)
		s, raised = got.State, append(raised, got.Escalations...)
	}
	look(1, 0, "high", "The disk is nearly full.")
	look(2, time.Hour, "high", "Disk space is running out.")
	look(3, time.Hour, "full", "The disk is full.")
	look(4, 5*time.Hour, "high", "The disk is nearly full.")
	look(5, 5*time.Hour, "high", "The disk is nearly full.")
	if len(raised) != 2 {
		t.Fatalf("%d raised: %+v", len(raised), raised)
	}
	look(6, 7*time.Hour, "high", "The disk is nearly full.")
	if len(raised) != 3 || !strings.HasSuffix(raised[0].ID, "-1-1") || !strings.HasSuffix(raised[2].ID, "-6-1") || len(s.EscalationHistory) != 3 {
		t.Errorf("%+v, %+v", raised, s.EscalationHistory)
	}
}

func TestEscalationIDs(t *testing.T) {
	o := newObserved(1, "system", "disk", "full", "The disk is full.")
	id := func(run string) string {
		in := newInput(1, []SeenObservation{o}, alarmReport(o, "The disk is full.", 8))
		in.Run = run
		return Aggregate(NewState(), in, noon, rules).Escalations[0].ID
	}
	a, b := id("run_a"), id("run_b")
	if a == b || a != id("run_a") || !regexp.MustCompile(`^esc_[a-z2-7]{10}-1-1$`).MatchString(a) {
		t.Errorf("%s, %s, %s", a, b, id("run_a"))
	}
}

func TestCooldownGathers(t *testing.T) {
	s, now := NewState(), noon
	var got MergeResult
	for i := range 4 {
		o := newObserved(i, "mail", fmt.Sprint("msg-", i), "new", fmt.Sprintf("Letter number %d says \x1b[31mhurry.", i))
		o.Untrusted, o.Source = i == 2, fmt.Sprintf("INBOX/%d", i)
		got = Aggregate(s, newInput(i+1, []SeenObservation{o}, alarmReport(o, fmt.Sprintf("Letter %d is urgent.", i), 6+i)), now, rules)
		s, now = got.State, now.Add(4*time.Minute)
		if want := i == 0; (len(got.Escalations) == 1) != want {
			t.Fatalf("tick %d raised %+v", i+1, got.Escalations)
		}
	}
	at, any := rules.RaisesAt(s)
	if !any || !at.Equal(noon.Add(15*time.Minute)) {
		t.Errorf("%v, %v", at, any)
	}
	if early := Aggregate(s, newInput(5, nil), noon.Add(14*time.Minute), rules); len(early.Escalations) != 0 {
		t.Errorf("%+v", early.Escalations)
	}
	got = Aggregate(s, newInput(5, nil), noon.Add(15*time.Minute), rules)
	if len(got.Escalations) != 1 {
		t.Fatalf("%+v", got.Escalations)
	}
	e := got.Escalations[0]
	if e.Importance != 9 || !e.Untrusted || len(e.Signatures) != 3 || len(e.Sources) != 3 || len(got.State.Internal.Pending) != 0 {
		t.Errorf("%+v", e)
	}
	for _, want := range []string{"Letter 1 is urgent.", "Letter 3 is urgent.", "INBOX/2", "written by strangers", `"Letter number 2 says hurry."`} {
		if !strings.Contains(e.Content, want) {
			t.Errorf("no %q in:\n%s", want, e.Content)
		}
	}
	if strings.ContainsRune(e.Content, 0x1b) {
		t.Errorf("%q", e.Content)
	}
}

func TestDismissedRaisesTheBar(t *testing.T) {
	free := Rules{Roles: testRoles(), Cooldown: -1}
	s := NewState()
	for i, tt := range []struct {
		importance int
		raised     bool
	}{{7, true}, {7, false}, {8, true}, {8, false}, {9, true}, {10, true}} {
		o := newObserved(i, "feed:news", "offers", fmt.Sprint("state ", i), fmt.Sprintf("Offer %d is out.", i))
		got := Aggregate(s, newInput(i+1, []SeenObservation{o}, alarmReport(o, "There is a new offer.", tt.importance)), noon, free)
		if s = got.State; (len(got.Escalations) == 1) != tt.raised {
			t.Fatalf("%d, importance %d: %+v, %+v", i, tt.importance, got.Escalations, s.Internal.Alerts)
		}
		for _, e := range got.Escalations {
			s = s.Apply(ponder.Event{Seq: 5, Body: e})
			if len(s.Internal.Undecided) != 1 {
				t.Errorf("%+v", s.Internal.Undecided)
			}
			s = s.Apply(ponder.Event{Seq: 6, Body: ponder.Escalation{ID: e.ID, Outcome: "dismiss", Content: "no"}})
		}
	}
	if h := s.EscalationHistory; len(h) != 4 || h[0].Outcome != "dismiss" || len(s.Internal.Undecided) != 0 {
		t.Errorf("%+v", h)
	}
}
