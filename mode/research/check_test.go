package research

import (
	"encoding/json"
	"fmt"
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
	for i := 0; b.Len() < maxAnswer-100; i++ {
		fmt.Fprintf(&b, "It is so in case %d of %d. ", i*7919%1000, i)
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

// A sentence that a judge confirms gets the citation of its quotes.
func TestJudgedSentencesAreCited(t *testing.T) {
	f := trench
	f.model = func(a ponder.Call) ponder.Body {
		switch whatOf(a.Key) {
		case "judge":
			return textAnswer(`{"verdicts":[{"id":"c1","verdict":"supported","reason":"it says so"}]}`)
		case "write":
			return textAnswer(inDoubt)
		}
		return defaultAnswer(a)
	}
	d := newDriver(t, deepest, Options{Web: true, Effort: normal}, time.Minute, f.answerAction).runToEnd()
	c := bodiesOf[ponder.Claim](d)
	if len(c) != 1 || c[0].Judge == "" || c[0].Verdict != "supported" || len(c[0].Cites) == 0 || !strings.Contains(d.fin.Answer, "["+c[0].Cites[0]+"]") {
		t.Errorf("%q: claims %+v", d.fin.Answer, c)
	}
	checkCites(t, d)
}

// A sentence of the text around a quote becomes evidence if the answer rests on it.
func TestWindowsAreQuoted(t *testing.T) {
	const text = "Fishermen named the trench. Its deepest point lies 10,935 metres below the surface. No light reaches it."
	const quote, used = "Fishermen named the trench.", "Its deepest point lies 10,935 metres below the surface."
	f := answerWriter(trench, func(ponder.Call, int) ponder.Body {
		return textAnswer("The deepest point lies 10,935 metres below the surface [e1].")
	})
	f.tool = func(a ponder.Do) ponder.Body {
		return ponder.ToolResult{Name: a.Tool, Result: `{"hits":[{"id":"d1","kind":"file","source":"/docs/a.md","title":"Trench","section":"Depth","quote":` + quoteJSON(quote) +
			`,"context":` + quoteJSON(text) + `,"start":100,"end":127,"hash":"abc","score":0.8}]}`}
	}
	d := newDriver(t, deepest, Options{Docs: []string{"/docs"}}, time.Minute, f.answerAction).runToEnd()
	list := d.modelCalls()
	prompt := list[len(list)-1].Request.Messages[0].Text()
	if want := "1. [Trench] (a.md) · the user's own\n   Depth:\n   [e1] " + quote + "\n   " + used + " No light reaches it.\n</evidence>"; !strings.Contains(prompt, want) {
		t.Errorf("prompt\n%s\nwant in it\n%s", prompt, want)
	}
	found := bodiesOf[ponder.Evidence](d)
	if len(found) != 2 || found[1].Content != used || found[1].Start != 100+len(quote)+1 || found[1].Hash != "abc" || found[1].ID != "e2" {
		t.Fatalf("evidence %+v", found)
	}
	if c := bodiesOf[ponder.Claim](d); len(c) != 1 || c[0].Verdict != "supported" || !slices.Equal(c[0].Cites, []string{"e2"}) {
		t.Errorf("%q: claims %+v", d.fin.Answer, c)
	}
	checkCites(t, d)
}

// The passages that fit the question best reach the answer, whatever planned searches find.
func TestBestPassagesReachTheAnswer(t *testing.T) {
	f := fake{tool: func(a ponder.Do) ponder.Body {
		direct := strings.Contains(string(a.Args), "Challenger")
		var hits []string
		for i := range 40 {
			source, score, text := fmt.Sprintf("/docs/%x%d.md", len(a.Args), i), 0.99, fmt.Sprintf("Detail %d of %d: ", i, len(a.Args))+strings.Repeat("dull ", 190)
			if direct {
				source, score, text = fmt.Sprintf("/docs/best%d.md", i), 0.3, fmt.Sprintf("Passage %d on the Challenger Deep.", i)
			}
			if i < 10 {
				hits = append(hits, fmt.Sprintf(`{"source":%q,"quote":%s,"start":0,"end":%d,"hash":"%d","score":%v}`, source, quoteJSON(text), len(text), i, score))
			}
		}
		return ponder.ToolResult{Name: a.Tool, Result: `{"hits":[` + strings.Join(hits, ",") + `]}`}
	}}
	f.model = func(a ponder.Call) ponder.Body {
		if whatOf(a.Key) == planKey {
			return textAnswer(`{"plan":["Look."],"importantTerms":[],"webQueries":[],"memoryQueries":["dull one","dull other","dull third thing"]}`)
		}
		return defaultAnswer(a)
	}
	o := Options{Docs: []string{"/docs"}, Effort: normal}
	d := newDriver(t, "How deep is the Challenger Deep?", o, time.Minute, f.answerAction)
	d.inputs = map[int]ponder.Body{3: ponder.Steer{Do: ponder.PinSource, Args: json.RawMessage(`{"source":"/docs/best9.md"}`)}}
	d.runToEnd()
	list := d.modelCalls()
	prompt := list[len(list)-1].Request.Messages[0].Text()
	for i := range bestPieces {
		if want := fmt.Sprintf("Passage %d on the Challenger Deep.", i); !strings.Contains(prompt, want) {
			t.Errorf("%q is not in the prompt", want)
		}
	}
	if !strings.Contains(prompt, "Passage 9 on") || !strings.Contains(prompt, "more of less weight are left out") || len(prompt) > maxPack+8000 {
		t.Errorf("the pinned source is missing, or nothing was left out: %d bytes", len(prompt))
	}
}
