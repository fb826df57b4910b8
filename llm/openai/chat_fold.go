package openai

import (
	"encoding/json"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

const (
	maxAnswer = 64 << 20 // bytes
	maxCalls  = 1000
)

// A chatFold implements wire.Fold for chat completions.
type chatFold struct {
	model  string // full, requested
	size   int    // request bytes
	answer string // tool that answers

	id, served string
	parts      wire.Parts
	field      string // of the reasoning
	details    details
	calls      []*partialCall
	inputs     int
	refused    bool
	finish     string
	done       bool
	used       llm.Usage
}

type partialCall struct {
	index    int
	id, name string
	input    []byte
}

func (f *chatFold) Add(data []byte) (out llm.Delta, last bool, err error) {
	if string(data) == "[DONE]" {
		f.done = true
		return out, true, nil
	}
	if q, ok := quickChunk(data, f.id, f.served); ok {
		err = f.addQuick(&q, &out)
		return out, false, err
	}
	return f.decodeChunk(data)
}

// decodeChunk reads chunks that quickChunk cannot.
func (f *chatFold) decodeChunk(data []byte) (out llm.Delta, last bool, err error) {
	var c chunk
	switch err := unmarshalLenient(data, &c); {
	case err != nil && f.finish != "":
		return out, true, nil // complete
	case err != nil && strings.HasPrefix("[DONE]", string(data)):
		return out, false, nil // truncated
	case err != nil:
		return out, false, wire.PieceError("a chunk", err)
	}
	f.addHead(&c)
	for i := range c.Choices {
		p := &c.Choices[i]
		if p.Index != 0 {
			continue
		}
		f.chooseMessage(p)
		if err := f.addChoice(p, &out); err != nil {
			return out, false, err
		}
		if p.Message != nil && (p.Finish != "" || c.Object == "chat.completion") {
			f.done, last = true, true
		}
	}
	return out, last, f.brokenError()
}

// chooseMessage prefers a delta to a message, in which Perplexity repeats the text so far.
func (f *chatFold) chooseMessage(p *streamChoice) {
	if p.Delta != nil && p.Message != nil && (p.Delta.hasContent() || !p.Message.hasContent() || f.parts.Size()+f.inputs > 0) {
		p.Message = nil
	}
}

func (s *messageDelta) hasContent() bool {
	return s.Content != content{} || s.ReasoningContent != "" || s.Reasoning != "" || s.Refusal != "" || len(s.Details)+len(s.Calls) > 0
}

func (f *chatFold) addChoice(p *streamChoice, out *llm.Delta) error {
	f.countUsage(p.Usage)
	if e := wire.InBandError(errorJSON(p.Error)); e != nil {
		return e
	}
	if p.Message != nil {
		renumberCalls(p.Message.Calls, len(f.calls))
	}
	for _, s := range []*messageDelta{p.Delta, p.Message} {
		if s == nil {
			continue
		}
		if err := f.addDelta(s, out); err != nil {
			return err
		}
	}
	if p.Finish != "" {
		f.finish = p.Finish
	}
	return nil
}

func (f *chatFold) addQuick(q *quickResult, out *llm.Delta) error {
	f.id, f.served = q.id, q.model
	f.countUsage(&q.used)
	if err := f.addDelta(&q.said, out); err != nil {
		return err
	}
	if q.finish == "" {
		return nil
	}
	f.finish = q.finish
	return f.brokenError()
}

func (f *chatFold) addHead(c *chunk) {
	if c.ID != "" {
		f.id = c.ID
	}
	if c.Model != "" {
		f.served = c.Model
	}
	f.countUsage(c.Usage)
	if c.Groq != nil {
		f.countUsage(c.Groq.Usage)
	}
}

// countUsage replaces the usage; a cost persists until the next one.
func (f *chatFold) countUsage(u *usage) { f.used = newerUsage(f.used, u) }

// newerUsage returns u's usage, with gaps filled from before.
func newerUsage(before llm.Usage, u *usage) llm.Usage {
	used := u.toUsage()
	if used.Cost == nil {
		used.Cost = before.Cost
	}
	if used.Total() == 0 {
		before.Cost = used.Cost
		return before
	}
	return used
}

// brokenError returns an error if the server gave up.
func (f *chatFold) brokenError() error {
	switch strings.ToLower(f.finish) {
	case "error", "network_error", "insufficient_system_resource":
		return &llm.Error{Class: llm.Transient, Message: "the provider broke off the answer: " + f.finish}
	}
	return nil
}

func (f *chatFold) addDelta(s *messageDelta, out *llm.Delta) error {
	if err := f.details.addDetails(s.Details); err != nil {
		return err
	}
	thought := s.Content.reasoning
	switch {
	case s.ReasoningContent != "":
		f.field, thought = "reasoning_content", s.ReasoningContent
	case s.Reasoning != "":
		f.field, thought = "reasoning", s.Reasoning
	case thought == "" && len(s.Details) > 0:
		thought = detailText(s.Details)
	}
	text := s.Content.text
	if s.Refusal != "" {
		f.refused = true
		text += s.Refusal
	}
	if err := f.showText(out, thought, text); err != nil {
		return err
	}
	return f.addCalls(s.Calls, out)
}

func (f *chatFold) showText(out *llm.Delta, thought, text string) error {
	out.Reasoning += thought
	out.Text += text
	return f.parts.Show(thought, text)
}

func (f *chatFold) addCalls(pieces []callPiece, out *llm.Delta) error {
	for _, p := range pieces {
		c := f.findCall(&p)
		if p.Function.Name != "" {
			c.name = p.Function.Name
		}
		if p.ID != "" {
			c.id = p.ID
		}
		text := string(p.Function.Arguments)
		if f.answer != "" && c.name == f.answer {
			if err := f.showText(out, "", text); err != nil {
				return err
			}
			continue
		}
		c.input = append(c.input, text...)
		if f.inputs += len(text) + len(p.ID) + len(p.Function.Name); f.inputs > maxAnswer || len(f.calls) > maxCalls {
			return errTooLarge
		}
	}
	return nil
}

// renumberCalls renumbers a whole message's calls.
func renumberCalls(calls []callPiece, n int) {
	for i := range calls {
		calls[i].Index = new(n + i)
	}
}

func errorJSON(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return nil
	}
	return []byte(`{"error":` + string(raw) + `}`)
}

// findCall returns a piece's call, or a new one. Pieces may lack an index or repeat the ID;
// some servers give all calls the same index.
func (f *chatFold) findCall(p *callPiece) *partialCall {
	n := len(f.calls)
	index := n
	if p.Index != nil {
		index = *p.Index
		for i := n - 1; i >= 0; i-- {
			if f.calls[i].index == index && !f.calls[i].isOtherCall(p) {
				return f.calls[i]
			}
		}
	} else {
		for _, c := range f.calls {
			if p.ID != "" && c.id == p.ID {
				return c
			}
		}
		if n > 0 && !f.calls[n-1].isOtherCall(p) && (p.ID != "" || p.Function.Name == "") {
			return f.calls[n-1]
		}
	}
	c := &partialCall{index: index}
	f.calls = append(f.calls, c)
	return c
}

func (c *partialCall) isOtherCall(p *callPiece) bool {
	if p.Function.Name == "" || c.name == "" {
		return false
	}
	if p.ID != "" && c.id != "" {
		return p.ID != c.id
	}
	return p.Function.Arguments != "" && len(c.input) > 0 && json.Valid(c.input) // c is complete
}

func (f *chatFold) Usage() llm.Usage {
	if f.parts.Size()+f.inputs == 0 && f.used.Total() == 0 {
		return f.used
	}
	return wire.FillMissing(f.used, f.size, f.parts.Size()+f.inputs)
}

func (f *chatFold) IsFinished() bool { return f.finish != "" || f.done }

func (f *chatFold) Answer() (*llm.Response, error) {
	if !f.IsFinished() {
		return nil, nil
	}
	used := wire.FillMissing(f.used, f.size, f.parts.Size()+f.inputs)
	calls, err := f.callParts()
	if err != nil {
		return nil, err
	}
	return &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Parts: append(f.attachOpaque(f.parts.TakeParts()), calls...)}, Finish: f.finishReason(len(calls) > 0),
		Model: f.model, Served: f.served, ID: f.id, Usage: used,
	}, nil
}

// callParts returns the calls with unique IDs.
func (f *chatFold) callParts() (parts []llm.Part, err error) {
	seen := map[string]bool{}
	for _, c := range f.calls {
		switch {
		case f.answer != "" && c.name == f.answer, c.name == "" && c.id == "" && len(c.input) == 0:
			continue // the answer, or empty
		case c.name == "":
			return nil, errNameless
		case c.id == "" || seen[c.id]:
			c.id = wire.CallID()
		}
		seen[c.id] = true
		parts = append(parts, llm.Part{Call: &llm.ToolCall{ID: c.id, Name: c.name, Input: wire.CallInput(c.input)}})
	}
	return parts, nil
}

var errTooLarge = &llm.Error{Class: llm.Malformed, Message: "the answer is too large"}

var errNameless = &llm.Error{Class: llm.Malformed, Message: "the answer has a call without a name"}

// attachOpaque attaches data to return.
func (f *chatFold) attachOpaque(parts []llm.Part) []llm.Part {
	keep := chatOpaque{Details: f.details.joinDetails()}
	if len(f.calls) > 0 {
		keep.Field = f.field
	}
	if keep.Field == "" && keep.Details == nil {
		return parts
	}
	data, err := json.Marshal(keep)
	if err != nil { // cannot happen
		return parts
	}
	opaque := &llm.Opaque{Model: f.model, Data: data}
	for i := range parts {
		if parts[i].Reasoning != "" {
			parts[i].Opaque = opaque
			return parts
		}
	}
	return append([]llm.Part{{Opaque: opaque}}, parts...)
}

func (f *chatFold) finishReason(called bool) llm.Finish {
	if f.refused {
		return llm.FinishFilter
	}
	return convertFinish(f.finish, called)
}

// convertFinish converts a finish reason. Calls override a plain end, because some servers
// never report them. An unknown reason, such as abort, is no end of an answer.
func convertFinish(reason string, called bool) llm.Finish {
	switch strings.ToLower(reason) {
	case "", "stop", "tool_calls", "tool_call", "function_call", "function_calls", "tool_use", "end_turn", "eos", "eos_token", "end",
		"stop_sequence", "stop_token", "completed", "complete", "finish", "finished", "done":
		if called {
			return llm.FinishTools
		}
		return llm.FinishStop
	case "length", "max_tokens", "max_length", "model_length", "model_context_window_exceeded", "max_output_tokens":
		return llm.FinishLength
	case "content_filter", "content-filter", "content_filtered", "sensitive", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "guardrail_intervened":
		return llm.FinishFilter
	}
	return llm.FinishOther
}
