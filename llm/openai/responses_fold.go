package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// The events of a stream, and the whole response that a server may give instead.
type (
	event struct {
		Type     string          `json:"type"`
		Object   string          `json:"object"`
		Delta    rawText         `json:"delta"`
		ItemID   string          `json:"item_id"`
		Index    int             `json:"output_index"`
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

// A responsesFold makes an answer of the events of a response. It implements
// wire.Fold. Text and reasoning are taken as they stream; an item that is done
// brings the rest, and all of it if nothing was streamed.
type responsesFold struct {
	model  string // full name of the model asked
	size   int    // of the request, in bytes
	answer string // name of the tool whose input is the answer

	id, served string
	parts      wire.Parts
	streamed   bool // something of the item under way
	summary    int  // number of the paragraph of reasoning under way
	status     string
	reason     string          // of incompleteness
	calls      map[string]bool // by id
	refused    bool
	used       llm.Usage
}

// Add implements wire.Fold.
func (f *responsesFold) Add(data []byte) (out llm.Delta, last bool, err error) {
	if string(data) == "[DONE]" {
		return out, f.status != "", nil
	}
	ev, ok := quickEvent(data)
	if !ok {
		ev = event{}
		if err := lenient(data, &ev); err != nil {
			return out, false, wire.Mangled("an event", err)
		}
	}
	switch ev.Type {
	case "response.output_text.delta":
		err = f.show(&out, "", string(ev.Delta))
	case "response.refusal.delta":
		f.refused = true
		err = f.show(&out, "", string(ev.Delta))
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		err = f.think(&ev, &out)
	case "response.output_item.added":
		f.streamed = false
	case "response.output_item.done":
		err = f.item(ev.Item, &out)
	case "response.created", "response.queued":
		f.head(ev.Response)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		if f.parts.Size() == 0 && len(f.calls) == 0 && ev.Response != nil {
			err = f.output(ev.Response, &out) // nothing was streamed
		}
		if ev.Response != nil && ev.Response.Status == "" {
			ev.Response.Status = strings.TrimPrefix(ev.Type, "response.")
		}
		return out, true, errors.Join(err, f.end(ev.Response))
	case "":
		return f.whole(data, ev.Object)
	}
	return out, false, err
}

func (f *responsesFold) show(out *llm.Delta, thought, text string) error {
	f.streamed = f.streamed || thought != "" || text != ""
	out.Reasoning += thought
	out.Text += text
	return f.parts.Show(thought, text)
}

// think takes a piece of reasoning; summaries come in numbered paragraphs.
func (f *responsesFold) think(ev *event, out *llm.Delta) error {
	text := string(ev.Delta)
	if f.streamed && ev.Summary != f.summary {
		text = "\n\n" + text
	}
	f.summary = ev.Summary
	return f.show(out, text, "")
}

func (f *responsesFold) item(raw json.RawMessage, out *llm.Delta) error {
	var it item
	if err := lenient(raw, &it); err != nil {
		return wire.Mangled("an item", err)
	}
	streamed := f.streamed
	f.streamed, f.summary = false, 0
	switch it.Type {
	case "message":
		return f.message(&it, streamed, out)
	case "reasoning":
		return f.reasoning(&it, streamed, raw, out)
	case "function_call":
		return f.call(&it, out)
	}
	return f.other(&it, raw)
}

// other keeps what the server did by itself, such as a search: the reasoning
// before it goes back only together with it.
func (f *responsesFold) other(it *item, raw json.RawMessage) error {
	o, err := wire.ParseObject(raw)
	if err != nil || it.Type == "" {
		return nil //nolint:nilerr // no item of this API
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return wire.Mangled("an item", err)
	}
	return f.parts.Add(llm.Part{Opaque: &llm.Opaque{Model: f.model, Data: data}})
}

func (f *responsesFold) message(it *item, streamed bool, out *llm.Delta) error {
	for _, p := range it.Content {
		f.refused = f.refused || p.Refusal != ""
		if streamed {
			continue
		}
		if err := f.show(out, "", p.Text+p.Refusal); err != nil {
			return err
		}
	}
	f.streamed = false
	if len(it.Phase) == 0 || string(it.Phase) == "null" {
		return nil
	}
	data, err := json.Marshal(map[string]json.RawMessage{"phase": it.Phase})
	if err != nil {
		return nil //nolint:nilerr // a phase is a hint that can be lost
	}
	return f.parts.Seal(&llm.Opaque{Model: f.model, Data: data})
}

func (f *responsesFold) reasoning(it *item, streamed bool, raw json.RawMessage, out *llm.Delta) error {
	texts := it.Summary
	if len(texts) == 0 {
		texts = it.Content
	}
	for i, p := range texts {
		if streamed {
			break
		}
		text := p.Text
		if i > 0 {
			text = "\n\n" + text
		}
		if err := f.show(out, text, ""); err != nil {
			return err
		}
	}
	shown := f.streamed || streamed
	f.streamed = false
	if it.Encrypted == "" {
		return nil // without it, the API does not know the item again
	}
	data, err := giveBack(raw)
	if err != nil {
		return wire.Mangled("reasoning", err)
	}
	opaque := &llm.Opaque{Model: f.model, Data: data}
	if shown {
		return f.parts.Seal(opaque)
	}
	return f.parts.Add(llm.Part{Opaque: opaque})
}

// giveBack returns a reasoning item as it goes back: what the API says about
// it beyond that is not for its input.
func giveBack(raw json.RawMessage) (json.RawMessage, error) {
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

func (f *responsesFold) call(it *item, out *llm.Delta) error {
	if f.answer != "" && it.Name == f.answer {
		err := f.show(out, "", string(it.Arguments))
		f.streamed = false
		return err
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
	return f.parts.Add(llm.Part{Call: &llm.ToolCall{ID: it.CallID, Name: it.Name, Input: wire.CallInput([]byte(it.Arguments))}})
}

func (f *responsesFold) head(r *response) {
	if r == nil {
		return
	}
	if r.ID != "" {
		f.id = r.ID
	}
	if r.Model != "" {
		f.served = r.Model
	}
	f.used = newer(f.used, r.Usage)
}

// end takes the last event.
func (f *responsesFold) end(r *response) error {
	if r == nil {
		return wire.Mangled("the last event", nil)
	}
	f.head(r)
	f.status, f.reason = r.Status, r.Incomplete.Reason
	switch r.Status {
	case "completed", "incomplete":
		return nil
	}
	if e := wire.InBand(errorOf(r.Error)); e != nil {
		return e
	}
	return &llm.Error{Class: llm.Transient, Message: "the provider broke off the answer: " + r.Status}
}

// whole takes a response that came in one piece. Other objects without a type
// are nothing that the API knows, and are left out.
func (f *responsesFold) whole(data []byte, object string) (out llm.Delta, last bool, err error) {
	if object != "response" {
		return out, false, nil
	}
	var r response
	if err := lenient(data, &r); err != nil {
		return out, false, wire.Mangled("the response", err)
	}
	if r.Status == "queued" || r.Status == "in_progress" {
		return out, true, nil
	}
	if err := f.output(&r, &out); err != nil {
		return out, false, err
	}
	return out, true, f.end(&r)
}

// output takes all items of a response at once.
func (f *responsesFold) output(r *response, out *llm.Delta) error {
	for _, raw := range r.Output {
		f.streamed = false
		if err := f.item(raw, out); err != nil {
			return err
		}
	}
	return nil
}

// Usage implements wire.Fold.
func (f *responsesFold) Usage() llm.Usage {
	if f.parts.Size() == 0 && f.used.Total() == 0 {
		return f.used
	}
	return wire.CountedOr(f.used, f.size, f.parts.Size())
}

// Over implements wire.Fold.
func (f *responsesFold) Over() bool { return f.status != "" }

// Answer implements wire.Fold.
func (f *responsesFold) Answer() (*llm.Response, error) {
	if !f.Over() {
		return nil, nil
	}
	used := wire.CountedOr(f.used, f.size, f.parts.Size())
	finish := finishOf(f.reason, len(f.calls) > 0)
	if f.status == "incomplete" && f.reason == "" {
		finish = llm.FinishOther
	}
	if f.refused {
		finish = llm.FinishFilter
	}
	return &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Parts: f.parts.Done()}, Finish: finish,
		Model: f.model, Served: f.served, ID: f.id, Usage: used,
	}, nil
}
