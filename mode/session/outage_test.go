package session

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

// failBetween makes the model fail for an interval of thinking time.
func failBetween(d *driver, from, to time.Duration) {
	d.answer = func(a ponder.Action) ponder.Body {
		if d.elapsed >= from && d.elapsed < to {
			return failedCall(llm.Unreachable, "cannot connect")
		}
		return curiousAnswer(a)
	}
}

func TestOutage(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to time.Duration
		budget   time.Duration
		options  Options
		rests    string
		reason   string
		answer   string
	}{
		"of a minute": {
			from: time.Minute, to: 2 * time.Minute, budget: 6 * time.Minute,
			rests: "5s 10s 20s", reason: "time limit reached", answer: "The answer",
		},
		"of ten minutes": {
			from: time.Minute, to: 11 * time.Minute, budget: 16 * time.Minute,
			rests: "5s 10s 20s 40s 1m20s 2m0s 2m0s 2m0s", reason: "time limit reached", answer: "The answer",
		},
		"with documents": {
			from: time.Minute, to: 2 * time.Minute, budget: 6 * time.Minute, options: Options{Docs: []string{"/docs"}},
			rests: "5s 10s 20s", reason: "time limit reached", answer: "The answer",
		},
		"until the end": {
			from: time.Minute, to: time.Hour, budget: 5 * time.Minute,
			rests: "5s 10s 20s 40s 1m20s 2m0s, but the time limit ends in 15s", reason: "time limit reached, and the model stopped answering: cannot connect", answer: thoughtAnswer,
		},
		"for ever, and there is no end": {
			from: time.Minute, to: 1000 * time.Hour,
			rests: "5s 10s 20s 40s 1m20s" + strings.Repeat(" 2m0s", 15), reason: "the model failed: cannot connect", answer: thoughtAnswer,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.options.ToTheEnd = true
			d := newDriver(t, "What is the sea?", tt.options, tt.budget, nil)
			if failBetween(d, tt.from, tt.to); tt.options.Docs != nil {
				model := d.answer
				d.answer = func(a ponder.Action) ponder.Body {
					if do, ok := a.(ponder.Do); ok {
						return libraryHits(do, 60)
					}
					return model(a)
				}
			}
			d.runToEnd()
			var rests []string
			for _, b := range bodiesOf[ponder.Progress](d) {
				if long, ok := strings.CutPrefix(b.Content, "cannot connect; retrying in "); ok && b.Stage == stageWaiting {
					rests = append(rests, long)
				}
			}
			if got := strings.Join(rests, " "); got != tt.rests {
				t.Errorf("rested %s, want %s", got, tt.rests)
			}
			if d.fin.Status != ponder.Completed || WithoutFigures(d.fin.Reason) != tt.reason || !strings.HasPrefix(d.fin.Answer, tt.answer) {
				t.Errorf("finished %+v", d.fin)
			}
		})
	}
}

// A model's own retry time applies if longer; changed time limits count.
func TestWantsTime(t *testing.T) {
	for name, tt := range map[string]struct {
		wants, takes time.Duration
		more         string
		rest         string
	}{
		"more":                   {wants: 35 * time.Second, takes: 10 * time.Minute, rest: "35s"},
		"less":                   {wants: 2 * time.Second, takes: 10 * time.Minute, rest: "5s"},
		"far too much":           {wants: 48 * time.Hour, takes: 3 * time.Hour, rest: "1h0m0s"},
		"more than there is":     {wants: 35 * time.Second, takes: 90 * time.Second, rest: "35s, but the time limit ends in 30s"},
		"more than there was":    {wants: 35 * time.Second, takes: 90 * time.Second, more: `{"time_ns":600000000000}`, rest: "35s"},
		"with a limit, at first": {wants: 35 * time.Second, takes: 10 * time.Minute, more: `{"time_ns":90000000000}`, rest: "35s, but the time limit ends in 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, "What is the sea?", Options{ToTheEnd: true}, tt.takes, nil)
			d.answer = func(a ponder.Action) ponder.Body {
				if d.elapsed < time.Minute {
					return curiousAnswer(a)
				}
				f := failedCall(llm.Unreachable, "cannot connect").(ponder.CallFinished)
				f.NotBefore = d.wallTime().Add(tt.wants)
				return f
			}
			if tt.more != "" {
				d.inputs = map[int]ponder.Body{2: ponder.Steer{Do: ponder.SetBudget, Args: json.RawMessage(tt.more)}}
			}
			rest := func() string {
				for _, b := range bodiesOf[ponder.Progress](d) {
					if b.Stage == stageWaiting {
						return b.Content
					}
				}
				return ""
			}
			for rest() == "" && d.fin == nil {
				d.doNext()
			}
			if want := "cannot connect; retrying in " + tt.rest; rest() != want {
				t.Errorf("%q, want %q", rest(), want)
			}
		})
	}
}

// An empty or refusing answer is reported with its model.
func TestUnanswered(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "test/model: gave an empty answer: try again, or use another model",
		"I'm sorry, but I can't help with that.": "test/model: answered “I'm sorry, but I can't help with that.”, which cannot be used (the model refused to answer): rephrase the question, or use another model",
	} {
		if d := newDriver(t, "What is the sea?", Options{}, time.Minute, alwaysAnswer(textAnswer(text))).runToEnd(); d.fin.Status != ponder.Failed || d.fin.Reason != want {
			t.Errorf("%q: finished %+v, want %s", text, d.fin, want)
		}
	}
}

func TestAnswerNowInAnOutage(t *testing.T) {
	d := newDriver(t, "What is the sea?", Options{ToTheEnd: true}, time.Hour, nil)
	failBetween(d, time.Minute, time.Hour)
	for d.state.(*state).Outage.Waits < 5 {
		d.doNext()
	}
	before := d.elapsed
	d.appendEvent("", ponder.Steer{Do: ponder.AnswerNow})
	d.runToEnd()
	if d.elapsed > before+d.takes || !strings.HasPrefix(d.fin.Answer, thoughtAnswer) {
		t.Errorf("after %s: %+v", d.elapsed-before, d.fin)
	}
}

// A failure that only the user can repair pauses the session; it continues on resume.
func TestPausesToBeMended(t *testing.T) {
	for class, pauses := range map[llm.Class]int{llm.Auth: 3, llm.Payment: 3, llm.NotFound: 3, llm.BadRequest: 0} {
		for _, docs := range [][]string{nil, {"/docs"}} {
			d := newDriver(t, "What is the sea?", Options{Docs: docs, ToTheEnd: true, SynthesisInterval: 1e6}, 10*time.Minute, nil)
			bad := 0
			d.answer = func(a ponder.Action) ponder.Body {
				if do, ok := a.(ponder.Do); ok {
					return libraryHits(do, 60)
				}
				if what, _ := stepOf(keyOf(a)); d.elapsed > time.Minute && bad < 3 && (docs == nil || bad > 0 || what == questions) {
					bad++
					return failedCall(class, "it will not.")
				}
				return curiousAnswer(a)
			}
			d.runToEnd()
			var said []string
			for _, b := range bodiesOf[ponder.RunPaused](d) {
				said = append(said, b.Reason)
			}
			if len(said) != pauses || pauses > 0 && said[0] != "it will not" {
				t.Errorf("%s: paused %q, want %d times", class, said, pauses)
			}
			v := NewView()
			for _, ev := range append([]ponder.Event{{Run: testRun, Body: ponder.RunStarted{Mode: Name}}}, d.log...) {
				v = v.Apply(ev)
				s := v.Session
				if b, ok := ev.Body.(ponder.RunPaused); ok && (s.Status != ponder.Paused || s.StopReason != b.Reason) {
					t.Errorf("%s: shown as %s, %q", class, s.Status, s.StopReason)
				}
				if _, ok := ev.Body.(ponder.RunResumed); ok && (s.Status != ponder.Thinking || s.StopReason != "") {
					t.Errorf("%s: shown as %s, %q", class, s.Status, s.StopReason)
				}
			}
			for _, b := range bodiesOf[ponder.Progress](d) {
				if pauses > 0 && b.Stage == stageWaiting {
					t.Errorf("%s: said %q, and paused", class, b.Content)
				}
			}
			if pauses > 0 && (WithoutFigures(d.fin.Reason) != "time limit reached" || d.fin.Answer != "The answer, because of reasons.") {
				t.Errorf("%s: finished %+v", class, d.fin)
			}
		}
	}
	// Unattended sessions do not pause.
	d := newDriver(t, "What is the sea?", Options{Unattended: true}, time.Hour, func(a ponder.Action) ponder.Body {
		if what, n := stepOf(keyOf(a)); what == thoughts && n > 2 {
			return failedCall(llm.Auth, "no")
		}
		return curiousAnswer(a)
	}).runToEnd()
	if n := len(bodiesOf[ponder.RunPaused](d)); n > 0 || d.fin.Status != ponder.Completed || d.fin.Reason != "the model failed: no" {
		t.Errorf("paused %d times, and finished %+v", n, d.fin)
	}
	// A pause repairs neither a budget, nor a model that never worked, nor an end.
	refused := ponder.CallFinished{Outcome: ponder.Outcome{Error: "the budget is spent: money", Class: llm.Payment, Refused: true}}
	d = newDriver(t, "What is the sea?", Options{}, time.Hour, answersByKey(map[string]ponder.Body{"thoughts-2": refused, "thoughts-3": refused, "thoughts-4": refused})).runToEnd()
	if n := len(bodiesOf[ponder.RunPaused](d)); n > 0 {
		t.Errorf("paused %d times for a budget", n)
	}
	d = newDriver(t, "What is the sea?", Options{}, time.Hour, alwaysAnswer(failedCall(llm.Auth, "no"))).runToEnd()
	if n := len(bodiesOf[ponder.RunPaused](d)); n > 0 || d.fin.Status != ponder.Failed {
		t.Errorf("paused %d times before it began, and finished %+v", n, d.fin)
	}
}

// Quoting after a failure reports its reason once.
func TestQuotesInstead(t *testing.T) {
	d := newDriver(t, "What is the sea?", Options{Docs: []string{"/docs"}}, time.Hour, nil)
	d.answer = func(a ponder.Action) ponder.Body {
		if do, ok := a.(ponder.Do); ok {
			return libraryHits(do, 60)
		}
		return failedCall(llm.Auth, "key rejected (401): set P_KEY.")
	}
	d.runToEnd()
	var notes []string
	for _, b := range bodiesOf[ponder.Progress](d) {
		if b.Stage == stageWaiting {
			notes = append(notes, b.Content)
		}
	}
	if got := strings.Join(notes, "; "); got != "key rejected (401): set P_KEY; using quotations instead" {
		t.Errorf("noted %q", got)
	}
	if d.fin.Status != ponder.Completed || !strings.HasSuffix(d.fin.Reason, ", and the model did not answer: key rejected (401): set P_KEY") {
		t.Errorf("finished %+v", d.fin)
	}
}

// The call for the answer waits for repair without further thoughts. Answer-now and unattended
// sessions get an answer from existing thoughts.
func TestPausesForTheAnswer(t *testing.T) {
	const answered, without = "The answer, because of reasons.", thoughtAnswer
	for name, tt := range map[string]struct {
		options   Options
		class     llm.Class
		bad       int
		calls     int
		answerNow bool
		first     ponder.Body // result of the first such call, if it succeeds
		keys      string
		answer    string
		reason    string
	}{
		"an answer":             {class: llm.Auth, bad: 2, keys: "final final~other final-1", answer: answered, reason: "time limit reached"},
		"of the other model":    {class: llm.Auth, bad: 3, keys: "final final~other final-1 final-1~other", answer: answered, reason: "time limit reached"},
		"of one model":          {options: Options{FinalRole: ponder.Slow}, class: llm.Payment, bad: 1, keys: "final final-1", answer: answered, reason: "time limit reached"},
		"once more":             {options: Options{FinalRole: ponder.Slow}, class: llm.NotFound, bad: 2, keys: "final final-1 final-2", answer: answered, reason: "time limit reached"},
		"in documents":          {options: Options{FinalRole: ponder.Slow, Docs: []string{"/docs"}}, class: llm.Auth, bad: 1, keys: "final final-1", answer: answered, reason: "time limit reached"},
		"trouble that may pass": {options: Options{FinalRole: ponder.Slow}, class: llm.Transient, bad: 1, keys: "final", answer: without, reason: "time limit reached, and the model stopped answering: it will not"},
		"nobody there":          {options: Options{FinalRole: ponder.Slow, Unattended: true}, class: llm.Auth, bad: 1, keys: "final", answer: without, reason: "time limit reached, and the model stopped answering: it will not"},
		"no calls left":         {options: Options{FinalRole: ponder.Slow}, class: llm.Auth, bad: 1, calls: 1, keys: "final", answer: without, reason: "time limit reached, and the model stopped answering: it will not"},
		"wanted at once":        {options: Options{FinalRole: ponder.Slow}, class: llm.Auth, bad: 1, answerNow: true, keys: "final", answer: without, reason: "the user requested the answer, and the model stopped answering: it will not"},
		"unreadable":            {options: Options{FinalRole: ponder.Slow}, class: llm.Auth, bad: 1, first: textAnswer(`["It is so, all in all, as far as can be said."]`), keys: "final final~2", answer: "It is so, all in all, as far as can be said.", reason: "time limit reached"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.options.SynthesisInterval, tt.options.ToTheEnd = 1e6, true
			begin := func(seen ...ponder.Event) *driver {
				d := newDriver(t, "What is the sea?", tt.options, time.Minute, nil)
				if d.run.Budget.Calls = tt.calls; tt.calls > 0 {
					d.state = d.mode.Start(d.run)
				}
				if tt.answerNow && len(seen) < 4 {
					d.inputs = map[int]ponder.Body{4: ponder.Steer{Do: ponder.AnswerNow}}
				}
				d.answer = func(a ponder.Action) ponder.Body {
					if do, ok := a.(ponder.Do); ok {
						return libraryHits(do, 60)
					}
					bad := 0
					for _, b := range bodiesOf[ponder.CallFinished](d) {
						if b.Error != "" {
							bad++
						}
					}
					switch {
					case !strings.HasPrefix(keyOf(a), final) || bad >= tt.bad:
						return curiousAnswer(a)
					case tt.first != nil && keyOf(a) == final:
						return tt.first
					}
					return failedCall(tt.class, "it will not.")
				}
				d.quick = seen != nil // the whole run is checked already
				for _, ev := range seen {
					d.applyEvent(ev)
				}
				if tt.answerNow && len(seen) == 4 {
					d.appendEvent("", ponder.Steer{Do: ponder.AnswerNow})
				}
				return d
			}
			d := begin().runToEnd()
			want := jsonLines(t, d.log)
			for n := range d.log {
				if diff := cmp.Diff(want, jsonLines(t, begin(d.log[:n]...).runToEnd().log)); diff != "" {
					t.Fatalf("cut after %d of %d (-whole +continued):\n%s", n, len(d.log), diff)
				}
			}
			var keys []string
			for _, key := range d.actionKeys() {
				if strings.HasPrefix(key, final) {
					keys = append(keys, key)
				} else if keys != nil {
					t.Errorf("%s is wanted after %s", key, keys)
				}
				if strings.HasPrefix(key, final) != IsShown(key+"#1") {
					t.Errorf("%s is shown: %t", key, IsShown(key+"#1"))
				}
			}
			if got := strings.Join(keys, " "); got != tt.keys {
				t.Errorf("asked %s, want %s", got, tt.keys)
			}
			if d.fin.Status != ponder.Completed || WithoutFigures(d.fin.Reason) != tt.reason || !strings.HasPrefix(d.fin.Answer, tt.answer) {
				t.Errorf("finished %+v", d.fin)
			}
			pauses := max(0, strings.Count(tt.keys, "final-")-strings.Count(tt.keys, "final-1~other"))
			if said := bodiesOf[ponder.RunPaused](d); len(said) != pauses || pauses > 0 && said[0].Reason != "it will not" {
				t.Errorf("paused %v, want %d times", said, pauses)
			}
			for _, b := range bodiesOf[ponder.Progress](d) {
				if pauses > 0 && b.Stage == stageWaiting {
					t.Errorf("said %q, and paused", b.Content)
				}
			}
		})
	}
}

// Answer-now during such a wait gives an answer on resume.
func TestAnswerNowWhileItWaits(t *testing.T) {
	d := newDriver(t, "What is the sea?", Options{}, time.Minute, func(a ponder.Action) ponder.Body {
		if strings.HasPrefix(keyOf(a), final) {
			return failedCall(llm.Auth, "it will not.")
		}
		return curiousAnswer(a)
	})
	for !d.paused {
		d.doNext()
	}
	for _, refused := range []bool{false, true} {
		d.appendEvent("", ponder.Steer{Do: ponder.AnswerNow})
		d.doNext()
		said := bodiesOf[ponder.Progress](d)
		if b := said[len(said)-1]; b.Stage != ponder.StageSteered || b.Refused != refused {
			t.Errorf("said %+v", b)
		}
	}
	d.runToEnd()
	if n := len(bodiesOf[ponder.RunPaused](d)); n != 1 || !strings.HasPrefix(d.fin.Answer, thoughtAnswer) {
		t.Errorf("paused %d times, and finished %+v", n, d.fin)
	}
}
