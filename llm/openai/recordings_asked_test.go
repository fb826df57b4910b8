package openai

import (
	"encoding/json"
	"testing"

	"ponder/llm"
)

func askedChat(t testing.TB, q object) *llm.Request {
	req := &llm.Request{MaxTokens: max(num(q, "max_tokens"), num(q, "max_completion_tokens")), Effort: str(q, "reasoning_effort")}
	if r, ok := q["reasoning"].(object); ok {
		if req.Effort = str(r, "effort"); r["enabled"] == true {
			req.Effort = "medium" // nearest
		}
	}
	full := provider + "/" + str(q, "model")
	for _, m := range list(q, "messages") {
		if at(m, "cache_control") != nil {
			req.Cache = true
		}
		switch str(m, "role") {
		case "system":
			req.System = str(m, "content")
		case "user":
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: askedParts(t, at(m, "content"))})
		case "assistant":
			req.Messages = append(req.Messages, askedAssistant(m, full))
		case "tool":
			result := llm.Part{Result: &llm.ToolResult{ID: str(m, "tool_call_id"), Text: str(m, "content")}}
			askedResult(req, result)
		}
	}
	for _, tool := range list(q, "tools") {
		f := at(tool, "function")
		req.Tools = append(req.Tools, llm.Tool{Name: str(f, "name"), Doc: str(f, "description"), Schema: raw(at(f, "parameters"))})
	}
	req.ToolChoice = str(q, "tool_choice")
	if name := str(q, "tool_choice", "function", "name"); name != "" {
		req.ToolChoice = name
	}
	if s := at(q, "response_format", "json_schema"); s != nil {
		schema := at(s, "schema").(object)
		if doc := str(s, "description"); doc != "" {
			schema["description"] = doc
		}
		req.Schema = &llm.Schema{Name: str(s, "name"), JSON: raw(schema)}
	}
	return req
}

func askedParts(t testing.TB, content any) (parts []llm.Part) {
	if s, ok := content.(string); ok {
		return []llm.Part{{Text: s}}
	}
	for _, p := range content.([]any) {
		switch str(p, "type") {
		case "text", "input_text":
			parts = append(parts, llm.Part{Text: str(p, "text")})
		case "image_url":
			parts = append(parts, llm.Part{Media: &llm.Media{Type: "image/png", URL: str(p, "image_url", "url")}})
		default:
			t.Fatalf("part of type %q", str(p, "type"))
		}
	}
	return parts
}

func askedAssistant(m any, full string) llm.Message {
	out := llm.Message{Role: llm.Assistant}
	keep := object{}
	thought := str(m, "reasoning_content")
	if thought != "" {
		keep["field"] = "reasoning_content"
	} else if thought = str(m, "reasoning"); thought != "" {
		keep["field"] = "reasoning"
	}
	if d := at(m, "reasoning_details"); d != nil {
		keep["reasoning_details"] = d
	}
	if len(keep) > 0 {
		out.Parts = append(out.Parts, llm.Part{Reasoning: thought, Opaque: &llm.Opaque{Model: full, Data: raw(keep)}})
	}
	if s := str(m, "content"); s != "" {
		out.Parts = append(out.Parts, llm.Part{Text: s})
	}
	for _, c := range list(m, "tool_calls") {
		out.Parts = append(out.Parts, llm.Part{Call: &llm.ToolCall{
			ID: str(c, "id"), Name: str(c, "function", "name"), Input: json.RawMessage(str(c, "function", "arguments"))}})
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

// carried is independent of form.
type carried struct {
	Model    string
	Messages []carriedMessage
	Tools    []any
	Choice   any
	Max      int
	Effort   string
	Format   any
	Usage    any
}

type carriedMessage struct {
	Role, Text, CallID string
	Images             []string
	Calls              []toldCall
	Content, Reasoning string
	Details            any
}

func carriedByChat(t testing.TB, q object) carried {
	c := carried{Model: str(q, "model"), Max: max(num(q, "max_tokens"), num(q, "max_completion_tokens")),
		Choice: q["tool_choice"], Format: q["response_format"], Usage: q["usage"], Effort: str(q, "reasoning_effort")}
	if r, ok := q["reasoning"].(object); ok {
		if c.Effort = str(r, "effort"); r["enabled"] == true {
			c.Effort = "medium"
		}
	}
	for _, tool := range list(q, "tools") {
		c.Tools = append(c.Tools, plainTool(at(tool, "function")))
	}
	for _, m := range list(q, "messages") {
		out := carriedMessage{Role: str(m, "role"), CallID: str(m, "tool_call_id"), Content: str(m, "reasoning_content"),
			Reasoning: str(m, "reasoning"), Details: at(m, "reasoning_details"), Text: str(m, "content")}
		for _, p := range list(m, "content") {
			out.Text += str(p, "text")
			if u := str(p, "image_url", "url"); u != "" {
				out.Images = append(out.Images, u)
			}
		}
		for _, call := range list(m, "tool_calls") {
			out.Calls = append(out.Calls, toldCall{str(call, "id"), str(call, "function", "name"), parse(t, []byte(str(call, "function", "arguments")))})
		}
		c.Messages = append(c.Messages, out)
	}
	return c
}

// plainTool drops strictness.
func plainTool(f any) any {
	return object{"name": str(f, "name"), "description": str(f, "description"), "parameters": at(f, "parameters")}
}

func askedResponses(t testing.TB, q object) *llm.Request {
	req := &llm.Request{MaxTokens: num(q, "max_output_tokens"), Effort: str(q, "reasoning", "effort"), ToolChoice: str(q, "tool_choice")}
	for _, m := range list(q, "input") {
		switch kind := str(m, "role") + str(m, "type"); kind {
		case "system", "developer":
			req.System = str(m, "content")
		case "user":
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: askedParts(t, at(m, "content"))})
		case "function_call":
			part := llm.Part{Call: &llm.ToolCall{ID: str(m, "call_id"), Name: str(m, "name"), Input: json.RawMessage(str(m, "arguments"))}}
			if n := len(req.Messages) - 1; req.Messages[n].Role == llm.Assistant {
				req.Messages[n].Parts = append(req.Messages[n].Parts, part)
			} else {
				req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{part}})
			}
		case "function_call_output":
			askedResult(req, llm.Part{Result: &llm.ToolResult{ID: str(m, "call_id"), Text: str(m, "output")}})
		default:
			t.Fatalf("item %s", kind)
		}
	}
	for _, f := range list(q, "tools") {
		if str(f, "type") == "function" {
			req.Tools = append(req.Tools, llm.Tool{Name: str(f, "name"), Doc: str(f, "description"), Schema: raw(at(f, "parameters"))})
		}
	}
	if f := at(q, "text", "format"); f != nil {
		schema := at(f, "schema").(object)
		if doc := str(f, "description"); doc != "" {
			schema["description"] = doc
		}
		req.Schema = &llm.Schema{Name: str(f, "name"), JSON: raw(schema)}
	}
	return req
}

func carriedByResponses(t testing.TB, q object) carried {
	c := carried{Model: str(q, "model"), Max: num(q, "max_output_tokens"), Effort: str(q, "reasoning", "effort"), Format: at(q, "text", "format")}
	if f, ok := c.Format.(object); ok {
		delete(f, "strict") // ours
	}
	for _, f := range list(q, "tools") {
		if str(f, "type") == "function" {
			f = plainTool(f)
		}
		c.Tools = append(c.Tools, f)
		c.Choice = q["tool_choice"]
	}
	for _, m := range list(q, "input") {
		out := carriedMessage{Role: str(m, "role") + str(m, "type"), CallID: str(m, "call_id"), Text: str(m, "content") + str(m, "output")}
		for _, p := range list(m, "content") {
			out.Text += str(p, "text")
		}
		if name := str(m, "name"); name != "" {
			out.Calls = []toldCall{{Name: name, Input: parse(t, []byte(str(m, "arguments")))}}
		}
		c.Messages = append(c.Messages, out)
	}
	return c
}
