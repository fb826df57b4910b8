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

// RefreshOpenRouter fetches the list of models that OpenRouter has at url, which needs no
// key, and puts what it says of them into the models of t. Errors leave t as it was.
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

// A brokeredModel is a model in OpenRouter's list, as far as we read it.
type brokeredModel struct {
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

// A perToken is a price in dollars for a token, in a string or not; zero, if it is not given.
type perToken struct{ perMillion *float64 }

// UnmarshalJSON implements [json.Unmarshaler]. What is no number is no price.
func (p *perToken) UnmarshalJSON(b []byte) error {
	if f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64); err == nil {
		f = math.Round(f*1e14) / 1e8 // 0.0000003 is 0.3 and not 0.29999999999999998
		p.perMillion = &f
	}
	return nil
}

// ParseOpenRouter reads the list of models in the form of OpenRouter, whose names there
// begin with openrouter/. Entries that make no sense are left out. A price that depends on
// what is chosen, or has a part for each request, is unknown; one of 0 is believed only of
// models that are called free.
func ParseOpenRouter(data []byte) (Table, error) {
	if len(data) > maxTable {
		return Table{}, fmt.Errorf("list of models is longer than %d MB", maxTable>>20)
	}
	var list struct {
		Data brokered `json:"data"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return Table{}, fmt.Errorf("read list of models: %w", err)
	}
	if len(list.Data) == 0 {
		return Table{}, errors.New("list of models is empty")
	}
	return Table{Models: list.Data}, nil
}

// brokered is what a list of models comes to. Its entries are read one at a time, for
// those that are left out may be many.
type brokered map[string]TableEntry

// UnmarshalJSON implements [json.Unmarshaler]. What is no list is an empty one.
func (b *brokered) UnmarshalJSON(list []byte) error {
	d := json.NewDecoder(bytes.NewReader(list))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return err
	}
	*b = make(brokered)
	var m brokeredModel
	for d.More() {
		m = brokeredModel{}
		var other *json.UnmarshalTypeError // of a field, which is left out
		if err := d.Decode(&m); err != nil && !errors.As(err, &other) {
			return err
		}
		name := "openrouter/" + m.ID
		if e := m.entry(); m.named() && len(name) <= maxModelName && e.check() == nil && len(*b) < maxTableModel {
			(*b)[name] = e
		}
	}
	return nil
}

// named reports whether a model has a name that is not that of all of them.
func (m brokeredModel) named() bool { return m.ID != "" && strings.TrimSpace(m.ID) != "*" }

func (m brokeredModel) entry() TableEntry {
	e := TableEntry{
		Context: tokens(m.Context), MaxOutput: tokens(m.Top.MaxOutput),
		Reasoning: slices.Contains(m.Supported, "reasoning"), Tools: slices.Contains(m.Supported, "tools"),
		Vision: slices.Contains(m.Architecture.Input, "image"),
	}
	if top := tokens(m.Top.Context); top != 0 { // who is asked first
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
