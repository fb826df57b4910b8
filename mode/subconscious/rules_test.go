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

// parseObservation parses "sensor|subject|state|level|content".
func parseObservation(line string) SeenObservation {
	p := strings.SplitN(line, "|", 5)
	level := 0
	if p[3] != "" {
		level = int(p[3][0] - '0')
	}
	return SeenObservation{At: midday, Observation: ponder.Observation{Sensor: p[0], Subject: p[1], State: p[2], Level: level, Content: p[4]}}
}

func numberSeen(list ...SeenObservation) []SeenObservation {
	for i := range list {
		list[i].ID, list[i].Seq = fmt.Sprint("v", i+1), int64(i+1)
	}
	return list
}

func (o SeenObservation) withDue(d time.Duration) SeenObservation { o.Due = midday.Add(d); return o }
func (o SeenObservation) withDay(n int) SeenObservation           { o.At = midday.AddDate(0, 0, n); return o }
func (o SeenObservation) asUntrusted() SeenObservation            { o.Untrusted = true; return o }

func TestFind(t *testing.T) {
	for name, tt := range map[string]struct {
		role string
		seen []SeenObservation
		want string
	}{
		"nothing": {watcher, nil, ""},
		"levels": {watcher, []SeenObservation{
			parseObservation("system|load|normal|2|The load is 0.3."), parseObservation("system|disk /|high|5|The disk / is 91% full."), parseObservation("mail|a|new|7|Mail from Anna: urgent"), parseObservation("files|b||0|b.txt changed"),
		}, "observation 7 Mail from Anna: urgent <v3>\nobservation 5 The disk / is 91% full. <v2>\n"},
		"level that escalates": {watcher, []SeenObservation{parseObservation("system|disk /|critical#2|9|The disk / is 99% full.")},
			"anomaly 9 The disk / is 99% full. <v1>\nescalate: system: The disk / is 99% full (9 of 10)\n"},
		"not what the role sees": {librarian, []SeenObservation{parseObservation("system|disk /|critical|9|The disk / is 99% full.")}, ""},
		"escape sequences": {watcher, []SeenObservation{parseObservation("system|d\x1b[2Jisk|critical|8|The \x1b[31mdisk\u202e\nis full")},
			"anomaly 8 The disk is full <v1>\nescalate: system: The disk is full (8 of 10)\n"},
		"due": {oracle, []SeenObservation{
			parseObservation("calendar|a|72h||Dentist on Saturday").withDue(70 * time.Hour), parseObservation("calendar|b|24h||Dinner tomorrow").withDue(24 * time.Hour),
			parseObservation("calendar|c|2h||Train to Ulm at 13:30").withDue(90 * time.Minute), parseObservation("mail|d|new||The form is due").withDue(3 * time.Hour),
			parseObservation("calendar|e|far||Holiday").withDue(100 * time.Hour), parseObservation("calendar|f|past||Breakfast").withDue(-time.Minute), parseObservation("calendar|g|cancelled||Lunch").withDue(time.Hour),
		}, "upcoming 8 Train to Ulm at 13:30 <v3> @2026-03-04T13:30:00Z\nupcoming 6 Dinner tomorrow <v2> @2026-03-05T12:00:00Z\n" +
			"upcoming 6 The form is due <v4> @2026-03-04T15:00:00Z\nupcoming 4 Dentist on Saturday <v1> @2026-03-07T10:00:00Z\n" +
			"escalate: calendar: Train to Ulm at 13:30 (due within 2 hours)\n"},
		"due with a level":               {oracle, []SeenObservation{parseObservation("calendar|a|72h|3|Dentist").withDue(70 * time.Hour)}, "upcoming 3 Dentist <v1> @2026-03-07T10:00:00Z\n"},
		"the newest of a subject is due": {oracle, []SeenObservation{parseObservation("calendar|a|24h||Dentist").withDue(20 * time.Hour), parseObservation("calendar|a|cancelled||Dentist is cancelled").withDue(20 * time.Hour)}, ""},
		"overdue":                        {oracle, []SeenObservation{parseObservation("calendar|a|overdue|7|The tax form was due").withDue(-time.Hour)}, "risk 7 The tax form was due <v1> @2026-03-04T11:00:00Z\n"},
		"conflict and cancelled": {oracle, []SeenObservation{parseObservation("calendar|a|conflict|5|Two events are at the same time").withDue(20 * time.Hour), parseObservation("calendar|b|cancelled|6|Lunch was cancelled").withDue(2 * time.Hour)},
			"upcoming 6 Lunch was cancelled <v2> @2026-03-04T14:00:00Z\nrisk 5 Two events are at the same time <v1> @2026-03-05T08:00:00Z\n"},
		"must": {librarian, []SeenObservation{parseObservation("own|a|said||I still have to renew the passport (The user said this.)"), parseObservation("own|b|said||Ich muss zum Amt.")},
			"promise 3 I still have to renew the passport (The user said this.) <v1>\npromise 3 Ich muss zum Amt. <v2>\n"},
		"promises": {librarian, []SeenObservation{
			parseObservation("own|thread:1|said||In \"Grant\": I'll get back to Anna about the draft. It is long."), parseObservation("own|thread:2|said||We will be there. I will never do that."),
			parseObservation("own|thread:3|said||Will I ever learn? I will be sending the form on Friday"), parseObservation("own|thread:4|said||Ich kümmere mich um die Heizung, sobald es geht."),
			parseObservation("own|thread:5|said||Ich schaue mir das an."), parseObservation("own|thread:6|said||TODO: renew the passport"), parseObservation("own|thread:7|said||We spoke of the willow tree"),
		}, "promise 3 In \"Grant\": I'll get back to Anna about the draft. <v1>\npromise 3 Will I ever learn? I will be sending the form on Friday <v3>\n" +
			"promise 3 Ich kümmere mich um die Heizung, sobald es geht. <v4>\npromise 3 Ich schaue mir das an. <v5>\npromise 3 TODO: renew the passport <v6>\n"},
		"two promises of a message": {librarian, []SeenObservation{parseObservation("own|a|said||I'll call Ben. It rains. I will send the keys by Friday.")},
			"promise 3 I'll call Ben. <v1>\npromise 3 I will send the keys by Friday. <v1>\n"},
		"said to be done": {librarian, []SeenObservation{parseObservation("own|a|said||I'll call the plumber."), parseObservation("own|b|said||I'll call Ben."), parseObservation("own|c|done||I called the plumber.")},
			"promise 3 I'll call Ben. <v2>\n"},
		"promises of mail":                   {watcher, []SeenObservation{parseObservation("mail|a|new|3|Mail from Ben: I will send the keys.").asUntrusted()}, "observation 3 Mail from Ben: I will send the keys. <v1>\n"},
		"promises without a level":           {watcher, []SeenObservation{parseObservation("mail|a|new||Mail from Ben: I will send the keys.").asUntrusted()}, "observation 3 Mail from Ben: I will send the keys. <v1>\n"},
		"promises to everybody":              {watcher, []SeenObservation{parseObservation("mail|a|new|1|Mail from a shop: We will send you a number.").asUntrusted()}, ""},
		"no promises of feeds":               {watcher, []SeenObservation{parseObservation("feed|a|new||I will survive"), parseObservation("files|todo||| todo.txt changed")}, ""},
		"promises that were kept":            {librarian, []SeenObservation{parseObservation("own|thread:1|said||I'll send it."), parseObservation("own|thread:2|said||I'll call."), parseObservation("own|thread:1|done||It was sent.")}, "promise 3 I'll call. <v2>\n"},
		"a long promise":                     {librarian, []SeenObservation{parseObservation("own|t|said||" + strings.Repeat("so ", 20) + "I will mend the fence behind the house")}, "promise 3 so so so so … I will mend the fence behind the house <v1>\n"},
		"stale":                              {librarian, []SeenObservation{parseObservation("own|thread:1|stale||\"Grant\" has been quiet for 9 days"), parseObservation("own|thread:2|idle-3|6|\"Roof\" waits for you"), parseObservation("own|thread:3|new||\"New\" began")}, "stale 6 \"Roof\" waits for you <v2>\nstale 4 \"Grant\" has been quiet for 9 days <v1>\n"},
		"words across sensors":               {dreamer, []SeenObservation{parseObservation("mail|a|new||Mail from Eva: the invoice of Kestrel is here"), parseObservation("files|b|new||kestrel-contract.pdf was created")}, "connection 3 Kestrel came up in mail (Mail from Eva) and in files (kestrel-contract.pdf was created). <v1 v2>\n"},
		"words of the same places":           {dreamer, []SeenObservation{parseObservation("mail|a|new||Hiking with Lena near Garmisch"), parseObservation("calendar|b|24h||Garmisch: hiking with Lena"), parseObservation("own|c|said||The train to Garmisch")}, "connection 4 Garmisch came up in mail (Hiking with Lena near …) and in conversations (The train to Garmisch). <v1 v2 v3>\n"},
		"words of one sensor":                {dreamer, []SeenObservation{parseObservation("mail:a|a|new||Kestrel sends an invoice"), parseObservation("mail:b|b|new||Kestrel sends a contract")}, ""},
		"common words":                       {dreamer, []SeenObservation{parseObservation("mail|a|new||The meeting about the report was moved to Monday"), parseObservation("calendar|b|changed||Meeting on Monday: report of the team"), parseObservation("git|c|new||A commit changed the report")}, ""},
		"common German words":                {dreamer, []SeenObservation{parseObservation("mail|a|new||Die Rechnung für das Projekt ist fertig"), parseObservation("files|b|new||Rechnung Projekt wurde geändert")}, ""},
		"words in two places are no pattern": {watcher, []SeenObservation{parseObservation("mail|a|new||Kestrel sends an invoice"), parseObservation("files|b|new||kestrel.pdf was created")}, ""},
		"words on three days":                {librarian, []SeenObservation{parseObservation("own|a|said||The boiler rattles").withDay(-2), parseObservation("own|b|said||Once more about boilers").withDay(-1), parseObservation("own|c|said||Who repairs a boiler?")}, "pattern 3 boiler came up in conversations on 2026-03-02 (The boiler rattles) and in conversations on 2026-03-04 (Who repairs a boiler). <v1 v2 v3>\n"},
		"words on two days":                  {librarian, []SeenObservation{parseObservation("own|a|said||The boiler rattles").withDay(-1), parseObservation("own|c|said||Who repairs a boiler?")}, ""},
		"what was told is not seen":          {dreamer, []SeenObservation{parseObservation("delivery|a|sent||Kestrel sent an invoice"), parseObservation("mail|b|new||Kestrel writes")}, ""},
	} {
		r := FindByRules(roleOf(tt.role), NewState(), numberSeen(tt.seen...), midday)
		if diff := cmp.Diff(tt.want, formatReport(r)); diff != "" || r.Role != tt.role || !r.WithoutModel {
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
	s.Internal.Decayed = midday
	s.ActiveThreads = []Entry{{ID: "e7", Summary: "Eva writes about the Kestrel invoice", Strength: 3, LastSeen: midday}}
	s.Internal.Metadata = map[string]EntryMetadata{"e7": {By: []string{watcher}, Signature: []string{"mail:work|<1@x>|new"}}}
	seen := numberSeen(parseObservation("files|b|new||kestrel-contract.pdf was created"))
	want := "connection 3 kestrel came up on its mind (Eva writes about the …) and in files (kestrel-contract.pdf was created). <v1> +e7\n"
	if diff := cmp.Diff(want, formatReport(FindByRules(roleOf(dreamer), s, seen, midday))); diff != "" {
		t.Error(diff)
	}
	seen[0].Sensor = "mail"
	if got := formatReport(FindByRules(roleOf(dreamer), s, seen, midday)); got != "" {
		t.Errorf("an entry of the same sensor is connected: %s", got)
	}
	s = NewState()
	s.Internal.Topics = []Topic{
		{Role: librarian, Text: "Kestrel wants an answer", Times: 1, Last: midday.AddDate(0, 0, -3)},
		{Role: watcher, Text: "The kestrel file changed", Times: 1, Last: midday.AddDate(0, 0, -2)},
	}
	seen = numberSeen(parseObservation("own|b|said||Kestrel again, and no end"))
	if diff := cmp.Diff("pattern 3 Kestrel came up in conversations on 2026-03-04 (Kestrel again). <v1>\n", formatReport(FindByRules(roleOf(librarian), s, seen, midday))); diff != "" {
		t.Error(diff)
	}
}

func TestFindOfOtherRoles(t *testing.T) {
	seen := numberSeen(parseObservation("mail|a|new|9|Pay Kestrel").withDue(time.Hour), parseObservation("files|b|new|3|kestrel.pdf was created"))
	for _, tt := range []struct {
		types map[string]Category
		want  string
	}{
		{nil, "observation 9 Pay Kestrel <v1> @2026-03-04T13:00:00Z\nescalate: mail: Pay Kestrel (9 of 10)\n"},
		{map[string]Category{"upcoming": ActiveThreads}, "upcoming 9 Pay Kestrel <v1> @2026-03-04T13:00:00Z\nescalate: mail: Pay Kestrel (due within 2 hours)\n"},
		{map[string]Category{"connection": Hunches}, "connection 5 Kestrel came up in mail (Pay Kestrel) and in files (kestrel.pdf was created). <v1 v2> @2026-03-04T13:00:00Z\n"},
		{map[string]Category{"bill": Hunches}, ""},
	} {
		r := FindByRules(Role{Name: "own", Reads: []string{"*"}, Types: tt.types}, NewState(), seen, midday)
		if diff := cmp.Diff(tt.want, formatReport(r)); diff != "" {
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
		var list []SeenObservation
		for range rnd.IntN(40) {
			o := parseObservation(sensors[rnd.IntN(len(sensors))] + "||new||")
			o.Subject, o.Level = fmt.Sprint("s", rnd.IntN(5)), rnd.IntN(11)
			o.Content = texts[rnd.IntN(len(texts))] + ". " + texts[rnd.IntN(len(texts))]
			if rnd.IntN(3) == 0 {
				o = o.withDue(time.Duration(rnd.IntN(100)-10) * time.Hour)
			}
			list = append(list, o.withDay(-rnd.IntN(4)))
		}
		list = numberSeen(list...)
		var all strings.Builder
		for _, o := range list {
			all.WriteString(strings.ToLower(textkit.Line(textkit.Visible(o.Content), 2*maxLine)) + "\n")
		}
		mixed := slices.Clone(list)
		rnd.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for _, role := range DefaultRoles() {
			r := FindByRules(role, someState(0), list, midday)
			checkReport(t, r)
			if diff := cmp.Diff(r, FindByRules(role, someState(0), mixed, midday)); diff != "" {
				t.Fatalf("%s, seed %d: another order finds something else:\n%s", role.Name, seed, diff)
			}
			for _, f := range r.Findings {
				for _, w := range wordsOf(f.Summary) {
					word := f.Summary[w.start:w.end]
					if !strings.Contains(all.String(), strings.ToLower(word)) && !slices.Contains(strings.Fields("mail files calendar system feed conversations came up in on and its mind"), word) && strings.Trim(word, "0123456789") != "" {
						t.Errorf("%s, seed %d: %q has %q, which no input contains", role.Name, seed, f.Summary, word)
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
		seen := numberSeen(
			SeenObservation{At: midday, Observation: ponder.Observation{Sensor: "mail", Content: content, Subject: subject, State: subject, Level: level}},
			SeenObservation{At: midday, Observation: ponder.Observation{Sensor: "own", Content: other, Subject: subject, State: "stale"}},
			SeenObservation{At: midday, Observation: ponder.Observation{Sensor: subject, Content: content + " " + other, Due: midday.Add(time.Hour)}})
		for _, role := range DefaultRoles() {
			checkReport(t, FindByRules(role, NewState(), seen, midday))
		}
	})
}

func BenchmarkFind(b *testing.B) {
	var list []SeenObservation
	for i := range maxRuleObservations {
		list = append(list, parseObservation(fmt.Sprintf("feed|%d|new|3|Observers of the %d. Kestrel near Uppsala report a quiet morning and a rare visitor", i, i)))
	}
	list = numberSeen(list...)
	for b.Loop() {
		FindByRules(roleOf(dreamer), NewState(), list, midday)
	}
}

func BenchmarkPrompt(b *testing.B) {
	for b.Loop() {
		Prompt(roleOf(watcher), someState(4), someSeen(), midday)
	}
}
