package research

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

// Queries of the question start during planning, at most three each of memory and web; planned ones
// join.
func TestPlanInParallel(t *testing.T) {
	d := newDriver(t, deepest, all, 3*time.Minute, trench.answerAction)
	n := make(map[string]int)
	for _, a := range d.state.Next(ponder.Moment{}) {
		switch a := a.(type) {
		case ponder.Call:
			n[a.Key]++
		case ponder.Do:
			n[a.Tool]++
		}
	}
	if n[planKey] != 1 || n[SearchTool] < 1 || n[SearchTool] > 3 || n[WebSearchTool] < 1 || n[WebSearchTool] > 3 {
		t.Errorf("at the start it wants %v", n)
	}
	d.runToEnd()
	plans := bodiesOf[ponder.Plan](d)
	if len(plans) != 2 || !plans[0].WithoutModel || plans[1].WithoutModel || plans[1].Web[0] != "trench depth survey" || plans[1].Memory[0] != "trench depth notes" {
		t.Fatalf("plans %+v", plans)
	}
	var queries []string
	for _, do := range d.toolActions(WebSearchTool) {
		queries = append(queries, queryText(do.Args))
	}
	if !slices.Contains(queries, "trench depth survey") || !slices.Contains(queries, plans[0].Web[0]) {
		t.Errorf("asked %q", queries)
	}
	if q := bodiesOf[ponder.SubQuestion](d); len(q) != 2 || q[0].ID != "q1" || q[1].Content != "Find who measured it." {
		t.Errorf("questions %+v", q)
	}
}

func TestParallelQueries(t *testing.T) {
	o := all
	o.MaxParallelQueries = 1
	most := 0
	d := newDriver(t, deepest, o, 3*time.Minute, trench.answerAction)
	d.answer = func(a ponder.Action) ponder.Body {
		n := make(map[string]int)
		for _, a := range d.state.Next(ponder.Moment{}) {
			if do, ok := a.(ponder.Do); ok && do.Tool != WebFetchTool {
				n[do.Tool]++
				most = max(most, n[do.Tool])
			}
		}
		return trench.answerAction(a)
	}
	if d.runToEnd(); most != 1 {
		t.Errorf("%d at a time", most)
	}
}

func TestPlanFails(t *testing.T) {
	for name, answer := range map[string]ponder.Body{
		"fails": failedCall(llm.Auth, "key rejected"), "unreadable": textAnswer("I can't."), "empty": textAnswer(""), "hangs": nil,
	} {
		t.Run(name, func(t *testing.T) {
			f := trench
			f.model = func(a ponder.Call) ponder.Body {
				if whatOf(a.Key) == planKey {
					return answer
				}
				return defaultAnswer(a)
			}
			d := newDriver(t, deepest, all, 3*time.Minute, f.answerAction).runToEnd()
			if !strings.Contains(d.fin.Answer, "10,935 metres") || len(bodiesOf[ponder.Evidence](d)) < 4 {
				t.Errorf("finished %+v", d.fin)
			}
			if !slices.ContainsFunc(bodiesOf[ponder.Progress](d), func(b ponder.Progress) bool { return b.Label == "Without a plan" }) {
				t.Error("it does not say that there is no plan")
			}
		})
	}
}

// Passages are events in the same decision as their result.
func TestStreamed(t *testing.T) {
	d := newDriver(t, deepest, Options{Web: true}, 3*time.Minute, trench.answerAction).runToEnd()
	for i, ev := range d.log {
		b, ok := ev.Body.(ponder.ToolResult)
		if !ok || b.Name != WebSearchTool {
			continue
		}
		if _, ok := d.log[i+1].Body.(ponder.Evidence); !ok {
			t.Errorf("after the first search comes %s", d.log[i+1].Body.Type())
		}
		return
	}
	t.Error("no search")
}

func manyPages(n int) fake {
	f := fake{pages: make(map[string]string)}
	for i := range n {
		f.pages[fmt.Sprintf("https://p%02d.test/", i)] = fmt.Sprintf("Survey %d of the Challenger Deep by ship %d took %d days and found a depth of %d metres.", i, i*7, i+3, 10000+i)
	}
	return f
}

func TestPages(t *testing.T) {
	d := newDriver(t, deepest, Options{Web: true, MaxRounds: 1}, 3*time.Minute, manyPages(30).answerAction).runToEnd()
	seen := make(map[string]int)
	per := make(map[string]int)
	for _, do := range d.toolActions(WebFetchTool) {
		var in struct{ URL, Query string }
		if err := json.Unmarshal(do.Args, &in); err != nil {
			t.Fatal(err)
		}
		seen[in.URL]++
		per[in.Query]++
		if seen[in.URL] > 1 || per[in.Query] > maxPages {
			t.Errorf("%s is read %d times, %d pages for %q", in.URL, seen[in.URL], per[in.Query], in.Query)
		}
	}
	if len(seen) == 0 || len(seen) > roundPages {
		t.Errorf("%d pages are read", len(seen))
	}
	if n := len(bodiesOf[ponder.Evidence](d)); n < maxItemsPerSource {
		t.Errorf("%d passages: the snippets of pages that are not read count too", n)
	}
	for _, do := range d.toolActions(WebSearchTool) {
		var in struct{ Limit, Seconds int }
		if err := json.Unmarshal(do.Args, &in); err != nil || in.Limit != maxItemsPerSource || in.Seconds != 20 {
			t.Errorf("searched with %s", do.Args)
		}
	}
}

// A hanging provider is abandoned; the rest forms the answer.
func TestHanging(t *testing.T) {
	for name, tool := range map[string]string{"memory": SearchTool, "web": WebSearchTool, "pages": WebFetchTool} {
		t.Run(name, func(t *testing.T) {
			f := trench
			f.model = defaultAnswer
			d := newDriver(t, deepest, all, 3*time.Minute, func(a ponder.Action) ponder.Body {
				if do, ok := a.(ponder.Do); ok && do.Tool == tool {
					return nil
				}
				return f.answerAction(a)
			}).runToEnd()
			if d.fin.Status != ponder.Completed || d.elapsed > time.Minute || len(bodiesOf[ponder.Evidence](d)) == 0 {
				t.Errorf("after %v: %+v", d.elapsed, d.fin)
			}
			if !slices.ContainsFunc(bodiesOf[ponder.Progress](d), func(b ponder.Progress) bool { return b.Label == "given up" }) {
				t.Error("it does not say what was given up")
			}
		})
	}
}

// The last look, if much slower than the others, is abandoned early.
func TestSlowest(t *testing.T) {
	d := newDriver(t, deepest, Options{Web: true, Effort: trivial}, 3*time.Minute, nil)
	d.answer = func(a ponder.Action) ponder.Body {
		if do, ok := a.(ponder.Do); ok && do.Tool == WebFetchTool && strings.Contains(string(do.Args), "sea.test") {
			return nil
		}
		return trench.answerAction(a)
	}
	if d.runToEnd(); d.elapsed > 12*time.Second {
		t.Errorf("it took %v", d.elapsed)
	}
}

func TestFailingTools(t *testing.T) {
	f := fake{tool: func(a ponder.Do) ponder.Body { return failedTool(a.Tool, "out of order") }}
	d := newDriver(t, deepest, all, 3*time.Minute, f.answerAction).runToEnd()
	if d.fin.Status != ponder.Completed || !strings.Contains(d.fin.Answer, "could not be searched") {
		t.Errorf("finished %+v", d.fin)
	}
	n := 0
	for _, b := range bodiesOf[ponder.Progress](d) {
		if b.Label == "Failed" && b.Stage == stageNote && strings.Contains(b.Content, "out of order") {
			n++
		}
	}
	if n == 0 {
		t.Error("nothing says what failed")
	}
}

func TestNotRead(t *testing.T) {
	f := fake{tool: func(a ponder.Do) ponder.Body {
		if a.Tool != SearchTool {
			return nil
		}
		return ponder.ToolResult{Name: a.Tool, Result: `{"hits":[],"skipped":[{"path":"/docs/x.pdf","reason":"not a valid PDF"},{"path":"/docs/y.md","reason":"not a text"}],"skipped_more":3}`}
	}}
	d := newDriver(t, deepest, all, 3*time.Minute, f.answerAction).runToEnd()
	if n := len(d.toolActions(SearchTool)); n < 2 {
		t.Fatalf("looked up %d times", n)
	}
	want := []ponder.SystemNote{{Content: "Not read: /docs/x.pdf: not a valid PDF; /docs/y.md: not a text; and 3 more"}}
	if diff := cmp.Diff(want, bodiesOf[ponder.SystemNote](d)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestThreshold(t *testing.T) {
	d := newDriver(t, deepest, Options{Web: true, Docs: []string{"/docs"}, MinConfidenceThreshold: 0.75}, 3*time.Minute, trench.answerAction).runToEnd()
	for _, e := range bodiesOf[ponder.Evidence](d) {
		if e.Score < 0.75 {
			t.Errorf("gathered %+v", e)
		}
	}
	if len(bodiesOf[ponder.Evidence](d)) == 0 {
		t.Error("nothing was gathered")
	}
}

func TestRounds(t *testing.T) {
	f := manyPages(40)
	f.model = func(a ponder.Call) ponder.Body {
		if n, ok := strings.CutPrefix(a.Key, "reflect-"); ok {
			return textAnswer(`{"enough":false,"why":"More is needed.","webQueries":["depth of trench ` + n + `"]}`)
		}
		return defaultAnswer(a)
	}
	served := 0
	f.tool = func(a ponder.Do) ponder.Body {
		if a.Tool != WebSearchTool {
			return nil
		}
		served++
		g := fake{pages: map[string]string{}}
		for url, text := range f.pages {
			if strings.HasPrefix(url, fmt.Sprintf("https://p%02d", served)) {
				g.pages[url] = text
			}
		}
		return g.useTool(a)
	}
	d := newDriver(t, deepest, Options{Web: true, MaxRounds: 3, Effort: deep}, 30*time.Minute, f.answerAction).runToEnd()
	rounds := 0
	for _, p := range bodiesOf[ponder.Plan](d) {
		rounds = max(rounds, p.Round)
	}
	if rounds < 2 || rounds > 3 {
		t.Errorf("%d rounds", rounds)
	}
	if !slices.ContainsFunc(bodiesOf[ponder.Progress](d), func(b ponder.Progress) bool {
		return b.Label == "Enough" && strings.HasPrefix(b.Content, "Search ended: ")
	}) {
		t.Error("nothing says why no more is looked up")
	}
}

func TestPersonaMemory(t *testing.T) {
	d := newDriver(t, deepest, Options{Memory: true, Persona: Persona{Name: "Ada", Voice: "Dry and short."}}, 3*time.Minute, trench.answerAction).runToEnd()
	if none := newDriver(t, deepest, Options{Docs: []string{"/docs"}, Persona: Persona{Name: "Ada"}}, time.Minute, trench.answerAction).runToEnd(); len(none.toolActions(PersonaTool)) > 0 {
		t.Error("the memory is searched though it is not given")
	}
	if len(d.toolActions(PersonaTool)) == 0 || !slices.ContainsFunc(bodiesOf[ponder.Evidence](d), func(e ponder.Evidence) bool { return e.Tool == PersonaTool && e.Source == "journal" }) {
		t.Errorf("evidence %+v", bodiesOf[ponder.Evidence](d))
	}
	for _, c := range d.modelCalls() {
		if strings.HasPrefix(c.Key, "write") && (!strings.Contains(c.Request.Messages[0].Text(), "You answer as Ada") || !strings.Contains(c.Request.Messages[0].Text(), "Dry and short.")) {
			t.Errorf("system prompt %q", c.Request.System)
		}
	}
}

func TestCaching(t *testing.T) {
	no := false
	for _, test := range []struct {
		o    Options
		want bool
	}{{Options{Web: true}, false}, {Options{Web: true, EnableCaching: &no}, true}} {
		d := newDriver(t, deepest, test.o, time.Minute, trench.answerAction).runToEnd()
		if got := strings.Contains(string(d.toolActions(WebSearchTool)[0].Args), `"fresh":true`); got != test.want {
			t.Errorf("%+v: fresh is %v", test.o, got)
		}
	}
}

// A passage is gathered once; snippets of read pages and repeated texts are copies.
func TestOnce(t *testing.T) {
	text := "The Challenger Deep is 10,935 metres deep, as a survey of 2021 found with sonar and pressure."
	f := fake{pages: map[string]string{"https://a.test/": text + "\nMore of it.", "https://b.test/": text}}
	d := newDriver(t, deepest, Options{Web: true}, time.Minute, f.answerAction).runToEnd()
	seen := make(map[string]bool)
	for _, e := range bodiesOf[ponder.Evidence](d) {
		if key := e.Source + e.Content + e.Tool; seen[key] {
			t.Errorf("%s is there twice", key)
		} else {
			seen[key] = true
		}
	}
	list := d.modelCalls()
	pack := list[len(list)-1].Request.Messages[0].Text()
	if strings.Count(pack, text) != 1 || !strings.Contains(pack, "a copy of") {
		t.Errorf("pack:\n%s", pack)
	}
}

// The defaults are the seed's.
func TestDefaults(t *testing.T) {
	for js, want := range map[string][3]int{"": {5, 10, 3}, `{"maxRounds":2,"maxItemsPerSource":4,"maxParallelQueries":1}`: {2, 4, 1}, `{"maxRounds":99,"maxItemsPerSource":99,"maxParallelQueries":99}`: {20, 40, 10}} {
		o, err := parseOptions(ponder.Run{Options: json.RawMessage(js)})
		if got := [3]int{o.MaxRounds, o.MaxItemsPerSource, o.MaxParallelQueries}; err != nil || got != want || o.ForceWebSearch || o.SynthesisStrategy != Auto {
			t.Errorf("%s: %+v, %v", js, o, err)
		}
	}
	d := newDriver(t, deepest, Options{Memory: true, MaxItemsPerSource: 4}, time.Minute, trench.answerAction).runToEnd()
	if args := string(d.toolActions(SearchTool)[0].Args); !strings.Contains(args, `"limit":4`) {
		t.Errorf("searched with %s", args)
	}
}
