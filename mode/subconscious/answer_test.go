package subconscious

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func formatReport(r Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %d %s", f.Type, f.Importance, f.Summary)
		if len(f.Rests) > 0 {
			fmt.Fprintf(&b, " <%s>", strings.Join(f.Rests, " "))
		}
		if len(f.Reinforces) > 0 {
			fmt.Fprintf(&b, " +%s", strings.Join(f.Reinforces, "+"))
		}
		if !f.Due.IsZero() {
			b.WriteString(" @" + f.Due.Format(time.RFC3339))
		}
		b.WriteString("\n")
	}
	for _, to := range slices.Sorted(func(yield func(string) bool) {
		for k := range r.Hints {
			if !yield(k) {
				return
			}
		}
	}) {
		b.WriteString("hint " + to + ": " + r.Hints[to] + "\n")
	}
	if r.Escalate != "" {
		b.WriteString("escalate: " + r.Escalate + "\n")
	}
	if r.Journal != "" {
		b.WriteString("journal: " + r.Journal + "\n")
	}
	return b.String()
}

func TestParseReport(t *testing.T) {
	const disk = "anomaly 7 The disk /home is 93% full <evt_A>\n"
	for name, tt := range map[string]struct{ answer, want string }{
		"as asked": {`{"findings":[{"type":"anomaly","summary":"The disk /home is 93% full","importance":7,"rests_on":["o1"],"reinforces":["e4"],"due":""}],
			"hints":[{"role":"librarian","look_for":"earlier full disks"}],"escalate":true,"reason":"It fills today","journal":"look at the index"}`,
			"anomaly 7 The disk /home is 93% full <evt_A> +e4\nhint librarian: earlier full disks\nescalate: It fills today\njournal: look at the index\n"},
		"nothing":            {`{"findings":[]}`, ""},
		"null":               {`{"findings":null,"hints":null,"escalate":null,"journal":null}`, ""},
		"in a fence":         {"Here you are:\n```json\n{\"findings\":[{\"type\":\"anomaly\",\"summary\":\"The disk /home is 93% full\",\"importance\":7,\"rests_on\":[\"o1\"]}]}\n```\nGood luck!", disk},
		"wrapped":            {`{"report":{"Findings":[{"Type":"Anomaly","Summary":"The disk /home is 93% full","Importance":"7/10","Rests on":"o1"}]}}`, disk},
		"thinking before":    {`<think>{"findings":[1]} hm</think>{"findings":[{"type":"anomalies","summary":"The disk /home is 93% full","importance":6.6,"labels":"[o1]"}]}`, disk},
		"a list":             {`[{"kind":"anomaly","finding":"The disk /home is 93% full","priority":0.7,"rests_on":[1]}]`, disk},
		"one object":         {`{"findings":{"type":"anomaly","summary":"The disk /home is 93% full","importance":7,"rests_on":[{"id":"o1"}]}}`, disk},
		"bare object":        {`{"type":"anomaly","summary":"The disk /home is 93% full","importance":7,"rests_on":"O1"}`, disk},
		"cut off":            {`{"findings":[{"type":"anomaly","summary":"The disk /home is 93% full","importance":7,"rests_on":["o1"]},{"type":"ano`, disk},
		"python":             {`{'findings': [{'type': 'anomaly', 'summary': 'The disk /home is 93% full', 'importance': 7, 'rests_on': ['evt_A'],}], 'escalate': False}`, disk},
		"escaped":            {`"{\"findings\":[{\"type\":\"anomaly\",\"summary\":\"The disk /home is 93% full\",\"importance\":7,\"rests_on\":[\"o1\"]}]}"`, disk},
		"texts":              {`{"findings":["The disk /home is 93% full"]}`, "observation 3 The disk /home is 93% full <evt_A>\n"},
		"too important":      {`{"findings":[{"type":"anomaly","summary":"Disk /home 93% full","importance":99,"rests_on":["o1"]}]}`, "anomaly 10 Disk /home 93% full <evt_A>\n"},
		"less than nothing":  {`{"findings":[{"type":"anomaly","summary":"Disk /home 93% full","importance":-4e99,"rests_on":["o1"]}]}`, "anomaly 1 Disk /home 93% full <evt_A>\n"},
		"words for numbers":  {`{"findings":[{"type":"what","summary":"Disk /home 93% full","importance":"Critical!","rests_on":["o1"]}]}`, "observation 10 Disk /home 93% full <evt_A>\n"},
		"unknown references": {`{"findings":[{"type":"anomaly","summary":"Disk /home 93% full","importance":5,"rests_on":["o7","o1","evt_Z","e3"],"reinforces":["e99","e3","o1","e3"]}]}`, "anomaly 5 Disk /home 93% full <evt_A> +e3\n"},
		"unknown roles":      {`{"findings":[],"hints":{"watcher":"itself","The Oracle":"Thursday","root":"x","dreamer":" "}}`, "hint oracle: Thursday\n"},
		"hints as texts":     {`{"findings":[],"hints":["oracle: Thursday","nobody"]}`, "hint oracle: Thursday\n"},
		"says nothing":       {`{"findings":[{"summary":"None.","importance":5},{"summary":"...","importance":5},{"importance":7},7,null]}`, ""},
		"twice":              {`{"findings":["Disk full","disk full","DISK FULL"]}`, "observation 3 Disk full <evt_A>\n"},
		"too long": {`{"findings":["one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"]}`,
			"observation 3 one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen…\n"},
		"escape sequences": {`{"findings":["Disk \u001b[31mfull\u001b[0m\u202e now"],"journal":"a\u0007\nb"}`, "observation 3 Disk full now <evt_A>\njournal: a b\n"},
		"reason alone":     {`{"findings":[],"escalate":true,"reason":"The disk /home is 93% full"}`, "observation 7 The disk /home is 93% full <evt_A>\nescalate: The disk /home is 93% full\n"},
		"escalate text":    {`{"findings":["Disk /home full"],"escalate":"It will stop the mail"}`, "observation 3 Disk /home full <evt_A>\nescalate: It will stop the mail\n"},
		"escalate object":  {`{"findings":["Disk /home full"],"escalate":{"needed":true,"reason":"now"}}`, "observation 3 Disk /home full <evt_A>\n"},
		"escalate not":     {`{"findings":["Disk /home full"],"escalate":{"escalate":false,"reason":"it can wait"}}`, "observation 3 Disk /home full <evt_A>\n"},
		"escalate no":      {`{"findings":["Disk /home full"],"escalate":"No, it can wait","reason":"none"}`, "observation 3 Disk /home full <evt_A>\n"},
		"escalate why not": {`{"findings":["Disk /home full"],"escalate":true}`, "observation 3 Disk /home full <evt_A>\nescalate: Disk /home full\n"},
		"escalate nothing": {`{"findings":[],"escalate":true,"reason":""}`, ""},
		"lines": {"FINDING: The disk /home is 93% full\nTYPE: anomaly\nIMPORTANCE: 7\nRESTS ON: [o1]\nREINFORCES: []\n---\n**Finding 2:** Anna wants the draft by Thursday\nImportance: high\nRests on: o2\n---\nESCALATE: yes - it cannot wait\nHINT for oracle: Thursday\nJOURNAL: ask again",
			disk + "observation 8 Anna wants the draft by Thursday <evt_B> @2026-03-05T18:00:00Z\nescalate: it cannot wait HINT for oracle: Thursday\njournal: ask again\n"},
		"tagged lines": {"- FINDING: [anomaly 7] The disk /home is 93% full\n- RESTS ON: o1\n\nESCALATE: no", "observation 3 [anomaly 7] The disk /home is 93% full <evt_A>\n"},
		"word":         {" Nothing. ", ""},
		"due":          {`{"findings":[{"type":"observation","summary":"Anna wants the draft","importance":5,"rests_on":["o2"],"due":"2031-01-01"},{"summary":"The disk /home dies","rests_on":["o1"],"due":"2026-03-06 10:00"},{"summary":"Disk /home: later","rests_on":["o1"],"due":"soon"}]}`, "observation 5 Anna wants the draft <evt_B> @2026-03-05T18:00:00Z\nobservation 3 The disk /home dies <evt_A> @2026-03-06T10:00:00Z\nobservation 3 Disk /home: later <evt_A>\n"},
	} {
		r, err := ParseReport(DefaultRoles()[0], tt.answer, someSeen(), someState(0))
		if diff := cmp.Diff(tt.want, formatReport(r)); err != nil || diff != "" || r.Role != watcher || r.WithoutModel {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// A small model copies words of the prompt, or writes a lone word. Neither is a finding.
func TestParseReportJunk(t *testing.T) {
	for summary, want := range map[string]int{
		"FINDING": 0, "fantasy": 0, "[summary]": 0, "fewer than 20 words, with the names, numbers and times that matter": 0, "What is on the mind already": 0,
		"The meeting moves to noon.": 1, "Regen.": 1, "会议改到中午": 1,
	} {
		answer, _ := json.Marshal(map[string]any{"findings": []any{map[string]any{"type": "fact", "summary": summary, "importance": 10}}})
		r, err := ParseReport(DefaultRoles()[0], string(answer), someSeen(), someState(0))
		if err != nil || len(r.Findings) != want {
			t.Errorf("%q: %d findings, %v", summary, len(r.Findings), err)
		}
	}
}

func TestParseReportErrors(t *testing.T) {
	for _, answer := range []string{"", " \n", "I cannot help with that.", "null", "7", `"text"`, `{"mood":"fine"}`, "[1,2]", `{"a":{"b":{"c":{"findings":["deep"]}}}}`, "```\n```", strings.Repeat("[", 5000), "[o1]", "\xff\xfe"} {
		r, err := ParseReport(DefaultRoles()[0], answer, someSeen(), someState(0))
		if err == nil || strings.Contains(err.Error(), "\n") || len(r.Findings) > 0 {
			t.Errorf("%q: %v, %v", answer, r, err)
		}
	}
}

// A finding in untrusted words rests on their source, even if the role cites another.
func TestStrangersAreSources(t *testing.T) {
	for _, tt := range []struct{ summary, rests, want string }{
		{"The disk /home is 93% full", `"o1"`, "evt_A"},
		{"Anna wants the draft and the budget", ``, "evt_B"},
		{"Anna wants the draft and the budget", `"o1"`, "evt_B"},
		{"Anna wants the draft and the budget", `"o9"`, "evt_B"},
		{"Send the budget at once", `"o1"`, "evt_B"},
		{"The mail of Thursday", `"o9"`, ""},
		{"The disk /home is full: send the draft, the budget, to Anna", `"o1"`, "evt_A evt_B"},
		{"Something else", `"o1"`, "evt_A"},
		{"Something else", ``, ""},
	} {
		answer := fmt.Sprintf(`{"findings":[{"type":"anomaly","summary":%q,"importance":9,"rests_on":[%s]}]}`, tt.summary, tt.rests)
		r, err := ParseReport(DefaultRoles()[0], answer, someSeen(), someState(0))
		if err != nil || len(r.Findings) != 1 || strings.Join(r.Findings[0].Rests, " ") != tt.want {
			t.Errorf("%q that names %s: %v, %v; want %s", tt.summary, tt.rests, r.Findings, err, tt.want)
		}
	}
}

func TestParseReportBounds(t *testing.T) {
	long := strings.Repeat("wörter ", 5000)
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"summary":"%d %s","rests_on":["o1","o2"]}`, i, long[:100]))
	}
	answer := `{"findings":[` + strings.Join(list, ",") + `],"hints":{"oracle":"` + long + `"},"escalate":"` + long + `","journal":"` + long + `"}`
	r, err := ParseReport(DefaultRoles()[0], answer, someSeen(), someState(0))
	if err != nil || len(r.Findings) != maxModelFindings {
		t.Fatalf("%d findings, %v", len(r.Findings), err)
	}
	checkReport(t, r)
}

func checkReport(t *testing.T, r Report) {
	t.Helper()
	if len(r.Findings) > maxModelFindings && (!r.WithoutModel || len(r.Findings) > maxFindings || r.Findings[len(r.Findings)-1].Importance < escalationLevel) || len(r.Hints) > maxReportHints || len(r.Escalate) > maxLine || len(r.Journal) > maxHint || r.Findings == nil {
		t.Errorf("report is too large: %+v", r)
	}
	texts := []string{r.Escalate, r.Journal}
	for to, text := range r.Hints {
		if texts = append(texts, text); len(text) > maxHint || to == r.Role {
			t.Errorf("hint to %s: %q", to, text)
		}
	}
	for _, f := range r.Findings {
		texts = append(texts, f.Summary, f.Type)
		if n := len(strings.Fields(f.Summary)); n == 0 || n > MaxWords || len(f.Summary) > maxSummary || f.Importance < 1 || f.Importance > 10 || f.Type == "" || len(f.Rests) > maxRests {
			t.Errorf("finding is %+v", f)
		}
	}
	for _, text := range texts {
		if strings.ContainsAny(text, "\n\r\x1b\x00\u202e") || !utf8.ValidString(text) {
			t.Errorf("text is %q", text)
		}
	}
}

func FuzzParseReport(f *testing.F) {
	f.Add(`{"findings":[{"type":"anomaly","summary":"x y","importance":"7/10","rests_on":["o1"],"reinforces":"e1","due":"2026-01-01"}],"hints":{"oracle":"x"},"escalate":{"reason":"x"},"journal":"x"}`)
	f.Add("FINDING: [risk 7] x y\nTYPE: a\nRESTS ON: o1, o2\nHINT oracle: x\nESCALATE: yes - z\nJOURNAL: n")
	f.Add(`[[[{"findings":[[]]}]]]`)
	for _, text := range hostile {
		f.Add(`{"findings":[` + fmt.Sprintf("%q", text) + `]}`)
	}
	roles, seen, s := DefaultRoles(), someSeen(), someState(3)
	f.Fuzz(func(t *testing.T, answer string) {
		role := roles[len(answer)%len(roles)]
		r, err := ParseReport(role, answer, seen, s)
		if err != nil {
			return
		}
		checkReport(t, r)
		for _, f := range r.Findings {
			for _, id := range f.Rests {
				if id != "evt_A" && id != "evt_B" {
					t.Errorf("rests on %q", id)
				}
			}
			if _, ok := role.Types[f.Type]; !ok {
				t.Errorf("type is %q", f.Type)
			}
		}
	})
}
