package openai_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/compat/openai"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

func newRig(t *testing.T, m *protocoltest.Model) *protocoltest.Rig {
	return protocoltest.New(t, protocoltest.Options{Model: m, Tools: protocoltest.Lookups(time.Second), Routes: openai.New, Refuse: writeRefusal})
}

// postBody returns the response to a body, and the model request.
func postBody(t *testing.T, body string) (protocoltest.Reply, *llm.Request) {
	t.Helper()
	var out protocoltest.Reply
	var asked *llm.Request
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.FixedModel("fine"))
		got := r.Stream(protocoltest.Request(t.Context(), http.MethodPost, at, body), 0)
		reply, err := readReply(got)
		if err != nil || got.Code != http.StatusOK {
			t.Fatalf("%d %s, %v", got.Code, got.Body, err)
		}
		out, asked = reply, r.Model.Requests()[0]
	})
	return out, asked
}

func TestResults(t *testing.T) {
	_, req := postBody(t, `{"model":"ponder","tools":[`+weather+`],"tool_choice":{"type":"function","function":{"name":"weather"}},"temperature":0,"max_completion_tokens":7,"reasoning_effort":"max","messages":[
		{"role":"system","content":"One."},{"role":"developer","content":[{"type":"text","text":"Two."}]},{"role":"user","content":"How warm?"},
		{"role":"assistant","content":null,"tool_calls":[
			{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}},
			{"id":"c2","type":"function","function":{"name":"weather","arguments":""}},
			{"id":"c3","type":"function","function":{"name":"weather","arguments":"Oslo {"}}]},
		{"role":"tool","tool_call_id":"c1","content":"18"},{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"24"}]},{"role":"tool","tool_call_id":"c3","content":"?"}]}`)
	if req.System != "One.\n\nTwo." || req.ToolChoice != "weather" || *req.Temperature != 0 || req.MaxTokens != 7 || req.Effort != "high" {
		t.Errorf("asked %+v", req)
	}
	if len(req.Messages) != 3 {
		t.Fatalf("messages %+v", req.Messages)
	}
	var inputs, results []string
	for _, p := range req.Messages[1].Parts {
		inputs = append(inputs, p.Call.ID+string(p.Call.Input))
	}
	for _, p := range req.Messages[2].Parts {
		results = append(results, p.Result.ID+p.Result.Name+p.Result.Text)
	}
	if got := strings.Join(inputs, " "); got != `c1{"city":"Rome"} c2{} c3"Oslo {"` {
		t.Errorf("calls %s", got)
	}
	if got := strings.Join(results, " "); got != "c1weather18 c2weather24 c3weather?" {
		t.Errorf("results %s", got)
	}
}

func TestForms(t *testing.T) {
	for form, want := range map[string]string{
		`{"type":"text"}`: "", `{"type":"json_object"}`: `{"type":"object"}`,
		`{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{}}}}`: `{"type":"object","properties":{}}`,
	} {
		_, req := postBody(t, `{"model":"ponder","response_format":`+form+`,"messages":[{"role":"user","content":"x"}]}`)
		if (req.Schema == nil) != (want == "") || req.Schema != nil && string(req.Schema.JSON) != want {
			t.Errorf("%s: %+v", form, req.Schema)
		}
	}
}

func TestImages(t *testing.T) {
	pixel := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	for _, tools := range []string{"", `"tools":[` + weather + `],`} {
		_, req := postBody(t, `{"model":"ponder",`+tools+`"messages":[{"role":"user","content":[{"type":"text","text":"What is it?"},
			{"type":"image_url","image_url":{"url":"data:image/png;base64,`+pixel+`"}},{"type":"image_url","image_url":{"url":"https://a.test/b.png"}},
			{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}]}]}`)
		var list []string
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Media != nil {
					list = append(list, p.Media.Type+" "+p.Media.URL+p.Media.Name)
				}
			}
		}
		if got := strings.Join(list, ", "); got != "image/png , image/* https://a.test/b.png, application/pdf a.pdf" {
			t.Errorf("shown %s", got)
		}
	}
}

func TestModels(t *testing.T) {
	r := newRig(t, protocoltest.FixedModel("fine"))
	var list struct {
		Object string
		Data   []struct {
			ID, Object string
			Created    int64
		}
	}
	for _, path := range []string{"/v1/models", "/openwebui/v1/models"} {
		if err := json.Unmarshal(r.Get(path).Body.Bytes(), &list); err != nil || list.Object != "list" || len(list.Data) < 4 {
			t.Errorf("%s: %+v, %v", path, list, err)
		}
	}
	for _, m := range list.Data {
		got := r.Get("/v1/models/" + m.ID)
		if got.Code != http.StatusOK || !bytes.Contains(got.Body.Bytes(), []byte(`"id":"`+m.ID+`"`)) || m.Object != "model" || m.Created == 0 {
			t.Errorf("%+v: %d %s", m, got.Code, got.Body)
		}
	}
	if got := r.Get("/v1/models/nonsense"); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "model_not_found") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestEmbeddings(t *testing.T) {
	r := newRig(t, nil)
	var plain struct {
		Data []struct{ Embedding []float32 }
	}
	var packed struct {
		Model string
		Data  []struct {
			Index     int
			Embedding string
		}
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	for encoding, into := range map[string]any{"float": &plain, "base64": &packed} {
		got := r.Post("/v1/embeddings", `{"model":"ponder/embed","input":["salt","sea"],"encoding_format":"`+encoding+`"}`)
		if err := json.Unmarshal(got.Body.Bytes(), into); err != nil {
			t.Fatalf("%s, %v", got.Body, err)
		}
	}
	if len(packed.Data) != 2 || packed.Data[1].Index != 1 || packed.Usage.Total == 0 || packed.Model != "ponder/embed" {
		t.Fatalf("%+v", packed)
	}
	bytes, err := base64.StdEncoding.DecodeString(packed.Data[1].Embedding)
	if err != nil || len(bytes) != 4*protocoltest.Dimensions {
		t.Fatalf("%d bytes, %v", len(bytes), err)
	}
	for i, x := range plain.Data[1].Embedding {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:])); got != x {
			t.Errorf("number %d is %g, and %g", i, got, x)
		}
	}
}

// The last chunk has the usage on request.
func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocoltest.FixedModel("fine"))
		for want, option := range map[int]string{0: `{}`, 1: `{"include_usage":true}`} {
			body := r.Stream(protocoltest.Request(t.Context(), http.MethodPost, at, `{"model":"ponder","stream":true,"stream_options":`+option+`,"messages":[{"role":"user","content":"x"}]}`), 0).Body
			if n := strings.Count(body, `"choices":[],"usage":{"prompt_tokens":`); n != want {
				t.Errorf("%s: %d times in %s", option, n, body)
			}
		}
	})
}

// Only the Open WebUI path has its events. Both paths have citations.
func TestOpenWebUI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		for path, want := range map[string]bool{"/openwebui" + at: true, at: false} {
			req := protocoltest.Request(t.Context(), http.MethodPost, path, `{"model":"ponder/research","stream":true,"messages":[{"role":"user","content":"How deep is the sea?"}]}`)
			body := r.Stream(req, 0).Body
			if got := strings.Contains(body, `{"event":{`); got != want || got != strings.Contains(body, `"type":"status"`) {
				t.Errorf("%s: %s", path, body)
			}
		}
	})
}
