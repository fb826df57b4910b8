// Package llm defines how Ponder talks to language models: [Request], [Delta],
// [Response], [Error]. It knows nothing of threads or modes.
//
// The packages openai, anthropic, gemini and ollama implement [Provider] on
// internal/wire. Package llmtest has scripted models, a simulated server and the
// conformance suite. A [Gate] limits the requests to a provider.
//
// Full model names are provider/model, as in "anthropic/claude-opus-4-6". An adapter
// makes one HTTP request per Generate and never retries, because the caller keeps a
// ledger of attempts. It repeats one only if the server had closed a kept connection, or had
// refused a part of it that the adapter can omit. It continues a turn that the server paused.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// A Model is a language model. It is safe for concurrent use.
type Model interface {
	// Name returns provider/model.
	Name() string

	// Generate streams the next message. Only the last delta has Done set. A failing
	// stream yields one last *[Error], even if ctx is done, and its deltas are no answer.
	// Breaking out of the loop or ending ctx closes the connection.
	Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// A Preparer is a [Model] that can prepare a request early.
type Preparer interface {
	// Prepare is Generate, but sends no body before released is closed. Until then it only
	// connects, at no cost. If ctx ends first, it sends nothing.
	Prepare(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error]
}

// An Availability is a [Model] that may be temporarily unavailable.
type Availability interface {
	// Available reports whether a request would be sent within moments. Otherwise wait is
	// the delay, or zero if only reconfiguration helps. It is safe for concurrent use.
	Available() (wait time.Duration, ok bool)
}

// Available calls m's Available method; models without it are available.
func Available(m Model) (wait time.Duration, ok bool) {
	if a, is := m.(Availability); is {
		return a.Available()
	}
	return 0, true
}

// Prepare calls m's Hold, or waits for released and calls Generate.
func Prepare(ctx context.Context, m Model, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	if h, ok := m.(Preparer); ok {
		return h.Prepare(ctx, released, req)
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
	// Model returns a model by the provider's name, without I/O.
	Model(id string) Model

	// Check verifies key and model at no cost, or returns nil if it cannot.
	Check(ctx context.Context, id string) error

	// Embed returns one vector for each text, in order.
	Embed(ctx context.Context, id string, texts []string) ([][]float32, Usage, error)
}

// A Request is a question to a model. It is stored as JSON first, and must give the same
// bytes on the wire when read back.
type Request struct {
	System   string    `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`

	// ToolChoice is "" or "auto", "none", "required", or a tool's name.
	ToolChoice string `json:"tool_choice,omitempty"`

	// Schema asks for one JSON value, by the model's strongest means: native schema,
	// forced tool, JSON mode or prompt. The text is unchecked: use [Decode].
	Schema *Schema `json:"schema,omitempty"`

	// MaxTokens limits the answer with its reasoning. Zero is the provider's default.
	MaxTokens int `json:"max_tokens,omitempty"`

	Temperature *float64 `json:"temperature,omitempty"`

	// Penalty, from 0 to 2, discourages words that the answer already has. Models without such an
	// option ignore it.
	Penalty float64 `json:"penalty,omitempty"`

	// Effort is "" (default), "none", "minimal", "low", "medium" or "high".
	Effort string `json:"effort,omitempty"`

	// Cache marks system prompt, tools and messages as cacheable; see [Part.Prefix].
	Cache bool `json:"cache,omitempty"`

	// Background yields to interactive requests.
	Background bool `json:"background,omitempty"`

	// Hedge lets a [Gate] send a slow request twice. Usage counts both.
	Hedge bool `json:"hedge,omitempty"`
	// Verbatim keeps an answer as it comes: the caller does not cut repetition, nor end the
	// answer where its JSON value ends.
	Verbatim bool `json:"verbatim,omitempty"`

	// ReportLimit fails a call at once if the last model is rate-limited, for callers that wait
	// and repeat by themselves.
	ReportLimit bool `json:"report_limit,omitempty"`
}

// A Schema is a named JSON schema.
type Schema struct {
	Name string          `json:"name"` // letters, digits, _ and -
	JSON json.RawMessage `json:"schema"`
}

type Role string

// The system prompt is a field of [Request].
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is one turn. Tool results are parts of the user message after the calls.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// A Part has exactly one field set, apart from Opaque and Prefix.
type Part struct {
	Text      string      `json:"text,omitempty"`
	Reasoning string      `json:"reasoning,omitempty"` // as far as shown
	Media     *Media      `json:"media,omitempty"`
	Call      *ToolCall   `json:"call,omitempty"`
	Result    *ToolResult `json:"result,omitempty"`

	// Opaque goes back verbatim with this part. It may be the only field.
	Opaque *Opaque `json:"opaque,omitempty"`

	// Prefix is the number of leading bytes of Text with which later requests begin too.
	Prefix int `json:"prefix,omitempty"`
}

// Media is an image or file: Data or a URL.
type Media struct {
	Type string `json:"type"` // MIME type
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
	Name string `json:"name,omitempty"`
}

// An Opaque is provider data for its own model only.
type Opaque struct {
	Model string          `json:"model"` // full name
	Data  json.RawMessage `json:"data"`
}

type Tool struct {
	Name   string          `json:"name"`
	Doc    string          `json:"doc"`
	Schema json.RawMessage `json:"schema,omitempty"` // of the input object
}

// A ToolCall is a model's request to call a tool.
type ToolCall struct {
	ID    string          `json:"id"` // unique in the conversation; made up if missing
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // JSON; a JSON string if the text was not JSON
}

type ToolResult struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	Media  *Media `json:"media,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// A Delta is a piece of a streaming answer.
type Delta struct {
	Text      string
	Reasoning string
	Done      *Response // set on the last delta only
	Hedged    bool      // sent twice: see [Request].Hedge
}

// A Response is a whole answer.
type Response struct {
	Message Message `json:"message"`
	Finish  Finish  `json:"finish"`
	Model   string  `json:"model"` // requested; Served may be a dated version
	Served  string  `json:"served,omitempty"`
	ID      string  `json:"id,omitempty"` // for support
	Usage   Usage   `json:"usage"`
}

type Finish string

// FinishOther is any other reason. The answer is not complete.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length" // text may end anywhere
	FinishTools  Finish = "tool_calls"
	FinishFilter Finish = "content_filter" // withheld in whole or part
	FinishTime   Finish = "time"           // cut by the caller at the time limit of the call
	FinishLoop   Finish = "repetition"     // cut by the caller where the text only repeats itself
	FinishOther  Finish = "other"
)

// IsCut reports whether the text may end within a sentence or a JSON value: see [CompletePart].
// Only FinishStop and FinishTools end an answer as the model meant.
func (f Finish) IsCut() bool { return f != FinishStop && f != FinishTools && f != "" }

// DescribeIncomplete returns a predicate such as "broke off ...", or "" for a complete answer.
func (f Finish) DescribeIncomplete() string {
	switch f {
	case FinishLength:
		return "broke off at the limit of a call"
	case FinishTime:
		return "broke off at the time limit"
	case FinishLoop:
		return "repeated itself and was cut there"
	case FinishFilter:
		return "broke off: the model withheld the rest (content filter)"
	case FinishOther:
		return "broke off for a reason that the provider did not explain"
	}
	return ""
}

// Usage counts tokens in disjoint parts that sum to Total.
type Usage struct {
	Input      int `json:"input"` // not from a cache
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Output     int `json:"output"`              // reasoning included
	Reasoning  int `json:"reasoning,omitempty"` // part of Output

	// Cost is the reported cost in millionths of a US dollar, or nil.
	Cost *int64 `json:"cost,omitempty"`

	// Estimated marks counts estimated from bytes.
	Estimated bool `json:"estimated,omitempty"`

	// Hedged marks the usage of two requests.
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

func Say(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Text: text}}}
}

// SayGrowing is [Say] with a [Part.Prefix] of n bytes.
func SayGrowing(role Role, text string, n int) Message {
	return Message{Role: role, Parts: []Part{{Text: text, Prefix: n}}}
}

// Size returns the bytes of text, for estimates; media count as mediaSize.
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

// mediaSize is about 1,100 tokens, an image's usual price.
const mediaSize = 4000

// Size returns the bytes of text, as [Request.Size].
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
