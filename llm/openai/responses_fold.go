package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type (
	event struct {
		Type     string          `json:"type"`
		Object   string          `json:"object"`
		Delta    rawText         `json:"delta"`
		ItemID   string          `json:"item_id"`
		Index    itemIndex       `json:"output_index"`
		Summary  int             `json:"summary_index"`
		Item     json.RawMessage `json:"item"`
		Response *response       `json:"response"`
	}
	response struct {
		ID         string            `json:"id"`
		Model      string            `json:"model"`
		Status     string            `json:"status"`
		Output     []json.RawMessage `json:"output"`
		Usage      *usage            `json:"usage"`
		Error      json.RawMessage   `json:"error"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	}
	item struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments rawText         `json:"arguments"`
		Input     rawText         `json:"input"` // of a custom tool
		Content   []itemPart      `json:"content"`
		Summary   []itemPart      `json:"summary"`
		Encrypted string          `json:"encrypted_content"`
		Phase     json.RawMessage `json:"phase"`
	}
	itemPart struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
)

// A responsesFold implements wire.Fold. A finished item adds the parts not streamed.
type responsesFold struct {
	model  string // full, requested
	size   int    // request bytes
	answer string // tool that answers

	id, served string
	items      []*outputItem // in order of appearance
	shown      int           // items before it are done and shown
	written    int           // bytes of the answer
	status     string
	reason     string          // if incomplete
	calls      map[string]bool // by ID
	refused    bool
	used       llm.Usage
}

func (f *responsesFold) Add(data []byte) (out llm.Delta, last bool, err error) {
	if string(data) == "[DONE]" {
		return out, f.status != "", nil
	}
	ev, ok := quickEvent(data)
	if !ok {
		ev = event{}
		if err := unmarshalLenient(data, &ev); err != nil {
			return out, false, wire.PieceError("an event", err)
		}
	}
	switch ev.Type {
	case "response.output_text.delta":
		err = f.addText(&ev, "", string(ev.Delta))
	case "response.refusal.delta":
		f.refused = true
		err = f.addText(&ev, "", string(ev.Delta))
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		err = f.addReasoning(&ev)
	case "response.output_item.added":
		err = f.startItem(&ev)
	case "response.output_item.done":
		err = f.finishItem(ev.Item, ev.Index)
	case "response.created", "response.queued":
		f.addHead(ev.Response)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		if len(f.items) == 0 && ev.Response != nil {
			err = f.addOutput(ev.Response) // nothing was streamed
		}
		if ev.Response != nil && ev.Response.Status == "" {
			ev.Response.Status = strings.TrimPrefix(ev.Type, "response.")
		}
		f.showAll(&out)
		return out, true, errors.Join(err, f.finishResponse(ev.Response))
	case "":
		return f.addWhole(data, ev.Object)
	}
	f.show(&out)
	return out, false, err
}

// finishItem adds what the stream of an item lacked.
func (f *responsesFold) finishItem(raw json.RawMessage, index itemIndex) error {
	var it item
	if err := unmarshalLenient(raw, &it); err != nil {
		return wire.PieceError("an item", err)
	}
	o, err := f.findItem(index, it.ID)
	if err != nil {
		return err
	}
	o.done = true
	if f.written += len(it.Arguments) + len(it.Input) + len(it.Encrypted); f.written > maxAnswer {
		return errTooLarge
	}
	switch it.Type {
	case "message":
		return f.finishMessage(o, &it)
	case "reasoning":
		return f.finishReasoning(o, &it, raw)
	case "function_call", "custom_tool_call":
		return f.addCall(o, &it)
	}
	return f.addServerAction(o, &it, raw)
}

// addServerAction keeps a server action; earlier reasoning goes back only with it.
func (f *responsesFold) addServerAction(to *outputItem, it *item, raw json.RawMessage) error {
	o, err := wire.ParseObject(raw)
	if err != nil || it.Type == "" {
		return nil //nolint:nilerr // no item of this API
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return wire.PieceError("an item", err)
	}
	if f.written += len(data); f.written > maxAnswer {
		return errTooLarge
	}
	return to.parts.Add(llm.Part{Opaque: &llm.Opaque{Model: f.model, Data: data}})
}

func (f *responsesFold) finishMessage(o *outputItem, it *item) error {
	streamed := o.streamed
	for _, p := range it.Content {
		f.refused = f.refused || p.Refusal != ""
		if streamed {
			continue
		}
		if err := f.write(o, "", p.Text+p.Refusal); err != nil {
			return err
		}
	}
	if len(it.Phase) == 0 || string(it.Phase) == "null" {
		return nil
	}
	data, err := json.Marshal(map[string]json.RawMessage{"phase": it.Phase})
	if err != nil {
		return nil //nolint:nilerr // a phase is a hint that can be lost
	}
	return o.parts.Seal(&llm.Opaque{Model: f.model, Data: data})
}

func (f *responsesFold) finishReasoning(o *outputItem, it *item, raw json.RawMessage) error {
	texts := it.Summary
	if len(texts) == 0 {
		texts = it.Content
	}
	streamed := o.streamed
	for i, p := range texts {
		if streamed {
			break
		}
		text := p.Text
		if i > 0 {
			text = "\n\n" + text
		}
		if err := f.write(o, text, ""); err != nil {
			return err
		}
	}
	if it.Encrypted == "" {
		return nil // required by the API
	}
	data, err := returnableItem(raw)
	if err != nil {
		return wire.PieceError("reasoning", err)
	}
	opaque := &llm.Opaque{Model: f.model, Data: data}
	if o.streamed {
		return o.parts.Seal(opaque)
	}
	return o.parts.Add(llm.Part{Opaque: opaque})
}

// returnableItem keeps the fields that the API accepts.
func returnableItem(raw json.RawMessage) (json.RawMessage, error) {
	in, err := wire.ParseObject(bytes.Clone(raw))
	if err != nil {
		return nil, err
	}
	var out wire.Object
	for _, key := range []string{"type", "id", "summary", "encrypted_content"} {
		if v := in.Value(key); v != nil {
			out.Set(key, v)
		}
	}
	if out.Value("summary") == nil {
		out.Set("summary", json.RawMessage("[]"))
	}
	return out.MarshalJSON()
}

// addCall adds a call. The Opaque of a custom tool's call is its type.
func (f *responsesFold) addCall(o *outputItem, it *item) error {
	if f.answer != "" && it.Name == f.answer {
		return f.write(o, "", string(it.Arguments))
	}
	if it.Name == "" {
		return errNameless
	}
	if it.CallID == "" || f.calls[it.CallID] {
		it.CallID = wire.CallID()
	}
	if f.calls == nil {
		f.calls = map[string]bool{}
	}
	if f.calls[it.CallID] = true; len(f.calls) > maxCalls {
		return errTooLarge
	}
	part := llm.Part{Call: &llm.ToolCall{ID: it.CallID, Name: it.Name, Input: wire.CallInput([]byte(it.Arguments))}}
	if it.Type == customCall {
		part.Call.Input = wire.CallInput([]byte(it.Input))
		part.Opaque = &llm.Opaque{Model: f.model, Data: json.RawMessage(`{"type":"` + customCall + `"}`)}
	}
	return o.parts.Add(part)
}

func (f *responsesFold) addHead(r *response) {
	if r == nil {
		return
	}
	if r.ID != "" {
		f.id = r.ID
	}
	if r.Model != "" {
		f.served = r.Model
	}
	f.used = newerUsage(f.used, r.Usage)
}

func (f *responsesFold) finishResponse(r *response) error {
	if r == nil {
		return wire.PieceError("the last event", nil)
	}
	f.addHead(r)
	f.status, f.reason = r.Status, r.Incomplete.Reason
	switch r.Status {
	case "completed", "incomplete":
		return nil
	}
	if e := wire.InBandError(errorJSON(r.Error)); e != nil {
		return e
	}
	return &llm.Error{Class: llm.Transient, Message: "the provider broke off the answer: " + r.Status}
}

// addWhole adds a complete response. The API defines no other objects without a type.
func (f *responsesFold) addWhole(data []byte, object string) (out llm.Delta, last bool, err error) {
	if object != "response" {
		return out, false, nil
	}
	var r response
	if err := unmarshalLenient(data, &r); err != nil {
		return out, false, wire.PieceError("the response", err)
	}
	if r.Status == "queued" || r.Status == "in_progress" {
		return out, true, nil
	}
	if err := f.addOutput(&r); err != nil {
		return out, false, err
	}
	f.showAll(&out)
	return out, true, f.finishResponse(&r)
}

func (f *responsesFold) addOutput(r *response) error {
	for i, raw := range r.Output {
		if err := f.finishItem(raw, itemIndex{i, true}); err != nil {
			return err
		}
	}
	return nil
}

func (f *responsesFold) Usage() llm.Usage {
	if f.written == 0 && f.used.Total() == 0 {
		return f.used
	}
	return wire.FillMissing(f.used, f.size, f.written)
}

func (f *responsesFold) IsFinished() bool { return f.status != "" }

func (f *responsesFold) Answer() (*llm.Response, error) {
	if !f.IsFinished() {
		return nil, nil
	}
	used := wire.FillMissing(f.used, f.size, f.written)
	finish := convertFinish(f.reason, len(f.calls) > 0)
	if f.status == "incomplete" && f.reason == "" {
		finish = llm.FinishOther
	}
	if f.refused {
		finish = llm.FinishFilter
	}
	msg := llm.Message{Role: llm.Assistant}
	for _, o := range f.items {
		msg.Parts = append(msg.Parts, o.parts.TakeParts()...)
	}
	return &llm.Response{
		Message: msg, Finish: finish,
		Model: f.model, Served: f.served, ID: f.id, Usage: used,
	}, nil
}
