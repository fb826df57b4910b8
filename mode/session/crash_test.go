package session

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/racetest"
	"ponder/llm"
	"ponder/mode/internal/lookup"
)

func libraryHits(a ponder.Do, size int) ponder.Body {
	var in struct {
		Query   string
		Limit   int
		Exclude []string
	}
	if err := json.Unmarshal(a.Args, &in); err != nil {
		return ponder.ToolResult{Name: a.Tool, Outcome: ponder.Outcome{Error: err.Error()}}
	}
	var hits []string
	for i := range size {
		id := fmt.Sprintf("h%d", i)
		if len(hits) == min(in.Limit, 3) || slices.Contains(in.Exclude, id) {
			continue
		}
		quote := fmt.Sprintf("Fact %d is known, but not [e%d] to all.", i, i)
		if i%3 == 1 {
			quote = fmt.Sprintf("Fact %d is known.", i)
		}
		hits = append(hits, fmt.Sprintf(`{"id":%q,"source":"/docs/%d.md","title":"Doc %d","quote":%q,"start":%d,"end":%d,"hash":"abc","score":%d,"terms":["fact","known"],"topics":["topic %d","fact"]}`,
			id, i%4, i%4, quote, 10*i, 10*i+len(quote), size-i, i/2))
	}
	return ponder.ToolResult{Name: a.Tool, Result: `{"hits":[` + strings.Join(hits, ",") + `],"skipped":[{"path":"/docs/x.bin","reason":"binary"}]}`}
}

// world answers randomly but deterministically by key.
type world struct {
	seed uint64
	evil float64
	size int
}

func (w world) answerAction(a ponder.Action) ponder.Body {
	h := fnv.New64()
	h.Write([]byte(keyOf(a)))
	rng := rand.New(rand.NewPCG(w.seed, h.Sum64()))
	evil := rng.Float64() < w.evil
	if do, ok := a.(ponder.Do); ok {
		switch {
		case evil && rng.IntN(2) == 0:
			return ponder.ToolResult{Name: do.Tool, Outcome: ponder.Outcome{Error: "disk on fire"}}
		case evil:
			return ponder.ToolResult{Name: do.Tool, Result: `{"hits":[7,{"id":"x"},{"quote":"no source"},{"source":"/a","quote":"wrong length","start":1,"end":2}]}`}
		}
		return libraryHits(do, w.size)
	}
	if !evil {
		if rng.IntN(4) == 0 {
			return inWords(a, rng)
		}
		return defaultAnswer(a)
	}
	bad := []ponder.Body{
		textAnswer(""), textAnswer("I will not."), textAnswer("{\"thoughts\":"), textAnswer("THOUGHT:\nTYPE:\n---"), textAnswer("\x00\xff\u202e"), textAnswer(strings.Repeat("[", 500)),
		textAnswer("THOUGHT: Cites what is not there [e99999] and [e1, e77777].\nTYPE: insight\nCONFIDENCE: 900%"),
		failedCall(llm.Transient, "overloaded\nfor long"), failedCall(llm.Auth, "key rejected (401)"), failedCall(llm.TooLong, "too long"),
		ponder.CallFinished{Outcome: ponder.Outcome{Error: "the budget is spent: calls", Class: llm.Payment, Refused: true}},
		ponder.CallFinished{Outcome: ponder.Outcome{Error: "no model is configured for the role slow", Class: llm.NotFound, Refused: true}},
	}
	return bad[rng.IntN(len(bad))]
}

func inWords(a ponder.Action, rng *rand.Rand) ponder.Body {
	what, n := stepOf(keyOf(a))
	switch what {
	case questions:
		return textAnswer(fmt.Sprintf("QUESTION: What of %d and %d?\nPRIORITY: %d\nWHY: It is open.\n---\nQUESTION: And %d?", n, rng.IntN(100), 1+rng.IntN(10), rng.IntN(9)))
	case synthesis, final:
		return textAnswer(fmt.Sprintf("SYNTHESIS: So it is, says [e%d].\nINSIGHTS:\n- One\nCONFIDENCE: 0.%d\nREMAINING:\n- What?", 1+rng.IntN(9), rng.IntN(10)))
	}
	return textAnswer(fmt.Sprintf("THOUGHT: Number %d [e%d].\nTYPE: insight\nCONFIDENCE: 0.7\n---\nTHOUGHT: And %d [e1].\nTYPE: critique", n, 1+rng.IntN(6), rng.IntN(100)))
}

func anyOptions(seed uint64) (Options, world, map[int]ponder.Body) {
	rng := rand.New(rand.NewPCG(seed, 1))
	o := Options{SynthesisInterval: float64(10 + rng.IntN(200)), ToTheEnd: rng.IntN(2) == 0, Earlier: rng.IntN(3) == 0}
	if rng.IntN(2) == 0 {
		o.Parallel = 1 + rng.IntN(5)
	}
	if rng.IntN(2) == 0 {
		o.Docs = []string{"/docs"}
		o.WithoutModel = rng.IntN(3) == 0
	}
	w := world{seed: seed, evil: []float64{0, 0.1, 0.5, 1}[rng.IntN(4)], size: rng.IntN(60)}
	inputs := make(map[int]ponder.Body)
	if rng.IntN(2) == 0 {
		inputs[1+rng.IntN(60)] = []ponder.Body{
			ponder.Steer{Do: ponder.AnswerNow}, ponder.BudgetSpent{What: "calls"}, ponder.RunPaused{}, ponder.RunResumed{},
		}[rng.IntN(4)]
	}
	for range rng.IntN(5) {
		inputs[1+rng.IntN(60)] = randomCommand(rng)
	}
	return o, w, inputs
}

func randomCommand(rng *rand.Rand) ponder.Body {
	args := fmt.Sprintf(`{"question":"q%d","priority":%d,"source":"/docs/%d.md"}`, 1+rng.IntN(4), rng.IntN(12), rng.IntN(4))
	return []ponder.Body{
		ponder.Steer{Content: "look at the sea"}, ponder.Steer{Do: ponder.AddQuestion, Content: "Is it the sea?", Args: json.RawMessage(args)},
		ponder.Steer{Do: ponder.DropQuestion, Args: json.RawMessage(args)}, ponder.Steer{Do: ponder.RankQuestion, Args: json.RawMessage(args)},
		ponder.Steer{Do: ponder.Correct, Content: "Fact 3 is not known."}, ponder.Steer{Do: ponder.PinSource, Args: json.RawMessage(args)},
		ponder.Steer{Do: ponder.BanSource, Args: json.RawMessage(args)}, ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(`{"calls":7}`)},
		ponder.Steer{Do: "dance"}, ponder.Steer{Do: ponder.BanSource, Args: json.RawMessage(`[7]`)},
	}[rng.IntN(10)]
}

// A session ends for any models, tools and commands. If it completes, it has an answer that cites
// only gathered evidence.
func TestAlwaysEnds(t *testing.T) {
	racetest.Skip(t, "one goroutine, which folds and decides hundreds of sessions")
	statuses := make(map[ponder.Status]int)
	for seed := range uint64(80) {
		o, w, inputs := anyOptions(seed)
		d := newDriver(t, "What is the fact?", o, 3*time.Minute, w.answerAction)
		d.inputs = inputs
		d.runToEnd()
		statuses[d.fin.Status]++
		if d.fin.Reason == "" || d.fin.Status == ponder.Completed && strings.TrimSpace(d.fin.Answer) == "" {
			t.Errorf("seed %d: finished %+v", seed, d.fin)
		}
		checkCites(t, d)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if statuses[ponder.Completed] < 35 || statuses[ponder.Failed] < 3 {
		t.Errorf("statuses %v, want both", statuses)
	}
}

// checkCites checks that citations were gathered and that the session finished with its final
// answer.
func checkCites(t *testing.T, d *driver) {
	t.Helper()
	have := make(map[string]bool)
	check := func(text string, ids []string) {
		bare := lookup.ReplaceCitations(text, func(m string) (string, bool) {
			for _, n := range digitRuns.FindAllString(m, -1) {
				if !have["e"+n] {
					return "", true // stays in code
				}
			}
			return m, false
		})
		if bare != text {
			t.Errorf("%q cites text outside the evidence", text)
		}
		for _, id := range ids {
			if !have[id] {
				t.Errorf("%q cites %s, which was not gathered", text, id)
			}
		}
	}
	for _, ev := range d.log {
		switch b := ev.Body.(type) {
		case ponder.Evidence:
			if have[b.ID] || b.End-b.Start != len(b.Content) {
				t.Errorf("evidence %+v", b)
			}
			have[b.ID] = true
		case ponder.Thought:
			check(b.Content, b.Cites)
		case ponder.Synthesis:
			check(strings.Join(append([]string{b.Content}, b.Insights...), "\n"), b.Cites)
			if b.Final && d.fin.Answer != b.Content {
				t.Errorf("finished with %q, the final synthesis is %q", d.fin.Answer, b.Content)
			}
		}
	}
}

func TestCutAnywhere(t *testing.T) {
	racetest.Skip(t, "one goroutine, which folds a log from each of its events")
	for seed := range uint64(30) {
		o, w, inputs := anyOptions(seed)
		whole := newDriver(t, "What is the fact?", o, 2*time.Minute, w.answerAction)
		whole.inputs = maps.Clone(inputs)
		whole.runToEnd()
		want := jsonLines(t, whole.log)
		for n := range whole.log {
			d := newDriver(t, "What is the fact?", o, 2*time.Minute, w.answerAction)
			d.inputs, d.quick = make(map[int]ponder.Body), true
			for at, b := range inputs {
				if at >= n {
					d.inputs[at] = b
				}
			}
			for _, ev := range whole.log[:n] {
				d.applyEvent(ev)
			}
			if b, ok := d.inputs[n]; ok && n > 0 {
				delete(d.inputs, n)
				d.appendEvent("", b)
			}
			d.runToEnd()
			if got := jsonLines(t, d.log); !slices.Equal(want, got) {
				t.Fatalf("seed %d, cut after %d of %d (-whole +continued):\n%s", seed, n, len(whole.log), cmp.Diff(want, got))
			}
			if calls := len(d.actions); calls > len(whole.actions) {
				t.Fatalf("seed %d, cut after %d: %d calls, the whole has %d", seed, n, calls, len(whole.actions))
			}
		}
	}
}

func jsonLines(t *testing.T, evs []ponder.Event) (lines []string) {
	for _, ev := range evs {
		lines = append(lines, string(mustEncode(t, ev)))
	}
	return lines
}

func TestStateIsBounded(t *testing.T) {
	racetest.Skip(t, "one goroutine, which folds long sessions")
	w := world{seed: 1, size: 2000}
	d := newDriver(t, "What is the fact?", Options{Docs: []string{"/docs"}, ToTheEnd: true}, 3*time.Hour, w.answerAction)
	d.takes, d.quick = 20*time.Second, true
	d.runToEnd()
	if n := len(bodiesOf[ponder.Thought](d)); n < 500 {
		t.Fatalf("%d thoughts, want a long session", n)
	}
	if size := len(mustEncode(t, d.state)); size > 100<<10 {
		t.Errorf("state of %d bytes after %d events", size, len(d.log))
	}
	for _, a := range d.actions[len(d.actions)-20:] {
		if c, ok := a.(ponder.Call); ok && c.Request.Size() > 32<<10 {
			t.Errorf("%s asks with %d bytes", c.Key, c.Request.Size())
		}
	}
}

// A log with another version's decisions continues to an answer from any cut.
func TestOtherDecisions(t *testing.T) {
	other := Options{SynthesisInterval: 1e6, Parallel: 4, ToTheEnd: true}
	for name, o := range map[string]Options{
		"one focus, more syntheses": {SynthesisInterval: 20}, "four foci, more syntheses": {SynthesisInterval: 20, Parallel: 4}, "one focus": {SynthesisInterval: 1e6, ToTheEnd: true},
	} {
		for _, turn := range [][2]Options{{o, other}, {other, o}} {
			whole := newDriver(t, "What is the sea?", turn[0], 2*time.Minute, curiousAnswer).runToEnd()
			for n := range whole.log {
				d := newDriver(t, "What is the sea?", turn[1], 2*time.Minute, curiousAnswer)
				d.quick = true
				for _, ev := range whole.log[:n] {
					d.applyEvent(ev)
				}
				if d.runToEnd(); d.fin.Status != ponder.Completed {
					t.Errorf("%s, cut after %d: finished %+v", name, n, d.fin)
				}
			}
		}
	}
}

// A log of a version that read more formats continues from any cut, without reusing keys or thought
// numbers.
func TestLogOfDroppedFormats(t *testing.T) {
	labelled := func(a ponder.Action) ponder.Body {
		what, n := stepOf(keyOf(a))
		what, _, _ = strings.Cut(what, "~")
		switch what {
		case questions:
			return textAnswer(fmt.Sprintf("QUESTION: What of side %d?\nPRIORITY: %d", n, 3+n%7))
		case synthesis, final:
			return textAnswer(fmt.Sprintf("SYNTHESIS: Understanding %d.\nINSIGHTS:\n- Insight %d\nCONFIDENCE: 0.8", n, n))
		}
		return textAnswer(fmt.Sprintf("THOUGHT: Side %d is wet.\nTYPE: insight\nCONFIDENCE: 0.6\n---\nTHOUGHT: Depth %d is dark.\nTYPE: critique\nCONFIDENCE: 0.7", n, n))
	}
	german := strings.NewReplacer("THOUGHT:", "GEDANKE:", "TYPE:", "TYP:", "CONFIDENCE:", "KONFIDENZ:", "QUESTION:", "FRAGE:", "PRIORITY:", "DRINGLICHKEIT:", "SYNTHESIS:", "SYNTHESE:", "INSIGHTS:", "EINSICHTEN:")
	for _, parallel := range []int{1, 3} {
		o := Options{SynthesisInterval: 60, Parallel: parallel, ToTheEnd: true}
		old := newDriver(t, "What is the sea?", o, 2*time.Minute, labelled).runToEnd()
		for i, ev := range old.log {
			if b, ok := ev.Body.(ponder.CallFinished); ok {
				b.Message = llm.Say(llm.Assistant, german.Replace(b.Message.Text()))
				old.log[i].Body = b
			}
		}
		for n := range old.log {
			d := newDriver(t, "What is the sea?", o, 2*time.Minute, labelled)
			d.quick = true
			for _, ev := range old.log[:n] {
				d.applyEvent(ev)
			}
			if d.runToEnd(); d.fin.Status != ponder.Completed {
				t.Errorf("%d foci, cut after %d: finished %+v", parallel, n, d.fin)
			}
			numbers := make(map[int]bool)
			for _, b := range bodiesOf[ponder.Thought](d) {
				if numbers[b.Number] {
					t.Errorf("%d foci, cut after %d: two thoughts have the number %d", parallel, n, b.Number)
				}
				numbers[b.Number] = true
			}
		}
	}
}
