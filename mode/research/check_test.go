package research

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
)

// A sentence that cites the wrong source, or none, cites the one that says it.
func TestCitationsArePutRight(t *testing.T) {
	f := writer(trench, func(ponder.Call, int) ponder.Body {
		return says("The Challenger Deep is 10,935 metres deep.")
	})
	right := ""
	for _, c := range bodiesOf[ponder.Claim](newDriver(t, deepest, Options{Web: true}, time.Minute, f.answer).work()) {
		if c.Verdict == "supported" && len(c.Quotes) > 0 {
			right = c.Quotes[0].Evidence
		}
	}
	if right == "" {
		t.Fatal("nothing that was found says it")
	}
	for _, wrong := range []string{"", " [e1]", " [e2]", " [e3]"} {
		f := writer(trench, func(ponder.Call, int) ponder.Body {
			return says("The Challenger Deep is 10,935 metres deep" + wrong + ".")
		})
		d := newDriver(t, deepest, Options{Web: true}, time.Minute, f.answer).work()
		c := bodiesOf[ponder.Claim](d)[0]
		said := slices.ContainsFunc(c.Quotes, func(q ponder.Passage) bool { return slices.Contains(c.Cites, q.Evidence) })
		if !said || !strings.Contains(d.fin.Answer, "["+c.Cites[0]+"]") {
			t.Errorf("cited%s: the answer %q, the claim cites %q and rests on %+v", wrong, d.fin.Answer, c.Cites, c.Quotes)
		}
	}
}

// What comes of an answer that was kept says how old that is.
func TestKeptAnswersShowTheirAge(t *testing.T) {
	s := &state{}
	for age, want := range map[int]string{
		0: "1 new passage for “q”.", 1: "1 new passage for “q”, by an answer that was kept for 1 second.",
		3600: "1 new passage for “q”, by an answer that was kept for 60 minutes.", 5 * 3600: "1 new passage for “q”, by an answer that was kept for 5 hours.",
		3 * 24 * 3600: "1 new passage for “q”, by an answer that was kept for 3 days.",
	} {
		if got := s.report(look{Kind: onWeb, Query: "q", Age: age, Got: []int{1}}, 1).Content; got != want {
			t.Errorf("kept for %d s: %q, want %q", age, got, want)
		}
	}
}
