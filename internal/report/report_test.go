package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/mode/session"
)

var update = flag.Bool("update", false, "write the golden files")

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestReports(t *testing.T) {
	start := ponder.RunStarted{Mode: session.Name, Input: "Why do *tides* lag behind the moon?"}
	for _, tt := range []struct {
		name string
		v    session.View
	}{
		{"half-hour", halfHourSession().sessionView()},
		{"nothing", session.NewView()},
		{"just-started", sessionOf(start)},
		{"failed", sessionOf(start, ponder.RunFinished{Status: ponder.Failed, Reason: "openai: 401 *wrong* key <x>"})},
		{"foreign", foreignSession()},
		{"one-synthesis", sessionOf(start, ponder.Thought{Content: "Friction.", Kind: "insight", Confidence: 0.6}, ponder.Synthesis{Content: "Friction.", Confidence: 0.5, Offset: 60})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkGolden(t, tt.name+".md", Markdown(tt.v))
			page, err := HTML(tt.v)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, tt.name+".html", string(page))
		})
	}
}

// sessionOf returns a session of these events, one second apart.
func sessionOf(bodies ...ponder.Body) session.View {
	d := &eventRecorder{}
	for _, b := range bodies {
		d.appendAt((d.at + 1e9).String(), b)
	}
	return d.sessionView()
}

// foreignSession returns a session with all parts of a report and special characters in all foreign
// text.
func foreignSession() session.View {
	v := hostileSession("https://a.example/(x)?q=1+1&r='<b>\u00e9#%zz%20\"\x00{{.Policy}}")
	v.Session.Metadata.WithoutModel, v.Session.Metadata.Parallel = true, 3
	v.Session.Usage.Models[0].Calls, v.Session.Usage.Models[0].Unpriced = 3, 1
	v.Thoughts[0].WithoutModel, v.Thoughts[1].Repeats = true, 2
	v.Syntheses[0].WithoutModel = true
	v.Sources[1].Cited, v.Sources[2].Cited = false, true
	v.Pinned = []string{v.Sources[0].Source}
	v.Sources = append(v.Sources, session.Source{ID: "e4", Source: "https://b.example/(y)'+*!?q=\u00e9%C3+&#1'", Title: "A+B", Quote: "a\n+ b", Cited: true})
	return v
}
