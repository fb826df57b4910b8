package llm

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func brokersPage(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/openrouter.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseOpenRouter(t *testing.T) {
	got, err := ParseOpenRouter(brokersPage(t))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]TableEntry{
		"openrouter/anthropic/claude-sonnet-4.6": {Price: &Override{ptr(3.0), ptr(15.0), ptr(0.3), ptr(3.75)},
			Context: 1000000, MaxOutput: 128000, Reasoning: true, Vision: true, Tools: true},
		"openrouter/minimax/minimax-m2-her": {Price: &Override{Input: ptr(0.3), Output: ptr(1.2), CacheRead: ptr(0.03)}, Context: 65536, MaxOutput: 2048},
		"openrouter/qwen/qwen3-coder:free":  {Price: &Override{Input: ptr(0.0), Output: ptr(0.0)}, Context: 131072, Tools: true},
		"openrouter/openrouter/auto":        {Context: 2000000, Vision: true},
		"openrouter/perplexity/sonar":       {Context: 127072},
		"openrouter/a/for-now":              {Context: 1000},
		"openrouter/a/number":               {Price: &Override{Input: ptr(1.0), Output: ptr(2.0)}, Context: 1000},
		"openrouter/a/no-price":             {Context: 1000},
		"openrouter/a/words":                {},
	}
	if diff := cmp.Diff(want, got.Models); diff != "" {
		t.Errorf("ParseOpenRouter (-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{"not JSON": `<html>`, "a list": `[]`, "empty": `{}`, "only bad ones": `{"data":[{"id":"a","context_length":-1}]}`} {
		if got, err := ParseOpenRouter([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := ParseOpenRouter(make([]byte, maxTable+1)); err == nil {
		t.Error("no error for a huge page")
	}
	long := `{"data":[{"id":"` + strings.Repeat("x", maxModelName) + `"},{"id":"a/b"}]}`
	if got, err := ParseOpenRouter([]byte(long)); err != nil || len(got.Models) != 1 {
		t.Errorf("a long name: %d models, %v", len(got.Models), err)
	}
}

func TestParseOpenRouterAll(t *testing.T) {
	for _, id := range []string{"*", "* ", "\\t*"} {
		price := `"pricing":{"prompt":"0.000001","completion":"0.000001"}`
		got, err := ParseOpenRouter([]byte(`{"data":[{"id":"` + id + `",` + price + `},{"id":"a/b"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if info, known := BuiltInPrices().WithTable(got).Lookup("openrouter/who/knows"); known || len(got.Models) != 1 {
			t.Errorf("%q: an unlisted model costs %+v", id, info.Price)
		}
	}
}

func TestParseOpenRouterMany(t *testing.T) {
	list := []byte(`{"data":[` + strings.Repeat("{},", 1<<18) + `{"id":"a/b"}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := ParseOpenRouter(list)
	runtime.ReadMemStats(&after)
	if err != nil || len(got.Models) != 1 {
		t.Errorf("%d models, %v", len(got.Models), err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16*uint64(len(list)) {
		t.Errorf("%d MB were allocated for a list of %d KB", took>>20, len(list)>>10)
	}
}

func TestRefreshOpenRouter(t *testing.T) {
	status, page := http.StatusOK, brokersPage(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Authorization"])+len(r.Header["If-None-Match"]) > 0 {
			t.Errorf("asked with %v", r.Header)
		}
		w.WriteHeader(status)
		w.Write(page)
	}))
	defer server.Close()
	price := &Override{Input: ptr(1.0), Output: ptr(1.0)}
	have := Table{AsOf: "2026-11-23", ETag: "v1", Models: map[string]TableEntry{
		"openai/gpt-5.4":                    {Context: 7},
		"openrouter/perplexity/sonar":       {Price: price, Context: 7},
		"openrouter/minimax/minimax-m2-her": {Price: price, Context: 7, Vision: true},
	}}
	if err := have.RefreshOpenRouter(t.Context(), server.Client(), server.URL); err != nil || len(have.Models) != 10 {
		t.Fatalf("%d models, %v", len(have.Models), err)
	}
	p := BuiltInPrices().WithTable(have)
	for name, want := range map[string]Info{
		"openai/gpt-5.4":                    {Context: 7},
		"openrouter/perplexity/sonar":       {Context: 127072, Price: Price{Input: 1, Output: 1, CacheRead: 1, CacheWrite: 1}},
		"openrouter/minimax/minimax-m2-her": {Context: 65536, MaxOutput: 2048, Price: Price{Input: 0.3, Output: 1.2, CacheRead: 0.03, CacheWrite: 0.3}},
	} {
		info, _ := p.Lookup(name)
		if info.Context != want.Context || want.MaxOutput > 0 && info.MaxOutput != want.MaxOutput || want.Price.Input > 0 && info.Price != want.Price {
			t.Errorf("%s: %+v", name, info)
		}
	}
	status = http.StatusNotModified // though the request was not conditional
	if err := have.RefreshOpenRouter(t.Context(), server.Client(), server.URL); err == nil {
		t.Error("no error of a page that is not one")
	}
	status, page = http.StatusOK, []byte("<html>")
	if err := have.RefreshOpenRouter(t.Context(), server.Client(), server.URL); err == nil || !strings.Contains(err.Error(), "read list of models") || len(have.Models) != 10 {
		t.Errorf("error = %v", err)
	}
}

func FuzzParseOpenRouter(f *testing.F) {
	f.Add(brokersPage(f))
	f.Add([]byte(`{"data":[{"id":"a","pricing":{"prompt":"1e-400","completion":"-0"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ParseOpenRouter(data)
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
	})
}
