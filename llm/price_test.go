package llm

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func ptr[T any](v T) *T { return &v }

func TestBuiltInPrices(t *testing.T) {
	table, err := ParseTable(pricesJSON)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.DateOnly, table.AsOf); err != nil || BuiltInPrices().TableDate() != table.AsOf {
		t.Errorf("as of %q: %v", table.AsOf, err)
	}
	providers := map[string]int{}
	for name, e := range table.Models {
		provider, _, _ := strings.Cut(name, "/")
		providers[provider]++
		info := e.toInfo(FromTable)
		if info.Source == PriceUnknown {
			t.Errorf("%s has no price", name)
		}
		if strings.HasSuffix(name, "/*") {
			continue
		}
		p := info.Price
		if p.Input <= 0 || p.CacheRead > p.Input || p.CacheWrite < p.Input || p.CacheWrite > 2*p.Input {
			t.Errorf("%s: %+v", name, p)
		}
		if embeds := p.Output == 0; !embeds && (p.Output < p.Input || !e.Tools) || embeds && e.Tools {
			t.Errorf("%s: output %v, tools %v", name, p.Output, e.Tools)
		}
		if info.Context < 1000 || info.MaxOutput > info.Context {
			t.Errorf("%s: context %d, output %d", name, info.Context, info.MaxOutput)
		}
		if l := info.Long; info.Over > 0 && (l.Input <= p.Input || l.Output <= p.Output || l.CacheRead < p.CacheRead || info.Over >= info.Context) {
			t.Errorf("%s: over %d %+v", name, info.Over, l)
		}
	}
	for _, name := range []string{"openai", "anthropic", "gemini", "groq", "xai", "deepseek", "mistral", "zai", "ollama"} {
		if providers[name] == 0 {
			t.Errorf("nothing of %s", name)
		}
	}
}

func TestLookup(t *testing.T) {
	p := BuiltInPrices()
	tests := []struct {
		name, model string
		want        float64 // input price, -1 if unknown
	}{
		{"exact", "anthropic/claude-opus-4-6", 5},
		{"date", "anthropic/claude-opus-4-6-20260205", 5},
		{"date with dashes", "openai/gpt-5.2-2025-12-11", 1.75},
		{"date at the end of a short name", "openai/gpt-5-2025-08-07", 1.25},
		{"date after an at sign", "anthropic/claude-opus-4-6@20260205", 5},
		{"latest", "anthropic/claude-haiku-4-5-latest", 1},
		{"number of a version", "gemini/gemini-2.5-flash-001", 0.3},
		{"case and dashes", "OpenAI/GPT-5-2", 1.75},
		{"slash in the name", "groq/openai/gpt-oss-120b", 0.15},
		{"entry with a date", "mistral/mistral-large-2512", 0.5},
		{"other date of it", "mistral/mistral-large-2411", -1},
		{"openrouter", "openrouter/anthropic/claude-sonnet-4.5", 3},
		{"openrouter, other name of the maker", "openrouter/google/gemini-2.5-pro", 1.25},
		{"openrouter, dated", "openrouter/openai/gpt-5.2-20251211", 1.75},
		{"openrouter, variant", "openrouter/anthropic/claude-sonnet-4.5:free", -1},
		{"openrouter, unknown", "openrouter/acme/model", -1},
		{"ollama is free", "ollama/llama3.1:8b", 0},
		{"no prefix matching", "anthropic/claude-opus-4", -1},
		{"no prefix matching, longer", "openai/gpt-5-turbo", -1},
		{"other provider", "acme/gpt-5.2", -1},
		{"no provider", "gpt-5.2", -1},
		{"empty", "", -1},
		{"huge", strings.Repeat("x", 1e6), -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			info, ok := p.Lookup(test.model)
			got := info.Price.Input
			if info.Source == PriceUnknown {
				got = -1
			}
			if got != test.want || ok != (test.want >= 0) {
				t.Errorf("Lookup = %+v, %v, want input %v", info, ok, test.want)
			}
		})
	}
	got, _ := p.Lookup("openai/gpt-5.4")
	want := Info{
		Price: Price{Input: 2.5, Output: 15, CacheRead: 0.25, CacheWrite: 2.5},
		Over:  272000, Long: Price{Input: 5, Output: 22.5, CacheRead: 0.5, CacheWrite: 5},
		Source: FromTable, Context: 1050000, MaxOutput: 128000, Reasoning: true, Vision: true, Tools: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Lookup (-want +got):\n%s", diff)
	}
}

func TestCost(t *testing.T) {
	p := BuiltInPrices()
	for model, o := range map[string]Override{
		"openai/gpt-5.2":     {Input: ptr(1.0), Output: ptr(10.0)},
		"openai/gpt-5.4":     {Output: ptr(1.0)},
		"acme/model":         {Input: ptr(2.0), Output: ptr(4.0), CacheRead: ptr(0.5)},
		"acme/half":          {Input: ptr(2.0)},
		"local/*":            {Input: ptr(0.0), Output: ptr(0.0)},
		"openai/gpt-5-mini":  {CacheRead: ptr(0.0)},
		"ollama/expensive:7": {Input: ptr(1.0), Output: ptr(1.0)},
	} {
		var err error
		if p, err = p.WithOverride(model, o); err != nil {
			t.Fatal(err)
		}
	}
	million := Usage{Input: 1_000_000, CacheRead: 1_000_000, CacheWrite: 1_000_000, Output: 1_000_000}
	small := Usage{Input: 100_000, Output: 1_000_000, Reasoning: 900_000}
	tests := []struct {
		name   string
		usage  Usage
		model  string
		want   int64
		known  bool
		source PriceSource
	}{
		{"table", million, "anthropic/claude-opus-4-6", 36_750_000, true, FromTable},
		{"reasoning is output", small, "anthropic/claude-opus-4-6", 25_500_000, true, FromTable},
		{"short", Usage{Input: 200_000, Output: 1000}, "gemini/gemini-2.5-pro", 260_000, true, FromTable},
		{"long", Usage{Input: 1, CacheRead: 200_000, Output: 1000}, "gemini/gemini-2.5-pro", 65_003, true, FromTable},
		{"a part of a millionth counts", Usage{Input: 1}, "openai/gpt-5-nano", 1, true, FromTable},
		{"nothing", Usage{}, "openai/gpt-5", 0, true, FromTable},
		{"override", million, "openai/gpt-5.2", 12_100_000, true, FromOverride},
		{"override of the output, tiers gone", million, "openai/gpt-5.4", 6_250_000, true, FromOverride},
		{"override of a dated version", million, "openai/gpt-5.2-2025-12-11", 12_100_000, true, FromOverride},
		{"override of the cache price", Usage{CacheRead: 100, Input: 100}, "openai/gpt-5-mini", 25, true, FromOverride},
		{"override of an unknown model", million, "acme/model", 8_500_000, true, FromOverride},
		{"half an override of an unknown model", million, "acme/half", 0, false, PriceUnknown},
		{"override for a provider", million, "local/any", 0, true, FromOverride},
		{"ollama", million, "ollama/llama3.1", 0, true, FromTable},
		{"ollama with a price", million, "ollama/expensive:7", 4_000_000, true, FromOverride},
		{"unknown", million, "acme/other", 0, false, PriceUnknown},
		{"negative usage", Usage{Input: -5, Output: -5}, "openai/gpt-5", 0, true, FromTable},
		{"absurd usage", Usage{Input: math.MaxInt, Output: math.MaxInt}, "openai/gpt-5", maxCost, true, FromTable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			info, _ := p.Lookup(test.model)
			got, known, source := info.Cost(test.usage), info.Source != PriceUnknown, info.Source
			if got != test.want || known != test.known || source != test.source {
				t.Errorf("Cost = %d, %v, %q, want %d, %v, %q", got, known, source, test.want, test.known, test.source)
			}
		})
	}
	if info, _ := (Prices{}).Lookup("openai/gpt-5"); info.Source != PriceUnknown {
		t.Error("no prices know one")
	}
}

func TestOverrideChecks(t *testing.T) {
	for _, price := range []float64{-1, math.NaN(), math.Inf(1), 1e6} {
		before := BuiltInPrices()
		after, err := before.WithOverride("openai/gpt-5", Override{Input: ptr(1.0), CacheWrite: &price})
		if err == nil || !strings.HasPrefix(err.Error(), "price of openai/gpt-5: cache_write: want 0 to 100000") {
			t.Errorf("%v: error = %v", price, err)
		}
		if i, _ := after.Lookup("openai/gpt-5"); i.Source != FromTable {
			t.Errorf("%v: %+v", price, i)
		}
	}
}

func TestPricesAreValues(t *testing.T) {
	base := BuiltInPrices()
	one, _ := base.WithOverride("a/b", Override{Input: ptr(1.0), Output: ptr(1.0)})
	two, _ := one.WithOverride("a/b", Override{Input: ptr(2.0), Output: ptr(2.0)})
	three := two.WithTable(Table{AsOf: "2030-01-01", Models: map[string]TableEntry{"openai/gpt-5": {Price: &Override{Input: ptr(9.0), Output: ptr(9.0)}}}})
	for i, want := range []float64{0, 1, 2, 2} {
		info, _ := []Prices{base, one, two, three}[i].Lookup("a/b")
		if info.Price.Input != want {
			t.Errorf("%d: %+v", i, info)
		}
	}
	info, _ := three.Lookup("openai/gpt-5")
	if info.Source != FromRefreshed || info.Price.Input != 9 || info.Context != 400000 || three.TableDate() != "2030-01-01" {
		t.Errorf("refreshed: %+v as of %s", info, three.TableDate())
	}
	if info, _ := two.Lookup("openai/gpt-5"); info.Source != FromTable {
		t.Errorf("before: %+v", info)
	}
}

func foreignPage(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/models.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseModels(t *testing.T) {
	got, err := ParseModels(foreignPage(t))
	if err != nil {
		t.Fatal(err)
	}
	price := func(in, out float64, cache ...float64) *Override {
		o := &Override{Input: &in, Output: &out}
		if len(cache) > 0 {
			o.CacheRead = &cache[0]
		}
		if len(cache) > 1 {
			o.CacheWrite = &cache[1]
		}
		return o
	}
	want := map[string]TableEntry{
		"anthropic/claude-opus-4-6": {Price: price(5, 25, 0.5, 6.25), Context: 1000000, MaxOutput: 128000, Reasoning: true, Vision: true, Tools: true},
		"gemini/gemini-2.5-pro":     {Price: price(1.25, 10, 0.125), Long: &LongPrice{200000, *price(2.5, 15, 0.25)}, Context: 1048576, MaxOutput: 65536, Reasoning: true, Vision: true, Tools: true},
		"openai/gpt-5.4":            {Price: price(2.5, 15, 0.25), Long: &LongPrice{272000, *price(5, 22.5, 0.5)}, Context: 1050000, MaxOutput: 128000, Reasoning: true, Tools: true},
		"plan/in-a-subscription":    {Context: 200000, MaxOutput: 1000, Tools: true},
		"plan/no-price":             {Context: 1000},
	}
	if diff := cmp.Diff(want, got.Models); diff != "" {
		t.Errorf("ParseModels (-want +got):\n%s", diff)
	}

	// It survives storage and wins.
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseTable(data)
	if diff := cmp.Diff(got, back, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("stored and read: %v\n%s", err, diff)
	}
	p := BuiltInPrices().WithTable(back)
	if i, _ := p.Lookup("openai/gpt-5.4-2026-03-05"); i.Source != FromRefreshed {
		t.Errorf("price from %q", i.Source)
	}
	if i, ok := p.Lookup("plan/in-a-subscription"); !ok || i.Context != 200000 || i.Source != PriceUnknown {
		t.Errorf("limits without a price: %+v", i)
	}
	if i, _ := p.Lookup("ollama/free"); i.Source != FromTable || i.Cost(Usage{Input: 1}) != 0 {
		t.Errorf("ollama: %+v", i)
	}
}

func TestParseErrors(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON": `<html>`, "a list": `[]`, "empty": `{}`, "no models": `{"a":{"models":{}}}`, "only bad ones": `{"a":{"models":{"m":3,"n":{"cost":{"input":-1,"output":1}}}}}`,
	} {
		if got, err := ParseModels([]byte(text)); err == nil {
			t.Errorf("%s: ParseModels = %+v", name, got)
		}
	}
	for name, text := range map[string]string{
		"not JSON": `x`, "price": `{"models":{"a":{"price":{"input":-1}}}}`, "limit": `{"models":{"a":{"context":-1}}}`,
		"tier": `{"models":{"a":{"long":{"over":0,"price":{}}}}}`, "tier's price": `{"models":{"a":{"long":{"over":5,"price":{"output":1e9}}}}}`,
	} {
		if got, err := ParseTable([]byte(text)); err == nil {
			t.Errorf("%s: ParseTable = %+v", name, got)
		}
	}
	if _, err := ParseModels(make([]byte, maxTable+1)); err == nil {
		t.Error("no error for a huge page")
	}
}

func TestRefresh(t *testing.T) {
	page := foreignPage(t)
	status := http.StatusOK
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("If-None-Match"))
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.WriteHeader(status)
		w.Write(page)
	}))
	defer server.Close()

	first, err := Refresh(t.Context(), server.Client(), server.URL, Table{})
	if err != nil || first.ETag != `"v1"` || len(first.Models) != 5 || len(first.AsOf) != len(time.DateOnly) {
		t.Fatalf("Refresh = %+v, %v", first, err)
	}
	old := first
	old.AsOf = "2000-01-01"
	second, err := Refresh(t.Context(), server.Client(), server.URL, old)
	if diff := cmp.Diff(first, second); err != nil || diff != "" {
		t.Errorf("not modified: %v\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"", `"v1"`}, asked); diff != "" {
		t.Error(diff)
	}

	status = http.StatusBadGateway
	if _, err := Refresh(t.Context(), server.Client(), server.URL, Table{}); err == nil || !strings.Contains(err.Error(), "502 Bad Gateway") {
		t.Errorf("error = %v", err)
	}
	status, page = http.StatusOK, []byte("<html>")
	if _, err := Refresh(t.Context(), server.Client(), server.URL, Table{}); err == nil || !strings.Contains(err.Error(), "read list of models") {
		t.Errorf("error = %v", err)
	}
	server.Close()
	if _, err := Refresh(t.Context(), server.Client(), server.URL, Table{}); err == nil {
		t.Error("no error from a closed server")
	}
	if _, err := Refresh(t.Context(), server.Client(), "http://bad url", Table{}); err == nil {
		t.Error("no error from a bad URL")
	}
}

func TestCostGrows(t *testing.T) {
	p := BuiltInPrices()
	rng := rand.New(rand.NewPCG(9, 10))
	for model := range p.tables[0].models {
		for range 100 {
			u := Usage{Input: rng.IntN(400_000), CacheRead: rng.IntN(100_000), CacheWrite: rng.IntN(100_000), Output: rng.IntN(50_000)}
			more := u
			*[]*int{&more.Input, &more.CacheRead, &more.CacheWrite, &more.Output}[rng.IntN(4)] += rng.IntN(1000)
			info, _ := p.Lookup(model)
			if a, b := info.Cost(u), info.Cost(more); b < a {
				t.Fatalf("%s: %+v costs %d, %+v costs %d", model, u, a, more, b)
			}
		}
	}
}

func FuzzParseModels(f *testing.F) {
	f.Add([]byte(`{"a":{"models":{"m":{"cost":{"input":1,"output":2,"context_over_200k":{"input":2}}}}}}`))
	f.Add([]byte(`{"a":{"models":{"m":{"cost":{"input":1,"output":1,"tiers":[{"tier":{"size":1e300}}]},"limit":{"context":-5}}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ParseModels(data)
		if err != nil {
			return
		}
		stored, err := json.Marshal(table)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseTable(stored); err != nil {
			t.Fatalf("stored table cannot be read: %v", err)
		}
		p := Prices{}.WithTable(table)
		for name := range table.Models {
			info, _ := p.Lookup(name)
			if cost := info.Cost(Usage{Input: 1e9, CacheRead: 1e9, Output: 1e9}); cost < 0 || cost > maxCost {
				t.Fatalf("%s costs %d", name, cost)
			}
		}
	})
}

func FuzzParseTable(f *testing.F) {
	f.Add([]byte(`{"as_of":"2026-01-01","models":{"a/b":{"price":{"input":1,"output":2},"long":{"over":5,"price":{"output":3}},"context":9}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ParseTable(data)
		if err != nil {
			return
		}
		p := Prices{}.WithTable(table)
		for name := range table.Models {
			if _, ok := p.Lookup(name); !ok && len(name) <= maxModelName {
				t.Fatalf("%q is not found", name)
			}
		}
	})
}
