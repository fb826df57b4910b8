package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/llmtest"
)

const recorded = 55

type object = map[string]any

func TestRecordings(t *testing.T) {
	all := llmtest.Recordings(t, "anth")
	if len(all) != recorded {
		t.Fatalf("%d recordings, want %d", len(all), recorded)
	}
	for i, rec := range all {
		t.Run(strings.TrimPrefix(rec.File, "fantasy/providertests/testdata/"), func(t *testing.T) {
			ask := parseAsked(t, rec)
			open := func(base string) llm.Model { return New(ask.newConfig(base)).Model(ask.id) }
			resp, sent, err := llmtest.RoundTrip(t, rec, uint64(i), open, ask.req)
			if err != nil {
				t.Fatal(err)
			}
			want := readRecording(t, rec)
			if ask.req.Schema != nil {
				want.answerIsInput()
			}
			if diff := cmp.Diff(want, viewAnswer(t, resp)); diff != "" {
				t.Errorf("answer (-recorded +ours):\n%s", diff)
			}
			if diff := cmp.Diff(commonFields(t, rec.Request, ask), commonFields(t, sent.Body, ask)); diff != "" {
				t.Errorf("request (-recorded +ours):\n%s", diff)
			}
			checkExtras(t, sent, ask)
		})
	}
}

// checkExtras checks the adapter's additions.
func checkExtras(t *testing.T, sent llmtest.Sent, ask askedRequest) {
	t.Helper()
	body := decodeObject(t, sent.Body)
	if body["stream"] != true {
		t.Error("no stream was asked for")
	}
	path := "/v1/messages"
	if ask.vertex {
		path = "/" + ask.id + ":streamRawPredict"
	}
	if sent.Path != path {
		t.Errorf("path %s, want %s", sent.Path, path)
	}
	if thinking, ok := body["thinking"].(object); ok {
		budget, maxTokens := thinking["budget_tokens"].(float64), body["max_tokens"].(float64)
		if budget < minBudget || budget >= maxTokens {
			t.Errorf("budget %v of %v tokens", budget, maxTokens)
		}
	}
	if tools, ok := body["tools"].([]any); ok && ask.req.Cache {
		if tools[len(tools)-1].(object)["cache_control"] == nil {
			t.Error("the tools are not cached")
		}
	}
}

// commonFields drops streaming, the budget and tool caches.
func commonFields(t *testing.T, body []byte, ask askedRequest) object {
	t.Helper()
	r := decodeObject(t, body)
	delete(r, "stream")
	if thinking, ok := r["thinking"].(object); ok {
		delete(thinking, "budget_tokens")
	}
	if choice, ok := r["tool_choice"].(object); ok {
		delete(choice, "disable_parallel_tool_use") // false is the default
	}
	tools, _ := r["tools"].([]any)
	for _, tool := range tools {
		delete(tool.(object), "cache_control")
		if ask.req.Schema != nil {
			delete(tool.(object), "description")
		}
	}
	return r
}

type askedRequest struct {
	id     string
	vertex bool
	tools  []json.RawMessage
	req    *llm.Request
}

func (a askedRequest) newConfig(base string) Config {
	return Config{BaseURL: base, Key: "secret", Vertex: a.vertex, Tools: a.tools}
}

func parseAsked(t *testing.T, rec llmtest.Recording) askedRequest {
	t.Helper()
	body := decodeObject(t, rec.Request)
	a := askedRequest{req: &llm.Request{MaxTokens: int(body["max_tokens"].(float64)), Cache: bytes.Contains(rec.Request, []byte("cache_control"))}}
	a.id, _ = body["model"].(string)
	if _, rest, ok := strings.Cut(rec.URL, "/publishers/anthropic/models/"); ok {
		a.vertex = true
		a.id, _, _ = strings.Cut(rest, ":")
	}
	if body["thinking"] != nil {
		a.req.Effort = "medium"
	}
	system, _ := body["system"].([]any)
	for _, s := range system {
		a.req.System += s.(object)["text"].(string)
	}
	a.addTools(t, body)
	for _, m := range body["messages"].([]any) {
		a.req.Messages = append(a.req.Messages, a.parseMessage(t, m.(object)))
	}
	return a
}

func (a *askedRequest) addTools(t *testing.T, body object) {
	t.Helper()
	tools, _ := body["tools"].([]any)
	choice, _ := body["tool_choice"].(object)
	for _, tool := range tools {
		tool := tool.(object)
		schema := encodeJSON(t, tool["input_schema"])
		name := tool["name"].(string)
		switch {
		case tool["type"] != nil:
			a.tools = append(a.tools, encodeJSON(t, tool))
		case choice["type"] == "tool" && choice["name"] == name:
			a.req.Schema = &llm.Schema{Name: name, JSON: schema}
		default:
			a.req.Tools = append(a.req.Tools, llm.Tool{Name: name, Doc: tool["description"].(string), Schema: schema})
		}
	}
	if choice["type"] == "auto" {
		a.req.ToolChoice = "auto"
	}
}

func (a *askedRequest) parseMessage(t *testing.T, m object) llm.Message {
	t.Helper()
	out := llm.Message{Role: llm.Role(m["role"].(string))}
	names := map[string]string{}
	for _, b := range m["content"].([]any) {
		b := b.(object)
		own := func(v any) *llm.Opaque { return &llm.Opaque{Model: "anthropic/" + a.id, Data: encodeJSON(t, v)} }
		var p llm.Part
		switch b["type"] {
		case "text":
			p.Text = b["text"].(string)
		case "image":
			p.Media = parsePicture(t, b)
		case "thinking":
			p.Reasoning = b["thinking"].(string)
			p.Opaque = own(object{"type": "thinking", "signature": b["signature"]})
		case "tool_use":
			names[b["id"].(string)] = b["name"].(string)
			p.Call = &llm.ToolCall{ID: b["id"].(string), Name: b["name"].(string), Input: encodeJSON(t, b["input"])}
		case "tool_result":
			p.Result = &llm.ToolResult{ID: b["tool_use_id"].(string), Name: names[b["tool_use_id"].(string)]}
			for _, c := range b["content"].([]any) {
				if c := c.(object); c["type"] == "image" {
					p.Result.Media = parsePicture(t, c)
				} else {
					p.Result.Text += c["text"].(string)
				}
			}
		default:
			p.Opaque = own(b)
		}
		out.Parts = append(out.Parts, p)
	}
	return out
}

func parsePicture(t *testing.T, b object) *llm.Media {
	t.Helper()
	source := b["source"].(object)
	data, err := base64.StdEncoding.DecodeString(source["data"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return &llm.Media{Type: source["media_type"].(string), Data: data}
}

type answerView struct {
	Text, Reasoning string
	Calls           []object
	Opaque          []object // and signatures
	Finish          llm.Finish
	ID, Served      string
	Usage           llm.Usage
}

func (r *answerView) answerIsInput() {
	text, _ := json.Marshal(r.Calls[0]["input"])
	r.Text, r.Calls, r.Finish = string(text), nil, llm.FinishStop
}

func viewAnswer(t *testing.T, resp *llm.Response) *answerView {
	t.Helper()
	r := &answerView{Text: resp.Message.Text(), Finish: resp.Finish, ID: resp.ID, Served: resp.Served, Usage: resp.Usage}
	var answer any
	if json.Unmarshal([]byte(r.Text), &answer) == nil {
		r.Text = string(encodeJSON(t, answer)) // normalized
	}
	for _, p := range resp.Message.Parts {
		r.Reasoning += p.Reasoning
		if p.Call != nil {
			r.Calls = append(r.Calls, object{"id": p.Call.ID, "name": p.Call.Name, "input": decodeAny(t, p.Call.Input)})
		}
		if p.Opaque != nil {
			r.Opaque = append(r.Opaque, decodeObject(t, p.Opaque.Data))
		}
	}
	return r
}

func readRecording(t *testing.T, rec llmtest.Recording) *answerView {
	t.Helper()
	msg := object{}
	if !strings.HasPrefix(rec.Type, "text/event-stream") {
		msg = decodeObject(t, rec.Body)
	} else {
		for _, line := range strings.Split(string(rec.Body), "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				applyEvent(t, msg, decodeObject(t, []byte(data)))
			}
		}
	}
	r := &answerView{ID: msg["id"].(string), Served: msg["model"].(string)}
	for _, b := range msg["content"].([]any) {
		r.addBlock(t, b.(object))
	}
	r.Finish = map[any]llm.Finish{"end_turn": llm.FinishStop, "tool_use": llm.FinishTools}[msg["stop_reason"]]
	n := func(key string) int { f, _ := msg["usage"].(object)[key].(float64); return int(f) }
	r.Usage = llm.Usage{Input: n("input_tokens"), CacheRead: n("cache_read_input_tokens"), CacheWrite: n("cache_creation_input_tokens"), Output: n("output_tokens")}
	return r
}

func (r *answerView) addBlock(t *testing.T, b object) {
	t.Helper()
	if pieces, ok := b["pieces"].(string); ok {
		b["input"] = decodeAny(t, []byte(pieces))
		delete(b, "pieces")
	}
	switch b["type"] {
	case "text":
		r.Text += b["text"].(string)
		if c, _ := b["citations"].([]any); len(c) > 0 {
			r.Opaque = append(r.Opaque, object{"type": "text", "citations": c})
		}
	case "thinking":
		r.Reasoning += b["thinking"].(string)
		r.Opaque = append(r.Opaque, object{"type": "thinking", "signature": b["signature"]})
	case "tool_use":
		r.Calls = append(r.Calls, object{"id": b["id"], "name": b["name"], "input": b["input"]})
	default:
		r.Opaque = append(r.Opaque, b)
	}
}

func applyEvent(t *testing.T, msg, ev object) {
	t.Helper()
	block := func() object { return msg["content"].([]any)[int(ev["index"].(float64))].(object) }
	delta, _ := ev["delta"].(object)
	switch ev["type"] {
	case "message_start":
		for k, v := range ev["message"].(object) {
			msg[k] = v
		}
	case "content_block_start":
		msg["content"] = append(msg["content"].([]any), ev["content_block"])
	case "content_block_delta":
		for from, to := range map[string]string{"text": "text", "thinking": "thinking", "signature": "signature", "partial_json": "pieces"} {
			if s, ok := delta[from].(string); ok {
				before, _ := block()[to].(string)
				block()[to] = before + s
			}
		}
		if c := delta["citation"]; c != nil {
			before, _ := block()["citations"].([]any)
			block()["citations"] = append(before, c)
		}
	case "message_delta":
		msg["stop_reason"] = delta["stop_reason"]
		for k, v := range ev["usage"].(object) {
			msg["usage"].(object)[k] = v
		}
	}
}

func decodeObject(t *testing.T, data []byte) object {
	t.Helper()
	o, ok := decodeAny(t, data).(object)
	if !ok {
		t.Fatalf("not an object: %s", data)
	}
	return o
}

func decodeAny(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

func encodeJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
