package research

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/llm"
)

const prose = "I would look at some books."

const doubted = "HMS Challenger sounded it in 1875 [e1]. A sounding of 1951 may have found the Mariana Trench [e2]. The trench is deep and dark for all who live there [e1]."

// proseFirst answers calls of a kind (all if empty) with prose first, then with then, or sensibly if
// nil.
func proseFirst(what string, then ponder.Body) fake {
	f := trench
	f.model = func(a ponder.Call) ponder.Body {
		kind := whatOf(a.Key)
		if kind == "write" {
			return textAnswer(doubted)
		}
		switch again := strings.HasSuffix(a.Key, "~2"); {
		case what != "" && kind != what:
		case !again:
			return textAnswer(prose)
		case then != nil:
			return then
		}
		if kind == "judge" {
			return textAnswer(`{"verdicts":[{"id":"c3","verdict":"supported"}]}`)
		}
		return defaultAnswer(a)
	}
	return f
}

// An unreadable answer is retried once with its error; then the new answer or the fallback is used.
func TestAskedAgain(t *testing.T) {
	missing := map[string]string{planKey: "Without a plan", "reflect": "No reflection", "judge": ""}
	for what, why := range map[string]string{planKey: "there are no queries in the answer", "reflect": "there is neither enough nor a query", "judge": "JSON"} {
		for name, then := range map[string]ponder.Body{"read": nil, "unreadable": textAnswer(prose), "fails": failedCall(llm.Auth, "key rejected"), "hangs": ponder.CallFinished{}} {
			t.Run(what+" "+name, func(t *testing.T) {
				f := proseFirst(what, then)
				answer := func(a ponder.Action) ponder.Body {
					b := f.answerAction(a)
					if fin, ok := b.(ponder.CallFinished); ok && len(fin.Message.Parts) == 0 && fin.Error == "" {
						return nil
					}
					return b
				}
				d := newDriver(t, deepest, Options{Web: true, Effort: normal}, 3*time.Minute, answer).runToEnd()
				if d.fin.Status != ponder.Completed {
					t.Fatalf("finished %+v", d.fin)
				}
				asked := slices.DeleteFunc(d.modelCalls(), func(c ponder.Call) bool { return whatOf(c.Key) != what })
				if want := map[bool]int{true: 1, false: 2}[name == "hangs"]; len(asked) != want {
					t.Fatalf("asked %v", d.actionKeys())
				}
				if len(asked) == 2 {
					before, again := asked[0], asked[1]
					msgs := again.Request.Messages
					if again.Key != before.Key+"~2" || again.Role != before.Role || len(msgs) != 3 || msgs[1].Text() != prose || !strings.Contains(msgs[2].Text(), why) {
						t.Errorf("asked again %s: %+v", again.Key, msgs)
					}
					if diff := cmp.Diff(before.Request.Messages[0], msgs[0]); diff != "" {
						t.Errorf("it is asked something else:\n%s", diff)
					}
				}
				told := func(b ponder.Progress) bool { return b.Label == missing[what] }
				if got := slices.ContainsFunc(bodiesOf[ponder.Progress](d), told); missing[what] != "" && got != (name != "read") {
					t.Errorf("the progress for %q: %v", missing[what], got)
				}
				judged := slices.ContainsFunc(bodiesOf[ponder.Claim](d), func(c ponder.Claim) bool { return strings.Contains(c.Reason, "the judge") })
				if judged != (what != "judge" || name == "read") {
					t.Errorf("claims %+v", bodiesOf[ponder.Claim](d))
				}
			})
		}
	}
}

func TestNotAskedAgain(t *testing.T) {
	for calls, want := range map[int]string{
		1: "planned", 2: "planned write-1", 3: "planned write-1 judge-1", 4: "planned planned~2 write-1 judge-1", 5: "planned planned~2 reflect-1 write-1 judge-1",
		6: "planned planned~2 reflect-1 write-1 judge-1", 7: "planned planned~2 reflect-1 write-1 judge-1", // who ignored the form is not asked for it again
	} {
		f := proseFirst("", textAnswer(prose))
		var d *driver
		d = newDriver(t, deepest, Options{Web: true, Effort: normal}, 3*time.Minute, func(a ponder.Action) ponder.Body {
			if _, ok := a.(ponder.Call); ok && len(d.modelCalls()) == calls {
				return failedCall(llm.Payment, "the budget is spent: calls")
			}
			return f.answerAction(a)
		})
		d.run.Budget.Calls = calls
		d.state = d.mode.Start(d.run)
		d.runToEnd()
		var keys []string
		for _, c := range d.modelCalls()[:min(len(d.modelCalls()), calls)] {
			keys = append(keys, c.Key)
		}
		if got := strings.Join(keys, " "); got != want || d.fin.Status != ponder.Completed {
			t.Errorf("%d calls: asked %s, want %s; %+v", calls, got, want, d.fin)
		}
	}
	for takes, want := range map[time.Duration]bool{7 * time.Second: true, 8 * time.Second: false} { // the limit is 15 s
		d := newDriver(t, deepest, Options{Web: true, Effort: normal}, time.Minute, proseFirst("", textAnswer(prose)).answerAction)
		d.takes = takes
		if got := slices.Contains(d.runToEnd().actionKeys(), "planned~2"); got != want {
			t.Errorf("a plan of %v is asked for again: %v", takes, got)
		}
	}
}

func TestAnswerNowWhereItAsksAgain(t *testing.T) {
	f := proseFirst(planKey, nil)
	var d *driver
	d = newDriver(t, deepest, Options{Web: true, Effort: normal}, 3*time.Minute, func(a ponder.Action) ponder.Body {
		if keyOf(a) == "planned~2" {
			d.appendEvent("", ponder.Steer{Do: ponder.AnswerNow})
			return nil
		}
		return f.answerAction(a)
	})
	d.runToEnd()
	told := slices.DeleteFunc(bodiesOf[ponder.Progress](d), func(b ponder.Progress) bool { return b.Stage != ponder.StageSteered })
	if len(told) != 1 || !slices.Contains(told[0].Cancelled, "planned~2") || slices.Contains(d.actionKeys(), "planned~2") || d.fin.Status != ponder.Completed {
		t.Errorf("told %+v, asked %v, finished %+v", told, d.actionKeys(), d.fin)
	}
}

func TestCutWhereItAsksAgain(t *testing.T) {
	for _, then := range []ponder.Body{nil, textAnswer(prose), failedCall(llm.Transient, "overloaded")} {
		f := proseFirst("", then)
		o := Options{Web: true, Effort: normal}
		whole := newDriver(t, deepest, o, 3*time.Minute, f.answerAction).runToEnd()
		want := enginetest.Lines(whole.log)
		for n := range whole.log {
			d := newDriver(t, deepest, o, 3*time.Minute, f.answerAction)
			d.quick = true
			for _, ev := range whole.log[:n] {
				d.applyEvent(ev)
			}
			if got := enginetest.Lines(d.runToEnd().log); !slices.Equal(want, got) {
				t.Fatalf("cut after %d of %d (-whole +continued):\n%s", n, len(whole.log), cmp.Diff(want, got))
			}
		}
	}
}

// testdata/unread.jsonl comes from a version without retries. It must fold and continue unchanged.
func TestLogsBeforeItAskedAgain(t *testing.T) {
	js, err := os.ReadFile("testdata/unread.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var log []ponder.Event
	for line := range bytes.Lines(js) {
		var ev ponder.Event
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatal(err)
		}
		log = append(log, ev)
	}
	f := proseFirst("", textAnswer(prose))
	o := Options{Web: true, Effort: normal}
	unread := map[string]string{"planned#1": "planned~2", "reflect-1#1": "reflect-1~2", "judge-1#1": "judge-1~2"}
	for n := 1; n <= len(log); n++ {
		d := newDriver(t, deepest, o, time.Minute, f.answerAction)
		d.quick = n < len(log)
		for _, ev := range log[:n] {
			d.applyEvent(ev)
		}
		d.runToEnd()
		want := ""
		for _, ev := range log[n-1:] { // the rest may be retried
			if want = unread[ev.Cause]; want != "" {
				break
			}
		}
		keys := slices.DeleteFunc(d.actionKeys(), func(key string) bool { return !strings.HasSuffix(key, "~2") })
		if len(keys) > 0 && keys[0] != want || (len(keys) > 0) != (want != "") || d.fin.Status != ponder.Completed {
			t.Errorf("cut after %d: asked again %v, want %s at first; finished %+v", n, keys, want, d.fin)
		}
		if got, all := enginetest.Lines(d.log), enginetest.Lines(log); want == "" && !slices.Equal(got, all) {
			t.Errorf("cut after %d (-was +is):\n%s", n, cmp.Diff(all, got))
		}
	}
}
