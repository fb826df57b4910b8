package openai

import (
	"context"
	"io"
	"net/http"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// Bounds of one request for vectors, below those of all known servers.
const (
	maxTexts     = 256
	maxTextBytes = 400 << 10
	maxVectors   = 64 << 20 // of an answer
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

// Embed implements llm.Provider. It sends as many requests as the texts need.
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

// batch returns how many texts go into one request, at least one.
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
			t = " " // an empty text is refused
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

// vectors returns n vectors in order.
func (r *embedResponse) vectors(n int) ([][]float32, error) {
	vectors := make([][]float32, len(r.Data))
	for i, d := range r.Data {
		at := d.Index
		if at < 0 || at >= len(vectors) || vectors[at] != nil {
			at = i // a server that does not number them
		}
		vectors[at] = d.Vector
	}
	return vectors, wire.Vectors(vectors, n)
}
