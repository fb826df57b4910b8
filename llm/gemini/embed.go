package gemini

import (
	"context"
	"encoding/json"
	"net/http"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// batch is the most texts the API takes at once.
const batch = 100

// maxEmbeddings bounds an answer, in bytes.
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

// Embed implements llm.Provider. The API does not count the tokens, so the
// usage is an estimate. Vertex AI embeds in another way, which this does not
// speak.
func (p *Provider) Embed(ctx context.Context, id string, texts []string) ([][]float32, llm.Usage, error) {
	name := p.client.Name + "/" + id
	if p.vertex {
		return nil, llm.Usage{}, &llm.Error{Class: llm.BadRequest, Model: name, Message: "no embeddings by Vertex AI", Advice: "use the Gemini API for the role embed"}
	}
	var used llm.Usage
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		now := texts[:min(batch, len(texts))]
		texts = texts[len(now):]
		size := 0
		for _, t := range now {
			size += len(t)
		}
		more, err := p.embed(ctx, id, now)
		if err != nil {
			return nil, used, wire.Ask{Model: name, Size: size, Sent: p.header, Advice: p.client.Advice}.Cut(err, llm.Usage{})
		}
		guess := wire.Estimate(size, 0)
		used.Input += guess.Input
		used.Estimated = true
		vectors = append(vectors, more...)
	}
	return vectors, used, nil
}

func (p *Provider) embed(ctx context.Context, id string, texts []string) ([][]float32, error) {
	var ask embedRequest
	for _, t := range texts {
		ask.Requests = append(ask.Requests, embedOne{Model: resource(id), Content: content{Parts: []any{part{Text: &t}}}})
	}
	body, err := wire.Body(ask)
	if err != nil {
		return nil, err
	}
	data, err := p.client.Fetch(ctx, id, http.MethodPost, p.url(id, ":batchEmbedContents"), p.header, body, maxEmbeddings)
	if err != nil {
		return nil, err
	}
	var got embedResponse
	if err := json.Unmarshal(data, &got); err != nil {
		return nil, wire.Mangled("the vectors", err)
	}
	vectors := make([][]float32, len(got.Embeddings))
	for i, e := range got.Embeddings {
		vectors[i] = e.Values
	}
	return vectors, wire.Vectors(vectors, len(texts))
}
