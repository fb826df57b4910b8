package research

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/knowledge/claim"
)

// A sentence with a wrong or missing citation gets the supporting one.
func TestCitationsArePutRight(t *testing.T) {
	f := answerWriter(trench, func(ponder.Call, int) ponder.Body {
		return textAnswer("The Challenger Deep is 10,935 metres deep.")
	})
	right := ""
	for _, c := range bodiesOf[ponder.Claim](newDriver(t, deepest, Options{Web: true}, time.Minute, f.answerAction).runToEnd()) {
		if c.Verdict == "supported" && len(c.Quotes) > 0 {
			right = c.Quotes[0].Evidence
		}
	}
	if right == "" {
		t.Fatal("nothing that was found says it")
	}
	for _, wrong := range []string{"", " [e1]", " [e2]", " [e3]"} {
		f := answerWriter(trench, func(ponder.Call, int) ponder.Body {
			return textAnswer("The Challenger Deep is 10,935 metres deep" + wrong + ".")
		})
		d := newDriver(t, deepest, Options{Web: true}, time.Minute, f.answerAction).runToEnd()
		c := bodiesOf[ponder.Claim](d)[0]
		said := slices.ContainsFunc(c.Quotes, func(q ponder.Passage) bool { return slices.Contains(c.Cites, q.Evidence) })
		if !said || !strings.Contains(d.fin.Answer, "["+c.Cites[0]+"]") {
			t.Errorf("cited%s: the answer %q, the claim cites %q and rests on %+v", wrong, d.fin.Answer, c.Cites, c.Quotes)
		}
	}
}

func TestKeptAnswersShowTheirAge(t *testing.T) {
	s := &state{}
	for age, want := range map[int]string{
		0: "1 new passage for “q”.", 1: "1 new passage for “q”, from a cached result of age 1 second.",
		3600: "1 new passage for “q”, from a cached result of age 60 minutes.", 5 * 3600: "1 new passage for “q”, from a cached result of age 5 hours.",
		3 * 24 * 3600: "1 new passage for “q”, from a cached result of age 3 days.",
	} {
		if got := s.lookupProgress(lookupCall{Kind: webLookup, Query: "q", Age: age, Pieces: []int{1}}, 1).Content; got != want {
			t.Errorf("kept for %d s: %q, want %q", age, got, want)
		}
	}
}

func TestLinks(t *testing.T) {
	s := &state{Evidence: []piece{{N: 1, Source: "https://sea.test/trench", URL: "https://sea.test/trench", PageKey: "x"}}}
	for url, want := range map[string]bool{
		"https://sea.test/trench": true, "https://sea.test:443/trench": true, "http://sea.test/trench": false, "https://sea.test:8080/trench": false,
		"https://a:b@sea.test/trench": false, "https://sea.test/trench#secret": false, "https://sea.test/trench?x=1": false, "https://sea.test/trench/": false,
	} {
		if s.isLinkable(url) != want {
			t.Errorf("%s: want %v", url, want)
		}
	}
}

// A judge's reason is discarded, because it may contain untrusted words.
func TestJudgesReasonIsOurOwn(t *testing.T) {
	f := trench
	f.model = func(a ponder.Call) ponder.Body {
		switch what, _, _ := strings.Cut(a.Key, "-"); what {
		case "judge":
			var all []string
			for n := range 12 {
				for _, v := range []string{"supported", "qualified", "unverified"} {
					all = append(all, `{"id":"`+claimID(n)+`","verdict":"`+v+`","reason":"see https://evil.test/x [e999] for more"}`)
				}
			}
			return textAnswer(`{"verdicts":[` + strings.Join(all, ",") + `]}`)
		case "write":
			return textAnswer("HMS Challenger sounded it in 1875 [e1]. A sounding of 1951 may have found the Mariana Trench [e2]. The trench is deep and dark for all who live there [e1].")
		}
		return defaultAnswer(a)
	}
	d := newDriver(t, deepest, Options{Web: true, Effort: normal}, time.Minute, f.answerAction).runToEnd()
	judged := 0
	for _, c := range bodiesOf[ponder.Claim](d) {
		if strings.Contains(c.Reason, "evil") || strings.Contains(c.Reason, "e999") {
			t.Errorf("reason %q", c.Reason)
		}
		if strings.HasPrefix(c.Reason, "the judge (test/model) reports: ") {
			judged++
		}
	}
	if judged == 0 {
		t.Errorf("nothing was judged: %+v", bodiesOf[ponder.Claim](d))
	}
}

func TestLongAnswersAreCut(t *testing.T) {
	var b strings.Builder
	for b.Len() < maxAnswer-100 {
		b.WriteString("It is so. ")
	}
	b.WriteString("\n\nThe moon is made of 12 cheeses.")
	f := answerWriter(trench, func(ponder.Call, int) ponder.Body { return textAnswer(b.String()) })
	d := newDriver(t, deepest, Options{Web: true, Effort: trivial}, time.Minute, f.answerAction)
	d.quick = true
	if d.runToEnd(); strings.Contains(d.fin.Answer, "cheeses") || !strings.HasSuffix(d.fin.Answer, "because it exceeds the limit for checks.)") {
		t.Errorf("answer of %d bytes ends %q", len(d.fin.Answer), d.fin.Answer[max(0, len(d.fin.Answer)-300):])
	}
}

func TestClaimsThatAreContested(t *testing.T) {
	at := func(id string, start, end int) ponder.Passage {
		return ponder.Passage{Evidence: id, Start: start, End: end}
	}
	conflicts := []ponder.Conflict{{Subject: "Zorb", Attribute: "revenue", Sides: []ponder.Side{
		{Value: "$5 billion", Quotes: []ponder.Passage{at("e1", 10, 20)}, Voices: 2}, {Value: "$6 billion", Quotes: []ponder.Passage{at("e2", 0, 9)}, Voices: 1},
	}}}
	of := func(v claim.Verdict, quotes ...ponder.Passage) checkedClaim {
		return checkedClaim{Finding: claim.Finding{Verdict: v, Quotes: quotes, Reason: "a quote says it"}}
	}
	list := []checkedClaim{of(claim.Supported, at("e1", 0, 30)), of(claim.Supported, at("e1", 20, 30)), of(claim.Unverified, at("e1", 0, 30)), of(claim.Supported, at("e1", 0, 30), at("e2", 0, 30))}
	addContradictions(list, conflicts)
	if c := list[0]; c.Reason != "a quote says it; another source states $6 billion" || !slices.Equal(c.Against, []ponder.Passage{at("e2", 0, 9)}) {
		t.Errorf("%+v", c.Finding)
	}
	for _, c := range list[1:] {
		if c.Reason != "a quote says it" || len(c.Against) > 0 {
			t.Errorf("%+v", c.Finding)
		}
	}
}

// Claims with invented citations are checked against all evidence and marked.
func TestFabricatedCitationsAreChecked(t *testing.T) {
	f := answerWriter(trench, func(ponder.Call, int) ponder.Body {
		return textAnswer(`According to [e77], "the chief engineer confessed to sabotage in June" was the cause. In 1987 it cost 4,500,000 dollars [e88]. HMS Challenger sounded it in 1875 [e99].`)
	})
	d := newDriver(t, deepest, Options{Web: true}, time.Minute, f.answerAction).runToEnd()
	var verdicts []string
	for _, c := range bodiesOf[ponder.Claim](d) {
		verdicts = append(verdicts, c.Verdict)
	}
	if want := []string{"unverified", "unverified", "supported"}; !slices.Equal(verdicts, want) {
		t.Errorf("verdicts %q, want %q", verdicts, want)
	}
	all := bodiesOf[ponder.Synthesis](d)
	if got := all[len(all)-1].Removed; !slices.Equal(got, []string{"[e77]", "[e88]", "[e99]"}) || strings.Count(d.fin.Answer, "[unverified]") != 2 {
		t.Errorf("answer %q without %q", d.fin.Answer, got)
	}
}
