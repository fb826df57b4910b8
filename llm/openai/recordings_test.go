package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// object is JSON read without any knowledge of what it means.
type object = map[string]any

func parse(t testing.TB, data []byte) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatalf("parse %.200s: %v", data, err)
	}
	return o
}

// at follows keys and indices into a value, nil if there is nothing.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, _ := v.(object)
			v = o[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func str(v any, path ...any) string { s, _ := at(v, path...).(string); return s }
func num(v any, path ...any) int    { f, _ := at(v, path...).(float64); return int(f) }
func list(v any, path ...any) []any { l, _ := at(v, path...).([]any); return l }

func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// payloads returns the JSON values of an answer, read by splitting lines.
func payloads(t testing.TB, rec llmtest.Recording) (out []object) {
	if !strings.Contains(rec.Type, "event-stream") {
		return []object{parse(t, rec.Body)}
	}
	for line := range strings.SplitSeq(string(rec.Body), "\n") {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if data = strings.TrimSpace(data); ok && data != "[DONE]" {
			out = append(out, parse(t, []byte(data)))
		}
	}
	return out
}

// told is what an answer comes to, without what only goes back.
type told struct {
	Text, Reasoning string
	Calls           []toldCall
	Finish          llm.Finish
	Usage           llm.Usage
	ID, Served      string
}

type toldCall struct {
	ID, Name string
	Input    any
}

func tell(t testing.TB, r *llm.Response) told {
	out := told{Text: r.Message.Text(), Finish: r.Finish, Usage: r.Usage, ID: r.ID, Served: r.Served}
	for _, p := range r.Message.Parts {
		out.Reasoning += p.Reasoning
	}
	for _, c := range r.Message.Calls() {
		var in any
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Errorf("input %q: %v", c.Input, err)
		}
		out.Calls = append(out.Calls, toldCall{c.ID, c.Name, in})
	}
	return out
}

// expectChat reads a recorded chat answer in the simplest way there is.
func expectChat(t testing.TB, rec llmtest.Recording) (want told) {
	type growing struct{ id, name, args string }
	calls := map[int]*growing{}
	count := 0
	for _, o := range payloads(t, rec) {
		if s := str(o, "id"); s != "" {
			want.ID = s
		}
		if s := str(o, "model"); s != "" {
			want.Served = s
		}
		for _, where := range [][]any{{"usage"}, {"x_groq", "usage"}} {
			if u, ok := at(o, where...).(object); ok {
				want.Usage = expectUsage(u)
			}
		}
		choice := at(o, "choices", 0)
		said := at(choice, "delta")
		if said == nil {
			said = at(choice, "message")
		}
		want.Text += str(said, "content")
		switch {
		case str(said, "reasoning_content") != "":
			want.Reasoning += str(said, "reasoning_content")
		case str(said, "reasoning") != "":
			want.Reasoning += str(said, "reasoning")
		default:
			for _, d := range list(said, "reasoning_details") {
				want.Reasoning += str(d, "text") + str(d, "summary")
			}
		}
		for i, c := range list(said, "tool_calls") {
			if _, ok := at(c, "index").(float64); ok {
				i = num(c, "index")
			}
			if calls[i] == nil {
				calls[i] = &growing{}
				count++
			}
			if s := str(c, "id"); s != "" {
				calls[i].id = s
			}
			if s := str(c, "function", "name"); s != "" {
				calls[i].name = s
			}
			calls[i].args += str(c, "function", "arguments")
		}
		switch str(choice, "finish_reason") {
		case "stop":
			want.Finish = llm.FinishStop
		case "tool_calls":
			want.Finish = llm.FinishTools
		case "length":
			want.Finish = llm.FinishLength
		}
	}
	for i := range count {
		c := calls[i]
		if c == nil {
			t.Fatalf("%s: call %d of %d is missing", rec.File, i, count)
		}
		var in any = object{}
		if c.args != "" {
			if err := json.Unmarshal([]byte(c.args), &in); err != nil {
				t.Fatalf("%s: %q: %v", rec.File, c.args, err)
			}
		}
		want.Calls = append(want.Calls, toldCall{c.id, c.name, in})
	}
	if len(want.Calls) > 0 && want.Finish == llm.FinishStop {
		want.Finish = llm.FinishTools
	}
	return want
}

// expectUsage counts as LLM-WIRE tells, from either dialect.
func expectUsage(u object) llm.Usage {
	prompt, completion := num(u, "prompt_tokens"), num(u, "completion_tokens")
	in, out := "prompt_tokens_details", "completion_tokens_details"
	if _, ok := u["input_tokens"]; ok {
		prompt, completion = num(u, "input_tokens"), num(u, "output_tokens")
		in, out = "input_tokens_details", "output_tokens_details"
	}
	got := llm.Usage{CacheRead: num(u, in, "cached_tokens"), Output: completion, Reasoning: num(u, out, "reasoning_tokens")}
	got.CacheWrite = max(num(u, in, "cache_write_tokens"), num(u, "cache_creation_input_tokens"))
	got.Input = prompt - got.CacheRead - got.CacheWrite
	if got.Reasoning > 0 && num(u, "total_tokens") == prompt+completion+got.Reasoning {
		got.Output += got.Reasoning
	}
	if got.Reasoning > completion && got.Output == completion {
		got.Output += got.Reasoning // Vercel's Gemini: the reported cost says so too
	}
	if ticks, ok := u["cost_in_usd_ticks"].(float64); ok {
		micros := int64(math.Round(ticks / 1e4))
		got.Cost = &micros
	} else if cost, ok := u["cost"].(float64); ok {
		micros := int64(math.Round(cost * 1e6))
		got.Cost = &micros
	}
	return got
}

// expectResponses reads a recorded response from its last event alone.
func expectResponses(t testing.TB, rec llmtest.Recording) (want told) {
	all := payloads(t, rec)
	last := all[len(all)-1]
	if r, ok := last["response"].(object); ok {
		last = r
	}
	want.ID, want.Served, want.Finish = str(last, "id"), str(last, "model"), llm.FinishStop
	want.Usage = expectUsage(last["usage"].(object))
	for _, item := range list(last, "output") {
		switch str(item, "type") {
		case "message":
			for _, p := range list(item, "content") {
				want.Text += str(p, "text")
			}
		case "reasoning":
			var paragraphs []string
			for _, p := range list(item, "summary") {
				paragraphs = append(paragraphs, str(p, "text"))
			}
			want.Reasoning += strings.Join(paragraphs, "\n\n")
		case "function_call":
			var in any
			if err := json.Unmarshal([]byte(str(item, "arguments")), &in); err != nil {
				t.Fatal(err)
			}
			want.Calls = append(want.Calls, toldCall{str(item, "call_id"), str(item, "name"), in})
			want.Finish = llm.FinishTools
		}
	}
	return want
}

const provider = "acme"

// askedChat makes the request that a recorded chat request is.
func askedChat(t testing.TB, q object) *llm.Request {
	req := &llm.Request{MaxTokens: max(num(q, "max_tokens"), num(q, "max_completion_tokens")), Effort: str(q, "reasoning_effort")}
	if r, ok := q["reasoning"].(object); ok {
		if req.Effort = str(r, "effort"); r["enabled"] == true {
			req.Effort = "medium" // the nearest that a request can say
		}
	}
	full := provider + "/" + str(q, "model")
	for _, m := range list(q, "messages") {
		if at(m, "cache_control") != nil {
			req.Cache = true
		}
		switch str(m, "role") {
		case "system":
			req.System = str(m, "content")
		case "user":
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: askedParts(t, at(m, "content"))})
		case "assistant":
			req.Messages = append(req.Messages, askedAssistant(m, full))
		case "tool":
			result := llm.Part{Result: &llm.ToolResult{ID: str(m, "tool_call_id"), Text: str(m, "content")}}
			askedResult(req, result)
		}
	}
	for _, tool := range list(q, "tools") {
		f := at(tool, "function")
		req.Tools = append(req.Tools, llm.Tool{Name: str(f, "name"), Doc: str(f, "description"), Schema: raw(at(f, "parameters"))})
	}
	req.ToolChoice = str(q, "tool_choice")
	if name := str(q, "tool_choice", "function", "name"); name != "" {
		req.ToolChoice = name
	}
	if s := at(q, "response_format", "json_schema"); s != nil {
		schema := at(s, "schema").(object)
		if doc := str(s, "description"); doc != "" {
			schema["description"] = doc
		}
		req.Schema = &llm.Schema{Name: str(s, "name"), JSON: raw(schema)}
	}
	return req
}

func askedParts(t testing.TB, content any) (parts []llm.Part) {
	if s, ok := content.(string); ok {
		return []llm.Part{{Text: s}}
	}
	for _, p := range content.([]any) {
		switch str(p, "type") {
		case "text", "input_text":
			parts = append(parts, llm.Part{Text: str(p, "text")})
		case "image_url":
			parts = append(parts, llm.Part{Media: &llm.Media{Type: "image/png", URL: str(p, "image_url", "url")}})
		default:
			t.Fatalf("part of type %q", str(p, "type"))
		}
	}
	return parts
}

func askedAssistant(m any, full string) llm.Message {
	out := llm.Message{Role: llm.Assistant}
	keep := object{}
	thought := str(m, "reasoning_content")
	if thought != "" {
		keep["field"] = "reasoning_content"
	} else if thought = str(m, "reasoning"); thought != "" {
		keep["field"] = "reasoning"
	}
	if d := at(m, "reasoning_details"); d != nil {
		keep["reasoning_details"] = d
	}
	if len(keep) > 0 {
		out.Parts = append(out.Parts, llm.Part{Reasoning: thought, Opaque: &llm.Opaque{Model: full, Data: raw(keep)}})
	}
	if s := str(m, "content"); s != "" {
		out.Parts = append(out.Parts, llm.Part{Text: s})
	}
	for _, c := range list(m, "tool_calls") {
		out.Parts = append(out.Parts, llm.Part{Call: &llm.ToolCall{
			ID: str(c, "id"), Name: str(c, "function", "name"), Input: json.RawMessage(str(c, "function", "arguments"))}})
	}
	return out
}

// askedResult appends a result to the last message if that has results.
func askedResult(req *llm.Request, p llm.Part) {
	if n := len(req.Messages) - 1; req.Messages[n].Role == llm.User {
		req.Messages[n].Parts = append(req.Messages[n].Parts, p)
		return
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: []llm.Part{p}})
}

// carried is what a request carries, whatever the form it carries it in.
type carried struct {
	Model    string
	Messages []carriedMessage
	Tools    []any
	Choice   any
	Max      int
	Effort   string
	Format   any
	Usage    any
}

type carriedMessage struct {
	Role, Text, CallID string
	Images             []string
	Calls              []toldCall
	Content, Reasoning string
	Details            any
}

func carriedByChat(t testing.TB, q object) carried {
	c := carried{Model: str(q, "model"), Max: max(num(q, "max_tokens"), num(q, "max_completion_tokens")),
		Choice: q["tool_choice"], Format: q["response_format"], Usage: q["usage"], Effort: str(q, "reasoning_effort")}
	if r, ok := q["reasoning"].(object); ok {
		if c.Effort = str(r, "effort"); r["enabled"] == true {
			c.Effort = "medium"
		}
	}
	for _, tool := range list(q, "tools") {
		c.Tools = append(c.Tools, plainTool(at(tool, "function")))
	}
	for _, m := range list(q, "messages") {
		out := carriedMessage{Role: str(m, "role"), CallID: str(m, "tool_call_id"), Content: str(m, "reasoning_content"),
			Reasoning: str(m, "reasoning"), Details: at(m, "reasoning_details"), Text: str(m, "content")}
		for _, p := range list(m, "content") {
			out.Text += str(p, "text")
			if u := str(p, "image_url", "url"); u != "" {
				out.Images = append(out.Images, u)
			}
		}
		for _, call := range list(m, "tool_calls") {
			out.Calls = append(out.Calls, toldCall{str(call, "id"), str(call, "function", "name"), parse(t, []byte(str(call, "function", "arguments")))})
		}
		c.Messages = append(c.Messages, out)
	}
	return c
}

// plainTool returns a tool without what only says how it is enforced.
func plainTool(f any) any {
	return object{"name": str(f, "name"), "description": str(f, "description"), "parameters": at(f, "parameters")}
}

// open makes the provider for a recording, as if the server were its host.
func openAs(t testing.TB, rec llmtest.Recording, q object) (func(base string) llm.Model, string) {
	u, err := url.Parse(rec.URL)
	if err != nil {
		t.Fatal(err)
	}
	var tools []json.RawMessage // of the server
	for _, tool := range list(q, "tools") {
		if str(tool, "type") != "function" {
			tools = append(tools, raw(tool))
		}
	}
	path := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/chat/completions"), "/responses")
	return func(base string) llm.Model {
		p := New(Config{Name: provider, BaseURL: base + path, Key: "key", Tools: tools})
		p.host, p.responses = hostOf(u.Hostname()), rec.Dialect == "oairesp"
		return p.Model(str(q, "model"))
	}, u.RequestURI()
}

// the numbers of recordings there are.
const (
	chatRecordings      = 297
	responsesRecordings = 78
)

func TestChatRecordings(t *testing.T) {
	recs := llmtest.Recordings(t, "oaichat")
	t.Logf("%d recordings of chat completions", len(recs))
	if len(recs) != chatRecordings {
		t.Errorf("%d recordings, want %d", len(recs), chatRecordings)
	}
	for i, rec := range recs {
		t.Run(fmt.Sprintf("%d", i), func(t *testing.T) {
			q := parse(t, rec.Request)
			open, path := openAs(t, rec, q)
			req := askedChat(t, q)
			resp, sent, err := llmtest.RoundTrip(t, rec, uint64(i), open, req)
			if err != nil {
				t.Fatalf("%s: %v", rec.File, err)
			}
			if diff := cmp.Diff(expectChat(t, rec), tell(t, resp)); diff != "" {
				t.Errorf("%s: answer (-want +got):\n%s", rec.File, diff)
			}
			got := parse(t, sent.Body)
			if diff := cmp.Diff(carriedByChat(t, q), carriedByChat(t, got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: request (-want +got):\n%s", rec.File, diff)
			}
			if sent.Path != path || got["stream"] != true || at(got, "stream_options", "include_usage") != true {
				t.Errorf("%s: sent to %s with stream %v, options %v", rec.File, sent.Path, got["stream"], got["stream_options"])
			}
			checkMarks(t, q, got)
			checkKept(t, rec, resp)
		})
	}
}

// checkMarks checks that what the recorded request caches is cached.
func checkMarks(t *testing.T, want, got object) {
	msgs := list(got, "messages")
	marked := func(m any) bool {
		parts := list(m, "content")
		return len(parts) > 0 && at(parts[len(parts)-1], "cache_control") != nil
	}
	for i, m := range list(want, "messages") {
		if at(m, "cache_control") != nil && !marked(msgs[i]) && i != 1 { // the last message is marked by us, and recorded as a call
			t.Errorf("message %d is not marked for the cache", i)
		}
	}
}

// checkKept checks that reasoning details come back word for word with the
// next request.
func checkKept(t *testing.T, rec llmtest.Recording, resp *llm.Response) {
	if strings.Contains(rec.Type, "event-stream") {
		return
	}
	want := at(parse(t, rec.Body), "choices", 0, "message", "reasoning_details")
	var got any
	for _, p := range resp.Message.Parts {
		if p.Opaque != nil {
			got = at(parse(t, p.Opaque.Data), "reasoning_details")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: kept details (-want +got):\n%s", rec.File, diff)
	}
}

func askedResponses(t testing.TB, q object) *llm.Request {
	req := &llm.Request{MaxTokens: num(q, "max_output_tokens"), Effort: str(q, "reasoning", "effort"), ToolChoice: str(q, "tool_choice")}
	for _, m := range list(q, "input") {
		switch kind := str(m, "role") + str(m, "type"); kind {
		case "system", "developer":
			req.System = str(m, "content")
		case "user":
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Parts: askedParts(t, at(m, "content"))})
		case "function_call":
			part := llm.Part{Call: &llm.ToolCall{ID: str(m, "call_id"), Name: str(m, "name"), Input: json.RawMessage(str(m, "arguments"))}}
			if n := len(req.Messages) - 1; req.Messages[n].Role == llm.Assistant {
				req.Messages[n].Parts = append(req.Messages[n].Parts, part)
			} else {
				req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{part}})
			}
		case "function_call_output":
			askedResult(req, llm.Part{Result: &llm.ToolResult{ID: str(m, "call_id"), Text: str(m, "output")}})
		default:
			t.Fatalf("item %s", kind)
		}
	}
	for _, f := range list(q, "tools") {
		if str(f, "type") == "function" {
			req.Tools = append(req.Tools, llm.Tool{Name: str(f, "name"), Doc: str(f, "description"), Schema: raw(at(f, "parameters"))})
		}
	}
	if f := at(q, "text", "format"); f != nil {
		schema := at(f, "schema").(object)
		if doc := str(f, "description"); doc != "" {
			schema["description"] = doc
		}
		req.Schema = &llm.Schema{Name: str(f, "name"), JSON: raw(schema)}
	}
	return req
}

func carriedByResponses(t testing.TB, q object) carried {
	c := carried{Model: str(q, "model"), Max: num(q, "max_output_tokens"), Effort: str(q, "reasoning", "effort"), Format: at(q, "text", "format")}
	if f, ok := c.Format.(object); ok {
		delete(f, "strict") // which we add
	}
	for _, f := range list(q, "tools") {
		if str(f, "type") == "function" {
			f = plainTool(f)
		}
		c.Tools = append(c.Tools, f)
		c.Choice = q["tool_choice"]
	}
	for _, m := range list(q, "input") {
		out := carriedMessage{Role: str(m, "role") + str(m, "type"), CallID: str(m, "call_id"), Text: str(m, "content") + str(m, "output")}
		for _, p := range list(m, "content") {
			out.Text += str(p, "text")
		}
		if name := str(m, "name"); name != "" {
			out.Calls = []toldCall{{Name: name, Input: parse(t, []byte(str(m, "arguments")))}}
		}
		c.Messages = append(c.Messages, out)
	}
	return c
}

func TestResponsesRecordings(t *testing.T) {
	recs := llmtest.Recordings(t, "oairesp")
	t.Logf("%d recordings of Responses", len(recs))
	if len(recs) != responsesRecordings {
		t.Errorf("%d recordings, want %d", len(recs), responsesRecordings)
	}
	for i, rec := range recs {
		t.Run(fmt.Sprintf("%d", i), func(t *testing.T) {
			q := parse(t, rec.Request)
			open, path := openAs(t, rec, q)
			resp, sent, err := llmtest.RoundTrip(t, rec, uint64(i), open, askedResponses(t, q))
			if err != nil {
				t.Fatalf("%s: %v", rec.File, err)
			}
			if diff := cmp.Diff(expectResponses(t, rec), tell(t, resp)); diff != "" {
				t.Errorf("%s: answer (-want +got):\n%s", rec.File, diff)
			}
			got := parse(t, sent.Body)
			if diff := cmp.Diff(carriedByResponses(t, q), carriedByResponses(t, got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: request (-want +got):\n%s", rec.File, diff)
			}
			if sent.Path != path || got["stream"] != true || got["store"] != false {
				t.Errorf("%s: sent to %s with stream %v, store %v", rec.File, sent.Path, got["stream"], got["store"])
			}
			for _, key := range []string{"include", "reasoning"} {
				if q[key] != nil && !reflect.DeepEqual(q[key], got[key]) {
					t.Errorf("%s: %s is %v, want %v", rec.File, key, got[key], q[key])
				}
			}
		})
	}
}
