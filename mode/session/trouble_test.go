package session

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

// A question that the model fails on is dropped; the session continues.
func TestSetAside(t *testing.T) {
	for _, class := range []llm.Class{llm.Filtered, llm.Malformed} {
		t.Run(string(class), func(t *testing.T) {
			d := newDriver(t, "What is the sea?", Options{SynthesisInterval: 1e6, ToTheEnd: true}, 2*time.Minute, func(a ponder.Action) ponder.Body {
				if strings.Contains(a.(ponder.Call).Request.Messages[0].Text(), "Current focus: What of side 1?") {
					return failedCall(class, "test/model: not this")
				}
				return defaultAnswer(a)
			}).runToEnd()
			checkKeys(t, d, "thoughts-1 thoughts-2 questions-1 thoughts-3 thoughts-4 thoughts-5 questions-2 thoughts-6 ...")
			if WithoutFigures(d.fin.Reason) != "time limit reached" || d.state.(*state).Failures > 0 {
				t.Errorf("finished %+v", d.fin)
			}
			want := ponder.QuestionUpdated{ID: "q1", Dropped: true, Reason: "the model failed on this question: test/model: not this"}
			if diff := cmp.Diff(want, bodiesOf[ponder.QuestionUpdated](d)[0]); diff != "" {
				t.Errorf("question (-want +got):\n%s", diff)
			}
			for _, key := range []string{"thoughts-4", "questions-2", "final"} {
				if text := d.callByKey(key).Request.Messages[0].Text(); strings.Contains(text, "side 1") {
					t.Errorf("%s speaks of it:\n%s", key, text)
				}
			}
		})
	}
}

// After a refusal of a long prompt, prompts are shorter, and no question is dropped.
func TestShorterPrompts(t *testing.T) {
	r := newReader()
	limit, refused := 16<<10, 0
	d := newDriver(t, "What is the sea?", Options{Docs: []string{"/docs"}, SynthesisInterval: 60, ToTheEnd: true}, 4*time.Minute, func(a ponder.Action) ponder.Body {
		if c, ok := a.(ponder.Call); ok && len(c.Request.Messages[0].Text()) > limit {
			refused++
			return failedCall(llm.TooLong, "the context has 8192 tokens")
		}
		return r.answerAction(a)
	}).runToEnd()
	if d.fin.Status != ponder.Completed || WithoutFigures(d.fin.Reason) != "time limit reached" || d.fin.Confidence != 0.7 {
		t.Errorf("finished %+v", d.fin)
	}
	if s := d.state.(*state); refused == 0 || refused > maxShrinks || s.Shrinks != refused {
		t.Errorf("%d prompts were refused, shrunk %d times", refused, s.Shrinks)
	}
	if notes := bodiesOf[ponder.SystemNote](d); len(notes) != 1 || notes[0].Content != contextFull {
		t.Errorf("the user sees the notes %+v, want one on the context", notes)
	}
	if c := d.callByKey(thoughts + "-1"); c.Request.MaxTokens != thoughtsTokens {
		t.Errorf("at first, an answer may have %d tokens", c.Request.MaxTokens)
	}
	if c := d.actions[len(d.actions)-1].(ponder.Call); c.Request.MaxTokens != finalTokens>>refused {
		t.Errorf("after %d refusals, the answer may have %d tokens", refused, c.Request.MaxTokens)
	}
	for _, b := range bodiesOf[ponder.QuestionUpdated](d) {
		if b.Dropped {
			t.Errorf("dropped: %+v", b)
		}
	}
}

func TestNotSetAside(t *testing.T) {
	d := newDriver(t, "What is the sea?", Options{SynthesisInterval: 1e6}, time.Minute, answersByKey(map[string]ponder.Body{"thoughts-3": failedCall(llm.Transient, "overloaded")})).runToEnd()
	if text := d.callByKey("thoughts-4").Request.Messages[0].Text(); !strings.Contains(text, "Current focus: What of side 1?") {
		t.Errorf("it is not asked again:\n%s", text)
	}
}

func TestOneBadMoment(t *testing.T) {
	for name, tt := range map[string]struct {
		bad    int
		class  llm.Class
		keys   string
		reason string
	}{
		"a wave":              {5, llm.Transient, "thoughts-1 thoughts-2 questions-1 thoughts-3 thoughts-4 thoughts-5 thoughts-6 thoughts-7 thoughts-8 ...", "time limit reached"},
		"three waves":         {11, llm.BadRequest, "thoughts-1 thoughts-2 questions-1 thoughts-3 thoughts-4 thoughts-5 thoughts-6 thoughts-7 thoughts-8 thoughts-9 thoughts-10 thoughts-11 final", "the model failed: no"},
		"a key that is wrong": {5, llm.Auth, "thoughts-1 thoughts-2 questions-1 thoughts-3 thoughts-4 thoughts-5 thoughts-6 thoughts-7 thoughts-8 ...", "time limit reached"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, "What is the sea?", Options{SynthesisInterval: 1e6, ToTheEnd: true, Parallel: 3}, 4*time.Minute, func(a ponder.Action) ponder.Body {
				if what, n := stepOf(keyOf(a)); what == thoughts && n >= 3 && n <= tt.bad {
					return failedCall(tt.class, "no")
				}
				return curiousAnswer(a)
			}).runToEnd()
			checkKeys(t, d, tt.keys)
			if d.fin.Status != ponder.Completed || WithoutFigures(d.fin.Reason) != tt.reason {
				t.Errorf("finished %+v", d.fin)
			}
		})
	}
}

// A failed synthesis waits for the next interval; thinking continues.
func TestSynthesesFail(t *testing.T) {
	for name, o := range map[string]Options{
		"alone": {SynthesisInterval: 1e6, ToTheEnd: true}, "often": {SynthesisInterval: 150, ToTheEnd: true}, "with documents": {SynthesisInterval: 1e6, ToTheEnd: true, Docs: []string{"/docs"}},
	} {
		for what, b := range map[string]ponder.Body{"overloaded": failedCall(llm.Transient, "overloaded"), "no such model": failedCall(llm.NotFound, "no such model"), "unreadable": textAnswer("{")} {
			t.Run(name+", "+what, func(t *testing.T) {
				d := newDriver(t, "What is the fact?", o, 10*time.Minute, func(a ponder.Action) ponder.Body {
					if do, ok := a.(ponder.Do); ok {
						return libraryHits(do, 60)
					}
					if what, _ := stepOf(keyOf(a)); what == synthesis {
						return b
					}
					return defaultAnswer(a)
				}).runToEnd()
				if n := d.state.(*state).Counts.Rounds; n < 30 {
					t.Errorf("%d rounds", n)
				}
				syntheses := 0
				for _, key := range d.actionKeys() {
					if what, _ := stepOf(key); what == synthesis && !strings.HasSuffix(key, retrySuffix) {
						syntheses++
					}
				}
				if syntheses < 3 || syntheses > 5 {
					t.Errorf("%d syntheses were asked for", syntheses)
				}
				if WithoutFigures(d.fin.Reason) != "time limit reached" || d.fin.Answer != "The answer, because of reasons." {
					t.Errorf("finished %+v", d.fin)
				}
			})
		}
	}
}

// Working syntheses do not hide failing thoughts.
func TestOnlySynthesesWork(t *testing.T) {
	d := newDriver(t, "What is the sea?", Options{SynthesisInterval: 5, ToTheEnd: true}, time.Hour, func(a ponder.Action) ponder.Body {
		if what, n := stepOf(keyOf(a)); what == thoughts && n > 2 {
			return failedCall(llm.BadRequest, "overloaded")
		}
		return defaultAnswer(a)
	}).runToEnd()
	if d.fin.Reason != "the model failed: overloaded" {
		t.Errorf("finished %+v after %s", d.fin, d.elapsed)
	}
}

// A conclusion applies the finished cells of a wave.
func TestHalfAWave(t *testing.T) {
	for name, b := range map[string]ponder.Body{"answer now": ponder.Steer{Do: ponder.AnswerNow}, "spent": ponder.BudgetSpent{What: "tokens"}} {
		t.Run(name, func(t *testing.T) {
			answered := 0
			d := newDriver(t, "What is the sea?", Options{Parallel: 3}, time.Hour, nil)
			d.answer = func(a ponder.Action) ponder.Body {
				if answered++; answered == 5 { // thoughts-1, thoughts-2, questions-1, thoughts-3, thoughts-4
					d.inputs = map[int]ponder.Body{len(d.log) + 1: b}
				}
				if keyOf(a) == "thoughts-3" {
					return failedCall(llm.Filtered, "no")
				}
				return curiousAnswer(a)
			}
			d.runToEnd()
			checkKeys(t, d, "thoughts-1 thoughts-2 questions-1 thoughts-3 thoughts-4 final")
			var texts []string
			for _, b := range bodiesOf[ponder.Thought](d)[6:] {
				texts = append(texts, b.Question+" "+b.Content)
			}
			if diff := cmp.Diff([]string{"q2 Thought 4a.", "q2 Thought 4b.", "q2 Thought 4c."}, texts); diff != "" {
				t.Errorf("thoughts (-want +got):\n%s", diff)
			}
			if text := d.callByKey("final").Request.Messages[0].Text(); !strings.Contains(text, "Thought 4c.") {
				t.Errorf("the answer is not told:\n%s", text)
			}
		})
	}
}

// If the final call fails, the answer has the thoughts of a model, then the best passages.
func TestTheAnswerFails(t *testing.T) {
	for name, tt := range map[string]struct {
		interval float64
		takes    time.Duration
		want     string
	}{
		"before a synthesis": {1e6, 15 * time.Second, thoughtAnswer + `

The thoughts with the highest confidence:

- The facts depend on each other [e1]. (insight, 0.80)
- The facts number two differ. (exploration, 0.40)

From the documents:

- “Fact 0 is known, but not (e0) to all.” [e1]
- “Fact 1 is known.” [e2]
- “Fact 2 is known, but not (e2) to all.” [e3]
- “Fact 3 is known, but not (e3) to all.” [e4]
- “Fact 4 is known.” [e5]
- “Fact 5 is known, but not (e5) to all.” [e6]`},
		"after one in quotations": {20, 25 * time.Second, thoughtAnswer + `

**What is the fact?**

- “Fact 0 is known, but not (e0) to all.” [e1]
- “Fact 1 is known.” [e2]
- “Fact 2 is known, but not (e2) to all.” [e3]
- “Fact 3 is known, but not (e3) to all.” [e4]
- “Fact 4 is known.” [e5]
- “Fact 5 is known, but not (e5) to all.” [e6]

The thoughts with the highest confidence:

- The facts depend on each other [e1]. (insight, 0.80)
- The facts number two differ. (exploration, 0.40)`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, "What is the fact?", Options{Docs: []string{"/docs"}, SynthesisInterval: tt.interval}, tt.takes, func(a ponder.Action) ponder.Body {
				if do, ok := a.(ponder.Do); ok {
					return libraryHits(do, 40)
				}
				switch keyOf(a) {
				case "thoughts-1":
					return textAnswer(`{"thoughts":[{"thought":"The facts depend on each other [e1].","type":"insight","confidence":0.8}]}`)
				case "thoughts-2":
					return textAnswer(`{"thoughts":[{"thought":"The facts number two differ.","confidence":0.4}]}`)
				}
				return failedCall(llm.Transient, "down")
			}).runToEnd()
			if diff := cmp.Diff(tt.want, d.fin.Answer); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}
