package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"ponder/llm/llmtest/internal/mimic"
)

// content is the content of a message: a string, or parts. It reads the forms
// of chat completions, Responses and Anthropic.
type content []contentPart

type contentPart struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ImageURL  json.RawMessage `json:"image_url"` // {"url"} or a string
	Source    *mediaSource    `json:"source"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"` // of a tool's result
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
}

type mediaSource struct {
	Type string `json:"type"`
	Data string `json:"data"`
	URL  string `json:"url"`
}

// maxNested bounds how deep results of tools may nest parts.
const maxNested = 64

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	if len(b) > 0 && b[0] != '[' {
		return fmt.Errorf("content is neither a string nor a list")
	}
	if bytes.Count(b, []byte(`"tool_result"`)) > 1 && bracketDepth(b) > maxNested {
		return fmt.Errorf("content is nested too deep")
	}
	return json.Unmarshal(b, (*[]contentPart)(c))
}

// bracketDepth returns how deep brackets nest, those in strings included.
func bracketDepth(b []byte) (most int) {
	depth := 0
	for _, ch := range b {
		switch ch {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		}
	}
	return most
}

// text returns the text of the parts.
func (c content) text() string {
	if len(c) == 1 {
		return c[0].Text
	}
	var b []byte
	for _, p := range c {
		b = append(b, p.Text...)
	}
	return string(b)
}

// add says the parts that a user or an assistant says.
func (c content) add(a *ask, role string) {
	for _, p := range c {
		switch {
		case p.ImageURL != nil:
			var url struct{ URL string }
			if json.Unmarshal(p.ImageURL, &url) != nil {
				_ = json.Unmarshal(p.ImageURL, &url.URL) // else it is no image
			}
			a.image(url.URL)
		case p.Source != nil:
			a.image(p.Source.Data + p.Source.URL)
		case p.Text != "":
			a.say(role, p.Text)
		}
	}
}

// read decodes the body of a request.
func read(body []byte, into any) (failure, bool) {
	if err := json.Unmarshal(body, into); err != nil {
		return failure{kind: badRequest, message: "We could not parse the JSON body of your request: " + err.Error()}, false
	}
	return failure{}, true
}

// A shape is what providers check of a schema.
type shape struct {
	Type                 json.RawMessage            `json:"type"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Required             []string                   `json:"required"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	Items                json.RawMessage            `json:"items"`
	AnyOf                []json.RawMessage          `json:"anyOf"`
	Defs                 map[string]json.RawMessage `json:"$defs"`
}

// maxShape bounds how deep schemas are checked.
const maxShape = 32

// A checker checks schemas as a provider does.
type checker struct {
	fine  mimic.Memo[struct{}] // those that it found nothing wrong with
	check func(at string, raw json.RawMessage, s shape) string
}

// why returns what is wrong with a schema, or nothing. At is what it is called.
func (c *checker) why(schema json.RawMessage, at string) string {
	if _, ok := c.fine.Load(schema); ok {
		return ""
	}
	why := everyShape(schema, at, 0, c.check)
	if why == "" {
		c.fine.Store(schema, struct{}{})
	}
	return why
}

// everyShape calls check for the schema and each one in it, with where it is.
func everyShape(schema json.RawMessage, at string, depth int, check func(at string, raw json.RawMessage, s shape) string) string {
	var s shape
	if depth > maxShape || len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return ""
	}
	if why := check(at, schema, s); why != "" {
		return why
	}
	inside := slices.Clone(s.AnyOf)
	if len(s.Items) > 0 {
		inside = append(inside, s.Items)
	}
	for _, sub := range inside {
		if why := everyShape(sub, at+".items", depth+1, check); why != "" {
			return why
		}
	}
	for _, group := range []map[string]json.RawMessage{s.Properties, s.Defs} {
		for _, name := range sortedKeys(group) {
			if why := everyShape(group[name], at+"."+name, depth+1, check); why != "" {
				return why
			}
		}
	}
	return ""
}

// closed is what OpenAI in strict mode and Anthropic want of every object: that
// it allows no other properties.
func closed(s shape) bool {
	return len(s.Properties) == 0 && !bytes.Equal(s.Type, []byte(`"object"`)) || bytes.Equal(bytes.TrimSpace(s.AdditionalProperties), []byte("false"))
}
