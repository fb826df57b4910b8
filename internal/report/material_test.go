package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/mode/research"
)

func TestMaterial(t *testing.T) {
	r := sampleResearch()
	r.Evidence = append(r.Evidence, Evidence{ID: "e5", Quote: "Hidden.", Source: "x", Banned: true})
	text := r.Material()
	at := -1
	for _, want := range []string{"Use no other ids", "The answer of the report:\n", "Conflicts between sources:\n- chimpanzee, sleep, 2024 (in h): 9.7 h or 11 h", "Not confirmed:\n- How they sleep in zoos",
		"[e1] Sleep of *orangutans*, https://primates.example/sleep", "    Orangutans on Sumatra sleep 12.8 hours a night.", "[e4] /notes/else.md"} {
		i := strings.Index(text, want)
		if i <= at {
			t.Errorf("%q is at %d, after %d, in:\n%s", want, i, at, text)
		}
		at = i
	}
	if strings.Contains(text, "Hidden") {
		t.Error("an excluded source is part of it")
	}
	r.Evidence = slices.Repeat([]Evidence{{ID: "e9", Quote: strings.Repeat("word ", 400), Source: "x"}}, 500)
	if n := len(r.Material()); n > maxMaterial+len(r.Answer)+4096 {
		t.Errorf("%d bytes", n)
	}
}

func TestCitedPassages(t *testing.T) {
	text, unknown := sampleResearch().CitedPassages("So [e2, e1]. And [e77]. Again [e1].")
	if diff := cmp.Diff([]string{"e77"}, unknown); diff != "" || strings.Count(text, "[e1]") != 1 || !strings.HasPrefix(text, "  [e2] orangutan.md, /notes/orangutan.md\n      \"We followed 53 adults.\"\n") {
		t.Errorf("%s unknown %v", text, unknown)
	}
}

// Each kind of difference is listed once, and the summary counts it.
func TestCompareConflicts(t *testing.T) {
	conflict := func(subject string, values ...string) Conflict {
		c := Conflict{Subject: subject, Attribute: "sleep"}
		for _, v := range values {
			c.Sides = append(c.Sides, Side{Value: v})
		}
		return c
	}
	d := Since{}
	d.compareConflicts(
		[]Conflict{conflict("Ape", "9 h", "11 h"), conflict("cat", "1", "2"), conflict("dog", "3", "4")},
		[]Conflict{conflict("ape", "11 H", "9 h"), conflict("cat", "1", "5"), conflict("eel", "6", "7")},
	)
	want := Since{
		NewConflicts: []string{"eel, sleep: 6 or 7"}, GoneConflicts: []string{"dog, sleep: 3 or 4"},
		ChangedConflicts: []Change{{Was: "cat, sleep: 1 or 2", Now: "cat, sleep: 1 or 5"}},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	if d.Summary() != "1 new conflict, 1 resolved conflict, 1 changed conflict" || !d.HasChanges() || (&Since{}).Summary() != "no changes" {
		t.Errorf("%q", d.Summary())
	}
}

func TestCitedSources(t *testing.T) {
	was := citedSources("A [e1]. B [e2, e1].", []Evidence{{ID: "e1", Source: "a.md"}, {ID: "e2", URL: "https://b.example", Source: "b"}, {ID: "e3", Source: "c.md"}})
	now := citedSources("A [e7].", []Evidence{{ID: "e7", Source: "a.md"}})
	added, gone := onlyIn(now, was)
	if diff := cmp.Diff([]string{"https://b.example"}, gone); diff != "" || len(added) > 0 {
		t.Errorf("added %v, gone %v", added, gone)
	}
}

// Only claims count: text around them is no change.
func TestCompareOlderUnchanged(t *testing.T) {
	v := research.NewView()
	v.Research.Answer = "This answer was put together without a model.\n\n- “Apes sleep 12 hours.” [e1]"
	v.Claims = []research.Claim{{Claim: ponder.Claim{ID: "c1", Verdict: "supported"}, Text: "“Apes sleep 12 hours.”"}}
	v.Evidence = []research.Evidence{{Evidence: ponder.Evidence{ID: "e1", Source: "a.md"}, Quote: "Apes sleep 12 hours."}}
	older := OlderReport(v)
	r := NewResearch(v, older)
	if r.Since.HasChanges() || r.Since.Same != 1 {
		t.Errorf("%+v", r.Since)
	}
	v.Claims[0].Verdict = "contradicted"
	if r := NewResearch(v, older); !r.Since.HasChanges() {
		t.Errorf("%+v", r.Since)
	}
}
