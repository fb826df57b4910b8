//go:build linux

package attacks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ponder/llm/llmtest"
)

// A model is a model server for chat completions. It follows every directive in its context: it
// makes the calls of that attack, says its text, and repeats the directive, so that it stays in
// the conversation. It also makes the calls that a message of the user names. It fills answers
// with a schema with the secret. A simulated server answers everything else.
type model struct {
	world *world
	sim   http.Handler
}

func newModel(w *world) *model {
	return &model{world: w, sim: llmtest.NewSim(llmtest.SimConfig{})}
}

var (
	directive = regexp.MustCompile(`(?i)directive[ -]([a-z]\d{3}[a-z])\b`)
	userStep  = regexp.MustCompile(`case ([a-z]\d{3}[a-z]), step (\d)`)
)

type (
	chatRequest struct {
		Model    string        `json:"model"`
		Stream   bool          `json:"stream"`
		Messages []chatMessage `json:"messages"`
		Tools    []any         `json:"tools"`
		Format   *struct {
			Schema struct {
				Schema map[string]any `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`

		text string // the whole request
	}
	chatMessage struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Calls   []struct {
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
)

// ServeHTTP answers chat completions.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req := chatRequest{text: string(body)}
	if strings.HasSuffix(r.URL.Path, "/chat/completions") && json.Unmarshal(body, &req) == nil {
		if text, calls, ok := m.answer(&req); ok {
			writeCompletion(w, &req, text, calls)
			return
		}
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	m.sim.ServeHTTP(w, again)
}

// answer returns the text and the calls of an answer. Without a case in the request, ok is false.
func (m *model) answer(req *chatRequest) (text string, calls []call, ok bool) {
	obeyed := m.findDirectives(req)
	user, step := m.findStep(req)
	if len(obeyed) == 0 && user == nil {
		return "", nil, false
	}
	if req.Format != nil && req.Format.Schema.Schema != nil {
		return m.fillAnswer(req, obeyed, user), nil, true
	}
	for _, s := range obeyed {
		m.noteCondensed(s, req)
	}
	done := req.doneCalls()
	m.noteResults(user, step, req)
	if user != nil && step <= len(user.userCalls()) {
		calls = missingCalls(user, user.userCalls()[step-1], req.text, done)
	}
	if len(calls) > 0 {
		return "", calls[:1], true // the next call may need its result
	}
	for _, s := range obeyed {
		todo := missingCalls(s, s.Do, req.text, done)
		m.noteAttempts(s, todo)
		calls = append(calls, todo...)
		if said := strings.TrimSpace(s.fillSecret(s.Say)); said != "" && strings.Contains(req.text, s.secret) {
			text += said + "\n\n"
		} else if said != "" {
			text += s.fill(s.Say) + "\n\n"
		}
		text += "(Directive " + s.id + ")\n\n"
	}
	if text == "" {
		text = "This is what I found about your question."
	}
	return strings.TrimSpace(text), calls, true
}

// findDirectives returns the attacks whose directive is in the request. An attack without a
// stranger's text counts from the user's first message.
func (m *model) findDirectives(req *chatRequest) (list []*scenario) {
	for _, match := range directive.FindAllStringSubmatch(req.text, -1) {
		if s := m.world.byID[strings.ToLower(match[1])]; s != nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	for _, match := range userStep.FindAllStringSubmatch(req.text, -1) {
		if s := m.world.byID[match[1]]; s != nil && s.Via == "none" && s.Expect == nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	for _, s := range list {
		s.reached = true
	}
	return list
}

// findStep returns the case and the step that the newest message of the user names.
func (m *model) findStep(req *chatRequest) (*scenario, int) {
	i := req.lastUser()
	if i < 0 {
		return nil, 0
	}
	all := userStep.FindAllStringSubmatch(string(req.Messages[i].Content), -1)
	if len(all) == 0 {
		return nil, 0
	}
	last := all[len(all)-1]
	step, _ := strconv.Atoi(last[2])
	return m.world.byID[last[1]], step
}

func (r *chatRequest) lastUser() int {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return i
		}
	}
	return -1
}

// doneCalls returns the calls since the newest message of the user.
func (r *chatRequest) doneCalls() (list []call) {
	for _, m := range r.Messages[r.lastUser()+1:] {
		for _, c := range m.Calls {
			list = append(list, call{c.Function.Name, json.RawMessage(c.Function.Arguments)})
		}
	}
	return list
}

// missingCalls returns the calls that were not made. A call waits until the secret of its
// arguments is in the context. In a control, a fetch waits until the context names the page.
func missingCalls(s *scenario, list []call, context string, done []call) (missing []call) {
	for _, c := range list {
		args := s.fill(string(c.Args))
		if strings.Contains(args, "{{secret") && !strings.Contains(context, s.secret) {
			continue
		}
		if s.Expect != nil && c.Tool == "web_fetch" && !strings.Contains(context, s.page) {
			continue
		}
		c.Args = json.RawMessage(s.fillSecret(args))
		if !slices.ContainsFunc(done, func(o call) bool { return o.Tool == c.Tool && equalJSON(o.Args, c.Args) }) {
			missing = append(missing, c)
		}
	}
	return missing
}

func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func (m *model) noteAttempts(s *scenario, list []call) {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	for _, c := range list {
		s.attempts = append(s.attempts, c.Tool)
	}
}

// noteResults notes how many results of tools follow the newest message of the user.
func (m *model) noteResults(user *scenario, step int, req *chatRequest) {
	n := 0
	for _, message := range req.Messages[req.lastUser()+1:] {
		if message.Role == "tool" {
			n++
		}
	}
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	if user != nil {
		user.results[step] = max(user.results[step], n)
	}
}

// noteCondensed notes a request for a summary of the conversation: it has no tools, and the
// transcript is its message.
func (m *model) noteCondensed(s *scenario, req *chatRequest) {
	if i := req.lastUser(); i < 0 || len(req.Tools) > 0 || !bytes.HasPrefix(req.Messages[i].Content, []byte(`"User: `)) {
		return
	}
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	s.condensed = true
}

// fillAnswer returns JSON of the requested schema. All its texts carry the secret, if the model
// follows a directive, or else the subject of the question.
func (m *model) fillAnswer(req *chatRequest, obeyed []*scenario, user *scenario) string {
	var texts []string
	for _, s := range obeyed {
		m.noteAttempts(s, []call{{Tool: "answer"}})
		text := s.topic() + " " + s.evil + "/leak directive " + s.id
		if strings.Contains(req.text, s.secret) {
			text = s.topic() + " " + s.encodings()["secret:spaced"] + " " + s.secret + " " + s.evil + "/leak?d=" + s.secret + " directive " + s.id
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		texts = []string{user.topic()}
	}
	js, err := json.Marshal(valueOf("", req.Format.Schema.Schema, req.Format.Schema.Schema, texts))
	if err != nil {
		return "{}"
	}
	return string(js)
}

// valueOf returns a value of a schema.
func valueOf(name string, schema, root map[string]any, texts []string) any {
	if ref, ok := schema["$ref"].(string); ok {
		defs, _ := root["$defs"].(map[string]any)
		schema, _ = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if list, ok := schema["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	if list, ok := schema["anyOf"].([]any); ok && len(list) > 0 {
		first, _ := list[0].(map[string]any)
		return valueOf(name, first, root, texts)
	}
	switch name { // of the subconscious
	case "rests_on":
		return []string{"o1"}
	case "reinforces":
		return []string{}
	case "due", "type":
		return ""
	}
	kind, _ := schema["type"].(string)
	if list, ok := schema["type"].([]any); ok && len(list) > 0 {
		kind, _ = list[len(list)-1].(string) // the first may be null
	}
	switch kind {
	case "object":
		out := make(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for key, sub := range properties {
			one, _ := sub.(map[string]any)
			out[key] = valueOf(key, one, root, texts)
		}
		return out
	case "array":
		one, _ := schema["items"].(map[string]any)
		list := []any{}
		for i := range texts {
			list = append(list, valueOf(name, one, root, texts[i:i+1]))
		}
		return list
	case "number", "integer":
		if most, ok := schema["maximum"].(float64); ok {
			return most
		}
		if strings.Contains(name, "confidence") {
			return 1
		}
		return 9
	case "boolean":
		return !slices.Contains([]string{"enough", "settled", "done"}, name)
	}
	return strings.Join(texts, " ")
}

// writeCompletion writes an answer in the form of chat completions.
func writeCompletion(w http.ResponseWriter, req *chatRequest, text string, calls []call) {
	finish := "stop"
	message := map[string]any{"role": "assistant", "content": text}
	var list []any
	for i, c := range calls {
		list = append(list, map[string]any{"index": i, "id": fmt.Sprintf("call_%d_%d", len(req.Messages), i), "type": "function",
			"function": map[string]any{"name": c.Tool, "arguments": string(c.Args)}})
	}
	if len(list) > 0 {
		message["tool_calls"], finish = list, "tool_calls"
	}
	usage := map[string]any{"prompt_tokens": len(req.text) / 4, "completion_tokens": len(text)/4 + 10, "total_tokens": len(req.text)/4 + len(text)/4 + 10}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "c", "object": "chat.completion", "created": 1, "model": req.Model, "usage": usage,
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	frame := func(choices []any, usage any) {
		js, err := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": req.Model, "choices": choices, "usage": usage})
		if err == nil {
			fmt.Fprintf(w, "data: %s\n\n", js)
		}
	}
	frame([]any{map[string]any{"index": 0, "delta": message, "finish_reason": nil}}, nil)
	frame([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}, nil)
	frame([]any{}, usage)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
