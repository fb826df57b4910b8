package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// RefreshOpenRouter updates t.Models in place from OpenRouter's public list. On errors t
// is unchanged.
func (t Table) RefreshOpenRouter(ctx context.Context, client *http.Client, url string) error {
	page, err := fetchModels(ctx, client, url, "")
	if err != nil {
		return err
	}
	own, err := ParseOpenRouter(page.data)
	if err != nil {
		return fmt.Errorf("fetch model prices from %s: %w", url, err)
	}
	for name, e := range own.Models {
		old, known := t.Models[name]
		if e.Price == nil {
			e.Price, e.Long = old.Price, old.Long
		}
		if known || len(t.Models) < maxTableModel {
			t.Models[name] = e
		}
	}
	return nil
}

type openRouterModel struct {
	ID           string  `json:"id"`
	Context      float64 `json:"context_length"`
	Architecture struct {
		Input []string `json:"input_modalities"`
	} `json:"architecture"`
	Pricing struct {
		Prompt     perToken `json:"prompt"`
		Completion perToken `json:"completion"`
		Request    perToken `json:"request"`
		CacheRead  perToken `json:"input_cache_read"`
		CacheWrite perToken `json:"input_cache_write"`
	} `json:"pricing"`
	Top struct {
		Context   float64 `json:"context_length"`
		MaxOutput float64 `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Supported []string `json:"supported_parameters"`
}

// A perToken is a number or string in dollars; nil if missing.
type perToken struct{ perMillion *float64 }

// UnmarshalJSON ignores values that are no number.
func (p *perToken) UnmarshalJSON(b []byte) error {
	if f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64); err == nil {
		f = math.Round(f*1e14) / 1e8 // 0.0000003 becomes 0.3, not 0.29999999999999998
		p.perMillion = &f
	}
	return nil
}

// ParseOpenRouter parses OpenRouter's model list, with names in openrouter/. It skips
// invalid entries. Variable and per-request prices are unknown, as is 0, except for names
// in :free.
func ParseOpenRouter(data []byte) (Table, error) {
	if len(data) > maxTable {
		return Table{}, fmt.Errorf("list of models is larger than %d MB", maxTable>>20)
	}
	var list struct {
		Data openRouterModels `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return Table{}, fmt.Errorf("read list of models: %w", err)
	}
	if len(list.Data) == 0 {
		return Table{}, errors.New("list of models is empty")
	}
	return Table{Models: list.Data}, nil
}

// openRouterModels is decoded entry by entry, because many may be skipped.
type openRouterModels map[string]TableEntry

// UnmarshalJSON treats any value but a list as empty.
func (b *openRouterModels) UnmarshalJSON(list []byte) error {
	d := json.NewDecoder(bytes.NewReader(list))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return err
	}
	*b = make(openRouterModels)
	var m openRouterModel
	for d.More() {
		m = openRouterModel{}
		var other *json.UnmarshalTypeError
		if err := d.Decode(&m); err != nil && !errors.As(err, &other) {
			return err
		}
		name := "openrouter/" + m.ID
		if e := m.toTableEntry(); m.hasName() && len(name) <= maxModelName && e.validate() == nil && len(*b) < maxTableModel {
			(*b)[name] = e
		}
	}
	return nil
}

func (m openRouterModel) hasName() bool { return m.ID != "" && strings.TrimSpace(m.ID) != "*" }

func (m openRouterModel) toTableEntry() TableEntry {
	e := TableEntry{
		Context: toTokens(m.Context), MaxOutput: toTokens(m.Top.MaxOutput),
		Reasoning: slices.Contains(m.Supported, "reasoning"), Tools: slices.Contains(m.Supported, "tools"),
		Vision: slices.Contains(m.Architecture.Input, "image"),
	}
	if top := toTokens(m.Top.Context); top != 0 { // the provider that OpenRouter prefers
		e.Context = top
	}
	p := m.Pricing
	in, out, once := p.Prompt.perMillion, p.Completion.perMillion, p.Request.perMillion
	switch {
	case in == nil || out == nil || *in < 0 || *out < 0:
	case once != nil && *once != 0:
	case *in == 0 && *out == 0 && !strings.HasSuffix(m.ID, ":free"):
	default:
		e.Price = &Override{Input: in, Output: out, CacheRead: p.CacheRead.perMillion, CacheWrite: p.CacheWrite.perMillion}
	}
	return e
}
