// Package ollama talks to models on this machine or another by Ollama's own
// API, which can do what its imitation of others cannot: it says what a model
// can do, takes the size of the context and tells thoughts from answers.
//
// A request is translated in request.go, an answer in fold.go; facts.go asks the
// server once what each model can do and show.go what it has. The size of the
// context follows from the request alone, in steps of powers of two, for a server
// loads the model anew whenever it changes; and prompts that do not fit are an
// error, where by default the server would drop their beginning without a word.
//
// What runs on one's own machine costs nothing: the usage says so. Models that
// the server only passes on (their names end in "cloud"), and those of ollama.com, have
// no known price.
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

// A Config says where a server is. The zero value is one on this machine.
type Config struct {
	Name    string       // first part of models' names; "" is "ollama"
	BaseURL string       // as in OLLAMA_HOST: scheme and port may be missing
	Key     string       // secret; for servers behind a proxy and for ollama.com
	KeyEnv  string       // the variable the key should be in, for advice; "" is OLLAMA_API_KEY
	HTTP    *http.Client // nil is a client of its own

	// KeepAlive is how long the server keeps a model in memory after a request,
	// such as "30m"; "" leaves it to the server.
	KeepAlive string

	// Context is the size of the context in tokens. Zero is as much as each
	// request needs, which costs a reload when it grows past a power of two.
	Context int

	// HeaderTimeout and IdleTimeout bound silences; see wire.Client.
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

	mu    sync.Mutex
	known map[string]*entry
}

// New returns a provider. It does no I/O.
func New(c Config) *Provider {
	if c.HTTP == nil {
		c.HTTP = wire.HTTP()
	}
	p := &Provider{base: Base(c.BaseURL), keyEnv: cmp.Or(c.KeyEnv, "OLLAMA_API_KEY"), header: http.Header{}, keepAlive: c.KeepAlive, context: c.Context, known: map[string]*entry{}}
	if c.Key != "" {
		p.header.Set("Authorization", "Bearer "+c.Key)
	}
	p.client = &wire.Client{HTTP: c.HTTP, Name: cmp.Or(c.Name, "ollama"), HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout}
	return p
}

// Base returns the address of a server as OLLAMA_HOST names it, without a
// slash at its end: "0.0.0.0", ":11434" and "box" are all addresses.
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
		return strings.TrimRight(host, "/") // the first request says what is wrong with it
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

// ask says what is asked of a model, and what to do when it fails.
func (p *Provider) ask(id string, size int) wire.Ask {
	return wire.Ask{Model: p.client.Name + "/" + id, Size: size, Sent: p.header, Advice: func(c llm.Class) string {
		switch c {
		case llm.Unreachable:
			return "start it with: ollama serve"
		case llm.NotFound:
			if id == "" {
				return "is it an Ollama server?"
			}
			return "run: ollama pull " + id
		case llm.Auth:
			return "set " + p.keyEnv
		}
		return ""
	}}
}

// Model implements llm.Provider.
func (p *Provider) Model(id string) llm.Model {
	return &model{Provider: p, id: id, name: p.client.Name + "/" + id}
}

// A model is one model of a server.
type model struct {
	*Provider
	id   string
	name string // full
}

// Name implements llm.Model.
func (m *model) Name() string { return m.name }

// Hold implements [llm.Holder].
func (m *model) Hold(ctx context.Context, released <-chan struct{}, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.Generate(wire.Hold(ctx, released), req)
}

// Generate implements llm.Model. Before a model's first request it asks the
// server what the model can do.
func (m *model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		ask := m.ask(m.id, req.Size())
		facts, err := m.facts(ctx, m.id)
		if err != nil {
			yield(llm.Delta{}, ask.Blame(err, llm.Usage{})) // nothing was asked yet
			return
		}
		if err := m.generate(ctx, req, facts, ask, yield); err != nil {
			yield(llm.Delta{}, ask.Cut(err, llm.Usage{Cost: m.cost()}))
		}
	}
}

// generate returns an error only if nothing was yielded.
func (m *model) generate(ctx context.Context, req *llm.Request, facts facts, ask wire.Ask, yield func(llm.Delta, error) bool) error {
	plan, err := m.plan(req, facts)
	if err != nil {
		return err
	}
	body, err := wire.Body(plan)
	if err != nil {
		return err
	}
	resp, err := m.client.Do(ctx, m.id, http.MethodPost, m.base+"/api/chat", m.header, body)
	if err != nil {
		if llm.ClassOf(err) == llm.NotFound {
			m.forget(m.id)
		}
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // the answer has been read, or is not wanted
	pieces := wire.Lines(resp.Body)
	if wire.IsType(resp, "application/json") {
		pieces = values(resp.Body)
	}
	f := &fold{full: m.name, size: ask.Size, used: llm.Usage{Cost: m.cost()}}
	if req.Schema == nil && !facts.thinks() {
		f.think = &wire.Think{}
	}
	ask.Stream(resp, pieces, f, yield)
	return nil
}

// cost returns the cost of whatever is asked of the model, or nil if unknown.
func (m *model) cost() *int64 {
	if m.away() {
		return nil
	}
	return new(int64)
}

// away reports whether a model runs elsewhere, by its name or its server's.
func (m *model) away() bool {
	return strings.HasSuffix(m.id, "-cloud") || strings.HasSuffix(m.id, ":cloud") || Hosted(m.base)
}

// Hosted reports whether the server at an address is Ollama's own on the web, and not
// the user's.
func Hosted(base string) bool {
	u, err := url.Parse(Base(base))
	return err == nil && (u.Hostname() == "ollama.com" || strings.HasSuffix(u.Hostname(), ".ollama.com"))
}
