package ollama_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"ponder/internal/compat/ollama"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

// postBody returns the model request for a body.
func postBody(t *testing.T, body string) (asked *llm.Request) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: protocoltest.FixedModel("fine"), Routes: ollama.New, Refuse: writeRefusal})
		got := r.Stream(protocoltest.Request(t.Context(), http.MethodPost, at, body), 0)
		if reply, err := readReply(got); err != nil || got.Code != http.StatusOK || reply.Text != "fine" {
			t.Fatalf("%d %s, %v", got.Code, got.Body, err)
		}
		asked = r.Model.Requests()[0]
	})
	return asked
}

// Results reach their calls by id, name or order.
func TestResults(t *testing.T) {
	for results, want := range map[string]string{
		`{"role":"tool","tool_name":"rain","content":"a"},{"role":"tool","tool_name":"weather","content":"b"}`:                                "rain:a weather:b",
		`{"role":"tool","content":"a"},{"role":"tool","content":"b"}`:                                                                         "weather:a rain:b",
		`{"role":"tool","tool_call_id":"call_1_1","content":"a"},{"role":"tool","tool_call_id":"call_1_0","tool_name":"other","content":"b"}`: "rain:a weather:b",
	} {
		req := postBody(t, `{"model":"ponder","options":{"temperature":0,"num_predict":7.0},"think":"high","tools":[`+weather+`],"messages":[{"role":"user","content":"How warm?"},
			{"role":"assistant","content":"","thinking":"Hm.","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Rome"}}},{"function":{"name":"rain","arguments":"{\"city\":1}"}}]},`+results+`]}`)
		if *req.Temperature != 0 || req.MaxTokens != 7 || req.Effort != "high" || len(req.Messages) != 3 {
			t.Fatalf("asked %+v", req)
		}
		if calls := req.Messages[1].Calls(); string(calls[0].Input) != `{"city":"Rome"}` || string(calls[1].Input) != `{"city":1}` || calls[0].ID == calls[1].ID {
			t.Errorf("calls %+v", calls)
		}
		var list []string
		for _, p := range req.Messages[2].Parts {
			list = append(list, p.Result.Name+":"+p.Result.Text)
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%s: %s, want %s", results, got, want)
		}
	}
}

func TestForms(t *testing.T) {
	for form, want := range map[string]string{`""`: "", `null`: "", `"json"`: `{"type":"object"}`, `{"type":"object","properties":{}}`: `{"type":"object","properties":{}}`} {
		req := postBody(t, `{"model":"ponder","format":`+form+`,"messages":[{"role":"user","content":"x","images":["iVBORw0KGgo=","data:image/png;base64,iVBORw0KGgo="]}]}`)
		if (req.Schema == nil) != (want == "") || req.Schema != nil && string(req.Schema.JSON) != want {
			t.Errorf("%s: %+v", form, req.Schema)
		}
		images := 0
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Media != nil && p.Media.Type == "image/png" {
					images++
				}
			}
		}
		if images != 2 {
			t.Errorf("%s: %d images", form, images)
		}
	}
}

// think: false hides thinking.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := protocoltest.New(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(*llm.Request, int) protocoltest.Answer {
			return protocoltest.Answer{Reasoning: "Hm.", Text: "deep"}
		}}, Routes: ollama.New})
		for think, want := range map[string]string{"true": "Hm.", "false": ""} {
			for _, stream := range []string{"true", "false"} {
				body := `{"model":"ponder","stream":` + stream + `,"think":` + think + `,"messages":[{"role":"user","content":"How deep?"}]}`
				got, err := readReply(r.Stream(protocoltest.Request(t.Context(), http.MethodPost, at, body), 0))
				if err != nil || got.Text != "deep" || strings.TrimSpace(got.Thinking) != want {
					t.Errorf("%s: %+v, %v", body, got, err)
				}
			}
		}
	})
}

func TestModels(t *testing.T) {
	r := protocoltest.New(t, protocoltest.Options{Routes: ollama.New, Refuse: writeRefusal})
	var list struct {
		Models []struct{ Name, Model, Digest string }
	}
	if err := json.Unmarshal(r.Get("/api/tags").Body.Bytes(), &list); err != nil || len(list.Models) < 4 || list.Models[0].Name != "ponder/chat:latest" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, m := range list.Models {
		if got := r.Post("/api/show", `{"model":"`+m.Name+`"}`); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"capabilities":["completion"`) {
			t.Errorf("%s: %d %s", m.Name, got.Code, got.Body)
		}
	}
	for path, want := range map[string]string{"/": "Ollama is running", "/api/version": ollama.Version, "/api/ps": `{"models":[]}`} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := r.Do(protocoltest.Request(t.Context(), method, path, ""))
			if got.Code != http.StatusOK || method == http.MethodGet && !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s %s: %d %s", method, path, got.Code, got.Body)
			}
		}
	}
}

func TestEmbed(t *testing.T) {
	r := protocoltest.New(t, protocoltest.Options{Routes: ollama.New})
	var many struct{ Embeddings [][]float32 }
	var one struct{ Embedding []float32 }
	if err := json.Unmarshal(r.Post("/api/embed", `{"model":"test/embed:latest","input":["salt","sea"]}`).Body.Bytes(), &many); err != nil || len(many.Embeddings) != 2 {
		t.Fatalf("%+v, %v", many, err)
	}
	if err := json.Unmarshal(r.Post("/api/embeddings", `{"model":"test/embed","prompt":"sea"}`).Body.Bytes(), &one); err != nil || len(one.Embedding) != protocoltest.Dimensions || one.Embedding[0] != many.Embeddings[1][0] {
		t.Errorf("%+v, %v", one, err)
	}
}
