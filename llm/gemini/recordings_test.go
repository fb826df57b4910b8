package gemini

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder/llm"
	"ponder/llm/llmtest"
)

const recorded = 84

type object = map[string]any

func TestRecordings(t *testing.T) {
	all := llmtest.Recordings(t, "gem")
	if len(all) != recorded {
		t.Fatalf("%d recordings, want %d", len(all), recorded)
	}
	for i, rec := range all {
		t.Run(strings.TrimPrefix(rec.File, "fantasy/providertests/testdata/"), func(t *testing.T) {
			ask := parseAsked(t, rec)
			open := func(base string) llm.Model {
				return New(Config{BaseURL: base, Key: "secret", Vertex: ask.vertex}).Model(ask.id)
			}
			resp, sent, err := llmtest.RoundTrip(t, rec, uint64(i), open, ask.req)
			if err != nil {
				t.Fatal(err)
			}
			want, got := readRecording(t, rec), viewAnswer(t, resp)
			if diff := cmp.Diff(want, got, ignoreMadeUpIDs(want)); diff != "" {
				t.Errorf("answer (-recorded +ours):\n%s", diff)
			}
			if diff := cmp.Diff(decodeObject(t, rec.Request), decodeObject(t, sent.Body)); diff != "" {
				t.Errorf("request (-recorded +ours):\n%s", diff)
			}
			checkHead(t, sent, ask)
		})
	}
}

func checkHead(t *testing.T, sent llmtest.Sent, ask askedRequest) {
	t.Helper()
	if want := "/models/" + ask.id + ":streamGenerateContent?alt=sse"; sent.Path != want {
		t.Errorf("path %s, want %s", sent.Path, want)
	}
	name, value := "X-Goog-Api-Key", "secret"
	if ask.vertex {
		name, value = "Authorization", "Bearer secret"
	}
	if got := sent.Header.Get(name); got != value {
		t.Errorf("%s is %q, want %q", name, got, value)
	}
}

// The adapter's made-up IDs must be unique.
func ignoreMadeUpIDs(want *answerView) cmp.Option {
	for _, c := range want.Calls {
		if c["id"] != nil {
			return cmp.Options{}
		}
	}
	return cmpopts.IgnoreMapEntries(func(k string, _ any) bool { return k == "id" })
}

type askedRequest struct {
	id     string
	vertex bool
	req    *llm.Request
}

func parseAsked(t *testing.T, rec llmtest.Recording) askedRequest {
	t.Helper()
	body := decodeObject(t, rec.Request)
	_, rest, _ := strings.Cut(rec.URL, "/models/")
	a := askedRequest{vertex: strings.Contains(rec.URL, "aiplatform"), req: &llm.Request{}}
	a.id, _, _ = strings.Cut(rest, ":")
	if system, ok := body["systemInstruction"].(object); ok {
		a.req.System = system["parts"].([]any)[0].(object)["text"].(string)
	}
	a.applyConfig(t, body["generationConfig"].(object))
	if tools, ok := body["tools"].([]any); ok {
		for _, f := range tools[0].(object)["functionDeclarations"].([]any) {
			f := f.(object)
			a.req.Tools = append(a.req.Tools, llm.Tool{Name: f["name"].(string), Doc: f["description"].(string), Schema: encodeJSON(t, lowerTypes(f["parameters"]))})
		}
		a.req.ToolChoice = strings.ToLower(body["toolConfig"].(object)["functionCallingConfig"].(object)["mode"].(string))
	}
	for i, c := range body["contents"].([]any) {
		a.req.Messages = append(a.req.Messages, a.parseMessage(t, i, c.(object)))
	}
	return a
}

func (a *askedRequest) applyConfig(t *testing.T, config object) {
	t.Helper()
	maxTokens, _ := config["maxOutputTokens"].(float64)
	a.req.MaxTokens = int(maxTokens)
	if schema := config["responseJsonSchema"]; schema != nil {
		a.req.Schema = &llm.Schema{Name: "answer", JSON: encodeJSON(t, schema)}
	}
	if thinking, ok := config["thinkingConfig"].(object); ok {
		a.req.Effort = "minimal"
		if level, ok := thinking["thinkingLevel"].(string); ok {
			a.req.Effort = strings.ToLower(level)
		}
	}
}

func lowerTypes(v any) any {
	switch v := v.(type) {
	case object:
		for k := range v {
			if s, ok := v[k].(string); ok && k == "type" {
				v[k] = strings.ToLower(s)
			} else {
				v[k] = lowerTypes(v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = lowerTypes(v[i])
		}
	}
	return v
}

func (a *askedRequest) parseMessage(t *testing.T, turn int, c object) llm.Message {
	t.Helper()
	out := llm.Message{Role: llm.User}
	if c["role"] == "model" {
		out.Role = llm.Assistant
	}
	for i, raw := range c["parts"].([]any) {
		in := raw.(object)
		var p llm.Part
		if s, ok := in["thoughtSignature"]; ok {
			p.Opaque = &llm.Opaque{Model: "gemini/" + a.id, Data: encodeJSON(t, s)}
		}
		id := func(o object) string {
			if s, ok := o["id"].(string); ok {
				return s
			}
			return fmt.Sprintf("call_%d_%d", turn&^1, i)
		}
		switch {
		case in["functionCall"] != nil:
			call := in["functionCall"].(object)
			p.Call = &llm.ToolCall{ID: id(call), Name: call["name"].(string), Input: encodeJSON(t, call["args"])}
		case in["functionResponse"] != nil:
			result := in["functionResponse"].(object)
			p.Result = &llm.ToolResult{ID: id(result), Name: result["name"].(string), Text: result["response"].(object)["result"].(string)}
		case in["inlineData"] != nil:
			data, err := base64.StdEncoding.DecodeString(in["inlineData"].(object)["data"].(string))
			if err != nil {
				t.Fatal(err)
			}
			p.Media = &llm.Media{Type: in["inlineData"].(object)["mimeType"].(string), Data: data}
		default:
			p.Text = in["text"].(string)
		}
		out.Parts = append(out.Parts, p)
	}
	return out
}

type answerView struct {
	Text, Reasoning string
	Calls           []object
	Signed          []object // with signatures
	Finish          llm.Finish
	ID, Served      string
	Usage           llm.Usage
}

func viewAnswer(t *testing.T, resp *llm.Response) *answerView {
	t.Helper()
	r := &answerView{Text: resp.Message.Text(), Finish: resp.Finish, ID: resp.ID, Served: resp.Served, Usage: resp.Usage}
	ids := map[string]bool{}
	for _, p := range resp.Message.Parts {
		r.Reasoning += p.Reasoning
		of := p.Text
		if p.Call != nil {
			of = p.Call.Name
			if ids[p.Call.ID] || p.Call.ID == "" {
				t.Errorf("call id %q is empty or occurs twice", p.Call.ID)
			}
			ids[p.Call.ID] = true
			r.Calls = append(r.Calls, object{"id": p.Call.ID, "name": p.Call.Name, "input": decodeObject(t, p.Call.Input)})
		}
		if p.Opaque != nil {
			var signature string
			if err := json.Unmarshal(p.Opaque.Data, &signature); err != nil {
				t.Fatal(err)
			}
			r.Signed = append(r.Signed, object{"of": of, "signature": signature})
		}
	}
	return r
}

func readRecording(t *testing.T, rec llmtest.Recording) *answerView {
	t.Helper()
	r := &answerView{}
	if !strings.HasPrefix(rec.Type, "text/event-stream") {
		r.addPiece(decodeObject(t, rec.Body))
	} else {
		for _, line := range strings.Split(string(rec.Body), "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				r.addPiece(decodeObject(t, []byte(data)))
			}
		}
	}
	if len(r.Calls) > 0 && r.Finish == llm.FinishStop {
		r.Finish = llm.FinishTools
	}
	return r
}

func (r *answerView) addPiece(piece object) {
	r.ID, r.Served = piece["responseId"].(string), piece["modelVersion"].(string)
	candidate := piece["candidates"].([]any)[0].(object)
	if candidate["finishReason"] == "STOP" {
		r.Finish = llm.FinishStop
	}
	if u, ok := piece["usageMetadata"].(object); ok && u["promptTokenCount"] != nil {
		n := func(key string) int { f, _ := u[key].(float64); return int(f) }
		thought := n("thoughtsTokenCount")
		r.Usage = llm.Usage{
			Input:     n("promptTokenCount") + n("toolUsePromptTokenCount") - n("cachedContentTokenCount"),
			CacheRead: n("cachedContentTokenCount"), Output: n("candidatesTokenCount") + thought, Reasoning: thought,
		}
	}
	for _, p := range candidate["content"].(object)["parts"].([]any) {
		p := p.(object)
		of, _ := p["text"].(string)
		if call, ok := p["functionCall"].(object); ok {
			of = call["name"].(string)
			r.Calls = append(r.Calls, object{"id": call["id"], "name": call["name"], "input": call["args"]})
		} else if p["thought"] == true {
			r.Reasoning += of
		} else {
			r.Text += of
		}
		if s := p["thoughtSignature"]; s != nil {
			r.Signed = append(r.Signed, object{"of": of, "signature": s})
		}
	}
}

func decodeObject(t *testing.T, data []byte) (o object) {
	t.Helper()
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return o
}

func encodeJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
