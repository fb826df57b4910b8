package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/openai"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

var language = protocoltest.Language{
	Routes: openai.New, Refuse: writeRefusal, Ask: chatBody, Read: readReply, Sign: ": keep-alive\n", Chat: "X-OpenWebUI-Chat-Id",
}

func TestLanguage(t *testing.T) { protocoltest.Check(t, language) }

func writeRefusal(w http.ResponseWriter, _ *http.Request, why *auth.Refusal) bool {
	openai.Refuse(w, &compat.APIError{Status: why.Status, Detail: why.Detail})
	return true
}

type object = map[string]any

const weather = `{"type":"function","function":{"name":"weather","description":"How warm it is.","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}`

func chatBody(s protocoltest.Prompt) (path, body string) {
	var messages []object
	if s.System != "" {
		messages = append(messages, object{"role": "developer", "content": s.System})
	}
	for i, text := range s.Messages {
		messages = append(messages, object{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	in := object{"model": s.Model, "messages": messages, "stream": s.Stream, "unknown": 1}
	if s.Tool {
		in["tools"] = []json.RawMessage{json.RawMessage(weather)}
	}
	return "/v1/chat/completions", toJSON(in)
}

func toJSON(v any) string {
	js, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(js)
}

type chunk struct {
	ID      string
	Object  string
	Created int64
	Model   string
	Choices []struct {
		Message, Delta *struct {
			Role      string
			Content   *string
			Reasoning string `json:"reasoning_content"`
			Calls     []struct {
				Index    *int
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
			Annotations []struct {
				Type string
				URL  struct {
					Start int `json:"start_index"`
					URL   string
				} `json:"url_citation"`
			}
		}
		Finish *string `json:"finish_reason"`
	}
	Usage *struct {
		Total int `json:"total_tokens"`
	}
	Error *struct {
		Message, Type *string
		Param, Code   *string
	}
}

func readReply(s protocoltest.Stream) (out protocoltest.Reply, err error) {
	if s.Header.Get("Content-Type") == "application/json" {
		err = addChunk(&out, s.Body, s.Code)
		return out, err
	}
	if strings.Contains(s.Body, "retry:") {
		return out, fmt.Errorf("a field without data, which clients for Python take for an event")
	}
	list := s.Events()
	if len(list) == 0 || list[len(list)-1].Data != "[DONE]" {
		return out, fmt.Errorf("it does not end with [DONE]")
	}
	for _, e := range list[:len(list)-1] {
		if e.Name != "" || e.ID != "" {
			return out, fmt.Errorf("an event with a name or an id: %+v", e)
		}
		if err := addChunk(&out, e.Data, 0); err != nil {
			return out, err
		}
	}
	return out, nil
}

// addChunk parses a chunk. code is the status of a plain response.
func addChunk(out *protocoltest.Reply, js string, code int) error {
	var c chunk
	if err := json.Unmarshal([]byte(js), &c); err != nil {
		return err
	}
	if e := c.Error; e != nil || code >= http.StatusBadRequest {
		if e == nil || e.Message == nil || *e.Message == "" || e.Type == nil || *e.Type == "" {
			return fmt.Errorf("an error of another shape: %s", js)
		}
		out.Error = *e.Message
		return nil
	}
	if want := map[bool]string{true: "chat.completion", false: "chat.completion.chunk"}[code != 0]; c.Object != want {
		return fmt.Errorf("object %q, want %q", c.Object, want)
	}
	if c.ID == "" || out.ID != "" && c.ID != out.ID || c.Created == 0 || c.Model == "" {
		return fmt.Errorf("no id, time or model, or another one: %s", js)
	}
	out.ID = c.ID
	for _, choice := range c.Choices {
		m := choice.Delta
		if code != 0 {
			m = choice.Message
		}
		if m == nil {
			return fmt.Errorf("no message: %s", js)
		}
		if m.Content != nil {
			out.Text += *m.Content
		}
		out.Thinking += m.Reasoning
		for _, call := range m.Calls {
			if call.Type != "function" || (call.Index == nil) != (code != 0) || call.Index != nil && *call.Index != len(out.Calls) {
				return fmt.Errorf("a call of another shape: %s", js)
			}
			out.Calls = append(out.Calls, llm.ToolCall{ID: call.ID, Name: call.Function.Name, Input: []byte(call.Function.Arguments)})
		}
	}
	return nil
}
