package ollama

import (
	"context"
	"encoding/json"
	"net/http"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

func (p *Provider) Check(ctx context.Context, id string) error {
	if _, err := p.requestFacts(ctx, id); err != nil {
		return p.newRequestInfo(id, 0).Attribute(err, llm.Usage{})
	}
	return nil
}

const maxAnswer = 64 << 20

// Models returns the server's models, newest first. Errors are those of Generate.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	var got struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := p.fetchJSON(ctx, "", http.MethodGet, "/api/tags", nil, &got); err != nil {
		ask := p.newRequestInfo("", 0)
		ask.Model = p.client.Name
		return nil, ask.Attribute(err, llm.Usage{})
	}
	names := make([]string, 0, len(got.Models))
	for _, m := range got.Models {
		names = append(names, m.Name)
	}
	return names, nil
}

const maxBatch = 256

// Embed implements llm.Provider. The server truncates texts beyond the context.
func (p *Provider) Embed(ctx context.Context, id string, texts []string) ([][]float32, llm.Usage, error) {
	m := &model{Provider: p, id: id, name: p.client.Name + "/" + id}
	used := llm.Usage{Cost: m.localCost()}
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		now := texts[:min(maxBatch, len(texts))]
		texts = texts[len(now):]
		size := 0
		for _, t := range now {
			size += len(t)
		}
		more, count, err := p.embedBatch(ctx, id, now)
		if err != nil {
			return nil, used, p.newRequestInfo(id, size).AttributeCut(err, llm.Usage{Cost: m.localCost()})
		}
		if count == 0 && size > 0 {
			count, used.Estimated = wire.Tokens(size), true
		}
		used.Input += count
		vectors = append(vectors, more...)
	}
	return vectors, used, nil
}

func (p *Provider) embedBatch(ctx context.Context, id string, texts []string) ([][]float32, int, error) {
	ask := struct {
		Model     string   `json:"model"`
		Input     []string `json:"input"`
		KeepAlive string   `json:"keep_alive,omitempty"`
	}{id, texts, p.keepAlive}
	var got struct {
		Embeddings [][]float32 `json:"embeddings"`
		Read       wire.Count  `json:"prompt_eval_count"`
	}
	if err := p.fetchJSON(ctx, id, http.MethodPost, "/api/embed", ask, &got); err != nil {
		return nil, 0, err
	}
	return got.Embeddings, int(got.Read), wire.CheckVectors(got.Embeddings, len(texts))
}

func (p *Provider) fetchJSON(ctx context.Context, id, method, path string, ask, out any) error {
	var body any
	if ask != nil {
		data, err := wire.Body(ask)
		if err != nil {
			return err
		}
		body = data
	}
	data, err := p.client.Fetch(ctx, id, method, p.base+path, p.header, body, maxAnswer)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return wire.PieceError("the answer", err)
	}
	return nil
}
