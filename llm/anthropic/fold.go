package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type (
	event struct {
		Type         string          `json:"type"`
		Index        int             `json:"index"`
		Message      *wholeMessage   `json:"message"`
		ContentBlock json.RawMessage `json:"content_block"`
		Delta        delta           `json:"delta"`
		Usage        *usage          `json:"usage"`
		wholeMessage                 // if Type is "message"
	}
	wholeMessage struct {
		ID         string            `json:"id"`
		Model      string            `json:"model"`
		Content    []json.RawMessage `json:"content"`
		StopReason string            `json:"stop_reason"`
		Counts     *usage            `json:"usage"`
		Container  containerID       `json:"container"`
	}
	delta struct {
		Type        string          `json:"type"`
		Text        string          `json:"text"`
		Thinking    string          `json:"thinking"`
		Signature   string          `json:"signature"`
		PartialJSON string          `json:"partial_json"`
		Citation    json.RawMessage `json:"citation"`
		StopReason  string          `json:"stop_reason"`
		Container   containerID     `json:"container"`
	}
	usage struct {
		Input         *wire.Count `json:"input_tokens"`
		CacheRead     *wire.Count `json:"cache_read_input_tokens"`
		CacheCreation *wire.Count `json:"cache_creation_input_tokens"`
		Output        *wire.Count `json:"output_tokens"`
		Details       *struct {
			Thinking wire.Count `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	}
	answerBlock struct {
		Type      string            `json:"type"`
		Text      string            `json:"text"`
		Citations []json.RawMessage `json:"citations"`
		Thinking  string            `json:"thinking"`
		Signature string            `json:"signature"`
		Data      string            `json:"data"`
		ID        string            `json:"id"`
		Name      string            `json:"name"`
		Input     json.RawMessage   `json:"input"`
	}
)

// A containerID is the ID of the machine on which server tools run. It goes back with a paused turn.
type containerID string

func (c *containerID) UnmarshalJSON(b []byte) error {
	var object struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(b, &object) == nil { // other values name no container
		*c = containerID(object.ID)
	}
	return nil
}

type piece struct {
	answerBlock
	index int
	raw   json.RawMessage // kept whole
	grown []byte          // text, reasoning or JSON
}

// A fold implements wire.Fold.
type fold struct {
	full   string     // requested
	answer string     // tool that answers
	size   int        // request bytes
	before pausedTurn // of the same turn

	begun      bool
	container  containerID // of server tools
	id, served string
	pieces     []*piece
	stop       string
	stopped    bool
	used       llm.Usage
	final      bool
	grown      int
}

const (
	maxGrown  = 64 << 20
	maxPieces = 10000
)

func (f *fold) Add(data []byte) (llm.Delta, bool, error) {
	if index, d, ok := quickDelta(data); ok {
		return f.addDelta(index, d)
	}
	return f.decodeEvent(data)
}

// decodeEvent reads events that quickDelta cannot.
func (f *fold) decodeEvent(data []byte) (llm.Delta, bool, error) {
	var ev event
	if err := json.Unmarshal(data, &ev); err != nil {
		return llm.Delta{}, false, wire.PieceError("an event", err)
	}
	switch ev.Type {
	case "message":
		ev.Counts = ev.Usage // the decoder prefers the outer field
		return f.addWhole(&ev.wholeMessage)
	case "message_start":
		if ev.Message != nil {
			return llm.Delta{}, false, f.startMessage(ev.Message)
		}
	case "content_block_start":
		return f.startBlock(ev.Index, ev.ContentBlock)
	case "content_block_delta":
		return f.addDelta(ev.Index, ev.Delta)
	case "message_delta":
		f.countUsage(ev.Usage)
		f.final = f.final || ev.Usage != nil && ev.Usage.Output != nil
		f.stop = cmp.Or(ev.Delta.StopReason, f.stop)
		f.container = cmp.Or(ev.Delta.Container, f.container)
	case "message_stop":
		f.stopped = true
		return llm.Delta{}, true, nil
	}
	return llm.Delta{}, false, nil
}

var errSecondMessage = &llm.Error{Class: llm.Malformed, Message: "the stream of the answer begins a second message"}

func (f *fold) startMessage(m *wholeMessage) error {
	if f.begun {
		return errSecondMessage
	}
	f.begun, f.id, f.served, f.container = true, m.ID, m.Model, m.Container
	f.countUsage(m.Counts)
	return nil
}

func (f *fold) addWhole(m *wholeMessage) (llm.Delta, bool, error) {
	if err := f.startMessage(m); err != nil {
		return llm.Delta{}, false, err
	}
	f.final, f.stopped, f.stop = m.Counts != nil && m.Counts.Output != nil, true, m.StopReason
	var out llm.Delta
	for i, raw := range m.Content {
		d, _, err := f.startBlock(i, raw)
		if err != nil {
			return llm.Delta{}, false, err
		}
		out.Text += d.Text
		out.Reasoning += d.Reasoning
	}
	return out, true, nil
}

// startBlock adds a block, which may already have content.
func (f *fold) startBlock(index int, raw json.RawMessage) (llm.Delta, bool, error) {
	p := &piece{index: index}
	if err := json.Unmarshal(raw, &p.answerBlock); err != nil {
		return llm.Delta{}, false, wire.PieceError("a block", err)
	}
	f.pieces = append(f.pieces, p)
	f.grown += len(p.ID) + len(p.Name)
	switch p.Type {
	case "text":
		return f.appendText(p, p.Text)
	case "thinking":
		return f.appendText(p, p.Thinking)
	case "tool_use":
		if in := string(p.Input); in != "{}" && in != "null" {
			return f.appendText(p, in)
		}
	case "redacted_thinking":
		return f.appendText(p, p.Data)
	default:
		p.raw = raw
		f.grown += len(raw)
	}
	return f.appendText(p, "")
}

func (f *fold) addDelta(index int, d delta) (llm.Delta, bool, error) {
	p := f.findPiece(index)
	if p == nil {
		return llm.Delta{}, false, wire.PieceError("a block without a start", nil)
	}
	switch d.Type {
	case "text_delta":
		return f.appendText(p, d.Text)
	case "thinking_delta":
		return f.appendText(p, d.Thinking)
	case "input_json_delta":
		return f.appendText(p, d.PartialJSON)
	case "signature_delta":
		p.Signature += d.Signature
		f.grown += len(d.Signature)
	case "citations_delta":
		p.Citations = append(p.Citations, d.Citation)
		f.grown += len(d.Citation)
	}
	return f.appendText(p, "")
}

// findPiece searches backwards: nearly always the last block matches.
func (f *fold) findPiece(index int) *piece {
	for _, p := range slices.Backward(f.pieces) {
		if p.index == index {
			return p
		}
	}
	return nil
}

// appendText appends to a block and returns the visible part.
func (f *fold) appendText(p *piece, text string) (llm.Delta, bool, error) {
	p.grown = append(p.grown, text...)
	if f.grown += len(text); f.grown > maxGrown || len(f.pieces) > maxPieces {
		return llm.Delta{}, false, &llm.Error{Class: llm.Malformed, Message: "the answer is too large"}
	}
	switch {
	case p.Type == "text", p.Type == "tool_use" && f.isAnswer(p):
		return llm.Delta{Text: text}, false, nil
	case p.Type == "thinking":
		return llm.Delta{Reasoning: text}, false, nil
	}
	return llm.Delta{}, false, nil
}

func (f *fold) isAnswer(p *piece) bool { return f.answer != "" && p.Name == f.answer }

// countUsage merges usage; later counts replace earlier ones.
func (f *fold) countUsage(u *usage) {
	if u == nil {
		return
	}
	for _, c := range []struct {
		to   *int
		from *wire.Count
	}{
		{&f.used.Input, u.Input},
		{&f.used.CacheRead, u.CacheRead},
		{&f.used.CacheWrite, u.CacheCreation},
		{&f.used.Output, u.Output},
	} {
		if c.from != nil {
			*c.to = int(*c.from)
		}
	}
	if u.Details != nil {
		f.used.Reasoning = min(int(u.Details.Thinking), f.used.Output)
	}
}

// Usage includes the earlier requests of a paused turn.
func (f *fold) Usage() llm.Usage { return f.before.used.Add(f.ownUsage()) }

// ownUsage estimates the output before the end, when the API counts it.
func (f *fold) ownUsage() llm.Usage {
	if f.final && f.used.Output > 0 || f.grown == 0 {
		return f.used
	}
	used := wire.FillMissing(f.used, f.size, f.grown)
	used.Output = max(used.Output, wire.Tokens(f.grown))
	used.Estimated = true
	return used
}

func (f *fold) IsFinished() bool { return f.stopped && f.stop != "" }

func (f *fold) Answer() (*llm.Response, error) {
	if !f.IsFinished() {
		return nil, nil
	}
	msg := llm.Message{Role: llm.Assistant, Parts: slices.Clone(f.before.parts)}
	var called, answered bool
	for _, p := range f.pieces {
		part, ok, err := f.pieceToPart(p)
		if err != nil {
			return nil, err
		}
		if ok {
			msg.Parts = append(msg.Parts, part)
		}
		called = called || part.Call != nil
		answered = answered || p.Type == "tool_use" && f.isAnswer(p)
	}
	finish := convertFinish(f.stop)
	if finish == llm.FinishTools && answered && !called {
		finish = llm.FinishStop
	}
	return &llm.Response{Message: msg, Finish: finish, Model: f.full, Served: f.served, ID: f.id, Usage: f.Usage()}, nil
}

// pieceToPart reports ok = false for an empty block.
func (f *fold) pieceToPart(p *piece) (part llm.Part, ok bool, err error) {
	switch p.Type {
	case "text":
		part.Text = string(p.grown)
		if len(p.Citations) > 0 {
			citations, err := json.Marshal(p.Citations)
			if err != nil {
				return part, false, wire.PieceError("a citation", err)
			}
			part.Opaque, err = f.newOpaque(opaque{Type: p.Type, Citations: citations})
			return part, part.Text != "", err
		}
		return part, part.Text != "", nil
	case "thinking":
		part.Reasoning = string(p.grown)
		if p.Signature != "" {
			part.Opaque, err = f.newOpaque(opaque{Type: p.Type, Signature: p.Signature})
		}
		return part, part.Reasoning != "" || part.Opaque != nil, err
	case "redacted_thinking":
		part.Opaque, err = f.newOpaque(opaque{Type: p.Type, Data: string(p.grown)})
		return part, true, err
	case "tool_use":
		if f.isAnswer(p) {
			return llm.Part{Text: string(p.grown)}, len(p.grown) > 0, nil
		}
		part.Call = &llm.ToolCall{ID: cmp.Or(p.ID, wire.CallID()), Name: p.Name, Input: wire.CallInput(p.grown)}
		return part, true, nil
	}
	part.Opaque, err = f.wholeOpaque(p)
	return part, true, err
}

func (f *fold) wholeOpaque(p *piece) (*llm.Opaque, error) {
	if len(p.grown) == 0 {
		return &llm.Opaque{Model: f.full, Data: p.raw}, nil
	}
	o, err := wire.ParseObject(p.raw)
	if err != nil {
		return nil, wire.PieceError("a block", err)
	}
	o.Set("input", wire.CallInput(p.grown))
	return f.newOpaque(o)
}

func (f *fold) newOpaque(v any) (*llm.Opaque, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, wire.PieceError("a block", err)
	}
	return &llm.Opaque{Model: f.full, Data: data}, nil
}

func convertFinish(stop string) llm.Finish {
	switch stop {
	case "end_turn", "stop_sequence":
		return llm.FinishStop
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "tool_use":
		return llm.FinishTools
	case "refusal":
		return llm.FinishFilter
	}
	return llm.FinishOther
}
