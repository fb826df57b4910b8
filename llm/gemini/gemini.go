// Package gemini talks to Google's models by generateContent, at the Gemini API or Vertex
// AI.
//
// request.go, part.go and schema.go build a request, fold.go reads the answer, models.go
// knows the models. A part's Opaque is its signature, a JSON string, or a whole unknown
// part, an object. It goes back to its own model only. The key is never in a URL.
package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

const defaultBase = "https://generativelanguage.googleapis.com/v1beta"

// A Config configures a provider. The zero value is the Gemini API without a key.
type Config struct {
	Name    string       // prefix of model names; "" is "gemini"
	BaseURL string       // up to the version; "" is the Gemini API
	Key     string       // secret
	KeyEnv  string       // key's variable, for advice; "" is GEMINI_API_KEY
	HTTP    *http.Client // nil: a new one

	// Vertex means that BaseURL ends in publishers/google and Key is an access token.
	Vertex bool

	// HeaderTimeout and IdleTimeout limit silences; see wire.Client.
	HeaderTimeout, IdleTimeout time.Duration
}

// A Provider makes models of generateContent. It is safe for concurrent use.
type Provider struct {
	client *wire.Client
	base   string
	header http.Header
	vertex bool

	mu      sync.Mutex
	refused map[string]feature // by model
}

// New returns a provider, without I/O.
func New(c Config) *Provider {
	if c.HTTP == nil {
		c.HTTP = wire.HTTP()
	}
	p := &Provider{base: cmp.Or(strings.TrimRight(c.BaseURL, "/"), defaultBase), header: http.Header{}, vertex: c.Vertex, refused: map[string]feature{}}
	switch {
	case c.Key == "":
	case c.Vertex:
		p.header.Set("Authorization", "Bearer "+c.Key)
	default:
		p.header.Set("x-goog-api-key", c.Key)
	}
	p.client = &wire.Client{HTTP: c.HTTP, Name: cmp.Or(c.Name, "gemini"), Advice: wire.Advice(cmp.Or(c.KeyEnv, "GEMINI_API_KEY"), "billing"), HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout}
	return p
}

func (p *Provider) Model(id string) llm.Model {
	return &model{Provider: p, id: id, name: p.client.Name + "/" + id, traits: modelTraits(id)}
}

func (p *Provider) resourceURL(id, verb string) string {
	parts := strings.Split(resourceName(id), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return p.base + "/" + strings.Join(parts, "/") + verb
}

// resourceName returns models/x, or a name in another collection.
func resourceName(id string) string {
	if strings.Contains(id, "/") {
		return id
	}
	return "models/" + id
}

// Check implements llm.Provider. It returns nil for Vertex AI, which cannot tell.
func (p *Provider) Check(ctx context.Context, id string) error {
	if p.vertex {
		return nil
	}
	resp, err := p.client.Do(ctx, id, http.MethodGet, p.resourceURL(id, ""), p.header, nil)
	if err != nil {
		return err
	}
	wire.Finish(resp)
	return resp.Body.Close()
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

// Generate implements llm.Model. It repeats a request without what the model refuses: a
// signature, a system instruction, a schema. All but the signature is remembered.
func (m *model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		ask := wire.RequestInfo{Model: m.name, Size: req.Size(), Sent: m.header, Advice: m.client.Advice}
		resp, err := m.sendAdapted(ctx, req)
		if err != nil {
			yield(llm.Delta{}, ask.AttributeCut(err, llm.Usage{}))
			return
		}
		defer resp.Body.Close() //nolint:errcheck // the answer has been read, or is not wanted
		pieces := wire.Data(resp.Body)
		if wire.IsType(resp, "application/json") {
			pieces = wire.ReadWhole(resp.Body)
		}
		ask.Output = m.client.NewOutput(m.id, req, wire.OutputForm{})
		ask.Stream(resp, eachElement(pieces), &fold{full: m.name, size: ask.Size}, yield)
	}
}

func (m *model) sendPlan(ctx context.Context, req *llm.Request, without feature) (resp *http.Response, uses feature, err error) {
	plan, uses, err := m.newRequest(req, without)
	if err != nil {
		return nil, 0, err
	}
	body, err := wire.Body(plan)
	if err != nil {
		return nil, 0, err
	}
	resp, err = m.client.Do(ctx, m.id, http.MethodPost, m.resourceURL(m.id, ":streamGenerateContent?alt=sse"), m.header, body)
	return resp, uses, err
}

type (
	countRequest struct {
		Request countedRequest `json:"generateContentRequest"`
	}
	countedRequest struct {
		Model string `json:"model"`
		*generateRequest
	}
)

// CountTokens implements [llm.TokenCounter], except for Vertex AI.
func (m *model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	if m.vertex {
		return 0, &llm.Error{Class: llm.BadRequest, Model: m.name, Message: "Vertex AI does not count tokens"}
	}
	plan, _, err := m.newRequest(req, m.refusedFeatures(m.id))
	if err != nil {
		return 0, err
	}
	return m.client.Count(ctx, m.id, m.resourceURL(m.id, ":countTokens"), m.header, countRequest{countedRequest{resourceName(m.id), plan}}, "totalTokens")
}

// maxBatch is the API's limit of texts.
const maxBatch = 100

const maxEmbeddings = 64 << 20

type (
	embedRequest struct {
		Requests []embedOne `json:"requests"`
	}
	embedOne struct {
		Model   string  `json:"model"`
		Content content `json:"content"`
	}
	embedResponse struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
)

// Embed implements llm.Provider, except for Vertex AI. The usage is estimated, because
// the API reports none.
func (p *Provider) Embed(ctx context.Context, id string, texts []string) ([][]float32, llm.Usage, error) {
	name := p.client.Name + "/" + id
	if p.vertex {
		return nil, llm.Usage{}, &llm.Error{Class: llm.BadRequest, Model: name, Message: "Vertex AI has no embeddings", Advice: "use the Gemini API for the role embed"}
	}
	var used llm.Usage
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		now := texts[:min(maxBatch, len(texts))]
		texts = texts[len(now):]
		size := 0
		for _, t := range now {
			size += len(t)
		}
		more, err := p.embedBatch(ctx, id, now)
		if err != nil {
			return nil, used, wire.RequestInfo{Model: name, Size: size, Sent: p.header, Advice: p.client.Advice}.AttributeCut(err, llm.Usage{})
		}
		guess := wire.Estimate(size, 0)
		used.Input += guess.Input
		used.Estimated = true
		vectors = append(vectors, more...)
	}
	return vectors, used, nil
}

func (p *Provider) embedBatch(ctx context.Context, id string, texts []string) ([][]float32, error) {
	var ask embedRequest
	for _, t := range texts {
		ask.Requests = append(ask.Requests, embedOne{Model: resourceName(id), Content: content{Parts: []any{part{Text: &t}}}})
	}
	body, err := wire.Body(ask)
	if err != nil {
		return nil, err
	}
	data, err := p.client.Fetch(ctx, id, http.MethodPost, p.resourceURL(id, ":batchEmbedContents"), p.header, body, maxEmbeddings)
	if err != nil {
		return nil, err
	}
	var got embedResponse
	if err := json.Unmarshal(data, &got); err != nil {
		return nil, wire.PieceError("the vectors", err)
	}
	vectors := make([][]float32, len(got.Embeddings))
	for i, e := range got.Embeddings {
		vectors[i] = e.Values
	}
	return vectors, wire.CheckVectors(vectors, len(texts))
}
