package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// anthropicDialect is Anthropic's Messages.
func anthropicDialect() *dialect {
	return &dialect{
		name: "anthropic", key: anthropicKey, refuse: anthropicRefusal, inband: anthropicInband,
		whole: anthropicWhole, stream: anthropicStream, limits: anthropicLimits, retryForm: RetrySeconds,
		contentType: "text/event-stream; charset=utf-8",
		garbage:     "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"del\n\n",
		comment:     "event: ping\ndata: {\"type\": \"ping\"}\n\n: ping\n\n",
	}
}

func anthropicKey(r *http.Request) string {
	if key := r.Header.Get("x-api-key"); key != "" {
		return key
	}
	return bearer(r)
}

// anthropicRefusal writes an error as Anthropic does.
func anthropicRefusal(f failure) (int, []byte) {
	status, typ, message := anthropicWords(f)
	return status, encode(map[string]any{
		"type": "error", "error": map[string]string{"type": typ, "message": message}, "request_id": "req_" + token(uint64(status), 20),
	})
}

// anthropicInband writes an error event.
func anthropicInband(f failure) []byte {
	_, body := anthropicRefusal(f)
	return append([]byte("event: error\n"), sse(nil, string(body))...)
}

func anthropicWords(f failure) (status int, typ, message string) {
	switch f.kind {
	case wrongKey:
		return 401, "authentication_error", f.said("invalid x-api-key")
	case noCredit:
		return 400, "invalid_request_error", f.said("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")
	case noModel:
		return 404, "not_found_error", f.said("model: %s", f.model)
	case tooLong:
		return 400, "invalid_request_error", f.said("prompt is too long: %d tokens > %d maximum", f.tokens, f.limit)
	case filtered:
		return 400, "invalid_request_error", f.said("Output blocked by content filtering policy")
	case rateLimited:
		return 429, "rate_limit_error", f.said("This request would exceed your organization's rate limit. Please reduce the prompt length or the maximum tokens requested, or try again later.")
	case overloaded:
		return 529, "overloaded_error", f.said("Overloaded")
	case unavailable:
		return 503, "api_error", f.said("Service unavailable")
	case serverError, badGateway, page:
		return 500, "api_error", f.said("Internal server error")
	}
	return 400, "invalid_request_error", f.said("Bad request")
}

type anthropicRequest struct {
	Model    string             `json:"model"`
	Max      *int               `json:"max_tokens"`
	System   content            `json:"system"`
	Messages []anthropicMessage `json:"messages"`
	Tools    []struct {
		Name   string          `json:"name"`
		Doc    string          `json:"description"`
		Schema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Choice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Temperature *float64 `json:"temperature"`
	Stream      bool     `json:"stream"`
	Output      struct {
		Format anthropicFormat `json:"format"`
	} `json:"output_config"`
	Format anthropicFormat `json:"output_format"` // the name it had first
}

type anthropicFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

type anthropicMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// parseAnthropic reads a request for a message.
func parseAnthropic(x *exchange, _ string, body []byte) (*ask, failure, bool) {
	var q anthropicRequest
	if why, ok := read(body, &q); !ok {
		return nil, why, false
	}
	if x.r.Header.Get("anthropic-version") == "" {
		return nil, failure{kind: badRequest, message: "anthropic-version: header is required"}, false
	}
	if why := q.check(); why != "" {
		return nil, failure{kind: badRequest, message: why}, false
	}
	a := q.ask()
	a.max = *q.Max
	return a, failure{}, true
}

func (q *anthropicRequest) ask() *ask {
	a := &ask{model: q.Model, stream: q.Stream, usage: true, choice: q.Choice.Type, think: q.Thinking.Type == "enabled" || q.Thinking.Type == "adaptive"}
	switch q.Choice.Type {
	case "tool":
		a.choice = q.Choice.Name
	case "any":
		a.choice = "required"
	}
	if len(q.System) > 0 {
		a.turn("system")
		q.System.add(a, "system")
	}
	for _, m := range q.Messages {
		a.turn(m.Role)
		for _, p := range m.Content {
			switch p.Type {
			case "tool_use":
				a.call(p.Name, p.Input)
			case "tool_result":
				a.result(p.Content.text())
				content{{Source: firstSource(p.Content)}}.add(a, m.Role)
			default:
				content{p}.add(a, m.Role)
			}
		}
	}
	for _, t := range q.Tools {
		a.tool(t.Name, t.Doc, t.Schema)
	}
	if a.schema = q.Output.Format.Schema; len(a.schema) == 0 {
		a.schema = q.Format.Schema
	}
	return a
}

// firstSource is the first image in what a tool returned.
func firstSource(c content) *mediaSource {
	for _, p := range c {
		if p.Source != nil {
			return p.Source
		}
	}
	return nil
}

// check returns why Anthropic would refuse the request.
func (q *anthropicRequest) check() string {
	switch {
	case q.Model == "":
		return "model: Field required"
	case q.Max == nil:
		return "max_tokens: Field required"
	case *q.Max < 1:
		return "max_tokens: Input should be greater than or equal to 1"
	case len(q.Messages) == 0:
		return "messages: at least one message is required"
	case q.Choice.Type != "" && len(q.Tools) == 0 && q.Choice.Type != "none":
		return "tool_choice: may only be specified while providing tools"
	}
	if t := q.Thinking; t.Type == "enabled" {
		switch {
		case t.Budget < 1024:
			return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
		case t.Budget >= *q.Max:
			return "`max_tokens` must be greater than `thinking.budget_tokens`"
		case q.Choice.Type == "any" || q.Choice.Type == "tool":
			return "Thinking may not be enabled when tool_choice forces tool use."
		case q.Temperature != nil && *q.Temperature != 1:
			return "`temperature` may only be set to 1 when thinking is enabled."
		}
	}
	for _, f := range []anthropicFormat{q.Output.Format, q.Format} {
		if why := anthropicSchema.why(f.Schema, ""); why != "" {
			return why
		}
	}
	return q.checkMessages()
}

// anthropicSchema finds what Anthropic does not take in a schema.
var anthropicSchema = checker{check: func(_ string, raw json.RawMessage, s shape) string {
	if !closed(s) {
		return "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return ""
	}
	for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems"} {
		if _, ok := all[k]; ok {
			return fmt.Sprintf("output_config.format.schema: For '%s' type, property '%s' is not supported", strings.Trim(string(s.Type), `"`), k)
		}
	}
	return ""
}}

// checkMessages returns what is wrong with the order of calls and results.
func (q *anthropicRequest) checkMessages() string {
	var open []string // calls that the next message must answer
	for i, m := range q.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Sprintf("messages: Unexpected role %q. Allowed roles are \"user\" or \"assistant\".", m.Role)
		}
		if len(m.Content) == 0 {
			return fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		var calls []string
		for j, p := range m.Content {
			switch {
			case p.Type == "text" && p.Text == "":
				return "messages: text content blocks must be non-empty"
			case p.Type == "tool_use":
				if !bytes.HasPrefix(bytes.TrimSpace(p.Input), []byte("{")) {
					return fmt.Sprintf("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, j)
				}
				calls = append(calls, p.ID)
			case p.Type == "tool_result":
				if !slices.Contains(open, p.ToolUseID) {
					return fmt.Sprintf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, p.ToolUseID)
				}
				open = slices.DeleteFunc(open, func(id string) bool { return id == p.ToolUseID })
			case p.Type == "thinking" && !unsealed(q.Model, p.Signature), p.Type == "redacted_thinking" && !unsealed(q.Model, p.Data):
				return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
			}
		}
		if len(open) > 0 {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, strings.Join(open, ", "))
		}
		open = calls
	}
	return ""
}

// anthropicModels serves what Anthropic has at GET /v1/models.
func anthropicModels(path string) target {
	name := strings.TrimPrefix(strings.TrimPrefix(path, "/v1/models"), "/")
	model := func(id string) map[string]any {
		return map[string]any{"type": "model", "id": id, "display_name": id, "created_at": "2025-05-22T00:00:00Z"}
	}
	return target{anthropicDialect(), name, func(x *exchange, name string, _ []byte) {
		switch {
		case !strings.HasPrefix(path, "/v1/models"):
			x.fail(failure{kind: badRequest, status: http.StatusNotFound, message: "Not Found"})
		case name == "":
			list := []any{}
			for _, m := range x.models() {
				list = append(list, model(m))
			}
			x.answer(map[string]any{"data": list, "has_more": false})
		case !x.has(name):
			x.fail(failure{kind: noModel})
		default:
			x.answer(model(name))
		}
	}}
}

// serveAnthropicCount counts the tokens of a prompt.
func serveAnthropicCount(x *exchange, _ string, body []byte) {
	var q anthropicRequest
	if why, ok := read(body, &q); !ok {
		x.fail(why)
		return
	}
	a := q.ask()
	a.seal()
	x.answer(map[string]int{"input_tokens": a.tokens()})
}
