package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/mode/session"
)

// TestEarlierSources checks the words for a source that is an earlier session.
func TestEarlierSources(t *testing.T) {
	v := session.NewView()
	v.Sources = []session.Source{{ID: "e1", Source: "thread:thr_1", Title: "Why? (confidence 0.70)", Quote: "So.", End: 3, Cited: true}}
	v.Syntheses = []session.Synthesis{{Cites: []string{"e1"}}}
	if d := cmp.Diff([]string{"[e1] earlier session thr_1: Why? (confidence 0.70)\n      \"So.\""}, sourceTexts(v, true, strings.TrimSpace)); d != "" {
		t.Error(d)
	}
}

// An account lists exactly the sources of the answer.
func TestAccountSources(t *testing.T) {
	v := session.NewView()
	v.Sources = []session.Source{{ID: "e1", Source: "/a.md", Quote: "So.", Cited: true}, {ID: "e2", Source: "/b.md", Quote: "Or so.", Cited: true}, {ID: "e3", Source: "/c.md"}}
	v.Syntheses = []session.Synthesis{{Text: "It is so [e2].", Cites: []string{"e2"}, Final: true}}
	_, text, _ := strings.Cut(Account(v, strings.TrimSpace, "ponder session export thr_1"), "Sources\n")
	want := "  - [e2] /b.md, bytes 0 to 0 of its text\n      \"Or so.\"\nAlso read\n  - [e1] /a.md, bytes 0 to 0 of its text\nThought"
	if !strings.HasPrefix(text, want) {
		t.Errorf("account:\n%s\nwant\n%s", text, want)
	}
}
