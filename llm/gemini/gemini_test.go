package gemini

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/llmtest"
)

func TestSignatureRefused(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if sent = append(sent, string(body)); strings.Contains(string(body), "thoughtSignature") {
			w.WriteHeader(http.StatusBadRequest)
			_, err = io.WriteString(w, `{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}`)
		} else {
			_, err = io.WriteString(w, toStream(partsJSON(`{"text":"hi"}`)+"\n"+done))
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	req := helloRequest()
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{
		{Text: "hello", Opaque: &llm.Opaque{Model: "gemini/gemini-2.5-pro", Data: json.RawMessage(`"s"`)}},
	}}, llm.Say(llm.User, "again"))
	resp, err := llmtest.Generate(t, New(Config{BaseURL: server.URL}).Model("gemini-2.5-pro"), req)
	if err != nil || resp.Message.Text() != "hi" || len(sent) != 2 {
		t.Errorf("answer %v, %v after %d requests", resp, err, len(sent))
	}
}

func TestCheck(t *testing.T) {
	var path, query, key string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		path, query, key = r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("x-goog-api-key")
	}))
	defer server.Close()
	p := New(Config{BaseURL: server.URL + "/v1beta/", Key: "secret"})
	for id, want := range map[string]string{"gemini x": "/v1beta/models/gemini%20x", "tunedModels/a": "/v1beta/tunedModels/a"} {
		if err := p.Check(context.Background(), id); err != nil {
			t.Error(err)
		}
		if path != want || query != "" || key != "secret" {
			t.Errorf("asked for %s?%s with key %q, want %s", path, query, key, want)
		}
	}
}

func TestEmbed(t *testing.T) {
	short := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask struct {
			Requests []struct {
				Model   string
				Content struct{ Parts []struct{ Text string } }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || r.URL.Path != "/models/e:batchEmbedContents" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		var got embedResponse
		for _, one := range ask.Requests {
			got.Embeddings = append(got.Embeddings, struct {
				Values []float32 `json:"values"`
			}{[]float32{float32(len(one.Content.Parts[0].Text))}})
		}
		if short {
			got.Embeddings = got.Embeddings[1:]
		}
		if err := json.NewEncoder(w).Encode(got); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	p := New(Config{BaseURL: server.URL})
	texts := make([]string, maxBatch+1)
	texts[1], texts[maxBatch] = "four", "7 bytes"
	vectors, used, err := p.Embed(context.Background(), "e", texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors) != len(texts) || vectors[1][0] != 4 || vectors[maxBatch][0] != 7 {
		t.Errorf("%d vectors", len(vectors))
	}
	if diff := cmp.Diff(llm.Usage{Input: 4, Estimated: true}, used); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	short = true
	if _, _, err := p.Embed(context.Background(), "e", texts[:2]); llm.ClassOf(err) != llm.Malformed {
		t.Errorf("too few vectors: %v", err)
	}
	if _, _, err := New(Config{Vertex: true}).Embed(context.Background(), "e", texts); llm.ClassOf(err) != llm.BadRequest {
		t.Errorf("at Vertex: %v", err)
	}
}

func TestMany(t *testing.T) {
	const many = 1000
	var open sync.WaitGroup
	open.Add(many)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", sse)
		_, _ = io.WriteString(w, toStream(strings.Repeat(partsJSON(`{"text":"word "}`)+"\n", 20))) // the test notices a lost client
		w.(http.Flusher).Flush()
		open.Done()
		open.Wait()
		_, _ = io.WriteString(w, toStream(done))
	}))
	defer server.Close()
	model := New(Config{BaseURL: server.URL}).Model("gemini-2.5-pro")
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			resp, err := llm.Collect(model.Generate(context.Background(), helloRequest()))
			if err != nil {
				t.Error(err)
			} else if got := resp.Message.Text(); got != strings.Repeat("word ", 20) {
				t.Errorf("answer %q", got)
			}
		})
	}
	all.Wait()
}
