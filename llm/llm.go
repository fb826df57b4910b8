// Package llm defines how Ponder talks to language models: [Request], [Delta], [Response]
// and [Error]. It knows nothing of threads or modes.
//
// The packages openai, anthropic, gemini and ollama implement [Provider] on top of
// internal/wire. Package llmtest has scripted models, a simulated server and the
// conformance suite. A [Gate] limits the requests in flight to one provider.
//
// Full model names have the form provider/model, as in "anthropic/claude-opus-4-6". An
// adapter makes one HTTP request for each Generate and never retries, because the caller
// keeps a ledger of attempts. (It does repeat a request on a kept connection that the
// server had closed.)
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// A Model generates the next message of a conversation. It is safe for
// concurrent use.
type Model interface {
	// Name returns the full name, provider/model.
	Name() string

	// Generate streams the next message. Only the last delta has Done set. A stream that
	// fails yields one *[Error] last, even if ctx is done; its earlier deltas are then no
	// answer. Breaking out of the loop or ending ctx closes the connection.
	Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// A Holder is a [Model] that can prepare a request before it may be sent.
type Holder interface {
	// Hold is Generate, but sends no byte of the body before released is closed. Until
	// then the model prepares the request and connects, which costs nothing. If ctx ends
	// first, the model sends nothing.
	Hold(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error]
}

// An Admitter is a [Model] that may be temporarily unavailable.
type Admitter interface {
	// Admits reports whether the model would send a request now or within moments. If
	// not, wait is the delay, or zero if only a change of configuration helps. It is safe
	// for concurrent use.
	Admits() (wait time.Duration, ok bool)
}

// Admits calls m's Admits. A model that is no [Admitter] is always available.
func Admits(m Model) (wait time.Duration, ok bool) {
	if a, is := m.(Admitter); is {
		return a.Admits()
	}
	return 0, true
}

// Hold calls m's Hold. For a model that is no [Holder] it waits for released, then calls
// Generate.
func Hold(ctx context.Context, m Model, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	if h, ok := m.(Holder); ok {
		return h.Hold(ctx, released, req)
	}
	return func(yield func(Delta, error) bool) {
		select {
		case <-released:
			m.Generate(ctx, req)(yield)
		case <-ctx.Done():
			yield(Delta{}, &Error{Class: Cancelled, Model: m.Name(), Message: "cancelled", Err: ctx.Err()})
		}
	}
}

// A Provider makes models. It is safe for concurrent use.
type Provider interface {
	// Model returns a model by the provider's own name, without I/O.
	Model(id string) Model

	// Check verifies, at no cost, that the key is valid and the model exists. It returns
	// nil if the provider cannot tell.
	Check(ctx context.Context, id string) error

	// Embed returns one vector for each text, in order.
	Embed(ctx context.Context, id string, texts []string) ([][]float32, Usage, error)
}

// A Request is one question to a model. Its JSON form is stored before it is sent, and
// must give the same bytes on the wire when read back.
type Request struct {
	System   string    `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`

	// ToolChoice is "" or "auto", "none", "required", or the name of a tool.
	ToolChoice string `json:"tool_choice,omitempty"`

	// Schema, if set, asks for an answer that is one JSON value of this schema. The
	// adapter uses the model's strongest means: a native schema, a forced tool, JSON mode
	// or the prompt. The answer's text is unchecked: [Decode] repairs and validates it.
	Schema *Schema `json:"schema,omitempty"`

	// MaxTokens limits the answer, reasoning included. Zero leaves the limit to the
	// provider, unless its API requires one.
	MaxTokens int `json:"max_tokens,omitempty"`

	Temperature *float64 `json:"temperature,omitempty"`

	// Effort is the reasoning effort: "" (the model's default), "none", "minimal", "low",
	// "medium" or "high".
	Effort string `json:"effort,omitempty"`

	// Cache marks the system prompt, the tools and the last message as cacheable, for
	// providers that need marks.
	Cache bool `json:"cache,omitempty"`

	// Background yields to interactive requests to the same provider.
	Background bool `json:"background,omitempty"`

	// Hedge lets a [Gate] send a second request if the first is slow to start, and use
	// the one that starts first. Usage counts both.
	Hedge bool `json:"hedge,omitempty"`
}

// A Schema is a JSON schema with the name that some providers require.
type Schema struct {
	Name string          `json:"name"` // letters, digits, _ and -
	JSON json.RawMessage `json:"schema"`
}

type Role string

// The roles; the system prompt is a field of [Request].
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is one turn of a conversation. Tool results are parts of the user message
// after the calls.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// A Part is a piece of a message. Exactly one field is set, except that Opaque may
// accompany any of them.
type Part struct {
	Text      string      `json:"text,omitempty"`
	Reasoning string      `json:"reasoning,omitempty"` // plain text, as far as the provider shows it
	Media     *Media      `json:"media,omitempty"`
	Call      *ToolCall   `json:"call,omitempty"`
	Result    *ToolResult `json:"result,omitempty"`

	// Opaque is data that the provider wants back verbatim with this part, such as a
	// signature. It may be the only field set.
	Opaque *Opaque `json:"opaque,omitempty"`
}

// Media is an image or file: Data or a URL.
type Media struct {
	Type string `json:"type"` // MIME type
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
	Name string `json:"name,omitempty"`
}

// An Opaque is provider data for the model that made it. Adapters send it to that model
// only.
type Opaque struct {
	Model string          `json:"model"` // full name
	Data  json.RawMessage `json:"data"`
}

// A Tool describes a tool that the model may call.
type Tool struct {
	Name   string          `json:"name"`
	Doc    string          `json:"doc"`
	Schema json.RawMessage `json:"schema,omitempty"` // JSON schema of the input; an object
}

// A ToolCall is a model's request to call a tool.
type ToolCall struct {
	ID    string          `json:"id"` // unique in the conversation; the adapter makes one up if the provider gives none
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // a JSON value; a JSON string if the model's text was not JSON
}

// A ToolResult is the result of a ToolCall.
type ToolResult struct {
	ID     string `json:"id"` // the call's
	Name   string `json:"name"`
	Text   string `json:"text"`
	Media  *Media `json:"media,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// A Delta is a piece of an answer as it streams in.
type Delta struct {
	Text      string
	Reasoning string
	Done      *Response // set on the last delta only
	Hedged    bool      // a second request was sent: see [Request].Hedge
}

// A Response is a whole answer.
type Response struct {
	Message Message `json:"message"`
	Finish  Finish  `json:"finish"`
	Model   string  `json:"model"` // full name of the requested model; Served may name a dated version
	Served  string  `json:"served,omitempty"`
	ID      string  `json:"id,omitempty"` // the provider's ID, for support
	Usage   Usage   `json:"usage"`
}

type Finish string

// The finish reasons; FinishOther stands for all others.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length" // MaxTokens or the context window; the text may end anywhere
	FinishTools  Finish = "tool_calls"
	FinishFilter Finish = "content_filter" // the provider withheld all or part of the answer
	FinishOther  Finish = "other"
)

// BrokeOff returns a phrase, to follow the answer's name, that says how the answer was
// cut short. It is empty if the answer is complete.
func (f Finish) BrokeOff() string {
	switch f {
	case FinishLength:
		return "broke off at the limit of a call"
	case FinishFilter:
		return "broke off: the model withheld the rest (content filter)"
	}
	return ""
}

// Usage counts the tokens of a request in disjoint parts: the total is Input + CacheRead
// + CacheWrite + Output.
type Usage struct {
	Input      int `json:"input"` // not from a cache
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Output     int `json:"output"`              // reasoning included
	Reasoning  int `json:"reasoning,omitempty"` // part of Output

	// Cost is the provider's own figure in millionths of a US dollar, or nil.
	Cost *int64 `json:"cost,omitempty"`

	// Estimated reports that the provider gave no count; the counts are then estimates
	// from bytes.
	Estimated bool `json:"estimated,omitempty"`

	// Hedged reports that the usage covers two requests: see [Request].Hedge.
	Hedged bool `json:"hedged,omitempty"`
}

func (u Usage) Total() int { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Add returns the sum of the tokens. It ignores Cost and Hedged.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Input: u.Input + o.Input, CacheRead: u.CacheRead + o.CacheRead, CacheWrite: u.CacheWrite + o.CacheWrite,
		Output: u.Output + o.Output, Reasoning: u.Reasoning + o.Reasoning, Estimated: u.Estimated || o.Estimated,
	}
}

// Text returns the text without reasoning.
func (m Message) Text() string {
	if len(m.Parts) == 1 {
		return m.Parts[0].Text
	}
	var b []byte
	for _, p := range m.Parts {
		b = append(b, p.Text...)
	}
	return string(b)
}

func (m Message) Calls() (calls []ToolCall) {
	for _, p := range m.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Say returns a message with one text part.
func Say(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Text: text}}}
}

// Size returns the request's bytes of text, for estimates. Each medium counts as
// mediaSize bytes.
func (r *Request) Size() int {
	n := len(r.System)
	for _, m := range r.Messages {
		n += m.Size()
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Doc) + len(t.Schema)
	}
	if r.Schema != nil {
		n += len(r.Schema.JSON)
	}
	return n
}

// mediaSize is about 1,100 tokens, near the billed size of an image.
const mediaSize = 4000

// Size returns the message's bytes of text, counted as in [Request.Size].
func (m Message) Size() int {
	n := 0
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Reasoning)
		if p.Media != nil {
			n += mediaSize
		}
		if p.Call != nil {
			n += len(p.Call.Name) + len(p.Call.Input)
		}
		if p.Result != nil {
			n += len(p.Result.Text)
			if p.Result.Media != nil {
				n += mediaSize
			}
		}
	}
	return n
}

// Collect reads a stream to its end and returns the answer.
func Collect(stream iter.Seq2[Delta, error]) (*Response, error) {
	for d, err := range stream {
		if err != nil {
			return nil, err
		}
		if d.Done != nil {
			return d.Done, nil
		}
	}
	return nil, &Error{Class: Truncated, Message: "stream ended without a last delta"}
}
