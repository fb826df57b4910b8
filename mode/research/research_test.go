package research

import (
	"strings"
	"testing"
	"time"

	"ponder"
)

const deepest = "How deep is the Challenger Deep, and who measured it first?"

var trench = fake{
	pages: map[string]string{
		"https://sea.test/deep":   "The Challenger Deep is 10,935 metres deep, as a survey of 2021 found.\nIt was first sounded by HMS Challenger in 1875.",
		"https://other.test/deep": "A sounding of 1951 gave 10,863 metres for the Challenger Deep in the Mariana Trench.",
	},
	docs: []string{"My notes say that the Challenger Deep was measured by HMS Challenger.", "The trench has no light."},
}

var all = Options{Docs: []string{"/docs"}, Memory: true, Web: true}

func TestEndToEnd(t *testing.T) {
	for name, test := range map[string]struct {
		o    Options
		f    fake
		want []string
	}{
		"both":           {all, trench, []string{"10,935", "[e1]"}},
		"memory only":    {Options{Memory: true}, trench, []string{"[e1]"}},
		"documents only": {Options{Docs: []string{"/docs"}}, trench, []string{"[e1]"}},
		"web only":       {Options{Web: true}, trench, []string{"[e1]"}},
		"no model":       {Options{Web: true, Docs: []string{"/docs"}, WithoutModel: true}, trench, []string{"[e"}},
		"never":          {Options{Web: true, SynthesisStrategy: Never}, trench, []string{"[e"}},
		"nothing found":  {all, fake{}, []string{"Nothing found about this in the documents, the memory and the web", "not verified"}},
		"forced":         {Options{Web: true, SynthesisStrategy: Force}, fake{}, []string{"The trench is 10,935 metres deep"}},
		"no sources":     {Options{}, fake{}, []string{"No source was searched"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, deepest, test.o, 3*time.Minute, test.f.answerAction).runToEnd()
			if d.fin.Status != ponder.Completed {
				t.Fatalf("finished %+v", d.fin)
			}
			for _, want := range test.want {
				if !strings.Contains(d.fin.Answer, want) {
					t.Errorf("answer %q, want %q in it", d.fin.Answer, want)
				}
			}
			checkCites(t, d)
			t.Log(d.actionKeys(), "\n", d.fin.Answer)
		})
	}
}

// checkCites checks that citations were gathered and that the run finished with its final
// synthesis.
func checkCites(t *testing.T, d *driver) {
	t.Helper()
	have := make(map[string]bool)
	var uncited []ponder.Claim
	for _, ev := range d.log {
		switch b := ev.Body.(type) {
		case ponder.Evidence:
			if have[b.ID] || b.End-b.Start != len(b.Content) {
				t.Errorf("evidence %+v", b)
			}
			have[b.ID] = true
		case ponder.Claim:
			if b.Verdict == "supported" && len(b.Cites) == 0 {
				uncited = append(uncited, b)
			}
			for _, id := range b.Cites {
				if !have[id] {
					t.Errorf("claim %q cites %s, which was not gathered", b.Content, id)
				}
			}
			for _, q := range append(b.Quotes, b.Against...) {
				if !have[q.Evidence] {
					t.Errorf("claim %q rests on %s, which was not gathered", b.Content, q.Evidence)
				}
			}
		case ponder.Synthesis:
			for _, id := range b.Cites {
				if !have[id] {
					t.Errorf("the answer cites %s, which was not gathered", id)
				}
			}
			if b.Final && !b.WithoutModel && len(uncited) > 0 {
				t.Errorf("supported without a citation: %+v in %q", uncited, b.Content)
			}
			if b.Final && d.fin.Answer != b.Content {
				t.Errorf("finished with %q, the final synthesis is %q", d.fin.Answer, b.Content)
			}
		}
	}
}
