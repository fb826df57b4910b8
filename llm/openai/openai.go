// Package openai talks to OpenAI and to the many servers that speak its
// dialects: chat completions everywhere, the Responses API at OpenAI's own host.
//
// hosts.go is a table of what hosts do differently. A chat request is
// translated in chat.go and message.go and written by chat_write.go, its answer is
// read in chat_fold.go; the Responses API has responses.go and responses_fold.go. strict.go rewrites
// schemas for modes that enforce them, usage.go counts, quick.go finds the words in
// the many small pieces of a stream, check.go and embed.go ask for other things
// than answers.
//
// # Second requests
//
// Servers refuse what they do not know: a way of asking for JSON, a
// temperature, a level of effort. If one refuses a request with a 4xx that
// names such a thing, Generate asks once more without it (feature.go), and the
// provider remembers it for that model. That is the only second request.
//
// # Reasoning
//
// Reasoning that a server gives in a field of its own goes back in that field to
// the model that had it, beside the tool calls it led to; reasoning of other
// models goes back where a server insists on some. What a part cannot hold is
// kept as the part's Opaque: for chat completions an object with the name of the
// field and the list of reasoning_details, for Responses the item itself: reasoning,
// or what the server did on its own, such as a search.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

const defaultBase = "https://api.openai.com/v1"

// A Config says where a provider is and who asks. The zero value is OpenAI
// without a key.
type Config struct {
	Name    string       // first part of models' names; "" is "openai"
	BaseURL string       // up to the version: https://api.groq.com/openai/v1; without a path, /v1 is added
	Key     string       // secret
	KeyEnv  string       // the variable the key should be in, for advice; "" is what is usual for the host
	HTTP    *http.Client // nil is a client of its own
	Header  http.Header  // sent with every request

	// Tools are tools that the server has itself, such as its web search,
	// offered with every request as they are.
	Tools []json.RawMessage

	// Responses says to use the Responses API, which is the default at OpenAI's
	// own host and nowhere else; Chat says not to use it there either.
	Responses, Chat bool

	// Thinking says that answers begin with reasoning and only the end of it is
	// marked, by </think>: some templates swallow the opening tag.
	Thinking bool

	// HeaderTimeout and IdleTimeout bound silences; see wire.Client.
	HeaderTimeout, IdleTimeout time.Duration
}

// A Provider makes models of one server. It is safe for concurrent use.
type Provider struct {
	client    *wire.Client
	base      *url.URL
	baseErr   error
	header    http.Header
	host      host
	responses bool
	thinking  bool
	builtin   []json.RawMessage
	shapes    shapes

	chatURL, responsesURL string

	mu      sync.Mutex
	refused map[kind]feature
	lacks   map[string]feature // what models cannot do, as the list says that Check read last
}

// New returns a provider. It does no I/O; a base URL that is none fails on use.
func New(c Config) *Provider {
	c.Name = cmp.Or(c.Name, "openai")
	if c.HTTP == nil {
		c.HTTP = wire.HTTP()
	}
	p := &Provider{thinking: c.Thinking, builtin: c.Tools, refused: map[kind]feature{}}
	p.base, p.baseErr = parseBase(c.BaseURL)
	p.host = hostOf(p.base.Hostname())
	p.responses = (c.Responses || p.host.responses) && !c.Chat
	p.chatURL, p.responsesURL = p.url("chat/completions"), p.url("responses")
	p.header = header(c, p.host)
	p.client = &wire.Client{HTTP: c.HTTP, Name: c.Name, Advice: advice(c, p.host), HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout}
	return p
}

// parseBase returns the address below which the routes are, never nil.
func parseBase(s string) (*url.URL, error) {
	base, err := url.Parse(cmp.Or(s, defaultBase))
	if err != nil || base.Host == "" {
		return &url.URL{}, &llm.Error{Class: llm.BadRequest, Message: "the base URL is not one", Advice: "give one such as " + defaultBase}
	}
	base.Path = cmp.Or(base.Path, "/v1")
	base.Path = strings.TrimRight(base.Path, "/")
	for _, route := range []string{"/chat/completions", "/responses"} {
		base.Path = strings.TrimSuffix(base.Path, route)
	}
	return base, nil
}

func header(c Config, h host) http.Header {
	head := http.Header{}
	for k, v := range c.Header {
		head[http.CanonicalHeaderKey(k)] = v
	}
	switch {
	case c.Key == "":
	case h.apiKey && !strings.HasPrefix(c.Key, "eyJ"): // not a token of a user
		head.Set("Api-Key", c.Key)
	default:
		head.Set("Authorization", "Bearer "+c.Key)
	}
	return head
}

func advice(c Config, h host) func(llm.Class) string {
	usual := wire.Advice(cmp.Or(c.KeyEnv, h.key, strings.ToUpper(strings.ReplaceAll(c.Name, "-", "_"))+"_API_KEY"), "balance")
	return func(class llm.Class) string {
		if class == llm.Unreachable {
			return "check the base URL, and that the server runs"
		}
		return usual(class)
	}
}

// url returns the address of a route.
func (p *Provider) url(route ...string) string {
	u := p.base.JoinPath(route...)
	return u.String()
}

// A kind of request is a model's, with tools or without: some servers take a
// schema only where there are no tools.
type kind struct {
	id    string
	tools bool
}

// without returns what a model is known to refuse, or to lack, in such a request.
func (p *Provider) without(id string, req *llm.Request) feature {
	p.mu.Lock()
	defer p.mu.Unlock()
	lacks, listed := p.lacks[id]
	if base, _, ok := strings.Cut(id, ":"); ok && !listed {
		lacks = p.lacks[base]
	}
	return p.refused[kind{id, len(req.Tools) > 0}] | lacks
}

// maxRemembered bounds the models that something is remembered of.
const maxRemembered = 10000

// learn remembers what a model refuses in such a request, and but for ways to
// ask for a schema, in any other.
func (p *Provider) learn(id string, req *llm.Request, f feature) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f == 0 || len(p.refused) >= maxRemembered {
		return
	}
	p.refused[kind{id, len(req.Tools) > 0}] |= f
	p.refused[kind{id, len(req.Tools) == 0}] |= f &^ (featNative | featForced | featMode)
}

// Model implements llm.Provider.
func (p *Provider) Model(id string) llm.Model {
	return &model{Provider: p, id: id, name: p.client.Name + "/" + id, traits: p.host.traits(id)}
}

// A model is one model of a provider.
type model struct {
	*Provider
	id     string
	name   string // full
	traits traits
}

// A plan is a request ready to send.
type plan struct {
	url    string
	body   any
	uses   feature // of what a server may refuse
	answer string  // name of the tool whose input is the answer, or ""
	fold   wire.Fold
}

// Name implements llm.Model.
func (m *model) Name() string { return m.name }

// Hold implements [llm.Holder].
func (m *model) Hold(ctx context.Context, released <-chan struct{}, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.Generate(wire.Hold(ctx, released), req)
}

// Generate implements llm.Model. See the package comment for when it sends a
// second request.
func (m *model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		ask := wire.Ask{Model: m.name, Size: req.Size(), Sent: m.header, Advice: m.client.Advice}
		p, resp, err := m.ask(ctx, req)
		if err != nil {
			yield(llm.Delta{}, ask.Cut(err, llm.Usage{}))
			return
		}
		defer resp.Body.Close() //nolint:errcheck // the answer has been read, or is not wanted
		pieces := wire.Data(resp.Body)
		if wire.IsType(resp, "application/json") {
			pieces = whole(resp.Body)
		}
		ask.Stream(resp, pieces, p.fold, yield)
	}
}

// whole reads an answer in one piece, or a stream that is called one.
func whole(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for data, err := range wire.Whole(r) {
			if err != nil || !isStream(data) {
				yield(data, err)
				return
			}
			wire.Data(bytes.NewReader(data))(yield)
		}
	}
}

func isStream(data []byte) bool {
	data = bytes.TrimSpace(data)
	return bytes.HasPrefix(data, []byte("data:")) || bytes.HasPrefix(data, []byte("event:")) || bytes.HasPrefix(data, []byte(":"))
}

// ask sends a request, and again without what is refused in it for as long as there is
// such a thing.
func (m *model) ask(ctx context.Context, req *llm.Request) (*plan, *http.Response, error) {
	for without := m.without(m.id, req); ; {
		p, resp, err := m.send(ctx, req, without)
		drop := m.drop(p, req, err)
		if without|drop == without {
			return p, resp, err
		}
		without |= drop
	}
}

// drop returns what of a plan was refused, and remembers it if it is the model
// that it does not suit.
func (m *model) drop(p *plan, req *llm.Request, err error) feature {
	if p == nil || err == nil {
		return 0
	}
	f, always := refusedBy(err)
	drop := p.uses & f
	if drop&featNative != 0 { // then the mode may be refused by the same words
		drop |= f & featMode
	}
	m.learn(m.id, req, drop&always)
	return drop
}

// send plans and sends a request. The plan is nil if there could be none.
func (m *model) send(ctx context.Context, req *llm.Request, without feature) (*plan, *http.Response, error) {
	if m.baseErr != nil {
		return nil, nil, m.baseErr
	}
	plan := m.planChat
	if m.responses {
		plan = m.planResponses
	}
	p, err := plan(req, without)
	if err != nil {
		return nil, nil, err
	}
	body, err := encode(p.body)
	if err != nil {
		return nil, nil, err
	}
	p.body = nil // it is not needed while the answer comes
	resp, err := m.client.Do(ctx, m.id, http.MethodPost, p.url, m.header, body)
	return p, resp, err
}
