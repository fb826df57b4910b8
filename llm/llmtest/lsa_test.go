package llmtest_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm/llmtest"
)

const collection = `{"_id": "1", "title": "Cars", "text": "The car has an engine and four wheels."}
{"_id": "2", "title": "", "text": "An automobile has an engine, wheels and a driver."}
{"_id": "3", "text": "The driver of the car turns the wheels."}

{"_id": "4", "text": "The automobile was driven by a driver; its engine was loud."}
{"_id": "5", "text": "A soup of carrots and onions is cooked in a pot."}
{"_id": "6", "text": "The cook cuts onions for the soup."}
{"_id": "7", "text": "Stew is cooked in a pot with carrots."}
{"_id": "8", "text": "The cook eats stew and soup from the pot."}
`

func newFittedLSA(t *testing.T) *llmtest.LSA {
	t.Helper()
	l, err := llmtest.ReadLSA(2, strings.NewReader(collection))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestLSAKnowsWhatBelongsTogether(t *testing.T) {
	l := newFittedLSA(t)
	if l.Dimensions() != 2 {
		t.Errorf("%d dimensions", l.Dimensions())
	}
	car := l.Embed("car")
	near, far := cosine(car, l.Embed("automobiles")), cosine(car, l.Embed("stew"))
	if near < 0.5 || far > 0.3 {
		t.Errorf("car is %.2f near automobiles, %.2f near stew", near, far)
	}
	for _, text := range []string{"car", "soup soup soup", "", "unheard of", "…", "\xff\x00"} {
		v := l.Embed(text)
		if n := cosine(v, v); len(v) != 2 || math.Abs(n-1) > 1e-6 {
			t.Errorf("%q: %d coordinates, length %v", text, len(v), n)
		}
	}
	if diff := cmp.Diff(car, newFittedLSA(t).Embed("car")); diff != "" {
		t.Errorf("fitted again: %s", diff)
	}
}

func TestLSAHasAsManyDimensionsAsTextsDiffer(t *testing.T) {
	l, err := llmtest.NewLSA([]string{"one two", "one two", "two three", "three one"}, 100)
	if err != nil || l.Dimensions() < 2 || l.Dimensions() > 3 {
		t.Errorf("%v, %v", l, err)
	}
}

func TestLSARefuses(t *testing.T) {
	tests := []struct {
		name, text string
		dimensions int
		want       string
	}{
		{"no texts", "", 4, "share no words"},
		{"no words in common", `{"text": "one"}` + "\n" + `{"text": "two"}`, 4, "share no words"},
		{"no JSON", "{}\nhello", 4, "line 2"},
		{"no dimensions", collection, 0, "1 to 1024"},
		{"long line", strings.Repeat(" ", 17<<20), 4, "too long"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := llmtest.ReadLSA(test.dimensions, strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestSimServesLSA(t *testing.T) {
	l := newFittedLSA(t)
	base := llmtest.Serve(t, llmtest.NewSim(llmtest.SimConfig{LSA: l}))
	tests := []struct{ name, path, body string }{
		{"openai", "/v1/embeddings", `{"model": "sim-lsa", "input": "a car"}`},
		{"ollama", "/api/embed", `{"model": "sim-lsa", "input": ["a car"]}`},
		{"ollama, tagged", "/api/embed", `{"model": "sim-lsa:latest", "input": "a car"}`},
		{"gemini", "/v1beta/models/sim-lsa:embedContent", `{"content": {"parts": [{"text": "a car"}]}}`},
		{"gemini, several", "/v1beta/models/sim-lsa:batchEmbedContents", `{"requests": [{"model": "models/sim-lsa", "content": {"parts": [{"text": "a car"}]}}]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff([][]float32{l.Embed("a car")}, fetchEmbeddings(t, base+test.path, test.body)); diff != "" {
				t.Error(diff)
			}
		})
	}
	short := fetchEmbeddings(t, base+"/v1/embeddings", `{"model": "sim-lsa", "input": "a car", "dimensions": 1}`)
	if len(short[0]) != 1 || math.Abs(cosine(short[0], short[0])-1) > 1e-6 {
		t.Errorf("got %v", short)
	}
	if other := fetchEmbeddings(t, base+"/v1/embeddings", `{"model": "sim-embed", "input": "a car"}`); len(other[0]) != 256 {
		t.Errorf("another model has %d dimensions", len(other[0]))
	}
}

func fetchEmbeddings(t *testing.T, url, body string) (out [][]float32) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Data []struct{ Embedding []float32 }
		One  struct{ Values []float32 } `json:"embedding"`
		List []json.RawMessage          `json:"embeddings"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	for _, d := range got.Data {
		out = append(out, d.Embedding)
	}
	for _, raw := range got.List {
		var plain []float32
		var object struct{ Values []float32 }
		if json.Unmarshal(raw, &plain) != nil && json.Unmarshal(raw, &object) != nil {
			t.Fatal(string(raw))
		}
		out = append(out, append(plain, object.Values...))
	}
	if got.One.Values != nil {
		out = append(out, got.One.Values)
	}
	return out
}
