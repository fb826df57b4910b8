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
		f := writer(trench, func(ponder.Call, int) ponder.Body { return says("The Challenger Deep is 10,935 metres deep" + wrong + ".") })
		d := newDriver(t, deepest, Options{Web: true}, time.Minute, f.answer).work()
		c := bodiesOf[ponder.Claim](d)[0]
		said := slices.ContainsFunc(c.Quotes, func(q ponder.Passage) bool { return slices.Contains(c.Cites, q.Evidence) })
		if !said || !strings.Contains(d.fin.Answer, "["+c.Cites[0]+"]") {
			t.Errorf("cited%s: the answer %q, the claim cites %q and rests on %+v", wrong, d.fin.Answer, c.Cites, c.Quotes)
		}
	}
}
