package ollama

import (
	"context"
	"encoding/json"
	"net/http"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

func (p *Provider) Check(ctx context.Context, id string) error {
	if _, err := p.show(ctx, id); err != nil {
		return p.ask(id, 0).Blame(err, llm.Usage{})
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
	if err := p.do(ctx, "", http.MethodGet, "/api/tags", nil, &got); err != nil {
		ask := p.ask("", 0)
		ask.Model = p.client.Name
		return nil, ask.Blame(err, llm.Usage{})
	}
	names := make([]string, 0, len(got.Models))
	for _, m := range got.Models {
		names = append(names, m.Name)
	}
	return names, nil
}

const batch = 256

// Embed implements llm.Provider. The server truncates texts beyond the context.
func (p *Provider) Embed(ctx context.Context, id string, texts []string) ([][]float32, llm.Usage, error) {
	m := &model{Provider: p, id: id, name: p.client.Name + "/" + id}
	used := llm.Usage{Cost: m.cost()}
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		now := texts[:min(batch, len(texts))]
		texts = texts[len(now):]
		size := 0
		for _, t := range now {
			size += len(t)
		}
		more, count, err := p.embed(ctx, id, now)
		if err != nil {
			return nil, used, p.ask(id, size).Cut(err, llm.Usage{Cost: m.cost()})
		}
		if count == 0 && size > 0 {
			count, used.Estimated = wire.Tokens(size), true
		}
		used.Input += count
		vectors = append(vectors, more...)
	}
	return vectors, used, nil
}

func (p *Provider) embed(ctx context.Context, id string, texts []string) ([][]float32, int, error) {
	ask := struct {
		Model     string   `json:"model"`
		Input     []string `json:"input"`
		KeepAlive string   `json:"keep_alive,omitempty"`
	}{id, texts, p.keepAlive}
	var got struct {
		Embeddings [][]float32 `json:"embeddings"`
		Read       wire.Count  `json:"prompt_eval_count"`
	}
	if err := p.do(ctx, id, http.MethodPost, "/api/embed", ask, &got); err != nil {
		return nil, 0, err
	}
	return got.Embeddings, int(got.Read), wire.Vectors(got.Embeddings, len(texts))
}

func (p *Provider) do(ctx context.Context, id, method, path string, ask, out any) error {
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
		return wire.Mangled("the answer", err)
	}
	return nil
}
