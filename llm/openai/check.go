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
		Data []listedModel `json:"data"`
	}
	err := p.fetchRoute(ctx, id, "models", &list)
	p.recordLacking(list.Data)
	p.recordContexts(list.Data)
	p.probeContext(ctx, id, err)
	if err == nil && p.host.account != "" {
		err = p.fetchRoute(ctx, id, p.host.account, nil)
	}
	if noRoute(err) {
		err = nil
	}
	if err != nil || p.host.partial || len(list.Data) == 0 || hasModel(list.Data, id) || p.host.mayBeUnlisted(id) {
		return err
	}
	return &llm.Error{
		Class: llm.NotFound, Model: p.client.Name + "/" + id, Message: "no such model",
		Advice: "it has " + exampleModels(list.Data, id),
	}
}

func noRoute(err error) bool {
	c := llm.ClassOf(err)
	return err != nil && (c == llm.NotFound || c == llm.BadRequest)
}

// mayBeUnlisted reports whether a list may omit id: an alias, or a broker's embedding model.
func (h host) mayBeUnlisted(id string) bool {
	return strings.HasSuffix(id, "-latest") || h.account != "" && strings.Contains(strings.ToLower(id), "embed")
}

type listedModel struct {
	ID        string   `json:"id"`
	Owner     string   `json:"owned_by"`
	Supported []string `json:"supported_parameters"` // OpenRouter ignores others

	listedContext
}

// featureNames maps features to names in supported_parameters.
var featureNames = [...]struct {
	feature feature
	name    string
}{
	{featNative, "structured_outputs"}, {featMode, "response_format"}, {featForced, "tools"}, {featForced, "tool_choice"},
	{featEffort, "reasoning"}, {featTemperature, "temperature"},
	{featPenalty, "frequency_penalty"},
}

// recordLacking records the features that listed models lack.
func (p *Provider) recordLacking(list []listedModel) {
	lacks := make(map[string]feature)
	for _, m := range list {
		if len(m.Supported) == 0 || len(lacks) >= maxRemembered {
			continue
		}
		lacks[m.ID] = 0
		for _, a := range featureNames {
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

// hasModel reports whether a list has a model. llama.cpp serves one model by any name.
func hasModel(list []listedModel, id string) bool {
	base, _, _ := strings.Cut(id, ":") // variants
	return slices.ContainsFunc(list, func(m listedModel) bool {
		return m.ID == id || m.ID == base || m.ID == "models/"+id || m.Owner == "llamacpp"
	})
}

const maxExamples = 5

// exampleModels names models, similar ones first.
func exampleModels(models []listedModel, id string) string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.ID
	}
	slices.SortStableFunc(names, func(a, b string) int { return commonPrefix(b, id) - commonPrefix(a, id) })
	text := strings.Join(names[:min(len(names), maxExamples)], ", ")
	if more := len(names) - maxExamples; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// commonPrefix returns the length of the common prefix, without vendors.
func commonPrefix(a, b string) (n int) {
	a, b = strings.ToLower(path.Base(a)), strings.ToLower(path.Base(b))
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// fetchRoute leaves v unchanged if it cannot read the answer.
func (p *Provider) fetchRoute(ctx context.Context, id, route string, v any) error {
	data, err := p.client.Fetch(ctx, id, http.MethodGet, p.routeURL(route), p.header, nil, maxList)
	if err != nil {
		return wire.RequestInfo{Model: p.client.Name + "/" + id, Sent: p.header, Advice: p.client.Advice}.Attribute(err, llm.Usage{})
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
		n := batchSize(texts)
		more, u, err := p.embedBatch(ctx, id, texts[:n])
		used = addUsage(used, u)
		if err != nil {
			return nil, used, wire.RequestInfo{Model: p.client.Name + "/" + id, Sent: p.header, Advice: p.client.Advice}.Attribute(err, used)
		}
		vectors = append(vectors, more...)
		texts = texts[n:]
	}
	return vectors, used, nil
}

// batchSize returns the texts for one request, at least one.
func batchSize(texts []string) (n int) {
	size := 0
	for n < len(texts) && n < maxTexts {
		if size += len(texts[n]); n > 0 && size > maxTextBytes {
			break
		}
		n++
	}
	return n
}

func addUsage(a, b llm.Usage) llm.Usage {
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

func (p *Provider) embedBatch(ctx context.Context, id string, texts []string) ([][]float32, llm.Usage, error) {
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
	resp, err := p.client.Do(ctx, id, http.MethodPost, p.routeURL("embeddings"), p.header, embedRequest{Model: id, Input: input, Format: "float"})
	if err != nil {
		return nil, llm.Usage{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxVectors))
	if err != nil {
		return nil, wire.Estimate(size, 0), err
	}
	if e := wire.InBandError(data); e != nil {
		return nil, llm.Usage{}, e
	}
	var out embedResponse
	if err := unmarshalLenient(data, &out); err != nil {
		return nil, wire.Estimate(size, 0), wire.PieceError("the vectors", err)
	}
	used := wire.FillMissing(out.Usage.toUsage(), size, 0)
	vectors, err := out.orderedVectors(len(texts))
	return vectors, used, err
}

func (r *embedResponse) orderedVectors(n int) ([][]float32, error) {
	vectors := make([][]float32, len(r.Data))
	for i, d := range r.Data {
		at := d.Index
		if at < 0 || at >= len(vectors) || vectors[at] != nil {
			at = i // no valid index
		}
		vectors[at] = d.Vector
	}
	return vectors, wire.CheckVectors(vectors, n)
}
