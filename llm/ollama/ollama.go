// Package ollama talks to models by Ollama's own API. Unlike its OpenAI imitation, it
// describes models, sets the context size and separates reasoning.
//
// request.go builds a request, fold.go reads the answer, facts.go caches descriptions,
// show.go lists models and embeds texts. The context size depends only on the request, in
// powers of two, because changes reload the model. Oversized prompts fail; by default the
// server would drop their start.
//
// Local models cost zero. Those in "cloud", or at ollama.com, have no known price.
package ollama

import (
	"cmp"
	"context"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

const (
	defaultBase = "http://127.0.0.1:11434"
	defaultPort = "11434"
)

// A Config configures a provider. The zero value is the server on this machine.
type Config struct {
	Name    string       // prefix of model names; "" is "ollama"
	BaseURL string       // as OLLAMA_HOST: scheme and port are optional
	Key     string       // secret; for ollama.com or a proxy
	KeyEnv  string       // key's variable, for advice; "" is OLLAMA_API_KEY
	HTTP    *http.Client // nil: a new one

	// KeepAlive is how long the server keeps a model in memory, such as "30m"; "" is its
	// default.
	KeepAlive string

	// Context is the context size in tokens, and Contexts that of models by id. Zero is the
	// num_ctx of the model, if it has one, or adapts to each request, with a reload at powers
	// of two.
	Context  int
	Contexts map[string]int

	// HeaderTimeout and IdleTimeout limit silences; see wire.Client.
	HeaderTimeout, IdleTimeout time.Duration
}

// A Provider makes models of one server. It is safe for concurrent use.
type Provider struct {
	client    *wire.Client
	base      string
	keyEnv    string
	header    http.Header
	keepAlive string
	context   int
	contexts  map[string]int

	mu      sync.Mutex
	known   map[string]*factsEntry
	windows map[string]int // by id, in tokens, as described or loaded
}

// New returns a provider, without I/O.
func New(c Config) *Provider {
	if c.HTTP == nil {
		c.HTTP = wire.HTTP()
	}
	p := &Provider{base: Base(c.BaseURL), keyEnv: cmp.Or(c.KeyEnv, "OLLAMA_API_KEY"), header: http.Header{}, keepAlive: c.KeepAlive, context: c.Context, contexts: c.Contexts, known: map[string]*factsEntry{}, windows: map[string]int{}}
	if c.Key != "" {
		p.header.Set("Authorization", "Bearer "+c.Key)
	}
	p.client = &wire.Client{HTTP: c.HTTP, Name: cmp.Or(c.Name, "ollama"), HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout}
	return p
}

// Base returns the URL of an OLLAMA_HOST value such as "0.0.0.0", ":11434" or "box".
func Base(host string) string {
	host = strings.TrimSpace(host)
	if host == "" {
		return defaultBase
	}
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil {
		return strings.TrimRight(host, "/") // the first request fails
	}
	name, port := u.Hostname(), u.Port()
	switch name {
	case "", "0.0.0.0":
		name = "127.0.0.1"
	case "::":
		name = "::1"
	}
	if port == "" && u.Scheme == "http" {
		port = defaultPort
	}
	u.Host = strings.TrimSuffix(net.JoinHostPort(name, port), ":")
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	return strings.TrimRight(u.String(), "/")
}

// newRequestInfo returns the Ask for a request of size bytes.
func (p *Provider) newRequestInfo(id string, size int) wire.RequestInfo {
	return wire.RequestInfo{Model: p.client.Name + "/" + id, Size: size, Sent: p.header, Advice: func(c llm.Class) string {
		switch c {
		case llm.Unreachable:
			return "start it with: ollama serve"
		case llm.NotFound:
			if id == "" {
				return "check whether an Ollama server runs at this address"
			}
			return "run: ollama pull " + id
		case llm.Auth:
			return "set " + p.keyEnv
		}
		return ""
	}}
}

func (p *Provider) Model(id string) llm.Model {
	return &model{Provider: p, id: id, name: p.client.Name + "/" + id}
}

type model struct {
	*Provider
	id   string
	name string // full
}

func (m *model) Name() string { return m.name }

func (m *model) Prepare(ctx context.Context, released <-chan struct{}, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.Generate(wire.PrepareContext(ctx, released), req)
}

// Generate implements llm.Model. It requests the model's description first. It repeats a refused request
// with a larger context, if the model has one.
func (m *model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		ask := m.newRequestInfo(m.id, req.Size())
		facts, err := m.modelFacts(ctx, m.id)
		if err != nil {
			yield(llm.Delta{}, ask.Attribute(err, llm.Usage{})) // nothing was sent
			return
		}
		size := m.requestContext(req, facts)
		err = m.streamAnswer(ctx, req, facts, size, ask, yield)
		for next := m.largerContext(ctx, err, req, facts, size); next > size; next = m.largerContext(ctx, err, req, facts, size) {
			size = next
			err = m.streamAnswer(ctx, req, facts, size, ask, yield)
		}
		if err != nil {
			yield(llm.Delta{}, ask.AttributeCut(err, llm.Usage{Cost: m.localCost()}))
		}
	}
}

// streamAnswer returns an error only if nothing was yielded.
func (m *model) streamAnswer(ctx context.Context, req *llm.Request, facts facts, size int, ask wire.RequestInfo, yield func(llm.Delta, error) bool) error {
	plan, err := m.newRequest(req, facts)
	if err != nil {
		return err
	}
	plan.Options.NumCtx = size
	body, err := wire.Body(plan)
	if err != nil {
		return err
	}
	resp, err := m.client.Do(ctx, m.id, http.MethodPost, m.base+"/api/chat", m.header, body)
	if err != nil {
		if llm.ClassOf(err) == llm.NotFound {
			m.dropFacts(m.id)
		}
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // the answer has been read, or is not wanted
	pieces := wire.Lines(resp.Body)
	if wire.IsType(resp, "application/json") {
		pieces = jsonValues(resp.Body)
	}
	f := &fold{full: m.name, size: ask.Size, used: llm.Usage{Cost: m.localCost()}}
	ask.Output = m.client.NewOutput(m.id, req, wire.OutputForm{Hold: !facts.canThink()})
	ask.Stream(resp, pieces, f, yield)
	return nil
}

// localCost returns zero for local models, else nil.
func (m *model) localCost() *int64 {
	if m.isRemote() {
		return nil
	}
	return new(int64)
}

// isRemote reports whether a model runs elsewhere.
func (m *model) isRemote() bool {
	return strings.HasSuffix(m.id, "-cloud") || strings.HasSuffix(m.id, ":cloud") || IsHosted(m.base)
}

// IsHosted reports whether base is a server of ollama.com.
func IsHosted(base string) bool {
	u, err := url.Parse(Base(base))
	return err == nil && (u.Hostname() == "ollama.com" || strings.HasSuffix(u.Hostname(), ".ollama.com"))
}
