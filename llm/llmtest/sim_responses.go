package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// responsesDialect is OpenAI's Responses.
func responsesDialect() *dialect {
	d := openaiDialect()
	d.name, d.whole, d.stream, d.inband = "responses", responsesWhole, responsesStream, responsesInband
	d.garbage = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\n\n"
	return d
}

// responsesInband writes an error event.
func responsesInband(f failure) []byte {
	_, e := openaiWords(f)
	return append([]byte("event: error\n"), sse(nil, string(encode(map[string]any{
		"type": "error", "code": "server_error", "message": e.Message, "param": nil, "sequence_number": 9,
	})))...)
}

type responsesRequest struct {
	Model        string           `json:"model"`
	Input        responsesInput   `json:"input"`
	Instructions string           `json:"instructions"`
	Tools        []responsesTool  `json:"tools"`
	Choice       choice           `json:"tool_choice"`
	Max          int              `json:"max_output_tokens"`
	Stream       bool             `json:"stream"`
	Include      []string         `json:"include"`
	Text         responsesText    `json:"text"`
	Reasoning    responsesReasons `json:"reasoning"`
}

type responsesReasons struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

type responsesText struct {
	Format struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict bool            `json:"strict"`
	} `json:"format"`
}

type responsesTool struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Doc    string          `json:"description"`
	Schema json.RawMessage `json:"parameters"`
}

type responsesInput []responsesItem

type responsesItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	Content   content `json:"content"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
	Encrypted string  `json:"encrypted_content"`
	ID        string  `json:"id"`
}

// UnmarshalJSON implements [json.Unmarshaler]: input is a string or items.
func (in *responsesInput) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '"' {
		var text string
		err := json.Unmarshal(b, &text)
		*in = responsesInput{{Role: "user", Content: content{{Text: text}}}}
		return err
	}
	return json.Unmarshal(b, (*[]responsesItem)(in))
}

// parseResponses reads a request for a response.
func parseResponses(_ *exchange, _ string, body []byte) (*ask, failure, bool) {
	var q responsesRequest
	if why, ok := read(body, &q); !ok {
		return nil, why, false
	}
	if why, ok := q.check(); !ok {
		return nil, why, false
	}
	a := &ask{model: q.Model, stream: q.Stream, usage: true, max: q.Max, choice: string(q.Choice), think: q.Reasoning.Summary != ""}
	for _, inc := range q.Include {
		a.encrypt = a.encrypt || inc == "reasoning.encrypted_content"
	}
	if q.Instructions != "" {
		a.turn("system")
		a.say("system", q.Instructions)
	}
	for _, it := range q.Input {
		it.add(a)
	}
	for _, t := range q.Tools {
		a.tool(t.Name, t.Doc, t.Schema)
	}
	a.schema, a.json = q.Text.Format.Schema, q.Text.Format.Type == "json_object"
	return a, failure{}, true
}

func (it responsesItem) add(a *ask) {
	switch it.Type {
	case "function_call":
		a.call(it.Name, []byte(it.Arguments))
	case "function_call_output":
		a.result(it.Output.text())
	case "reasoning":
	default:
		role := it.Role
		if role == "developer" {
			role = "system"
		}
		a.turn(role)
		it.Content.add(a, role)
	}
}

// check refuses what OpenAI refuses.
func (q *responsesRequest) check() (failure, bool) {
	bad := func(param, format string, args ...any) (failure, bool) {
		return failure{kind: badRequest, param: param, message: fmt.Sprintf(format, args...)}, false
	}
	switch {
	case q.Model == "":
		return bad("model", "Missing required parameter: 'model'.")
	case len(q.Input) == 0:
		return bad("input", "Missing required parameter: 'input'.")
	case q.Choice != "" && q.Choice != "auto" && q.Choice != "none" && len(q.Tools) == 0:
		return bad("tool_choice", "Tool choice '%s' not found in 'tools' parameter.", q.Choice)
	}
	calls := make(map[string]bool)
	for i, it := range q.Input {
		switch it.Type {
		case "function_call":
			calls[it.CallID] = true
		case "function_call_output":
			if !calls[it.CallID] {
				return bad("input", "No tool call found for function call output with call_id %s.", it.CallID)
			}
			delete(calls, it.CallID)
		case "reasoning":
			if it.Encrypted != "" && !unsealed(q.Model, it.Encrypted) {
				return bad("", "The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", it.ID)
			}
			if i+1 == len(q.Input) || q.Input[i+1].Role == "user" {
				return bad("input", "Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
			}
		case "", "message":
			if it.Role == "" {
				return bad("input", "Invalid value: ''. Supported values are: 'assistant', 'system', 'developer', and 'user'.")
			}
		}
	}
	for _, call := range sortedKeys(calls) {
		return bad("input", "No tool output found for function call %s.", call)
	}
	f := q.Text.Format
	if f.Type == "json_schema" && f.Name == "" {
		return bad("text.format.name", "Missing required parameter: 'text.format.name'.")
	}
	if f.Type == "json_schema" && f.Strict {
		return strictSchema("text.format", f.Name, f.Schema)
	}
	return failure{}, true
}
