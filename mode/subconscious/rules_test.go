package subconscious

import (
	"fmt"
	"math/rand/v2"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/racetest"
)

// obs parses "sensor|subject|state|level|content".
func obs(line string) Seen {
	p := strings.SplitN(line, "|", 5)
	level := 0
	if p[3] != "" {
		level = int(p[3][0] - '0')
	}
	return Seen{At: midday, Observation: ponder.Observation{Sensor: p[0], Subject: p[1], State: p[2], Level: level, Content: p[4]}}
}

func numbered(list ...Seen) []Seen {
	for i := range list {
		list[i].ID, list[i].Seq = fmt.Sprint("v", i+1), int64(i+1)
	}
	return list
}

func (o Seen) due(d time.Duration) Seen { o.Due = midday.Add(d); return o }
func (o Seen) days(n int) Seen          { o.At = midday.AddDate(0, 0, n); return o }
func (o Seen) stranger() Seen           { o.Untrusted = true; return o }

func TestFind(t *testing.T) {
	for name, tt := range map[string]struct {
		role string
		seen []Seen
		want string
	}{
		"nothing": {watcher, nil, ""},
		"levels": {watcher, []Seen{
			obs("system|load|normal|2|The load is 0.3."), obs("system|disk /|high|5|The disk / is 91% full."), obs("mail|a|new|7|Mail from Anna: urgent"), obs("files|b||0|b.txt changed"),
		}, "observation 7 Mail from Anna: urgent <v3>\nobservation 5 The disk / is 91% full. <v2>\n"},
		"level that escalates": {watcher, []Seen{obs("system|disk /|critical#2|9|The disk / is 99% full.")},
			"anomaly 9 The disk / is 99% full. <v1>\nescalate: system: The disk / is 99% full (9 of 10)\n"},
		"not what the role sees": {librarian, []Seen{obs("system|disk /|critical|9|The disk / is 99% full.")}, ""},
		"escape sequences": {watcher, []Seen{obs("system|d\x1b[2Jisk|critical|8|The \x1b[31mdisk\u202e\nis full")},
			"anomaly 8 The disk is full <v1>\nescalate: system: The disk is full (8 of 10)\n"},
		"due": {oracle, []Seen{
			obs("calendar|a|72h||Dentist on Saturday").due(70 * time.Hour), obs("calendar|b|24h||Dinner tomorrow").due(24 * time.Hour),
			obs("calendar|c|2h||Train to Ulm at 13:30").due(90 * time.Minute), obs("mail|d|new||The form is due").due(3 * time.Hour),
			obs("calendar|e|far||Holiday").due(100 * time.Hour), obs("calendar|f|past||Breakfast").due(-time.Minute), obs("calendar|g|cancelled||Lunch").due(time.Hour),
		}, "upcoming 8 Train to Ulm at 13:30 <v3> @2026-03-04T13:30:00Z\nupcoming 6 Dinner tomorrow <v2> @2026-03-05T12:00:00Z\n" +
			"upcoming 6 The form is due <v4> @2026-03-04T15:00:00Z\nupcoming 4 Dentist on Saturday <v1> @2026-03-07T10:00:00Z\n" +
			"escalate: calendar: Train to Ulm at 13:30 (due within 2 hours)\n"},
		"due with a level":               {oracle, []Seen{obs("calendar|a|72h|3|Dentist").due(70 * time.Hour)}, "upcoming 3 Dentist <v1> @2026-03-07T10:00:00Z\n"},
		"the newest of a subject is due": {oracle, []Seen{obs("calendar|a|24h||Dentist").due(20 * time.Hour), obs("calendar|a|cancelled||Dentist is cancelled").due(20 * time.Hour)}, ""},
		"overdue":                        {oracle, []Seen{obs("calendar|a|overdue|7|The tax form was due").due(-time.Hour)}, "risk 7 The tax form was due <v1> @2026-03-04T11:00:00Z\n"},
		"conflict and cancelled": {oracle, []Seen{obs("calendar|a|conflict|5|Two events are at the same time").due(20 * time.Hour), obs("calendar|b|cancelled|6|Lunch was cancelled").due(2 * time.Hour)},
			"upcoming 6 Lunch was cancelled <v2> @2026-03-04T14:00:00Z\nrisk 5 Two events are at the same time <v1> @2026-03-05T08:00:00Z\n"},
		"must": {librarian, []Seen{obs("own|a|said||I still have to renew the passport (The user said this.)"), obs("own|b|said||Ich muss zum Amt.")},
			"promise 3 I still have to renew the passport (The user said this.) <v1>\npromise 3 Ich muss zum Amt. <v2>\n"},
		"promises": {librarian, []Seen{
			obs("own|thread:1|said||In \"Grant\": I'll get back to Anna about the draft. It is long."), obs("own|thread:2|said||We will be there. I will never do that."),
			obs("own|thread:3|said||Will I ever learn? I will be sending the form on Friday"), obs("own|thread:4|said||Ich kümmere mich um die Heizung, sobald es geht."),
			obs("own|thread:5|said||Ich schaue mir das an."), obs("own|thread:6|said||TODO: renew the passport"), obs("own|thread:7|said||We spoke of the willow tree"),
		}, "promise 3 In \"Grant\": I'll get back to Anna about the draft. <v1>\npromise 3 Will I ever learn? I will be sending the form on Friday <v3>\n" +
			"promise 3 Ich kümmere mich um die Heizung, sobald es geht. <v4>\npromise 3 Ich schaue mir das an. <v5>\npromise 3 TODO: renew the passport <v6>\n"},
		"two promises of a message": {librarian, []Seen{obs("own|a|said||I'll call Ben. It rains. I will send the keys by Friday.")},
			"promise 3 I'll call Ben. <v1>\npromise 3 I will send the keys by Friday. <v1>\n"},
		"said to be done": {librarian, []Seen{obs("own|a|said||I'll call the plumber."), obs("own|b|said||I'll call Ben."), obs("own|c|done||I called the plumber.")},
			"promise 3 I'll call Ben. <v2>\n"},
		"promises of mail":                   {watcher, []Seen{obs("mail|a|new|3|Mail from Ben: I will send the keys.").stranger()}, "observation 3 Mail from Ben: I will send the keys. <v1>\n"},
		"promises without a level":           {watcher, []Seen{obs("mail|a|new||Mail from Ben: I will send the keys.").stranger()}, "observation 3 Mail from Ben: I will send the keys. <v1>\n"},
		"promises to everybody":              {watcher, []Seen{obs("mail|a|new|1|Mail from a shop: We will send you a number.").stranger()}, ""},
		"no promises of feeds":               {watcher, []Seen{obs("feed|a|new||I will survive"), obs("files|todo||| todo.txt changed")}, ""},
		"promises that were kept":            {librarian, []Seen{obs("own|thread:1|said||I'll send it."), obs("own|thread:2|said||I'll call."), obs("own|thread:1|done||It was sent.")}, "promise 3 I'll call. <v2>\n"},
		"a long promise":                     {librarian, []Seen{obs("own|t|said||" + strings.Repeat("so ", 20) + "I will mend the fence behind the house")}, "promise 3 so so so so … I will mend the fence behind the house <v1>\n"},
		"stale":                              {librarian, []Seen{obs("own|thread:1|stale||\"Grant\" has been quiet for 9 days"), obs("own|thread:2|idle-3|6|\"Roof\" waits for you"), obs("own|thread:3|new||\"New\" began")}, "stale 6 \"Roof\" waits for you <v2>\nstale 4 \"Grant\" has been quiet for 9 days <v1>\n"},
		"words across sensors":               {dreamer, []Seen{obs("mail|a|new||Mail from Eva: the invoice of Kestrel is here"), obs("files|b|new||kestrel-contract.pdf was created")}, "connection 3 Kestrel came up in mail (Mail from Eva) and in files (kestrel-contract.pdf was created). <v1 v2>\n"},
		"words of the same places":           {dreamer, []Seen{obs("mail|a|new||Hiking with Lena near Garmisch"), obs("calendar|b|24h||Garmisch: hiking with Lena"), obs("own|c|said||The train to Garmisch")}, "connection 4 Garmisch came up in mail (Hiking with Lena near …) and in conversations (The train to Garmisch). <v1 v2 v3>\n"},
		"words of one sensor":                {dreamer, []Seen{obs("mail:a|a|new||Kestrel sends an invoice"), obs("mail:b|b|new||Kestrel sends a contract")}, ""},
		"common words":                       {dreamer, []Seen{obs("mail|a|new||The meeting about the report was moved to Monday"), obs("calendar|b|changed||Meeting on Monday: report of the team"), obs("git|c|new||A commit changed the report")}, ""},
		"common German words":                {dreamer, []Seen{obs("mail|a|new||Die Rechnung für das Projekt ist fertig"), obs("files|b|new||Rechnung Projekt wurde geändert")}, ""},
		"words in two places are no pattern": {watcher, []Seen{obs("mail|a|new||Kestrel sends an invoice"), obs("files|b|new||kestrel.pdf was created")}, ""},
		"words on three days":                {librarian, []Seen{obs("own|a|said||The boiler rattles").days(-2), obs("own|b|said||Once more about boilers").days(-1), obs("own|c|said||Who repairs a boiler?")}, "pattern 3 boiler came up in conversations on 2026-03-02 (The boiler rattles) and in conversations on 2026-03-04 (Who repairs a boiler). <v1 v2 v3>\n"},
		"words on two days":                  {librarian, []Seen{obs("own|a|said||The boiler rattles").days(-1), obs("own|c|said||Who repairs a boiler?")}, ""},
		"what was told is not seen":          {dreamer, []Seen{obs("delivery|a|sent||Kestrel sent an invoice"), obs("mail|b|new||Kestrel writes")}, ""},
	} {
		r := Find(roleOf(tt.role), NewState(), numbered(tt.seen...), midday)
		if diff := cmp.Diff(tt.want, told(r)); diff != "" || r.Role != tt.role || !r.Unaided {
			t.Errorf("%s:\n%s", name, diff)
		}
		checkReport(t, r)
	}
}

func roleOf(name string) Role {
	list := DefaultRoles()
	return list[slices.IndexFunc(list, func(r Role) bool { return r.Name == name })]
}

// Earlier entries and topics count as occurrences of a word.
func TestFindRemembers(t *testing.T) {
	s := NewState()
	s.Aside.Decayed = midday
	s.ActiveThreads = []Entry{{ID: "e7", Summary: "Eva writes about the Kestrel invoice", Strength: 3, LastSeen: midday}}
	s.Aside.About = map[string]About{"e7": {By: []string{watcher}, Signature: []string{"mail:work|<1@x>|new"}}}
	seen := numbered(obs("files|b|new||kestrel-contract.pdf was created"))
	want := "connection 3 kestrel came up on its mind (Eva writes about the …) and in files (kestrel-contract.pdf was created). <v1> +e7\n"
	if diff := cmp.Diff(want, told(Find(roleOf(dreamer), s, seen, midday))); diff != "" {
		t.Error(diff)
	}
	seen[0].Sensor = "mail"
	if got := told(Find(roleOf(dreamer), s, seen, midday)); got != "" {
		t.Errorf("an entry of the same sensor is connected: %s", got)
	}
	s = NewState()
	s.Aside.Topics = []Topic{
		{Role: librarian, Text: "Kestrel wants an answer", Times: 1, Last: midday.AddDate(0, 0, -3)},
		{Role: watcher, Text: "The kestrel file changed", Times: 1, Last: midday.AddDate(0, 0, -2)},
	}
	seen = numbered(obs("own|b|said||Kestrel again, and no end"))
	if diff := cmp.Diff("pattern 3 Kestrel came up in conversations on 2026-03-04 (Kestrel again). <v1>\n", told(Find(roleOf(librarian), s, seen, midday))); diff != "" {
		t.Error(diff)
	}
}

func TestFindOfOtherRoles(t *testing.T) {
	seen := numbered(obs("mail|a|new|9|Pay Kestrel").due(time.Hour), obs("files|b|new|3|kestrel.pdf was created"))
	for _, tt := range []struct {
		types map[string]Category
		want  string
	}{
		{nil, "observation 9 Pay Kestrel <v1> @2026-03-04T13:00:00Z\nescalate: mail: Pay Kestrel (9 of 10)\n"},
		{map[string]Category{"upcoming": ActiveThreads}, "upcoming 9 Pay Kestrel <v1> @2026-03-04T13:00:00Z\nescalate: mail: Pay Kestrel (due within 2 hours)\n"},
		{map[string]Category{"connection": Hunches}, "connection 5 Kestrel came up in mail (Pay Kestrel) and in files (kestrel.pdf was created). <v1 v2> @2026-03-04T13:00:00Z\n"},
		{map[string]Category{"bill": Hunches}, ""},
	} {
		r := Find(Role{Name: "own", Reads: []string{"*"}, Types: tt.types}, NewState(), seen, midday)
		if diff := cmp.Diff(tt.want, told(r)); diff != "" {
			t.Errorf("%v:\n%s", tt.types, diff)
		}
	}
}

// Findings are bounded, deterministic, and use the observations' words only.
func TestFindProperties(t *testing.T) {
	racetest.Skip(t, "one goroutine, which tries thousands of random states")
	texts := []string{"I will send it", "Kestrel", "the boiler rattles again", "ich melde mich", "quarterly Zephyr figures", strings.Repeat("long ", 50), "", "\x1b[2J", "wird <b>fett</b>", "Привет Кестрел мир"}
	sensors := []string{"mail:a", "files", "own", "calendar", "system", "feed:x", "delivery"}
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var list []Seen
		for range rnd.IntN(40) {
			o := obs(sensors[rnd.IntN(len(sensors))] + "||new||")
			o.Subject, o.Level = fmt.Sprint("s", rnd.IntN(5)), rnd.IntN(11)
			o.Content = texts[rnd.IntN(len(texts))] + ". " + texts[rnd.IntN(len(texts))]
			if rnd.IntN(3) == 0 {
				o = o.due(time.Duration(rnd.IntN(100)-10) * time.Hour)
			}
			list = append(list, o.days(-rnd.IntN(4)))
		}
		list = numbered(list...)
		var all strings.Builder
		for _, o := range list {
			all.WriteString(strings.ToLower(textkit.Line(textkit.Visible(o.Content), 2*maxLine)) + "\n")
		}
		mixed := slices.Clone(list)
		rnd.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for _, role := range DefaultRoles() {
			r := Find(role, someState(0), list, midday)
			checkReport(t, r)
			if diff := cmp.Diff(r, Find(role, someState(0), mixed, midday)); diff != "" {
				t.Fatalf("%s, seed %d: another order finds something else:\n%s", role.Name, seed, diff)
			}
			for _, f := range r.Findings {
				for _, w := range wordsOf(f.Summary) {
					word := f.Summary[w.start:w.end]
					if !strings.Contains(all.String(), strings.ToLower(word)) && !slices.Contains(strings.Fields("mail files calendar system feed conversations came up in on and its mind"), word) && strings.Trim(word, "0123456789") != "" {
						t.Errorf("%s, seed %d: %q has %q, which nobody wrote", role.Name, seed, f.Summary, word)
					}
				}
			}
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text, "I will call Kestrel", 9)
	}
	f.Fuzz(func(t *testing.T, content, subject, other string, level int) {
		seen := numbered(
			Seen{At: midday, Observation: ponder.Observation{Sensor: "mail", Content: content, Subject: subject, State: subject, Level: level}},
			Seen{At: midday, Observation: ponder.Observation{Sensor: "own", Content: other, Subject: subject, State: "stale"}},
			Seen{At: midday, Observation: ponder.Observation{Sensor: subject, Content: content + " " + other, Due: midday.Add(time.Hour)}})
		for _, role := range DefaultRoles() {
			checkReport(t, Find(role, NewState(), seen, midday))
		}
	})
}

func BenchmarkFind(b *testing.B) {
	var list []Seen
	for i := range maxRuled {
		list = append(list, obs(fmt.Sprintf("feed|%d|new|3|Observers of the %d. Kestrel near Uppsala report a quiet morning and a rare visitor", i, i)))
	}
	list = numbered(list...)
	for b.Loop() {
		Find(roleOf(dreamer), NewState(), list, midday)
	}
}

func BenchmarkPrompt(b *testing.B) {
	for b.Loop() {
		Prompt(roleOf(watcher), someState(4), someSeen(), midday)
	}
}
