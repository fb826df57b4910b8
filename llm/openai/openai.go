// Package openai talks to OpenAI and to servers with its dialects: chat completions
// everywhere, the Responses API at OpenAI's own host.
//
// hosts.go is the table of peculiarities. chat.go, message.go, chat_fold.go and chunk.go
// are for chat completions, responses.go and responses_fold.go for Responses. strict.go
// rewrites schemas, quick.go reads small pieces fast, check.go lists models and embeds
// texts.
//
// # Second requests
//
// If a refusal names an unsupported feature, such as a JSON mode, Generate repeats the
// request without it, and the provider remembers that. It repeats nothing else. Roles that a
// chat template lacks are such features: see roles.go.
//
// # Reasoning
//
// Reasoning goes back in its field to its own model, with the calls it led to; other
// models' reasoning goes only where required. A part's Opaque is, for chat completions,
// the field's name and the reasoning_details. For Responses it is the item itself:
// reasoning, or a server action such as a search.
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

// A Config configures a provider. The zero value is OpenAI without a key.
type Config struct {
	Name    string       // prefix of model names; "" is "openai"
	BaseURL string       // such as https://api.groq.com/openai/v1; an empty path is /v1
	Key     string       // secret
	KeyEnv  string       // key's variable, for advice; "" is the usual one
	HTTP    *http.Client // nil: a new one
	Header  http.Header  // for every request

	// Tools are the server's own, such as web search, sent verbatim.
	Tools []json.RawMessage

	// Responses selects that API, the default at OpenAI's host; Chat disables it.
	Responses, Chat bool

	// Thinking declares that the template drops the start tag of reasoning.
	Thinking bool

	// HeaderTimeout and IdleTimeout limit silences; see wire.Client.
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
	lacks   map[string]feature // from Check's last list

	contexts map[string]int // listed by Check, in tokens
}

// New returns a provider, without I/O. An invalid base URL fails on use.
func New(c Config) *Provider {
	c.Name = cmp.Or(c.Name, "openai")
	if c.HTTP == nil {
		c.HTTP = wire.HTTP()
	}
	p := &Provider{thinking: c.Thinking, builtin: c.Tools, refused: map[kind]feature{}}
	p.base, p.baseErr = parseBase(c.BaseURL)
	p.host = findHost(p.base.Hostname())
	p.responses = (c.Responses || p.host.responses) && !c.Chat
	p.chatURL, p.responsesURL = p.routeURL("chat/completions"), p.routeURL("responses")
	p.header = authHeader(c, p.host)
	p.client = &wire.Client{HTTP: c.HTTP, Name: c.Name, Advice: errorAdvice(c, p.host), HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout}
	return p
}

// parseBase returns the base URL, never nil.
func parseBase(s string) (*url.URL, error) {
	base, err := url.Parse(cmp.Or(s, defaultBase))
	if err != nil || base.Host == "" {
		return &url.URL{}, &llm.Error{Class: llm.BadRequest, Message: "the base URL is invalid", Advice: "use one such as " + defaultBase}
	}
	base.Path = cmp.Or(base.Path, "/v1")
	base.Path = strings.TrimRight(base.Path, "/")
	for _, route := range []string{"/chat/completions", "/responses"} {
		base.Path = strings.TrimSuffix(base.Path, route)
	}
	return base, nil
}

func authHeader(c Config, h host) http.Header {
	head := http.Header{}
	for k, v := range c.Header {
		head[http.CanonicalHeaderKey(k)] = v
	}
	switch {
	case c.Key == "":
	case h.apiKey && !strings.HasPrefix(c.Key, "eyJ"): // not a user token
		head.Set("Api-Key", c.Key)
	default:
		head.Set("Authorization", "Bearer "+c.Key)
	}
	return head
}

func errorAdvice(c Config, h host) func(llm.Class) string {
	usual := wire.Advice(cmp.Or(c.KeyEnv, h.key, strings.ToUpper(strings.ReplaceAll(c.Name, "-", "_"))+"_API_KEY"), "balance")
	return func(class llm.Class) string {
		if class == llm.Unreachable {
			return "check the base URL, and whether the server runs"
		}
		return usual(class)
	}
}

func (p *Provider) routeURL(route ...string) string {
	u := p.base.JoinPath(route...)
	return u.String()
}

// A kind distinguishes requests with tools, because some servers accept a schema only
// without them.
type kind struct {
	id    string
	tools bool
}

// refusedFeatures returns the features that a model refuses or lacks.
func (p *Provider) refusedFeatures(id string, req *llm.Request) feature {
	p.mu.Lock()
	defer p.mu.Unlock()
	lacks, listed := p.lacks[id]
	if base, _, ok := strings.Cut(id, ":"); ok && !listed {
		lacks = p.lacks[base]
	}
	return p.refused[kind{id, len(req.Tools) > 0}] | lacks
}

const maxRemembered = 10000

// recordRefused records refused features. All but the tiers apply with and without tools.
func (p *Provider) recordRefused(id string, req *llm.Request, f feature) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f == 0 || len(p.refused) >= maxRemembered {
		return
	}
	p.refused[kind{id, len(req.Tools) > 0}] |= f
	p.refused[kind{id, len(req.Tools) == 0}] |= f &^ (featNative | featForced | featMode)
}

func (p *Provider) Model(id string) llm.Model {
	return &model{Provider: p, id: id, name: p.client.Name + "/" + id, traits: p.host.modelTraits(id)}
}

type model struct {
	*Provider
	id     string
	name   string // full
	traits traits
}

type plan struct {
	url    string
	body   any
	uses   feature // refusable
	answer string  // tool that answers, or ""
	fold   wire.Fold
}

func (m *model) Name() string { return m.name }

func (m *model) Prepare(ctx context.Context, released <-chan struct{}, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.Generate(wire.PrepareContext(ctx, released), req)
}

// Generate implements llm.Model. It may send a second request; see the package comment.
func (m *model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for without := m.refusedFeatures(m.id, req); ; {
			before := without
			if m.generateOnce(ctx, req, &without, yield); without == before {
				return
			}
		}
	}
}

// generateOnce sends a request and yields its answer. It yields nothing, and adds to without,
// if the server refuses features, be it in a stream.
func (m *model) generateOnce(ctx context.Context, req *llm.Request, without *feature, yield func(llm.Delta, error) bool) {
	ask := wire.RequestInfo{Model: m.name, Size: req.Size(), Sent: m.header, Advice: m.client.Advice}
	p, resp, err := m.sendOnce(ctx, req, *without)
	if err != nil {
		if drop := m.refusedUses(p, req, err); *without|drop != *without {
			*without |= drop
			return
		}
		yield(llm.Delta{}, ask.AttributeCut(err, llm.Usage{}))
		return
	}
	defer resp.Body.Close() //nolint:errcheck // the answer has been read, or is not wanted
	pieces := wire.Data(resp.Body)
	if wire.IsType(resp, "application/json") {
		pieces = readWhole(resp.Body)
	}
	ask.Output = m.client.NewOutput(m.id, req, wire.OutputForm{Open: m.thinking, Hold: m.host.domains == nil})
	started := false
	ask.Stream(resp, pieces, p.fold, func(d llm.Delta, err error) bool {
		if !started {
			if drop := m.refusedUses(p, req, err); *without|drop != *without {
				*without |= drop
				return false
			}
		}
		started = true
		return yield(d, err)
	})
}

// readWhole also reads a stream with a wrong content type.
func readWhole(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for data, err := range wire.ReadWhole(r) {
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

// refusedUses returns refused features and records permanent ones.
func (m *model) refusedUses(p *plan, req *llm.Request, err error) feature {
	if p == nil || err == nil {
		return 0
	}
	f, always := refusedBy(err)
	drop := p.uses & f
	if drop&featTurns != 0 { // the words are the same
		drop &^= featSystem
	}
	if drop&featLengths != 0 { // the schema may do without them
		drop = featLengths
	}
	if drop&featNative != 0 { // the words are the same
		drop |= f & featMode
	}
	m.recordRefused(m.id, req, drop&always)
	return drop
}

// sendOnce returns a nil plan if planning failed.
func (m *model) sendOnce(ctx context.Context, req *llm.Request, without feature) (*plan, *http.Response, error) {
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
	body, err := encodeBody(p.body)
	if err != nil {
		return nil, nil, err
	}
	p.body = nil
	resp, err := m.client.Do(ctx, m.id, http.MethodPost, p.url, m.header, body)
	return p, resp, err
}
