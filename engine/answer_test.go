package engine_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/llm"
)

// A streamer is a model that streams pieces at intervals. It repeats its last piece, except if
// it ends.
type streamer struct {
	pieces    []string
	reasoning bool
	every     time.Duration
	ends      bool
	stopped   *time.Duration // set when the reader left or cancelled
}

func (streamer) Name() string { return "local/streamer" }

func (m streamer) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		began := time.Now()
		defer func() { *m.stopped = time.Since(began) }()
		text := ""
		for i := 0; !m.ends || i < len(m.pieces); i++ {
			select {
			case <-time.After(m.every):
			case <-ctx.Done():
				yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Message: "cancelled", Usage: llm.Usage{Input: 7, Output: 5, Estimated: true}})
				return
			}
			piece := m.pieces[min(i, len(m.pieces)-1)]
			d := llm.Delta{Text: piece}
			if m.reasoning {
				d = llm.Delta{Reasoning: piece}
			} else {
				text += piece
			}
			if !yield(d, nil) {
				return
			}
		}
		yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, text), Finish: llm.FinishStop, Usage: llm.Usage{Input: 9, Output: 8}}}, nil)
	}
}

// schemaMode makes one call, with a schema unless it is verbatim, and answers with its text.
func schemaMode(verbatim bool) ponder.Mode {
	req := newRequest("say it in JSON")
	req.Verbatim, req.MaxTokens = verbatim, 100_000
	req.Schema = &llm.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`)}
	return ponder.Mode{Name: "schema", Version: 1, Start: func(ponder.Run) ponder.State { return &schemaState{req: req} }}
}

type schemaState struct {
	req  llm.Request
	said *ponder.CallFinished
}

func (s *schemaState) Apply(ev ponder.Event) ponder.State {
	if b, ok := ev.Body.(ponder.CallFinished); ok {
		return &schemaState{s.req, &b}
	}
	return s
}

func (s *schemaState) Next(ponder.Moment) []ponder.Action {
	if s.said != nil {
		return []ponder.Action{ponder.Finish{Answer: "said: " + s.said.Text() + s.said.Error}}
	}
	return []ponder.Action{ponder.Call{Key: "ask", Role: ponder.Slow, Request: s.req}}
}

// TestAnswerEnds checks that a call ends with its answer, even if the model continues.
func TestAnswerEnds(t *testing.T) {
	const value = `{"answer":"so it is"}`
	line := "The bank of the river is higher on the western side.\n"
	for name, tt := range map[string]struct {
		model    streamer
		verbatim bool
		text     string
		finish   llm.Finish
		within   time.Duration
	}{
		"a value and an end":                   {streamer{pieces: []string{value}, ends: true}, false, value, llm.FinishStop, time.Second},
		"white space without end":              {streamer{pieces: []string{value, " \n"}}, false, value, llm.FinishStop, 3 * time.Second},
		"a long pause":                         {streamer{pieces: []string{value, "\n"}, every: time.Minute}, false, value, llm.FinishStop, time.Minute + 3*time.Second},
		"prose without end":                    {streamer{pieces: []string{value, "and so "}}, false, value, llm.FinishStop, 3 * time.Second},
		"white space in the value":             {streamer{pieces: []string{`{"answer":`, "\n\n  "}}, false, `{"answer":`, llm.FinishLoop, 15 * time.Second},
		"white space before it":                {streamer{pieces: []string{"   "}}, false, "", llm.FinishLoop, 15 * time.Second},
		"the same item":                        {streamer{pieces: []string{`{"list":[`, `{"thought":"The bank of the river is higher on one side.","n":1},`}}, false, "", llm.FinishLoop, 15 * time.Second},
		"the same line":                        {streamer{pieces: []string{"So it is.\n", line}}, false, "So it is.\n" + line, llm.FinishLoop, 15 * time.Second},
		"reasoning in a circle":                {streamer{pieces: []string{"But wait, is that so? Let me think about it again.\n"}, reasoning: true}, false, "", llm.FinishLoop, 15 * time.Second},
		"a repetition that a client asked for": {streamer{pieces: []string{line, line, line, line, line, line, line, line, line, line}, ends: true}, true, strings.Repeat(line, 10), llm.FinishStop, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stopped time.Duration
				tt.model.stopped = &stopped
				if tt.model.every == 0 {
					tt.model.every = 50 * time.Millisecond
				}
				c := newConfig(&fake{})
				c.Modes = append(c.Modes, schemaMode(tt.verbatim))
				c.Models[ponder.Slow] = []ponder.Model{{Model: tt.model, Price: price}}
				eng := enginetest.Start(t, c)
				runMode(t, eng, "schema", ponder.Budget{})
				calls := finishedCalls(eng)
				if len(calls) != 1 {
					t.Fatalf("%d calls: %+v", len(calls), calls)
				}
				f := calls[0]
				if tt.text != "" && f.Text() != tt.text || f.Finish != tt.finish || f.Error != "" {
					t.Errorf("%q, %s, %s; want %q, %s", f.Text(), f.Finish, f.Error, tt.text, tt.finish)
				}
				if stopped == 0 || stopped > tt.within {
					t.Errorf("the stream was read for %s", stopped)
				}
				if f.Usage.Total() == 0 || f.Spent.Tokens == 0 {
					t.Errorf("usage %+v, spent %+v", f.Usage, f.Spent)
				}
				if n := strings.Count(f.Text(), strings.TrimSpace(line)); !tt.verbatim && n > 1 {
					t.Errorf("the line is in the answer %d times", n)
				}
			})
		})
	}
}
