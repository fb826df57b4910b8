package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"ponder/internal/textkit"
	"slices"
	"strings"
)

// A Table is a price list in stored form.
type Table struct {
	AsOf   string                `json:"as_of"` // such as 2026-10-27
	ETag   string                `json:"etag,omitempty"`
	Models map[string]TableEntry `json:"models"` // by full name or provider/*
}

// A TableEntry has a price only with both input and output.
type TableEntry struct {
	Price     *Override  `json:"price,omitempty"`
	Long      *LongPrice `json:"long,omitempty"`
	Context   int        `json:"context,omitempty"`
	MaxOutput int        `json:"max_output,omitempty"`
	Reasoning bool       `json:"reasoning,omitempty"`
	Vision    bool       `json:"vision,omitempty"`
	Tools     bool       `json:"tools,omitempty"`
}

// A LongPrice applies to requests that read more than Over tokens.
type LongPrice struct {
	Over  int      `json:"over"`
	Price Override `json:"price"`
}

const (
	maxTable      = 64 << 20 // bytes
	maxTableModel = 50_000
	maxModelName  = 200 // bytes
	maxTokens     = 1 << 40
)

// ParseTable parses a stored table. It rejects numbers out of range.
func ParseTable(data []byte) (Table, error) {
	var t Table
	if len(data) > maxTable {
		return Table{}, fmt.Errorf("read price table: %d MB is too large", len(data)>>20)
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return Table{}, fmt.Errorf("read price table: %w", err)
	}
	if len(t.Models) > maxTableModel {
		return Table{}, fmt.Errorf("read price table: %d models are too many", len(t.Models))
	}
	for name, e := range t.Models {
		if err := e.validate(); err != nil {
			return Table{}, fmt.Errorf("price table: %s: %w", textkit.TruncateBytes(name, maxModelName), err)
		}
	}
	return t, nil
}

func (e TableEntry) validate() error {
	if e.Context < 0 || e.MaxOutput < 0 || e.Context > maxTokens || e.MaxOutput > maxTokens {
		return errors.New("a limit is out of range")
	}
	if e.Price != nil {
		if err := e.Price.validate(); err != nil {
			return err
		}
	}
	if e.Long != nil {
		if e.Long.Over <= 0 || e.Long.Over > maxTokens {
			return errors.New("the start of the long-context price is out of range")
		}
		return e.Long.Price.validate()
	}
	return nil
}

type priceTable struct {
	asOf   string
	models map[string]Info // by canonical name
	names  []string        // full names as in the table
}

// indexTable indexes t without invalid entries.
func (t Table) indexTable(source PriceSource) priceTable {
	models, names := make(map[string]Info, len(t.Models)), []string(nil)
	for _, name := range slices.Sorted(maps.Keys(t.Models)) {
		if e := t.Models[name]; e.validate() == nil {
			models[canonicalName(name)] = e.toInfo(source)
			if !strings.HasSuffix(name, "/*") {
				names = append(names, name)
			}
		}
	}
	return priceTable{asOf: t.AsOf, models: models, names: names}
}

func (e TableEntry) toInfo(source PriceSource) Info {
	i := Info{Context: e.Context, MaxOutput: e.MaxOutput, Reasoning: e.Reasoning, Vision: e.Vision, Tools: e.Tools}
	if e.Price == nil || e.Price.Input == nil || e.Price.Output == nil {
		return i
	}
	i.Price, i.Source = e.Price.applyTo(Price{}), source
	if e.Long != nil {
		i.Over, i.Long = e.Long.Over, e.Long.Price.applyTo(i.Price)
	}
	return i
}

// modelAliases returns a model's canonical names, most specific first: its own, without
// version, openrouter's maker, the wildcard.
func modelAliases(model string) []string {
	name := canonicalName(textkit.TruncateBytes(model, maxModelName))
	names := []string{name, withoutVersion(name)}
	provider, id, _ := strings.Cut(name, "/")
	if provider == "openrouter" {
		if maker, id, ok := strings.Cut(id, "/"); ok && !strings.Contains(id, ":") {
			direct := providerOf(maker) + "/" + id
			names = append(names, direct, withoutVersion(direct))
		}
	}
	return slices.Compact(append(names, provider+"/*"))
}

// providerOf maps openrouter's makers.
func providerOf(maker string) string {
	switch maker {
	case "google":
		return "gemini"
	case "x-ai":
		return "xai"
	case "mistralai":
		return "mistral"
	case "z-ai":
		return "zai"
	}
	return maker
}

// withoutVersion drops -20260205, -2026-02-05, @20260205, -0613, -001 or -latest.
func withoutVersion(name string) string {
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	name = strings.TrimSuffix(name, "-latest")
	for _, form := range []string{"-dddd-dd-dd", "-dddddddd", "-dddd", "-00d"} {
		if i := len(name) - len(form); i > 0 && hasForm(name[i:], form) {
			return name[:i]
		}
	}
	return name
}

// hasForm matches form, in which d is a digit.
func hasForm(s, form string) bool {
	for i := range len(form) {
		if form[i] != s[i] && (form[i] != 'd' || !isDigit(s[i])) {
			return false
		}
	}
	return true
}
