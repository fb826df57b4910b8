package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

const maxList = 16 << 20

// Check implements llm.Provider. It returns nil for servers without a list, and for
// models missing in a partial one.
func (p *Provider) Check(ctx context.Context, id string) error {
	if p.baseErr != nil {
		return p.baseErr
	}
	var list struct {
		Data []listed `json:"data"`
	}
	err := p.get(ctx, id, "models", &list)
	p.lack(list.Data)
	if err == nil && p.host.account != "" {
		err = p.get(ctx, id, p.host.account, nil)
	}
	if noRoute(err) {
		err = nil
	}
	if err != nil || p.host.partial || len(list.Data) == 0 || has(list.Data, id) || p.host.unlisted(id) {
		return err
	}
	return &llm.Error{
		Class: llm.NotFound, Model: p.client.Name + "/" + id, Message: "no such model",
		Advice: "it has " + examples(list.Data, id),
	}
}

func noRoute(err error) bool {
	c := llm.ClassOf(err)
	return err != nil && (c == llm.NotFound || c == llm.BadRequest)
}

// unlisted reports whether a list may omit id: an alias, or a broker's embedding model.
func (h host) unlisted(id string) bool {
	return strings.HasSuffix(id, "-latest") || h.account != "" && strings.Contains(strings.ToLower(id), "embed")
}

type listed struct {
	ID        string   `json:"id"`
	Owner     string   `json:"owned_by"`
	Supported []string `json:"supported_parameters"` // OpenRouter ignores others
}

// abilities maps features to names in supported_parameters.
var abilities = [...]struct {
	feature feature
	name    string
}{
	{featNative, "structured_outputs"}, {featMode, "response_format"}, {featForced, "tools"}, {featForced, "tool_choice"},
	{featEffort, "reasoning"}, {featTemperature, "temperature"},
}

// lack records the features that listed models lack.
func (p *Provider) lack(list []listed) {
	lacks := make(map[string]feature)
	for _, m := range list {
		if len(m.Supported) == 0 || len(lacks) >= maxRemembered {
			continue
		}
		lacks[m.ID] = 0
		for _, a := range abilities {
			if !slices.Contains(m.Supported, a.name) {
				lacks[m.ID] |= a.feature
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(list) > 0 {
		p.lacks = lacks
	}
}

// has reports whether a list has a model. llama.cpp serves one model by any name.
func has(list []listed, id string) bool {
	base, _, _ := strings.Cut(id, ":") // variants
	return slices.ContainsFunc(list, func(m listed) bool {
		return m.ID == id || m.ID == base || m.ID == "models/"+id || m.Owner == "llamacpp"
	})
}

const maxExamples = 5

// examples names models, similar ones first.
func examples(models []listed, id string) string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.ID
	}
	slices.SortStableFunc(names, func(a, b string) int { return alike(b, id) - alike(a, id) })
	text := strings.Join(names[:min(len(names), maxExamples)], ", ")
	if more := len(names) - maxExamples; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// alike returns the length of the common prefix, without vendors.
func alike(a, b string) (n int) {
	a, b = strings.ToLower(path.Base(a)), strings.ToLower(path.Base(b))
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// get leaves v unchanged if it cannot read the answer.
func (p *Provider) get(ctx context.Context, id, route string, v any) error {
	data, err := p.client.Fetch(ctx, id, http.MethodGet, p.url(route), p.header, nil, maxList)
	if err != nil {
		return wire.Ask{Model: p.client.Name + "/" + id, Sent: p.header, Advice: p.client.Advice}.Blame(err, llm.Usage{})
	}
	if v != nil {
		_ = json.Unmarshal(data, v) // another form
	}
	return nil
}

// Below the limits of all known servers.
const (
	maxTexts     = 256
	maxTextBytes = 400 << 10
	maxVectors   = 64 << 20
)

type (
	embedRequest struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}
	embedResponse struct {
		Data []struct {
			Index  int       `json:"index"`
			Vector []float32 `json:"embedding"`
		} `json:"data"`
		Usage *usage `json:"usage"`
	}
)

// Embed implements llm.Provider. It sends as many requests as needed.
func (p *Provider) Embed(ctx context.Context, id string, texts []string) (vectors [][]float32, used llm.Usage, err error) {
	for len(texts) > 0 {
		n := batch(texts)
		more, u, err := p.embed(ctx, id, texts[:n])
		used = add(used, u)
		if err != nil {
			return nil, used, wire.Ask{Model: p.client.Name + "/" + id, Sent: p.header, Advice: p.client.Advice}.Blame(err, used)
		}
		vectors = append(vectors, more...)
		texts = texts[n:]
	}
	return vectors, used, nil
}

// batch returns the texts for one request, at least one.
func batch(texts []string) (n int) {
	size := 0
	for n < len(texts) && n < maxTexts {
		if size += len(texts[n]); n > 0 && size > maxTextBytes {
			break
		}
		n++
	}
	return n
}

func add(a, b llm.Usage) llm.Usage {
	a.Input += b.Input
	a.CacheRead += b.CacheRead
	a.Output += b.Output
	a.Estimated = a.Estimated || b.Estimated
	if a.Cost != nil && b.Cost != nil {
		sum := *a.Cost + *b.Cost
		a.Cost = &sum
	} else if b.Cost != nil {
		a.Cost = b.Cost
	}
	return a
}

func (p *Provider) embed(ctx context.Context, id string, texts []string) ([][]float32, llm.Usage, error) {
	if p.baseErr != nil {
		return nil, llm.Usage{}, p.baseErr
	}
	size := 0
	input := make([]string, len(texts))
	for i, t := range texts {
		if size += len(t); t == "" {
			t = " " // servers refuse an empty text
		}
		input[i] = t
	}
	resp, err := p.client.Do(ctx, id, http.MethodPost, p.url("embeddings"), p.header, embedRequest{Model: id, Input: input, Format: "float"})
	if err != nil {
		return nil, llm.Usage{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxVectors))
	if err != nil {
		return nil, wire.Estimate(size, 0), err
	}
	if e := wire.InBand(data); e != nil {
		return nil, llm.Usage{}, e
	}
	var out embedResponse
	if err := lenient(data, &out); err != nil {
		return nil, wire.Estimate(size, 0), wire.Mangled("the vectors", err)
	}
	used := wire.CountedOr(out.Usage.normal(), size, 0)
	vectors, err := out.vectors(len(texts))
	return vectors, used, err
}

func (r *embedResponse) vectors(n int) ([][]float32, error) {
	vectors := make([][]float32, len(r.Data))
	for i, d := range r.Data {
		at := d.Index
		if at < 0 || at >= len(vectors) || vectors[at] != nil {
			at = i // no valid index
		}
		vectors[at] = d.Vector
	}
	return vectors, wire.Vectors(vectors, n)
}
