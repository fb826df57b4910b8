package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
)

// fake is a model whose answer depends on the request alone.
type fake struct {
	name   string
	answer func(*llm.Request) (string, error) // the text; nil: the last user text
	takes  func(*llm.Request) time.Duration   // if nil, 1 to 11 s by the request
	claims func(*llm.Request, *llm.Usage)
	endles bool
	begun  atomic.Int32
	ended  atomic.Int32 // including cancelled ones
}

func (m *fake) Name() string {
	if m.name == "" {
		return "fake/model"
	}
	return m.name
}

func (m *fake) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.begun.Add(1)
		defer m.ended.Add(1)
		last := req.Messages[len(req.Messages)-1].Text()
		h := fnv.New32()
		h.Write([]byte(last))
		takes := time.Second + time.Duration(h.Sum32()%10_000)*time.Millisecond
		if m.takes != nil {
			takes = m.takes(req)
		}
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: m.Name(), Message: "cancelled", Err: ctx.Err()})
			return
		}
		for m.endles && yield(llm.Delta{Text: "and on "}, nil) {
		}
		if m.endles {
			return
		}
		text, err := last, error(nil)
		if m.answer != nil {
			text, err = m.answer(req)
		}
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		use := llm.Usage{Input: req.Size() / 4, Output: len(text)/4 + 1}
		if m.claims != nil {
			m.claims(req, &use)
		}
		if yield(llm.Delta{Text: text}, nil) {
			yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, text), Finish: llm.FinishStop, Model: m.Name(), Usage: use}}, nil)
		}
	}
}

func newRequest(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{llm.Say(llm.User, text)}, MaxTokens: 1000}
}

// steps is the state of a mode that makes n consecutive calls, writes two thoughts after
// each, and concludes. It uses a tool before each third call.
type steps struct {
	N      int
	Words  int      // after each question
	Step   int      // finished calls
	Looked bool     // the tool was used before this call
	Said   []string // answers
	End    string   // why it concludes early
	Final  *string
	Failed string
}

func stepsMode(n int) ponder.Mode {
	return ponder.Mode{
		Name: "steps", Version: 1,
		Start: func(ponder.Run) ponder.State { return steps{N: n} },
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			var s steps
			err := json.Unmarshal(js, &s)
			return s, err
		},
	}
}

// wordyMode has requests that are long enough to train the estimator of tokens.
func wordyMode(n int) ponder.Mode {
	m := stepsMode(n)
	m.Start = func(ponder.Run) ponder.State { return steps{N: n, Words: 100} }
	return m
}

func (s steps) Apply(ev ponder.Event) ponder.State {
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		switch {
		case strings.HasPrefix(ev.Cause, "final"):
			text := b.Text() + b.Error
			s.Final = &text
		case b.Error != "":
			s.Failed, s.Step, s.Looked = b.Error, s.Step+1, false
		default:
			s.Said = append(s.Said[:len(s.Said):len(s.Said)], b.Text())
			s.Step, s.Looked = s.Step+1, false
		}
	case ponder.ToolResult:
		s.Looked = true
	case ponder.BudgetSpent:
		s.End = b.What + " is spent"
	case ponder.Steer:
		if b.Do == ponder.AnswerNow {
			s.End = "asked to answer now"
		}
	}
	return s
}

func (s steps) Next(now ponder.Moment) (do []ponder.Action) {
	if n := len(s.Said); n > 0 {
		do = append(do, ponder.Write{Key: fmt.Sprintf("note-%d", n), Bodies: []ponder.Body{
			ponder.Thought{Content: s.Said[n-1], Kind: "exploration"}, ponder.Thought{Content: "so: " + s.Said[n-1], Kind: "insight"},
		}})
	}
	switch {
	case s.Final != nil:
		return append(do, ponder.Finish{Answer: "answer: " + *s.Final, Reason: s.End})
	case s.End != "" || s.Step >= s.N:
		return append(do, ponder.Call{Key: "final", Role: ponder.Frontier, Request: newRequest("final " + strings.Join(s.Said, ","))})
	case s.Step%3 == 2 && !s.Looked:
		return append(do, ponder.Do{Key: fmt.Sprintf("look-%d", s.Step), Tool: "look", Args: json.RawMessage(`{"q":"x"}`)})
	}
	return append(do, ponder.Call{Key: fmt.Sprintf("step-%d", s.Step), Role: ponder.Slow, Request: newRequest(fmt.Sprintf("step %d", s.Step) + strings.TrimRight(" "+distinctWords(s.Words), " "))})
}

// panel is the state of a mode that asks three children and a model, and concludes after
// all answers.
type panel struct {
	Answers map[string]string
	Mine    string
}

func panelMode() ponder.Mode {
	return ponder.Mode{
		Name: "panel", Version: 1,
		Start: func(ponder.Run) ponder.State { return panel{} },
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			var s panel
			err := json.Unmarshal(js, &s)
			return s, err
		},
	}
}

func (p panel) Apply(ev ponder.Event) ponder.State {
	switch b := ev.Body.(type) {
	case ponder.RunFinished:
		all := map[string]string{string(ev.Run): string(b.Status) + ": " + b.Answer}
		for k, v := range p.Answers {
			all[k] = v
		}
		p.Answers = all
	case ponder.CallFinished:
		p.Mine = b.Text() + b.Error
	}
	return p
}

func (p panel) Next(ponder.Moment) (do []ponder.Action) {
	if len(p.Answers) == 3 && p.Mine != "" {
		return []ponder.Action{ponder.Finish{Answer: fmt.Sprint(p.Mine, p.Answers)}}
	}
	for _, k := range []string{"a", "b", "c"} {
		do = append(do, ponder.Spawn{Key: k, Mode: "steps", Input: k})
	}
	return append(do, ponder.Call{Key: "mine", Role: ponder.Fast, Request: newRequest("mine")})
}

var look = ponder.NewTool("look", "Look.", nil, func(ctx context.Context, in struct{ Q string }) (string, error) {
	select {
	case <-time.After(700 * time.Millisecond):
	case <-ctx.Done():
	}
	return "found " + in.Q, ctx.Err()
})

// price is 1 USD per million input tokens and 4 USD per million output tokens.
var price = ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 4}

// newConfig returns a configuration with the modes of these tests and one model.
func newConfig(m *fake) engine.Config {
	return engine.Config{
		Modes: []ponder.Mode{stepsMode(4), panelMode()}, Tools: []ponder.Tool{look}, Models: enginetest.Models(m, price),
	}
}

// totalSpent returns the total cost of the finished calls.
func totalSpent(evs []ponder.Event) (c ponder.Cost) {
	for _, ev := range evs {
		if b, ok := ev.Body.(ponder.CallFinished); ok {
			c = c.Add(b.Spent)
		}
	}
	return c
}

// openCalls returns the calls without a result.
func openCalls(evs []ponder.Event) map[string]bool {
	open := make(map[string]bool)
	for _, ev := range evs {
		switch ev.Body.(type) {
		case ponder.CallStarted:
			open[string(ev.Run)+ev.Cause] = true
		case ponder.CallFinished:
			delete(open, string(ev.Run)+ev.Cause)
		}
	}
	return open
}

func runMode(t *testing.T, m *enginetest.Engine, mode string, b ponder.Budget) ponder.RunFinished {
	t.Helper()
	return m.Ask(mode, "?", nil, b)
}

// distinctWords returns n words of six bytes, which are no repetition.
func distinctWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%04d ", i)
	}
	return b.String()
}
