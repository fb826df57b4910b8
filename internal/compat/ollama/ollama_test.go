package ollama_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ponder/internal/auth"
	"ponder/internal/compat/ollama"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

var language = protocoltest.Language{
	Routes: ollama.New, Refuse: writeRefusal, Ask: chatBody, Read: readReply, Sign: `"content":""},"done":false`, Chat: "X-OpenWebUI-Chat-Id",
}

func TestLanguage(t *testing.T) { protocoltest.Check(t, language) }

func writeRefusal(w http.ResponseWriter, _ *http.Request, why *auth.Refusal) bool {
	ollama.Refuse(w, why.Status, why.Detail)
	return true
}

type object = map[string]any

const weather = `{"type":"function","function":{"name":"weather","description":"How warm it is.","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}`

func chatBody(s protocoltest.Prompt) (path, body string) {
	var messages []object
	if s.System != "" {
		messages = append(messages, object{"role": "system", "content": s.System})
	}
	for i, text := range s.Messages {
		messages = append(messages, object{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	in := object{"model": s.Model + ":latest", "messages": messages, "keep_alive": "5m", "unknown": 1}
	if !s.Stream {
		in["stream"] = false
	}
	if s.Tool {
		in["tools"] = []json.RawMessage{json.RawMessage(weather)}
	}
	js, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return "/api/chat", string(js)
}

// A line is a parsed response line.
type line struct {
	Model    string
	Created  time.Time `json:"created_at"`
	Response *string
	Thinking string
	Message  *struct {
		Role, Content, Thinking string
		Calls                   []struct {
			Function struct {
				Name string
				Args map[string]any `json:"arguments"`
			}
		} `json:"tool_calls"`
	}
	Done   *bool
	Reason string `json:"done_reason"`
	Total  *int64 `json:"total_duration"`
	Wrote  *int   `json:"eval_count"`
	Error  string
}

func readReply(s protocoltest.Stream) (out protocoltest.Reply, err error) {
	lines, over := s.Lines(), false
	if len(lines) == 0 {
		return out, fmt.Errorf("nothing")
	}
	for _, text := range lines {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return out, err
		}
		if over {
			return out, fmt.Errorf("a line behind the last one: %s", text)
		}
		if l.Error != "" {
			out.Error, over = l.Error, true
			continue
		}
		if s.Code >= http.StatusBadRequest {
			return out, fmt.Errorf("an error of another shape")
		}
		if over, err = addLine(&out, l); err != nil {
			return out, fmt.Errorf("%s: %w", text, err)
		}
	}
	if kind := s.Header.Get("Content-Type"); len(lines) > 1 && kind != "application/x-ndjson" || !over {
		return out, fmt.Errorf("%s, which is at its end: %t", kind, over)
	}
	return out, nil
}

// addLine parses a line, and reports whether it is the last.
func addLine(out *protocoltest.Reply, l line) (over bool, err error) {
	if l.Model == "" || l.Created.IsZero() || l.Done == nil || (l.Message == nil) == (l.Response == nil) {
		return false, fmt.Errorf("something is missing")
	}
	if l.Response != nil {
		out.Text += *l.Response
		out.Thinking += l.Thinking
	} else {
		out.Text += l.Message.Content
		out.Thinking += l.Message.Thinking
		for _, c := range l.Message.Calls {
			js, err := json.Marshal(c.Function.Args)
			if err != nil {
				return false, err
			}
			out.Calls = append(out.Calls, llm.ToolCall{Name: c.Function.Name, Input: js})
		}
	}
	if *l.Done && (l.Reason == "" || l.Total == nil || l.Wrote == nil) {
		return true, fmt.Errorf("it does not say how it went")
	}
	return *l.Done, nil
}

// A prompt gets an answer without a conversation.
func TestGenerate(t *testing.T) {
	l := language
	l.Ask = func(s protocoltest.Prompt) (path, body string) {
		js, err := json.Marshal(object{"model": s.Model, "prompt": s.Messages[len(s.Messages)-1], "system": s.System, "stream": s.Stream})
		if err != nil {
			panic(err)
		}
		return "/api/generate", string(js)
	}
	r := protocoltest.New(t, protocoltest.Options{Model: protocoltest.FixedModel("deep"), Routes: ollama.New})
	for _, stream := range []bool{true, false} {
		path, body := l.Ask(protocoltest.Prompt{Model: "ponder/chat", Messages: []string{"How deep?"}, System: "Be brief.", Stream: stream})
		got, err := readReply(r.Stream(protocoltest.Request(t.Context(), http.MethodPost, path, body), 0))
		if err != nil || got.Text != "deep" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, req := range r.Model.Requests() {
		if req.System != "Be brief." || len(req.Messages) != 1 {
			t.Errorf("asked %+v", req)
		}
	}
	for body, want := range map[string]string{`{"model":"ponder"}`: "load", `{"model":"ponder","keep_alive":0}`: "unload"} {
		for _, path := range []string{"/api/generate", "/api/chat"} {
			if got := r.Post(path, body).Body.String(); !strings.Contains(got, `"done_reason":"`+want+`"`) {
				t.Errorf("%s: %s", body, got)
			}
		}
	}
}
