// Package llm is the vocabulary Ponder uses to talk to language models: what is
// asked ([Request]), what streams back ([Delta]), what it came to ([Response])
// and how it can go wrong ([Error]). It knows nothing of threads or modes.
//
// A provider is a package below llm that implements [Provider]: openai,
// anthropic, gemini and ollama. They share internal/wire, which reads streams
// and failed answers. Package llmtest has scripted models, a simulated server
// and the conformance suite. A [Gate] stands between a program and a provider
// and limits what is in flight.
//
// A model is named provider/model everywhere, as in "anthropic/claude-opus-4-6".
// An adapter makes one HTTP request for one Generate: it never tries again by
// itself, for the caller keeps a ledger of attempts and is the only retry loop. (A
// connection that was kept, and that the server had closed, is no attempt.)
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
	// Name is the full name, provider/model.
	Name() string

	// Generate streams the next message. Deltas are for whoever looks on; the
	// last one has Done set, and nothing comes after it. A stream that ends in
	// any other way yields one error last, an *[Error], even if ctx is done;
	// what was streamed until then is not an answer. Breaking out of the loop
	// or ending ctx closes the connection.
	Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error]
}

// A Holder is a [Model] that can begin with a request before it may be sent.
type Holder interface {
	// Hold is Generate of a request that is held back. Until released is closed the
	// model does what nobody is charged for: it makes the request ready and finds a
	// connection, and nothing of its body leaves. If ctx ends first, nothing ever does.
	Hold(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error]
}

// An Admitter is a [Model] that may be closed for now.
type Admitter interface {
	// Admits reports whether a request would be sent now, or in a moment, and else after
	// how long; zero, if only a change of the configuration would have it sent. It is safe
	// for concurrent use.
	Admits() (wait time.Duration, ok bool)
}

// Admits is that of a model, which admits what it is sent if it is no [Admitter].
func Admits(m Model) (wait time.Duration, ok bool) {
	if a, is := m.(Admitter); is {
		return a.Admits()
	}
	return 0, true
}

// Hold has a model generate the next message once released is closed, and begin with what
// it can before that.
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
	// Model returns a model by the provider's own name for it. It does no I/O.
	Model(id string) Model

	// Check asks the provider, at no cost, whether the key is good and the
	// model is there. It returns nil if the provider has no way to say.
	Check(ctx context.Context, id string) error

	// Embed returns a vector for each text, in order.
	Embed(ctx context.Context, id string, texts []string) ([][]float32, Usage, error)
}

// A Request is one question to a model. It is stored as JSON before it is sent
// and must give the same bytes on the wire when it is read back.
type Request struct {
	System   string    `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`

	// ToolChoice is "" or "auto", "none", "required", or the name of a tool.
	ToolChoice string `json:"tool_choice,omitempty"`

	// Schema, if set, asks for an answer that is one JSON value of this schema
	// and nothing else. The adapter picks the strongest way the model has:
	// a native schema, a forced tool, JSON mode, or words in the prompt. The
	// answer's text is what the model gave: use [Decode], which repairs and
	// validates.
	Schema *Schema `json:"schema,omitempty"`

	// MaxTokens bounds the answer, reasoning included. Zero leaves it to the
	// provider, save where it must be given.
	MaxTokens int `json:"max_tokens,omitempty"`

	Temperature *float64 `json:"temperature,omitempty"`

	// Effort is how hard a reasoning model should think: "" for the model's
	// default, or "none", "minimal", "low", "medium", "high".
	Effort string `json:"effort,omitempty"`

	// Cache marks the system prompt, the tools and the last message as worth
	// caching, for providers that want to be told.
	Cache bool `json:"cache,omitempty"`

	// Background lets interactive requests to the same provider go first.
	Background bool `json:"background,omitempty"`

	// Hedge lets a [Gate] ask a second time if the first request is slow to begin, and
	// take the answer of the one that begins first. Both are in the answer's usage.
	Hedge bool `json:"hedge,omitempty"`
}

// A Schema is a JSON schema with the name that some providers want for it.
type Schema struct {
	Name string          `json:"name"` // letters, digits, _ and -
	JSON json.RawMessage `json:"schema"`
}

// A Role says who speaks a message.
type Role string

// The roles. The system prompt is a field of [Request].
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is one turn of a conversation: parts, in order. Results of tools
// are parts of the user message after the calls.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// A Part is a piece of a message: exactly one of the fields is set, save that
// Opaque may stand beside any of them.
type Part struct {
	Text      string      `json:"text,omitempty"`
	Reasoning string      `json:"reasoning,omitempty"` // thinking in plain words, as far as the provider shows it
	Media     *Media      `json:"media,omitempty"`
	Call      *ToolCall   `json:"call,omitempty"`
	Result    *ToolResult `json:"result,omitempty"`

	// Opaque is what the provider wants back word for word with this part: a
	// signature, encrypted reasoning. It may be all there is of a part.
	Opaque *Opaque `json:"opaque,omitempty"`
}

// Media is an image or another file in a message: Data or a URL.
type Media struct {
	Type string `json:"type"` // MIME type
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
	Name string `json:"name,omitempty"`
}

// An Opaque is provider data that only the model that made it can read. An
// adapter sends it to that model alone and drops it for any other.
type Opaque struct {
	Model string          `json:"model"` // full name
	Data  json.RawMessage `json:"data"`
}

// A Tool tells a model about a tool it may call.
type Tool struct {
	Name   string          `json:"name"`
	Doc    string          `json:"doc"`
	Schema json.RawMessage `json:"schema,omitempty"` // JSON schema of the input; an object
}

// A ToolCall is a model's wish to call a tool.
type ToolCall struct {
	ID    string          `json:"id"` // unique in the conversation; made up by the adapter where a provider gives none
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"` // a JSON value; as a JSON string, if the model's text was not JSON
}

// A ToolResult is what a call came to.
type ToolResult struct {
	ID     string `json:"id"` // of the call
	Name   string `json:"name"`
	Text   string `json:"text"`
	Media  *Media `json:"media,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// A Delta is a piece of an answer as it streams in.
type Delta struct {
	Text      string
	Reasoning string
	Done      *Response // set on the last delta, and only there
	Hedged    bool      // a second request was made: see [Request].Hedge
}

// A Response is a whole answer.
type Response struct {
	Message Message `json:"message"`
	Finish  Finish  `json:"finish"`
	Model   string  `json:"model"` // full name of the model asked; providers may serve a dated version of it
	Served  string  `json:"served,omitempty"`
	ID      string  `json:"id,omitempty"` // the provider's own, for support
	Usage   Usage   `json:"usage"`
}

// A Finish is why an answer ended.
type Finish string

// The reasons. Anything a provider says beyond them is FinishOther.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length" // MaxTokens or the context window; the text may break off anywhere
	FinishTools  Finish = "tool_calls"
	FinishFilter Finish = "content_filter" // the provider withheld (the rest of) the answer
	FinishOther  Finish = "other"
)

// BrokeOff says how an answer that ended so broke off, in words that follow its name;
// empty if it did not.
func (f Finish) BrokeOff() string {
	switch f {
	case FinishLength:
		return "broke off at the limit of a call"
	case FinishFilter:
		return "broke off: the model withheld the rest (content filter)"
	}
	return ""
}

// Usage counts the tokens of a request in one normal form: the parts of a whole
// never overlap, so the total is Input + CacheRead + CacheWrite + Output.
type Usage struct {
	Input      int `json:"input"`                 // read, not from a cache
	CacheRead  int `json:"cache_read,omitempty"`  // read from a cache
	CacheWrite int `json:"cache_write,omitempty"` // read and written to a cache
	Output     int `json:"output"`                // written, reasoning included
	Reasoning  int `json:"reasoning,omitempty"`   // of Output

	// Cost is what the provider says the request cost, in millionths of a US
	// dollar, or nil if it does not say.
	Cost *int64 `json:"cost,omitempty"`

	// Estimated says that the provider gave no count and this is a guess from bytes.
	Estimated bool `json:"estimated,omitempty"`

	// Hedged says that this is of two requests, of which one was answered: see
	// [Request].Hedge.
	Hedged bool `json:"hedged,omitempty"`
}

// Total returns all tokens.
func (u Usage) Total() int { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Add returns the sum of the tokens of two requests.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Input: u.Input + o.Input, CacheRead: u.CacheRead + o.CacheRead, CacheWrite: u.CacheWrite + o.CacheWrite,
		Output: u.Output + o.Output, Reasoning: u.Reasoning + o.Reasoning, Estimated: u.Estimated || o.Estimated,
	}
}

// Text returns the text of a message, without reasoning.
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

// Calls returns the tool calls of a message.
func (m Message) Calls() (calls []ToolCall) {
	for _, p := range m.Parts {
		if p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Say returns a message of one text.
func Say(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Text: text}}}
}

// Size returns the bytes of text in the request, for estimates. Media count
// 4,000 bytes each, about what images are billed as.
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

// mediaSize is what an image counts in bytes of text: about 1,100 tokens.
const mediaSize = 4000

// Size returns the bytes of text in the message.
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
