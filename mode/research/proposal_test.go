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
)

// proposeThen runs research with a plan first. It sends the commands while the plan waits, and returns
// the driver at its end.
func proposeThen(t *testing.T, o Options, f fake, commands ...ponder.Body) *driver {
	t.Helper()
	o.PlanFirst = true
	d := newDriver(t, deepest, o, 3*time.Minute, f.answerAction)
	for !d.paused {
		if !d.doFirst(d.state.Next(ponder.Moment{Wall: time.Unix(0, 0).Add(d.elapsed), Spent: d.elapsed})) {
			t.Fatal("the research neither plans nor pauses")
		}
	}
	for _, b := range commands {
		d.appendEvent("", b)
	}
	return d.runToEnd()
}

func editPlan(p ponder.Plan) ponder.Steer {
	js, _ := json.Marshal(p)
	return ponder.Steer{Do: ponder.SetPlan, Args: js}
}

func searchedQueries(d *driver) (list []string) {
	for _, tool := range []string{WebSearchTool, SearchTool} {
		for _, a := range d.toolActions(tool) {
			var in struct{ Query string }
			_ = json.Unmarshal(a.Args, &in)
			list = append(list, in.Query)
		}
	}
	return list
}

// Before the approval, only the plan is asked for. Afterwards, exactly its queries are searched.
func TestPlanFirst(t *testing.T) {
	for name, test := range map[string]struct {
		options  Options
		fake     fake
		commands []ponder.Body
		want     []string
		calls    []string
	}{
		"approved": {
			Options{Web: true}, trenchFake(), nil,
			[]string{"trench depth survey"}, []string{"planned", "write"},
		},
		"changed": {
			Options{Web: true, Memory: true}, trenchFake(),
			[]ponder.Body{editPlan(ponder.Plan{Steps: []string{"Who measured it?"}, Web: []string{"challenger deep 1875", "hadal zone"}, Memory: []string{"my dive"}})},
			[]string{"challenger deep 1875", "hadal zone", "my dive"}, []string{"planned", "write"},
		},
		"changed twice": {
			Options{Web: true}, trenchFake(),
			[]ponder.Body{editPlan(ponder.Plan{Web: []string{"a"}}), editPlan(ponder.Plan{Web: []string{"b"}})},
			[]string{"b"}, []string{"planned", "write"},
		},
		"an invalid change has no effect": {
			Options{Web: true}, trenchFake(),
			[]ponder.Body{editPlan(ponder.Plan{Memory: []string{"my dive"}}), editPlan(ponder.Plan{}), ponder.Steer{Do: ponder.SetPlan, Args: json.RawMessage(`[1]`)}},
			[]string{"trench depth survey"}, []string{"planned", "write"},
		},
		"only searched places": {
			Options{Memory: true}, trenchFake(), nil,
			[]string{"trench depth notes"}, []string{"planned", "write"},
		},
		"without a model": {
			Options{Web: true, WithoutModel: true}, trenchFake(), nil,
			newPlanOf(t, Options{Web: true, WithoutModel: true}).Web, nil,
		},
		"the model fails": {
			Options{Web: true}, fake{pages: trench.pages, model: func(a ponder.Call) ponder.Body {
				if whatOf(a.Key) == planKey {
					return failedCall("", "no")
				}
				return defaultAnswer(a)
			}}, nil,
			newPlanOf(t, Options{Web: true}).Web, []string{"planned", "write"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := proposeThen(t, test.options, test.fake, test.commands...)
			if diff := cmp.Diff(test.want, searchedQueries(d)); diff != "" {
				t.Errorf("searched (-want +got):\n%s", diff)
			}
			var calls []string
			for _, c := range d.modelCalls() {
				if what := whatOf(c.Key); what != "judge" {
					calls = append(calls, what)
				}
				if len(c.Request.Tools) > 0 && c.Request.ToolChoice != "none" {
					t.Errorf("call %s may search", c.Key)
				}
			}
			if diff := cmp.Diff(test.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			pause := slices.IndexFunc(d.log, isPlanPause)
			if pause < 0 {
				t.Fatal("no pause for the approval")
			}
			for _, ev := range d.log[:pause] {
				if _, ok := ev.Body.(ponder.ToolResult); ok {
					t.Errorf("searched before the approval: %+v", ev)
				}
			}
			if d.fin.Status != ponder.Completed {
				t.Errorf("ended as %+v", d.fin)
			}
		})
	}
}

func trenchFake() fake {
	f := trench
	f.docs = []string{"The trench is 10,935 metres deep."}
	return f
}

func newPlanOf(t *testing.T, o Options) plan {
	js, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return newState(ponder.Run{ID: testRun, Input: deepest, Options: js}).questionPlan()
}

// A question that the user adds to a waiting plan is searched with it.
func TestPlanFirstWithQuestion(t *testing.T) {
	d := proposeThen(t, Options{Web: true}, trenchFake(), ponder.Steer{Do: ponder.AddQuestion, Content: "What lives there?"})
	plans := bodiesOf[ponder.Plan](d)
	last := plans[len(plans)-1]
	if !slices.Contains(last.Steps, "What lives there?") || len(last.Web) < 2 || last.Proposed {
		t.Errorf("ran %+v", last)
	}
	if !strings.Contains(writtenPrompt(d), "What lives there?") {
		t.Error("the answer does not cover the question")
	}
}

// An answer that the user requests while the plan waits needs no search.
func TestPlanFirstAnswerNow(t *testing.T) {
	d := proposeThen(t, Options{Web: true}, trenchFake(), ponder.Steer{Do: ponder.AnswerNow})
	if list := searchedQueries(d); list != nil || d.fin.Status != ponder.Completed {
		t.Errorf("searched %v, ended as %+v", list, d.fin)
	}
}

// A resumption before the plan was written is no approval.
func TestPlanFirstPausedEarly(t *testing.T) {
	d := newDriver(t, deepest, Options{Web: true, PlanFirst: true}, 3*time.Minute, trenchFake().answerAction)
	d.inputs = map[int]ponder.Body{1: ponder.RunPaused{Reason: "paused by the user"}, 2: ponder.RunResumed{}}
	n := 0
	for ; !slices.ContainsFunc(d.log, isPlanPause); n++ {
		if d.paused {
			d.appendEvent("", ponder.RunResumed{})
		}
		if n > 100 || !d.doFirst(d.state.Next(ponder.Moment{Wall: time.Unix(0, 0).Add(d.elapsed), Spent: d.elapsed})) {
			t.Fatal("no plan is proposed")
		}
	}
	if list := searchedQueries(d); list != nil {
		t.Errorf("searched %v", list)
	}
}

// A given plan needs neither a call nor an approval.
func TestGivenPlan(t *testing.T) {
	d := newDriver(t, deepest, Options{Web: true, Plan: &ponder.Plan{Steps: []string{"Who?"}, Web: []string{"sounding 1875"}}}, 3*time.Minute, trenchFake().answerAction)
	d.runToEnd()
	if diff := cmp.Diff([]string{"sounding 1875"}, searchedQueries(d)); diff != "" {
		t.Error(diff)
	}
	if slices.ContainsFunc(d.log, isPlanPause) || slices.Contains(d.actionKeys(), planKey) {
		t.Errorf("actions %v", d.actionKeys())
	}
	d = newDriver(t, deepest, Options{Web: true, Plan: &ponder.Plan{Memory: []string{"x"}}}, 3*time.Minute, trenchFake().answerAction)
	if d.runToEnd(); d.fin.Status != ponder.Failed || !strings.Contains(d.fin.Reason, "memory queries") {
		t.Errorf("ended as %+v", d.fin)
	}
}

// The view has the plan that waits, and none afterwards.
func TestViewProposal(t *testing.T) {
	d := proposeThen(t, Options{Web: true}, trenchFake(), editPlan(ponder.Plan{Web: []string{"b"}}))
	v, seen := NewView(), []string{}
	v = v.Apply(ponder.Event{Run: testRun, Thread: "thr_1", Body: ponder.RunStarted{Mode: Name, Input: deepest, Options: d.run.Options}})
	for _, ev := range d.log {
		if v = v.Apply(ev); v.Proposal != nil {
			if text := fmt.Sprint(v.Proposal.Web); !slices.Contains(seen, text) {
				seen = append(seen, text)
			}
		}
	}
	if diff := cmp.Diff([]string{"[trench depth survey]", "[b]"}, seen); diff != "" || v.Proposal != nil {
		t.Errorf("proposal %+v at the end, before: %s", v.Proposal, diff)
	}
}

func TestCheckPlan(t *testing.T) {
	many := slices.Repeat([]string{"a"}, MaxPlanQueries+1)
	for name, test := range map[string]struct {
		p           ponder.Plan
		web, memory bool
		want        string
	}{
		"valid":             {ponder.Plan{Web: []string{"a"}, Memory: []string{"b"}, Steps: []string{"c?"}}, true, true, ""},
		"no query":          {ponder.Plan{Steps: []string{"c?"}}, true, true, "no queries"},
		"web not searched":  {ponder.Plan{Web: []string{"a"}}, false, true, "has web queries, but"},
		"too many":          {ponder.Plan{Web: many}, true, true, "the limit is 20"},
		"only punctuation":  {ponder.Plan{Web: []string{"?!"}}, true, true, "invalid text in the web queries"},
		"not UTF-8":         {ponder.Plan{Memory: []string{"a\xff"}}, true, true, "invalid text in the memory queries"},
		"a long text":       {ponder.Plan{Web: []string{strings.Repeat("a", maxPlanText+1)}}, true, true, "invalid text"},
		"too many of steps": {ponder.Plan{Web: []string{"a"}, Steps: many}, true, true, "questions; the limit"},
	} {
		err := CheckPlan(test.p, test.web, test.memory)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
