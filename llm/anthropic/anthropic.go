// Package anthropic talks to Claude, and servers with its dialect, by the Messages API.
//
// request.go and block.go build a request, fold.go reads the answer, models.go knows the
// models. Reasoning goes back with its signature to its own model only. A part's Opaque
// is the block's type with the fields that the part lacks, or the whole block.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

const (
	defaultBase   = "https://api.anthropic.com"
	apiVersion    = "2023-06-01"
	vertexVersion = "vertex-2023-10-16"
)

// A Config configures a provider. The zero value is the public API without a key.
type Config struct {
	Name    string       // prefix of model names; "" is "anthropic"
	BaseURL string       // with or without /v1; "" is the public API
	Key     string       // secret
	KeyEnv  string       // key's variable, for advice; "" is ANTHROPIC_API_KEY
	HTTP    *http.Client // nil: a new one

	// Vertex means that BaseURL ends in publishers/anthropic/models and Key is an access
	// token.
	Vertex bool

	Betas []string

	// Tools are the provider's own, such as web search, sent verbatim.
	Tools []json.RawMessage

	// HeaderTimeout and IdleTimeout limit silences; see wire.Client.
	HeaderTimeout, IdleTimeout time.Duration
}

// A Provider makes models of the Messages API. It is safe for concurrent use.
type Provider struct {
	client   *wire.Client
	base     string
	header   http.Header
	vertex   bool
	official bool // base is the public API
	builtin  []json.RawMessage
}

// New returns a provider, without I/O.
func New(c Config) *Provider {
	if c.HTTP == nil {
		c.HTTP = wire.HTTP()
	}
	base := cmp.Or(strings.TrimRight(c.BaseURL, "/"), defaultBase)
	p := &Provider{base: strings.TrimSuffix(base, "/v1"), header: authHeader(c), vertex: c.Vertex, builtin: c.Tools}
	p.official = p.base == defaultBase
	p.client = &wire.Client{HTTP: c.HTTP, Name: cmp.Or(c.Name, "anthropic"), Advice: wire.Advice(cmp.Or(c.KeyEnv, "ANTHROPIC_API_KEY"), "balance"), HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout}
	return p
}

func authHeader(c Config) http.Header {
	h := http.Header{}
	switch {
	case c.Key == "":
	case c.Vertex:
		h.Set("Authorization", "Bearer "+c.Key)
	default:
		h.Set("x-api-key", c.Key)
	}
	if !c.Vertex {
		h.Set("anthropic-version", apiVersion)
	}
	if len(c.Betas) > 0 {
		h.Set("anthropic-beta", strings.Join(c.Betas, ","))
	}
	return h
}

func (p *Provider) Model(id string) llm.Model {
	return &model{Provider: p, id: id, name: p.client.Name + "/" + id, traits: modelTraits(id)}
}

// Check implements llm.Provider. It ignores a missing model except at the public API,
// because other servers may lack the list.
func (p *Provider) Check(ctx context.Context, id string) error {
	if p.vertex {
		return nil
	}
	resp, err := p.client.Do(ctx, id, http.MethodGet, p.base+"/v1/models/"+url.PathEscape(id), p.header, nil)
	switch {
	case err == nil:
		wire.Finish(resp)
		return resp.Body.Close()
	case !p.official && llm.ClassOf(err) == llm.NotFound:
		return nil
	}
	return err
}

// Embed returns an error: the API has no embeddings.
func (p *Provider) Embed(_ context.Context, id string, _ []string) ([][]float32, llm.Usage, error) {
	return nil, llm.Usage{}, &llm.Error{
		Class: llm.BadRequest, Model: p.client.Name + "/" + id,
		Message: "this API has no embeddings", Advice: "choose another model for the role embed",
	}
}

type model struct {
	*Provider
	id     string
	name   string // full
	traits traits
}

func (m *model) Name() string { return m.name }

func (m *model) Prepare(ctx context.Context, released <-chan struct{}, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.Generate(wire.PrepareContext(ctx, released), req)
}

// Generate implements llm.Model. It repeats a request once, without opaque parts, if the
// API refuses a signature. It continues a paused turn.
func (m *model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var before pausedTurn
		for before.count <= maxPauses && m.generateOnce(ctx, req, &before, yield) {
			before.count++
		}
	}
}

// generateOnce sends one request of a turn. It reports whether the turn paused, and updates before.
func (m *model) generateOnce(ctx context.Context, req *llm.Request, before *pausedTurn, yield func(llm.Delta, error) bool) (again bool) {
	ask := wire.RequestInfo{Model: m.name, Size: req.Size(), Sent: m.header, Advice: m.client.Advice}
	req = before.extendRequest(req)
	p, resp, err := m.sendPlan(ctx, req, before, false)
	if p != nil && p.opaque && refusedSignature(err) {
		p, resp, err = m.sendPlan(ctx, req, before, true)
	}
	if err != nil {
		yield(llm.Delta{}, ask.AttributeCut(err, before.used))
		return false
	}
	defer resp.Body.Close() //nolint:errcheck // the answer has been read, or is not wanted
	pieces := wire.Data(resp.Body)
	if wire.IsType(resp, "application/json") {
		pieces = wire.ReadWhole(resp.Body)
	}
	ask.Output = m.client.NewOutput(m.id, req, wire.OutputForm{Hold: !strings.Contains(m.id, "claude")})
	f := &fold{full: m.name, answer: p.answer, size: ask.Size, before: *before}
	ask.Stream(resp, pieces, f, func(d llm.Delta, err error) bool {
		if d.Done != nil && f.stop == pauseTurn && before.count < maxPauses {
			*before = pausedTurn{count: before.count, parts: d.Done.Message.Parts, used: d.Done.Usage, container: cmp.Or(f.container, before.container)}
			again = true
			return false
		}
		return yield(d, err)
	})
	return again
}

// pauseTurn is the stop reason of a long turn with server tools. The next request sends the
// content back as it is, and the answer continues it.
const pauseTurn = "pause_turn"

// maxPauses limits the requests of a turn. A turn that pauses more often is incomplete.
const maxPauses = 5

// A pausedTurn is the answer so far of a turn that paused. The zero value is none.
type pausedTurn struct {
	count     int
	parts     []llm.Part
	used      llm.Usage
	container containerID
}

func (p *pausedTurn) extendRequest(req *llm.Request) *llm.Request {
	if len(p.parts) == 0 {
		return req
	}
	again := *req
	again.Messages = append(slices.Clip(req.Messages), llm.Message{Role: llm.Assistant, Parts: p.parts})
	return &again
}

// sendPlan returns a nil plan if planning failed.
func (m *model) sendPlan(ctx context.Context, req *llm.Request, before *pausedTurn, strip bool) (*plan, *http.Response, error) {
	p, err := m.newPlan(req, strip)
	if err != nil {
		return nil, nil, err
	}
	p.body.Container = before.container
	body, err := wire.Body(p.body)
	if err != nil {
		return nil, nil, err
	}
	resp, err := m.client.Do(ctx, m.id, http.MethodPost, m.messagesURL(), m.header, body)
	return p, resp, err
}

func (m *model) messagesURL() string {
	if m.vertex {
		return m.base + "/" + url.PathEscape(m.id) + ":streamRawPredict"
	}
	return m.base + "/v1/messages"
}

// refusedSignature reports whether the API refused returned reasoning, perhaps another
// account's or edited.
func refusedSignature(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest {
		return false
	}
	text := strings.ToLower(e.Message)
	return strings.Contains(text, "signature") || strings.Contains(text, "thinking") && strings.Contains(text, "cannot be modified")
}

// CountTokens implements [llm.TokenCounter], except for Vertex AI.
func (m *model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	if m.vertex {
		return 0, &llm.Error{Class: llm.BadRequest, Model: m.name, Message: "Vertex AI does not count tokens"}
	}
	p, err := m.newPlan(req, false)
	if err != nil {
		return 0, err
	}
	b := &p.body
	b.MaxTokens, b.Temperature, b.Stream = 0, nil, false // the count API refuses these
	return m.client.Count(ctx, m.id, m.messagesURL()+"/count_tokens", m.header, b, "input_tokens")
}
