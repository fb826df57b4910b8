package research

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func worthOf(effort string, list ...roundYield) roundHistory {
	w := roundHistory{Effort: effort}
	for i, y := range list {
		y.Round = i + 1
		w = w.addRound(y)
	}
	return w
}

func TestEnough(t *testing.T) {
	first := roundYield{Passages: 12, New: 8, Weight: 4, Agreeing: 1, Seconds: 8, Calls: 7}
	for _, tt := range []struct {
		name string
		w    roundHistory
		want string
	}{
		{"nothing was looked up", roundHistory{}, ""},
		{"one round tells nothing", worthOf(normal, first), ""},
		{"nor does one that found nothing", worthOf(normal, roundYield{Seconds: 8, Calls: 6}), ""},
		{"as good as the first", worthOf(normal, first, first), ""},
		{"nothing found", worthOf(normal, first, roundYield{Seconds: 5, Calls: 7}), "no new evidence: round 2 found no passages"},
		{"nothing new", worthOf(normal, first, roundYield{Passages: 12, Seconds: 5, Calls: 7}), "no new evidence: none of 12 passages of round 2 was new"},
		{"hardly anything", worthOf(normal, first, roundYield{Passages: 12, New: 1, Weight: 0.4, Seconds: 8, Calls: 7}), "another round would cost more than it gains: of 12 passages of round 2 one was new"},
		{"a deep question wants that too", worthOf(deep, first, roundYield{Passages: 12, New: 1, Weight: 0.4, Seconds: 8, Calls: 7}), ""},
		{"and in the end no more", worthOf(deep, first, first, roundYield{Passages: 1, New: 1, Weight: 0.2, Seconds: 30, Calls: 7}), "another round would cost more than it gains: of 1 passage of round 3 one was new"},
		{"borne out", worthOf(normal, roundYield{Passages: 9, New: 9, Weight: 5, Agreeing: 4}), "the answer is supported by 4 independent sources"},
		{"not yet for a deep question", worthOf(deep, roundYield{Passages: 9, New: 9, Weight: 5, Agreeing: 9}), ""},
		{"a trivial one", worthOf(trivial, roundYield{Passages: 1, New: 1, Weight: 0.5, Agreeing: 1}), "the answer is supported by one reliable source"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := stopReason(tt.w); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestEnoughIsMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	any := func() roundYield {
		y := roundYield{Passages: 1 + r.IntN(20), Seconds: 30 * r.Float64(), Calls: r.IntN(12), Agreeing: r.IntN(3)}
		if y.New = r.IntN(y.Passages + 1); y.New > 0 {
			y.Weight = float64(y.New) * r.Float64()
		}
		return y
	}
	ended := 0
	for range 20000 {
		effort := []string{trivial, normal, deep}[r.IntN(3)]
		var list []roundYield
		for range 1 + r.IntN(5) {
			list = append(list, any())
		}
		last := &list[len(list)-1]
		before := stopReason(worthOf(effort, list...))
		was := *last
		last.New, last.Passages, last.Weight = was.New+1, was.Passages+1, was.Weight+r.Float64()
		if got := stopReason(worthOf(effort, list...)); before == "" && got != "" {
			t.Fatalf("more that is new ends it: %q, %+v, before %+v", got, list, was)
		}
		*last = was
		last.Seconds, last.Calls = was.Seconds+60*r.Float64(), was.Calls+r.IntN(9)
		if got := stopReason(worthOf(effort, list...)); before != "" && got == "" {
			t.Fatalf("what costs more goes on: %+v, before %+v for %q", list, was, before)
		}
		if before != "" {
			ended++
		}
	}
	if ended < 2000 || ended > 18000 {
		t.Errorf("of 20000 %d ended: the rule is not tried", ended)
	}
}

func TestWorthIsKept(t *testing.T) {
	w := roundHistory{Effort: deep}
	for i := range 100 {
		w = w.addRound(roundYield{Round: i + 1, Passages: 3, New: 1, Weight: math.NaN(), Seconds: math.Inf(1), Calls: -4})
	}
	js, err := json.Marshal(w)
	if err != nil || len(js) > 4000 {
		t.Fatalf("%d bytes, error %v", len(js), err)
	}
	var back roundHistory
	if err := json.Unmarshal(js, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, back); diff != "" || w.Rounds != 100 || len(w.Last) != keptRounds {
		t.Errorf("-want +got:\n%s", diff)
	}
	a := roundHistory{}.addRound(roundYield{Passages: 1})
	b, c := a.addRound(roundYield{Passages: 2}), a.addRound(roundYield{Passages: 3})
	if b.Last[1].Passages != 2 || c.Last[1].Passages != 3 {
		t.Error("two worths share what they keep")
	}
}

func TestYield(t *testing.T) {
	list := []piece{
		{N: 1, Source: "/a.md", Quote: "The bridge was closed to lorries on Tuesday.", Score: 1, SourceWeight: 0.5, Round: 1},
		{N: 2, Source: "https://b.example/1", URL: "https://b.example/1", Quote: "On Tuesday the bridge was closed to lorries.", Score: 0.8, SourceWeight: 1, Round: 2},
		{N: 3, Source: "https://b.example/1", URL: "https://b.example/1", Quote: "It rained.", Score: 0.2, SourceWeight: 1, Round: 2},
		{N: 4, Source: "/a.md", Quote: "It is long.", Score: 1, SourceWeight: 1, Round: 2},
		{N: 5, Source: "/c.md", Quote: "A copy.", Score: 1, SourceWeight: 1, Round: 2, Copy: "e1"},
		{N: 6, Source: "/d.md", Quote: "Do this.", Score: 1, SourceWeight: 1, Round: 2, Addressed: true},
		{N: 7, Source: "/e.md", Quote: "Known.", Score: 1, SourceWeight: 1, Round: 2, Known: true},
		{N: 8, Source: "/f.md", Quote: "The city owns a ferry.", Score: 0.5, SourceWeight: 1, Round: 2},
		{N: 9, Source: "/g.md", Quote: "Later.", Score: 0.5, SourceWeight: 1, Round: 3},
	}
	got := measureRound(list, 2, -1, 7)
	if diff := cmp.Diff(roundYield{Round: 2, Passages: 6, New: 2, Weight: 1.3, Agreeing: 2, Calls: 7}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := measureRound(nil, 1, math.NaN(), 0); got != (roundYield{Round: 1}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestQuotedAnswer(t *testing.T) {
	list := []piece{
		{N: 1, Source: "/a.md", Title: "Notes", Quote: "Caesar built the road.", Score: 0.9, SourceWeight: 1, Query: "who built it"},
		{N: 2, Source: "/a.md", Quote: "It is long.", Score: 0.8, SourceWeight: 1, Query: "how who built it"},
		{N: 6, Source: "/a.md", Quote: "It is wide.", Score: 0.7, SourceWeight: 1, Query: "who built it"},
		{N: 3, Source: "/b.md", Quote: "The road was built by Caesar.", Score: 0.7, SourceWeight: 1, Query: "who built it"},
		{N: 4, Source: "https://c.example", Quote: "It cost <b>5</b> talents [e99].\x1b[31m", Score: 0.6, SourceWeight: 0.5, Query: "what did it cost", Untrusted: true},
		{N: 5, Source: "/d.md", Quote: "Obey.", Score: 1, SourceWeight: 1, Addressed: true},
	}
	answer, confidence := quotedAnswer("Who built it, and what did it cost?", list, "no model answers:\nHTTP 500", searchCoverage{searched: true, ownQueries: []string{"who built it", "what did it cost"}})
	want := `This answer was put together without a model, from quotations of the sources: no model answers: HTTP 500.

**who built it**

- “Caesar built the road.” [e1]
- “It is long.” [e2]

**what did it cost**

- “It cost ‹b›5‹/b› talents (e99).” [e4]`
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if confidence != 0.43 {
		t.Errorf("confidence %v", confidence)
	}
}

func TestQuotedAnswerIsBounded(t *testing.T) {
	var list []piece
	var own []string
	for n := range 9 {
		own = append(own, strings.Repeat("g", n+1))
	}
	for i := range 300 {
		list = append(list, piece{N: i + 1, Source: "/" + strings.Repeat("x", i+1), Quote: strings.Repeat("abc", 1+i*37%800) + " " + strings.Repeat("q", i), Score: 2, SourceWeight: 3, Query: strings.Repeat("g", i%9+1)})
	}
	answer, confidence := quotedAnswer(strings.Repeat("why? ", 5000), list, strings.Repeat("because ", 5000), searchCoverage{searched: true, ownQueries: own})
	if n := strings.Count(answer, "\n- “"); n != quotesInAll || confidence != maxQuoteConfidence || len(answer) > 40<<10 {
		t.Errorf("%d quotes, confidence %v, %d bytes", n, confidence, len(answer))
	}
}

func TestNothingToQuote(t *testing.T) {
	for _, tt := range []struct {
		name string
		list []piece
		want string
	}{
		{"nothing", nil, "No model wrote this: it is down. No answer found; searched for “capital Peru”."},
		{"nothing to quote", []piece{{N: 1, Quote: "Obey.", Addressed: true}}, "No model wrote this: it is down. No answer found: 1 passage found, none can be quoted; searched for “capital Peru”."},
	} {
		if got, confidence := quotedAnswer("What is the capital of Peru?", tt.list, "it is down.", searchCoverage{searched: true}); got != tt.want || confidence != 0 {
			t.Errorf("%s: %q, %v", tt.name, got, confidence)
		}
	}
	if got, _ := quotedAnswer("", nil, "", searchCoverage{}); got == "" || !strings.HasSuffix(got, ".") {
		t.Errorf("of nothing at all: %q", got)
	}
}

func TestQuotedAnswerLeavesOutSnippets(t *testing.T) {
	list := []piece{
		{N: 1, Source: "https://a.example/", PageKey: "a", Quote: "The road is long. It has many towers.", Tool: WebSearchTool, Score: 0.9, SourceWeight: 1},
		{N: 2, Source: "https://a.example/", PageKey: "a", Quote: "The road is long.", Tool: WebFetchTool, Score: 0.8, SourceWeight: 1},
		{N: 3, Source: "https://b.example/", PageKey: "b", Quote: "Nobody knows who built the towers.", Tool: WebSearchTool, Score: 0.7, SourceWeight: 1},
	}
	got, _ := quotedAnswer("How long is the road?", list, "", searchCoverage{searched: true})
	want := "This answer was put together without a model, from quotations of the sources.\n\n- “The road is long.” [e2]\n- “Nobody knows who built the towers.” [e3]"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got, _ = quotedAnswer("How long is the road to Vermont?", list, "it is down", searchCoverage{searched: true, failed: []string{"the web"}})
	if want := "of the sources: it is down. The web could not be searched. No quotation contains “Vermont”.\n\n- “"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}
