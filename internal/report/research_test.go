package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder/internal/textkit"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

const dot = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

// sampleResearch returns a report with all parts.
func sampleResearch() Research {
	at := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	return Research{
		Thread: "thr_01JQ7M3V8K", Question: "How long do orangutans sleep, and who measured it?", Status: ponder.Completed, Reason: "nothing new came in round 2",
		Started: at, Ended: at.Add(42 * time.Second), Seconds: 42, Rounds: 2, Model: "sim/m",
		Answer: "Orangutans on Sumatra **sleep 12.8 hours** a night [e1]. The study followed 53 adults [e1, e2].\n\n- Chimpanzees sleep 11 hours [e3]. [contradicted by e3]\n- Sleep costs them travel time. [unverified]\n",
		Claims: []Claim{
			{ID: "c1", Text: "Orangutans on Sumatra sleep 12.8 hours a night", Status: "supported", Score: 0.9, Reason: "a quote says it", Cites: []string{"e1"}, Quotes: []Passage{{"e1", 0, 20}}},
			{ID: "c2", Text: "The study followed 53 adults", Status: "supported", Score: 0.8, Quotes: []Passage{{"e2", 0, 10}}},
			{ID: "c3", Text: "Chimpanzees sleep 11 hours", Status: "contradicted", Score: 0.4, Reason: "the source says 9.7, not 11", Against: []Passage{{"e3", 0, 5}}},
			{ID: "c4", Text: "Sleep costs them travel time", Status: "unverified", Reason: "no quote says travel", Judge: "sim/judge"},
		},
		Evidence: []Evidence{
			{ID: "e1", Quote: "Orangutans on Sumatra sleep 12.8 hours a night.", Source: "https://primates.example/sleep", URL: "https://primates.example/sleep", Title: "Sleep of *orangutans*",
				Author: "A. Ashbury", Published: at.AddDate(-1, 0, 0), Fetched: at, End: 47, Hash: "aa11", Original: "bb22", Tool: "web_search", Query: "orangutan sleep", Provider: "folder",
				Quality: []ponder.Signal{{Name: "source", Value: 0.9, Description: "It is a journal."}}, Cited: true, Icon: dot},
			{ID: "e2", Quote: "We followed 53 adults.", Source: "/notes/orangutan.md", Title: "orangutan.md", Section: "Method", End: 22, Cited: true, Pinned: true, Voices: 2},
			{ID: "e3", Quote: "Chimpanzees sleep 9.7 hours.", Source: "https://www.apes.example/", Cited: true, Untrusted: true},
			{ID: "e4", Quote: "Nobody cites this.", Source: "/notes/else.md"},
		},
		Conflicts: []Conflict{{Subject: "chimpanzee", Attribute: "sleep", Time: "2024", Unit: "h", Sides: []Side{
			{Value: "9.7 h", Quotes: []Passage{{"e3", 0, 28}}, Voices: 2, Newest: at}, {Value: "11 h", Quotes: []Passage{{"e1", 0, 4}}, Voices: 1},
		}}},
		Queries:  []Query{{1, "web_search", "orangutan sleep", 2, 90 * time.Minute, ""}, {2, "knowledge_search", "ape | sleep", 0, 0, "nothing to look into"}},
		Open:     []string{"How they sleep in zoos"},
		Removed:  []string{"[e77]"},
		Timeline: []Moment{{0, "planning", "plans"}, {1.5, "evidence", "e1 Sleep"}, {41, "finished", "nothing new came"}},
		Steering: []SteerRecord{{3, "ban source: x", "no source of that name", true}},
		Since: &Since{Thread: "thr_OLD", Ended: at.AddDate(0, -1, 0), New: []string{"The study followed grown apes"}, Gone: []string{"Apes dream"},
			Changed: []Change{{"Orangutans sleep 12 hours", "Orangutans on Sumatra sleep 12.8 hours", "supported", "supported"}}, Same: 1},
		Notes: []string{"x.bin was not read"},
		Cost:  Cost{Calls: 3, Input: 1200, Output: 300, USD: 0.0123, Models: []ModelCost{{"sim/m", 3, 0, 1200, 300, 0.0123, 0}}},
	}
}

func writeForms(t *testing.T, r Research) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	for name, write := range map[string]func() ([]byte, error){"json": r.JSON, "markdown": r.Markdown, "html": r.HTML} {
		b, err := write()
		if err != nil {
			t.Fatal(err)
		}
		out[name] = b
	}
	return out
}

func TestResearchGolden(t *testing.T) {
	files := map[string][]byte{"research.txt": []byte(sampleResearch().Text() + "\n")}
	for form, b := range writeForms(t, sampleResearch()) {
		files["research."+map[string]string{"json": "json", "markdown": "md", "html": "html"}[form]] = b
	}
	for name, got := range files {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestReadBack(t *testing.T) {
	want := sampleResearch()
	want.fillEmptyLists()
	want.Seal = want.computeSeal()
	for form, b := range writeForms(t, sampleResearch()) {
		for _, raw := range [][]byte{b, append([]byte("\ufeff"), b...), bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))} {
			f, err := ReadResearch(raw)
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			if f.Form != form || f.Altered || len(f.Lines)+len(f.Missing) > 0 {
				t.Errorf("%s: form %s, altered %v %q %q", form, f.Form, f.Altered, f.Lines, f.Missing)
			}
			if d := cmp.Diff(want, f.Research); d != "" {
				t.Errorf("%s: %s", form, d)
			}
		}
	}
}

// TestAltered checks that each manual change is found.
func TestAltered(t *testing.T) {
	for form, b := range writeForms(t, sampleResearch()) {
		for _, tt := range []struct{ from, to string }{
			{"sleep 12.8 hours", "sleep 18.2 hours"}, {"53 adults", "35 adults"}, {"9.7 h", "7.9 h"}, {"A. Ashbury", "B. Ashbury"},
		} {
			text := string(b)
			if form != "json" { // only the text, not the embedded data
				at := strings.Index(text, map[string]string{"markdown": commentOpens, "html": scriptOpens}[form])
				text = strings.Replace(text[:at], tt.from, tt.to, 1) + text[at:]
			} else {
				text = strings.Replace(text, tt.from, tt.to, 1)
			}
			f, err := ReadResearch([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if !f.Altered || form != "json" && (len(f.Lines) == 0 || len(f.Missing) == 0) {
				t.Errorf("%s: that %q is %q now is not found: %v %q %q", form, tt.from, tt.to, f.Altered, f.Lines, f.Missing)
			}
			if tt.from == "53 adults" {
				if r := f.Recheck(nil); len(r.Altered) != 1 || !strings.Contains(r.Altered[0].Text, "35 adults") || len(r.Missing) != 1 {
					t.Errorf("%s: altered %v, missing %q", form, r.Altered, r.Missing)
				}
			}
		}
	}
}

func TestRecheck(t *testing.T) {
	f := &ReportFile{Research: sampleResearch(), Altered: true}
	f.Shown = f.Answer + "Bonobos sing [e9]."
	got := f.Recheck(nil)
	if len(got.Claims) != 4 || got.Claims[0].Differs || got.Claims[0].Now != "supported" {
		t.Errorf("claims %+v", got.Claims)
	}
	if d := cmp.Diff([]string{"e9"}, got.Strange); d != "" {
		t.Error(d)
	}
	if len(got.Altered) != 1 || got.Altered[0].Status == "supported" || len(got.Missing) != 0 {
		t.Errorf("altered %+v, missing %q", got.Altered, got.Missing)
	}
	gone := f.Recheck(map[string]bool{"e1": true})
	if !gone.Claims[0].Differs || gone.Claims[0].Problem() == "" {
		t.Errorf("a claim stands without its quote: %+v", gone.Claims[0])
	}
}

// TestRecheckMarked checks that marks between sentences do not change claims.
func TestRecheckMarked(t *testing.T) {
	f := &ReportFile{Research: sampleResearch(), Altered: true}
	f.Answer = "Apes dream [e1]. [unverified] [e2] says \"53 adults\" and more. [unverified] It rained."
	f.Claims = Check("Apes dream [e1]. [e2] says \"53 adults\" and more. It rained.", nil)
	f.Shown = f.Answer
	if r := f.Recheck(nil); len(r.Altered)+len(r.Missing) > 0 || len(f.Claims) != 3 {
		t.Errorf("%d claims, altered %+v, missing %q", len(f.Claims), r.Altered, r.Missing)
	}
}

func TestNoReport(t *testing.T) {
	for _, text := range []string{"", "# A page", "{}", "{", `{"format":"ponder-research/99"}`, `{"format":"ponder-research/1","claims":7}`, commentOpens + "{" + commentCloses, scriptOpens,
		scriptOpens + "null" + scriptCloses, `{"format":"ponder-session/1"}`} {
		if _, err := ReadResearch([]byte(text)); !errors.Is(err, ErrNoReport) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestChanges(t *testing.T) {
	list := func(status string, texts ...string) (out []Claim) {
		for _, text := range texts {
			out = append(out, Claim{Text: text, Status: status})
		}
		return out
	}
	for _, tt := range []struct {
		name     string
		old, now []Claim
		want     Since
	}{
		{"none", nil, nil, Since{New: []string{}, Gone: []string{}, Changed: []Change{}}},
		{"same", list("supported", "Water boils at 100 degrees."), list("supported", "Water boils at 100 degrees"), Since{New: []string{}, Gone: []string{}, Changed: []Change{}, Same: 1}},
		{"a value", list("supported", "The plant has 120 workers."), list("supported", "The plant has 140 workers."),
			Since{New: []string{}, Gone: []string{}, Changed: []Change{{"The plant has 120 workers.", "The plant has 140 workers.", "supported", "supported"}}}},
		{"a status", list("supported", "The moon is round."), list("unverified", "The moon is round."),
			Since{New: []string{}, Gone: []string{}, Changed: []Change{{"The moon is round.", "The moon is round.", "supported", "unverified"}}}},
		{"new and gone", list("supported", "Cats sleep."), list("supported", "The tower was built in 1889."),
			Since{New: []string{"The tower was built in 1889."}, Gone: []string{"Cats sleep."}, Changed: []Change{}}},
	} {
		if d := cmp.Diff(tt.want, Changes(tt.old, tt.now)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

// hostileResearch returns a report with text in each foreign field.
func hostileResearch(text string) Research {
	r := sampleResearch()
	js, _ := json.Marshal(r)
	var tree any
	_ = json.Unmarshal(js, &tree)
	var walk func(v any, name string) any
	walk = func(v any, name string) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k], k)
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], name)
			}
		case string:
			switch name {
			case "started_at", "ended_at", "published", "fetched", "newest", "evidence", "id":
				return v
			case "answer":
				return v + text + " [e1]"
			}
			return text
		}
		return v
	}
	js, _ = json.Marshal(walk(tree, ""))
	var out Research
	_ = json.Unmarshal(js, &out)
	out.Claims = append(out.Claims, Claim{ID: text, Text: text}, Claim{ID: text, Text: text})
	return out
}

func TestHostileResearch(t *testing.T) {
	for _, text := range append(hostile, "--> <b>x</b>", scriptOpens+"{}"+scriptCloses, commentOpens+"{}"+commentCloses) {
		t.Run(textkit.TruncateWords(textkit.OneLine(text), 30), func(t *testing.T) { checkResearch(t, text) })
	}
}

func FuzzResearch(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4000 {
			checkResearch(t, text)
		}
	})
}

func checkResearch(t *testing.T, text string) {
	t.Helper()
	forms := writeForms(t, hostileResearch(text))
	checkTextOf(t, hostileResearch(text).Text())
	for form, b := range forms {
		if f, err := ReadResearch(b); err != nil || f.Altered {
			t.Fatalf("%s is not read as it was written: %v, %+v", form, err, f)
		} else {
			f.Recheck(nil)
		}
	}
	md, _, rest, _ := cutLast(string(forms["markdown"]), commentOpens, commentCloses)
	checkTextOf(t, md+rest)
	checkMarkdown(t, md+rest)
	page, _, rest, _ := cutLast(string(forms["html"]), scriptOpens, scriptCloses)
	checkTextOf(t, page+rest)
	checkPage(t, page+rest)
}

func checkTextOf(t *testing.T, s string) {
	t.Helper()
	checkText(t, s)
}

func TestIcon(t *testing.T) {
	for _, tt := range []struct {
		e    Evidence
		want string
	}{
		{Evidence{Icon: dot}, `<img class="icon"`},
		{Evidence{Icon: "https://evil.example/x.png", URL: "https://www.a.example/"}, ">A</span>"},
		{Evidence{Icon: "data:image/svg+xml;base64,AAAA", Source: "/x/über.md"}, ">Ü</span>"},
		{Evidence{Icon: dot + `" onload="x`}, ">·</span>"},
		{Evidence{Icon: "data:image/png;base64," + strings.Repeat("A", maxIcon)}, ">·</span>"},
	} {
		if got := string(iconHTML(tt.e)); !strings.Contains(got, tt.want) {
			t.Errorf("%.60s: %s", tt.e.Icon, got)
		}
	}
}
