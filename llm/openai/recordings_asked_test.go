package openai

import (
	"encoding/json"
	"testing"

	"ponder/llm"
)

func askedChat(t testing.TB, q object) *llm.Request {
	req := &llm.Request{MaxTokens: max(intAt(q, "max_tokens"), intAt(q, "max_completion_tokens")), Effort: stringAt(q, "reasoning_effort")}
	if r, ok := q["reasoning"].(object); ok {
		if req.Effort = stringAt(r, "effort"); r["enabled"] == true {
			req.Effort = "medium" // nearest
		}
	}
	full := provider + "/" + stringAt(q, "model")
	for _, m := range listAt(q, "messages") {
		if valueAt(m, "cache_control") != nil {
			req.Cache = true
		}
		switch stringAt(m, "role") {
		case "system":
			req.System = stringAt(m, "content")
		case "user":
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: askedParts(t, valueAt(m, "content"))})
		case "assistant":
			req.Messages = append(req.Messages, askedAssistant(m, full))
		case "tool":
			result := llm.Part{Result: &llm.ToolResult{ID: stringAt(m, "tool_call_id"), Text: stringAt(m, "content")}}
			askedResult(req, result)
		}
	}
	for _, tool := range listAt(q, "tools") {
		f := valueAt(tool, "function")
		req.Tools = append(req.Tools, llm.Tool{Name: stringAt(f, "name"), Doc: stringAt(f, "description"), Schema: rawJSON(valueAt(f, "parameters"))})
	}
	req.ToolChoice = stringAt(q, "tool_choice")
	if name := stringAt(q, "tool_choice", "function", "name"); name != "" {
		req.ToolChoice = name
	}
	if s := valueAt(q, "response_format", "json_schema"); s != nil {
		schema := valueAt(s, "schema").(object)
		if doc := stringAt(s, "description"); doc != "" {
			schema["description"] = doc
		}
		req.Schema = &llm.Schema{Name: stringAt(s, "name"), JSON: rawJSON(schema)}
	}
	return req
}

func askedParts(t testing.TB, content any) (parts []llm.Part) {
	if s, ok := content.(string); ok {
		return []llm.Part{{Text: s}}
	}
	for _, p := range content.([]any) {
		switch stringAt(p, "type") {
		case "text", "input_text":
			parts = append(parts, llm.Part{Text: stringAt(p, "text")})
		case "image_url":
			parts = append(parts, llm.Part{Media: &llm.Media{Type: "image/png", URL: stringAt(p, "image_url", "url")}})
		default:
			t.Fatalf("part of type %q", stringAt(p, "type"))
		}
	}
	return parts
}

func askedAssistant(m any, full string) llm.Message {
	out := llm.Message{Role: llm.Assistant}
	keep := object{}
	thought := stringAt(m, "reasoning_content")
	if thought != "" {
		keep["field"] = "reasoning_content"
	} else if thought = stringAt(m, "reasoning"); thought != "" {
		keep["field"] = "reasoning"
	}
	if d := valueAt(m, "reasoning_details"); d != nil {
		keep["reasoning_details"] = d
	}
	if len(keep) > 0 {
		out.Parts = append(out.Parts, llm.Part{Reasoning: thought, Opaque: &llm.Opaque{Model: full, Data: rawJSON(keep)}})
	}
	if s := stringAt(m, "content"); s != "" {
		out.Parts = append(out.Parts, llm.Part{Text: s})
	}
	for _, c := range listAt(m, "tool_calls") {
		out.Parts = append(out.Parts, llm.Part{Call: &llm.ToolCall{
			ID: stringAt(c, "id"), Name: stringAt(c, "function", "name"), Input: json.RawMessage(stringAt(c, "function", "arguments"))}})
	}
	return out
}

func askedResult(req *llm.Request, p llm.Part) {
	if n := len(req.Messages) - 1; req.Messages[n].Role == llm.User {
		req.Messages[n].Parts = append(req.Messages[n].Parts, p)
		return
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: []llm.Part{p}})
}

// requestSummary is independent of form.
type requestSummary struct {
	Model    string
	Messages []requestMessage
	Tools    []any
	Choice   any
	Max      int
	Effort   string
	Format   any
	Usage    any
}

type requestMessage struct {
	Role, Text, CallID string
	Images             []string
	Calls              []summaryCall
	Content, Reasoning string
	Details            any
}

func summarizeChatRequest(t testing.TB, q object) requestSummary {
	c := requestSummary{Model: stringAt(q, "model"), Max: max(intAt(q, "max_tokens"), intAt(q, "max_completion_tokens")),
		Choice: q["tool_choice"], Format: q["response_format"], Usage: q["usage"], Effort: stringAt(q, "reasoning_effort")}
	if r, ok := q["reasoning"].(object); ok {
		if c.Effort = stringAt(r, "effort"); r["enabled"] == true {
			c.Effort = "medium"
		}
	}
	for _, tool := range listAt(q, "tools") {
		c.Tools = append(c.Tools, plainTool(valueAt(tool, "function")))
	}
	for _, m := range listAt(q, "messages") {
		out := requestMessage{Role: stringAt(m, "role"), CallID: stringAt(m, "tool_call_id"), Content: stringAt(m, "reasoning_content"),
			Reasoning: stringAt(m, "reasoning"), Details: valueAt(m, "reasoning_details"), Text: stringAt(m, "content")}
		for _, p := range listAt(m, "content") {
			out.Text += stringAt(p, "text")
			if u := stringAt(p, "image_url", "url"); u != "" {
				out.Images = append(out.Images, u)
			}
		}
		for _, call := range listAt(m, "tool_calls") {
			out.Calls = append(out.Calls, summaryCall{stringAt(call, "id"), stringAt(call, "function", "name"), parseObject(t, []byte(stringAt(call, "function", "arguments")))})
		}
		c.Messages = append(c.Messages, out)
	}
	return c
}

// plainTool drops strictness.
func plainTool(f any) any {
	return object{"name": stringAt(f, "name"), "description": stringAt(f, "description"), "parameters": valueAt(f, "parameters")}
}

func askedResponses(t testing.TB, q object) *llm.Request {
	req := &llm.Request{MaxTokens: intAt(q, "max_output_tokens"), Effort: stringAt(q, "reasoning", "effort"), ToolChoice: stringAt(q, "tool_choice")}
	for _, m := range listAt(q, "input") {
		switch kind := stringAt(m, "role") + stringAt(m, "type"); kind {
		case "system", "developer":
			req.System = stringAt(m, "content")
		case "user":
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: askedParts(t, valueAt(m, "content"))})
		case "function_call":
			part := llm.Part{Call: &llm.ToolCall{ID: stringAt(m, "call_id"), Name: stringAt(m, "name"), Input: json.RawMessage(stringAt(m, "arguments"))}}
			if n := len(req.Messages) - 1; req.Messages[n].Role == llm.Assistant {
				req.Messages[n].Parts = append(req.Messages[n].Parts, part)
			} else {
				req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{part}})
			}
		case "function_call_output":
			askedResult(req, llm.Part{Result: &llm.ToolResult{ID: stringAt(m, "call_id"), Text: stringAt(m, "output")}})
		default:
			t.Fatalf("item %s", kind)
		}
	}
	for _, f := range listAt(q, "tools") {
		if stringAt(f, "type") == "function" {
			req.Tools = append(req.Tools, llm.Tool{Name: stringAt(f, "name"), Doc: stringAt(f, "description"), Schema: rawJSON(valueAt(f, "parameters"))})
		}
	}
	if f := valueAt(q, "text", "format"); f != nil {
		schema := valueAt(f, "schema").(object)
		if doc := stringAt(f, "description"); doc != "" {
			schema["description"] = doc
		}
		req.Schema = &llm.Schema{Name: stringAt(f, "name"), JSON: rawJSON(schema)}
	}
	return req
}

func summarizeResponsesRequest(t testing.TB, q object) requestSummary {
	c := requestSummary{Model: stringAt(q, "model"), Max: intAt(q, "max_output_tokens"), Effort: stringAt(q, "reasoning", "effort"), Format: valueAt(q, "text", "format")}
	if f, ok := c.Format.(object); ok {
		delete(f, "strict") // ours
	}
	for _, f := range listAt(q, "tools") {
		if stringAt(f, "type") == "function" {
			f = plainTool(f)
		}
		c.Tools = append(c.Tools, f)
		c.Choice = q["tool_choice"]
	}
	for _, m := range listAt(q, "input") {
		out := requestMessage{Role: stringAt(m, "role") + stringAt(m, "type"), CallID: stringAt(m, "call_id"), Text: stringAt(m, "content") + stringAt(m, "output")}
		for _, p := range listAt(m, "content") {
			out.Text += stringAt(p, "text")
		}
		if name := stringAt(m, "name"); name != "" {
			out.Calls = []summaryCall{{Name: name, Input: parseObject(t, []byte(stringAt(m, "arguments")))}}
		}
		c.Messages = append(c.Messages, out)
	}
	return c
}
