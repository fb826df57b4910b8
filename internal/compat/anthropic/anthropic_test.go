package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"ponder/internal/auth"
	"ponder/internal/compat/anthropic"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

var language = protocoltest.Language{Routes: anthropic.New, Refuse: writeRefusal, Ask: messagesBody, Read: readReply, Sign: "event: ping\n"}

func TestLanguage(t *testing.T) { protocoltest.Check(t, language) }

func writeRefusal(w http.ResponseWriter, _ *http.Request, why *auth.Refusal) bool {
	anthropic.Refuse(w, why.Status, why.Detail)
	return true
}

type object = map[string]any

const weather = `{"name":"weather","description":"How warm it is.","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}`

func messagesBody(s protocoltest.Prompt) (path, body string) {
	var messages []object
	for i, text := range s.Messages {
		messages = append(messages, object{"role": []string{"user", "assistant"}[i%2], "content": []object{{"type": "text", "text": text}}})
	}
	in := object{"model": s.Model, "max_tokens": 1000, "messages": messages, "stream": s.Stream, "unknown": 1}
	if s.System != "" {
		in["system"] = []object{{"type": "text", "text": s.System, "cache_control": object{"type": "ephemeral"}}}
	}
	if s.Tool {
		in["tools"] = []json.RawMessage{json.RawMessage(weather)}
	}
	js, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return "/v1/messages", string(js)
}

type block struct {
	Type, Text, Thinking, ID, Name string
	Signature                      *string
	Input                          json.RawMessage
	Partial                        string `json:"partial_json"`
}

type message struct {
	Type, ID, Role, Model string
	Content               []block
	Stop                  *string `json:"stop_reason"`
	Usage                 *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
	Error   *struct{ Type, Message string }
	Message *message
	Index   *int
	Block   *block `json:"content_block"`
	Delta   *struct {
		block
		Stop *string `json:"stop_reason"`
	}
}

func readReply(s protocoltest.Stream) (out protocoltest.Reply, err error) {
	if s.Header.Get("Content-Type") == "application/json" {
		return readWhole(s)
	}
	r := reader{out: &out, open: -1}
	for _, e := range s.Events() {
		var m message
		if err := json.Unmarshal([]byte(e.Data), &m); err != nil {
			return out, err
		}
		if e.Name != m.Type || e.ID != "" {
			return out, fmt.Errorf("the event %q has the type %q", e.Name, m.Type)
		}
		if err := r.readEvent(m); err != nil {
			return out, fmt.Errorf("%s: %w", e.Data, err)
		}
	}
	if !r.over {
		return out, fmt.Errorf("it does not end with message_stop or error")
	}
	return out, nil
}

func readWhole(s protocoltest.Stream) (out protocoltest.Reply, err error) {
	var m message
	if err := json.Unmarshal([]byte(s.Body), &m); err != nil {
		return out, err
	}
	if s.Code >= http.StatusBadRequest || m.Type == "error" {
		if m.Type != "error" || m.Error == nil || m.Error.Type == "" || m.Error.Message == "" || s.Header.Get("Request-Id") == "" {
			return out, fmt.Errorf("an error of another shape")
		}
		out.Error = m.Error.Message
		return out, nil
	}
	if m.Type != "message" || m.Role != "assistant" || m.ID == "" || m.Model == "" || m.Stop == nil || m.Usage == nil || m.Usage.Output == 0 {
		return out, fmt.Errorf("no message")
	}
	out.ID = m.ID
	for _, b := range m.Content {
		out.Text += b.Text
		out.Thinking += b.Thinking
		if b.Type == "tool_use" {
			out.Calls = append(out.Calls, llm.ToolCall{ID: b.ID, Name: b.Name, Input: b.Input})
		}
	}
	return out, nil
}

// A reader validates the order of events.
type reader struct {
	out   *protocoltest.Reply
	begun bool
	next  int // index of the next block
	open  int // index of the open block, or -1
	kind  string
	stop  bool
	over  bool
}

func (r *reader) readEvent(m message) error {
	if r.over || !r.begun && m.Type != "message_start" && m.Type != "error" {
		return fmt.Errorf("it must not come here")
	}
	switch m.Type {
	case "message_start":
		r.begun = true
		if m.Message == nil || m.Message.ID == "" || m.Message.Usage == nil {
			return fmt.Errorf("no message")
		}
		r.out.ID = m.Message.ID
	case "ping":
	case "content_block_start":
		if m.Index == nil || *m.Index != r.next || r.open >= 0 || m.Block == nil {
			return fmt.Errorf("not the next block")
		}
		r.open, r.next, r.kind = *m.Index, r.next+1, m.Block.Type
		if r.kind == "tool_use" {
			r.out.Calls = append(r.out.Calls, llm.ToolCall{ID: m.Block.ID, Name: m.Block.Name})
		}
	case "content_block_delta":
		return r.readDelta(m)
	case "content_block_stop":
		if m.Index == nil || *m.Index != r.open {
			return fmt.Errorf("it is not open")
		}
		r.open = -1
	case "message_delta":
		r.stop = m.Delta != nil && m.Delta.Stop != nil && m.Usage != nil && m.Usage.Output > 0
	case "message_stop":
		if r.over = true; !r.stop || r.open >= 0 {
			return fmt.Errorf("a block is open, or there was no reason to stop")
		}
	case "error":
		if r.over = true; m.Error == nil || m.Error.Type == "" || m.Error.Message == "" {
			return fmt.Errorf("an error of another shape")
		}
		r.out.Error = m.Error.Message
	default:
		return fmt.Errorf("no such event")
	}
	return nil
}

func (r *reader) readDelta(m message) error {
	if m.Index == nil || *m.Index != r.open || m.Delta == nil {
		return fmt.Errorf("it is not open")
	}
	want := map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking", "input_json_delta": "tool_use"}
	if want[m.Delta.Type] != r.kind {
		return fmt.Errorf("in a block of %s", r.kind)
	}
	r.out.Text += m.Delta.Text
	r.out.Thinking += m.Delta.Thinking
	if m.Delta.Type == "input_json_delta" {
		c := &r.out.Calls[len(r.out.Calls)-1]
		c.Input = append(c.Input, m.Delta.Partial...)
	}
	return nil
}
