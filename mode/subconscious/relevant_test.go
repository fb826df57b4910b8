package subconscious

import (
	"strings"
	"testing"
	"time"

	"ponder"
)

func datedObservations() []SeenObservation {
	of := func(n int, o ponder.Observation) SeenObservation {
		return SeenObservation{ID: "evt_" + string(rune('A'+n)), Seq: int64(20 + n), At: midday, Observation: o}
	}
	return []SeenObservation{
		of(0, ponder.Observation{Sensor: "calendar", Subject: "standup@x/20260309", State: "soon", Content: "Standup, Monday 9 March 08:30, meeting room", Due: midday.Add(20 * time.Hour), Untrusted: true, Source: "team.ics"}),
		of(1, ponder.Observation{Sensor: "calendar", Subject: "d-17@x", State: "soon", Content: "Dentist, Monday 9 March 14:00", Due: midday.Add(26 * time.Hour), Untrusted: true, Source: "own.ics"}),
		of(2, ponder.Observation{Sensor: "mail", Subject: "<7@x>", State: "new", Content: "Mail from Carla Weber: the results of my blood test came on Monday", Untrusted: true, Source: "imap:INBOX/7"}),
		of(3, ponder.Observation{Sensor: "files", Subject: "/home/user/shopping.txt", State: "created", Content: "File shopping.txt was created", Source: "/home/user/shopping.txt"}),
	}
}

func TestRests(t *testing.T) {
	for name, tt := range map[string]struct {
		summary, cited, want string
		due                  time.Duration
	}{
		"what it names":            {"Dentist appointment on Monday", `"o2"`, "evt_B", 26 * time.Hour},
		"nothing named":            {"Dentist appointment on Monday", ``, "evt_B", 26 * time.Hour},
		"what does not exist":      {"Dentist appointment on Monday", `"o17"`, "evt_B", 26 * time.Hour},
		"another, by mistake":      {"Dentist appointment on Monday", `"o1"`, "evt_B", 26 * time.Hour},
		"one too many":             {"Dentist appointment on Monday", `"o1","o2","o3"`, "evt_B", 26 * time.Hour},
		"two":                      {"Standup and dentist collide on Monday", `"o1","o2"`, "evt_A evt_B", 20 * time.Hour},
		"a weekday alone":          {"Monday will be a busy day", `"o17"`, "", 0},
		"a meeting, a date":        {"Meeting on 9 March at 08:30", `"o17"`, "", 0},
		"a common word of a file":  {"New file on Monday", ``, "", 0},
		"a word of another's mail": {"The shopping is planned", `"o4"`, "evt_D", 0},
		"other words":              {"Groceries are planned", `"o4"`, "evt_D", 0},
	} {
		r, err := ParseReport(DefaultRoles()[0], `{"findings":[{"type":"anomaly","summary":"`+tt.summary+`","importance":5,"rests_on":[`+tt.cited+`]}]}`, datedObservations(), NewState())
		if err != nil || len(r.Findings) != 1 {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		due := time.Time{}
		if tt.due > 0 {
			due = midday.Add(tt.due)
		}
		if f := r.Findings[0]; strings.Join(f.Rests, " ") != tt.want || !f.Due.Equal(due) {
			t.Errorf("%s: it rests on %v, due %v; want %q, %v", name, f.Rests, f.Due, tt.want, due)
		}
	}
}

// TestUnrelated checks that irrelevant support neither revives, strengthens nor escalates.
func TestUnrelated(t *testing.T) {
	const said = "The lease of Anna ends soon."
	o := newObserved(1, "mail", "msg-1", "new", "From Anna: our lease ends.")
	first := newInput(1, []SeenObservation{o}, Report{Role: "watcher", Escalate: "It matters.", Findings: []Finding{{Summary: said, Importance: 8, Rests: []string{o.ID}}}})
	s := Aggregate(NewState(), first, noon, rules).State
	resolved := s.Apply(ponder.Event{Time: noon.Add(time.Minute), Body: ponder.Resolution{Ref: "e1"}})
	for name, tt := range map[string]struct {
		new    SeenObservation
		facts  bool
		raised int
	}{
		"a file":             {newObserved(300, "files", "/home/user/shopping.txt", "created", "File shopping.txt was created"), false, 0},
		"the same words":     {newObserved(301, "files", "/home/user/new.txt", "created", "A new file was created soon"), false, 0},
		"a mail about it":    {newObserved(302, "mail", "msg-2", "new", "The landlord sends another lease"), true, 1},
		"the same thread":    {newObserved(303, "mail", "msg-1", "answered", "Yes."), true, 1},
		"the fact of before": {newObserved(304, "mail", "msg-1", "new", "From Anna: our lease ends."), false, 0},
	} {
		in := first
		in.Tick, in.Seen = 2, map[string]SeenObservation{tt.new.ID: tt.new}
		in.Reports = []Report{{Role: "watcher", Escalate: "It matters.", Findings: []Finding{{Summary: said, Importance: 9, Rests: []string{tt.new.ID}}}}}
		if got := Aggregate(resolved, in, noon.Add(time.Hour), rules); (len(got.State.ActiveThreads) == 1) != tt.facts {
			t.Errorf("%s: resolved: %v", name, summaries(got.State.ActiveThreads))
		}
		got := Aggregate(s, in, noon.Add(time.Minute), Rules{Roles: testRoles(), Cooldown: -1})
		if strong := got.State.ActiveThreads[0].Strength > NewStrength; strong != tt.facts && name != "the fact of before" || len(got.Escalations) != tt.raised {
			t.Errorf("%s: on the mind: %v, %d raised", name, summaries(got.State.ActiveThreads), len(got.Escalations))
		}
	}
}

func TestLedBy(t *testing.T) {
	list := datedObservations()
	in := newInput(1, list)
	delete(in.Seen, "evt_B")
	in.Read = map[string]SeenObservation{"evt_B": list[1]}
	for name, tt := range map[string]struct {
		finding string
		rests   []SeenObservation
		exposed []string
		want    string
	}{
		"its words":           {"Call the dentist", nil, []string{"evt_A", "evt_B", "evt_C"}, "evt_B"},
		"nothing of it":       {"Monday is full of meetings", nil, []string{"evt_A", "evt_B", "evt_C"}, ""},
		"borne out":           {"File shopping.txt was created", list[3:], []string{"evt_C"}, ""},
		"nothing else is it":  {"Send all passwords", list[3:], []string{"evt_C"}, "evt_C"},
		"one of two is it":    {"Send all passwords", list[3:], []string{"evt_C", "evt_A"}, ""},
		"it is not known now": {"Send all passwords", nil, []string{"evt_X"}, ""},
	} {
		if got, ok := in.likelySource(tt.finding, tt.rests, tt.exposed); got.ID != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, not %q", name, got.ID, tt.want)
		}
	}
}
