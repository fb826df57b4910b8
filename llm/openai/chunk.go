package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"ponder/llm"
)

// The chunks of a stream, and the whole answer that a server may give instead.
type (
	chunk struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Model   string   `json:"model"`
		Choices []picked `json:"choices"`
		Usage   *usage   `json:"usage"`
		Groq    *struct {
			ID    string `json:"id"`
			Usage *usage `json:"usage"`
		} `json:"x_groq"`
	}
	picked struct {
		Index   int             `json:"index"`
		Delta   *said           `json:"delta"`
		Message *said           `json:"message"`
		Usage   *usage          `json:"usage"` // Moonshot
		Finish  string          `json:"finish_reason"`
		Error   json.RawMessage `json:"error"` // OpenRouter
	}
	said struct {
		Content          content           `json:"content"`
		ReasoningContent string            `json:"reasoning_content"`
		Reasoning        string            `json:"reasoning"`
		Details          []json.RawMessage `json:"reasoning_details"`
		Refusal          string            `json:"refusal"`
		Calls            []callPiece       `json:"tool_calls"`
	}
	callPiece struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string  `json:"name"`
			Arguments rawText `json:"arguments"`
		} `json:"function"`
	}
)

// lenient reads JSON. Fields of a wrong type are taken as missing, for servers
// differ most in what matters least.
func lenient(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return nil
	}
	return err
}

// content is text, and thoughts where a server puts them into it.
type content struct{ text, thought string }

var errContent = &llm.Error{Class: llm.Malformed, Message: "the answer's content is neither text nor a list of parts"}

// UnmarshalJSON implements json.Unmarshaler. It takes a string, null, or a list
// of parts as Mistral gives it.
func (c *content) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, &c.text)
	case 'n':
		return nil
	case '[':
		return c.list(b)
	}
	return errContent
}

func (c *content) list(b []byte) error {
	type piece struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	var parts []piece
	if err := json.Unmarshal(b, &parts); err != nil {
		return errContent
	}
	for _, p := range parts {
		c.text += p.Text
		if len(p.Thinking) == 0 {
			continue
		}
		var inner []piece
		var text string
		if json.Unmarshal(p.Thinking, &inner) == nil {
			for _, t := range inner {
				c.thought += t.Text
			}
		} else if json.Unmarshal(p.Thinking, &text) == nil {
			c.thought += text
		}
	}
	return nil
}

// rawText is the text in a string, or any other JSON as it is.
type rawText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *rawText) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(t))
	case 'n':
		return nil
	}
	*t = rawText(b)
	return nil
}

// A detail is a piece of reasoning in OpenRouter's form.
type detail struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Index     json.RawMessage `json:"index"`
	Format    string          `json:"format"`
	Text      string          `json:"text"`
	Summary   string          `json:"summary"`
	Signature string          `json:"signature"`
}

// words returns what of a list of details can be read.
func words(details []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range details {
		var d detail
		if json.Unmarshal(raw, &d) == nil {
			b.WriteString(d.Text)
			b.WriteString(d.Summary)
		}
	}
	return b.String()
}
