package llmtest

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"ponder/llm"
	"ponder/llm/llmtest/internal/mimic"
)

// A take is one answer of a [Model] as it is given.
type take struct {
	model  *Model
	ctx    context.Context
	yield  func(llm.Delta, error) bool
	rng    *rand.Rand
	finish llm.Finish
	broken bool // whoever reads has stopped
}

// play gives the answer. It returns why there is none.
func (t *take) play(req *llm.Request, attempt int) error {
	m := t.model
	if err := t.wait(m.Latency); err != nil {
		return err
	}
	if m.has(Hang) {
		return t.forever()
	}
	if attempt <= m.Failures {
		if m.Failure != nil {
			return m.Failure
		}
		return &llm.Error{Class: llm.Transient, Message: "overloaded", Status: 503}
	}
	answer := m.Answer
	if answer == nil {
		answer = Plausible(0)
	}
	msg, err := answer(req)
	if err != nil {
		return err
	}
	msg = t.conduct(req, msg)
	if err := t.stream(msg); err != nil || t.broken {
		return err
	}
	t.yield(llm.Delta{Done: &llm.Response{Message: msg, Finish: t.finish, Model: m.Name(), Usage: t.usage(req, msg)}}, nil)
	return nil
}

// conduct changes an answer as the model behaves.
func (t *take) conduct(req *llm.Request, msg llm.Message) llm.Message {
	m, text := t.model, msg.Text()
	if t.finish = llm.FinishStop; len(msg.Calls()) > 0 {
		t.finish = llm.FinishTools
	}
	switch {
	case m.has(Empty):
		msg = llm.Message{Role: llm.Assistant}
	case m.has(Overlong):
		msg = llm.Say(llm.Assistant, strings.Repeat(text+"\n\n", overlong))
	case m.has(Malformed):
		msg = llm.Say(llm.Assistant, mimic.Mangle(hashOf(req), text))
	case req.MaxTokens > 0 && countPieces(text) > req.MaxTokens:
		msg, t.finish = llm.Say(llm.Assistant, cutPieces(text, req.MaxTokens)), llm.FinishLength
	}
	if m.has(Reason) {
		thought := mimic.New(hashOf(req), mimic.Prompt{Text: lastText(req)}).Reasoning()
		msg.Parts = append([]llm.Part{{Reasoning: thought}}, msg.Parts...)
	}
	return msg
}

// stream gives the text of an answer in pieces.
func (t *take) stream(msg llm.Message) error {
	for _, p := range msg.Parts {
		if p.Reasoning != "" && !t.give(llm.Delta{Reasoning: p.Reasoning}) {
			return t.ctx.Err()
		}
	}
	n := t.model.Deltas
	if n <= 0 {
		n = 4
	}
	i := 0
	for piece := range pieces(msg.Text(), n, t.model.has(Endless)) {
		if i > 0 {
			if err := t.wait(t.between()); err != nil {
				return err
			}
		}
		if !t.give(llm.Delta{Text: piece}) {
			return t.ctx.Err()
		}
		if i++; i < max(n/2, 1) {
			continue
		}
		if t.model.has(Stall) {
			return t.forever()
		}
		if t.model.has(Cut) {
			return &llm.Error{Class: llm.Truncated, Message: "the stream ended before the answer did"}
		}
	}
	return nil
}

// between is the time from one delta to the next. An endless answer takes some.
func (t *take) between() Delay {
	if d := t.model.Between; d.Mean > 0 || !t.model.has(Endless) {
		return d
	}
	return Delay{Mean: time.Millisecond}
}

// give yields a delta and reports whether there is someone who reads on.
func (t *take) give(d llm.Delta) bool {
	t.broken = !t.yield(d, nil)
	return !t.broken
}

func (t *take) wait(d Delay) error {
	if w := d.draw(t.rng); w > 0 {
		sleep(t.ctx, w)
	}
	return t.ctx.Err()
}

func (t *take) forever() error {
	<-t.ctx.Done()
	return t.ctx.Err()
}

// usage is what the model says it used.
func (t *take) usage(req *llm.Request, msg llm.Message) llm.Usage {
	u := llm.Usage{Input: (req.Size() + 3) / 4, Output: (msg.Size() + 3) / 4}
	for _, p := range msg.Parts {
		u.Reasoning += (len(p.Reasoning) + 3) / 4
	}
	switch m := t.model; {
	case m.has(UsageZero):
		u = llm.Usage{}
	case m.has(UsageNegative):
		u = llm.Usage{Input: -u.Input, Output: -u.Output}
	case m.has(UsageHuge):
		u = llm.Usage{Input: 4e9, Output: 4e9}
	case m.has(UsageMissing):
		u.Estimated = true
	}
	if t.model.Usage != nil {
		t.model.Usage(req, &u)
	}
	return u
}
