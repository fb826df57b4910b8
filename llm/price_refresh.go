package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ModelsURL is the page for [Refresh].
const ModelsURL = "https://models.dev/api.json"

// Refresh fetches a table in models.dev's form, or returns have with today's date if the
// ETag matches. Store the result and pass it to [Prices.WithTable]. Only ctx and client
// limit the time.
func Refresh(ctx context.Context, client *http.Client, url string, have Table) (Table, error) {
	tag := have.ETag
	if len(have.Models) == 0 {
		tag = ""
	}
	page, err := fetchModels(ctx, client, url, tag)
	if err != nil {
		return Table{}, err
	}
	today := time.Now().UTC().Format(time.DateOnly)
	if page.unchanged {
		have.AsOf = today
		return have, nil
	}
	t, err := ParseModels(page.data)
	if err != nil {
		return Table{}, fmt.Errorf("fetch model prices from %s: %w", url, err)
	}
	t.AsOf = today
	if len(page.tag) <= 256 {
		t.ETag = page.tag
	}
	return t, nil
}

type modelPage struct {
	data      []byte
	tag       string
	unchanged bool // as tag
}

func fetchModels(ctx context.Context, client *http.Client, url, tag string) (modelPage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return modelPage{}, fmt.Errorf("fetch model prices: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return modelPage{}, fmt.Errorf("fetch model prices: %w", err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
	case resp.StatusCode == http.StatusNotModified && tag != "":
		return modelPage{unchanged: true}, nil
	default:
		return modelPage{}, fmt.Errorf("fetch model prices from %s: %s", url, resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxTable+1))
	if err != nil {
		return modelPage{}, fmt.Errorf("fetch model prices from %s: %w", url, err)
	}
	return modelPage{data: data, tag: resp.Header.Get("ETag")}, nil
}

type modelsDevModel struct {
	Reasoning  bool `json:"reasoning"`
	ToolCall   bool `json:"tool_call"`
	Modalities struct {
		Input []string `json:"input"`
	} `json:"modalities"`
	Limit struct {
		Context float64 `json:"context"`
		Output  float64 `json:"output"`
	} `json:"limit"`
	Cost *modelsDevCost `json:"cost"`
}

type modelsDevCost struct {
	Override
	Tiers []struct {
		Override
		Tier struct {
			Size float64 `json:"size"`
		} `json:"tier"`
	} `json:"tiers"`
	Over200k *Override `json:"context_over_200k"`
}

// ParseModels parses models.dev's form. It skips invalid entries and ollama's models,
// which cost 0. All-zero prices are unknown: they often mean a subscription.
func ParseModels(data []byte) (Table, error) {
	if len(data) > maxTable {
		return Table{}, fmt.Errorf("list of models is larger than %d MB", maxTable>>20)
	}
	var providers map[string]struct {
		Models map[string]json.RawMessage `json:"models"`
	}
	if err := json.Unmarshal(data, &providers); err != nil {
		return Table{}, fmt.Errorf("read list of models: %w", err)
	}
	t := Table{Models: make(map[string]TableEntry)}
	for provider, p := range providers {
		if provider == "google" {
			provider = "gemini"
		}
		if provider == "ollama" {
			continue
		}
		for id, raw := range p.Models {
			name := provider + "/" + id
			var m modelsDevModel
			if id == "" || id == "*" || len(name) > maxModelName || json.Unmarshal(raw, &m) != nil {
				continue
			}
			if e := m.toTableEntry(); e.validate() == nil && len(t.Models) < maxTableModel {
				t.Models[name] = e
			}
		}
	}
	if len(t.Models) == 0 {
		return Table{}, errors.New("list of models is empty")
	}
	return t, nil
}

func (m modelsDevModel) toTableEntry() TableEntry {
	e := TableEntry{Context: toTokens(m.Limit.Context), MaxOutput: toTokens(m.Limit.Output), Reasoning: m.Reasoning, Tools: m.ToolCall}
	for _, kind := range m.Modalities.Input {
		e.Vision = e.Vision || kind == "image"
	}
	c := m.Cost
	if c == nil || c.Input == nil || c.Output == nil || *c.Input == 0 && *c.Output == 0 {
		return e
	}
	e.Price = &c.Override
	switch {
	case len(c.Tiers) > 0:
		first := c.Tiers[0]
		for _, tier := range c.Tiers[1:] {
			if tier.Tier.Size < first.Tier.Size {
				first = tier
			}
		}
		e.Long = &LongPrice{Over: toTokens(first.Tier.Size), Price: first.Override}
	case c.Over200k != nil:
		e.Long = &LongPrice{Over: 200_000, Price: *c.Over200k}
	}
	return e
}

// toTokens returns -1 if out of range.
func toTokens(f float64) int {
	if f >= 0 && f <= maxTokens {
		return int(f)
	}
	return -1
}
