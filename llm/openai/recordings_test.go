package openai

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder/llm"
	"ponder/llm/llmtest"
)

type object = map[string]any

func parseObject(t testing.TB, data []byte) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatalf("parse %.200s: %v", data, err)
	}
	return o
}

func valueAt(v any, path ...any) any {
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

func stringAt(v any, path ...any) string { s, _ := valueAt(v, path...).(string); return s }
func intAt(v any, path ...any) int       { f, _ := valueAt(v, path...).(float64); return int(f) }
func listAt(v any, path ...any) []any    { l, _ := valueAt(v, path...).([]any); return l }

func rawJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func readPayloads(t testing.TB, rec llmtest.Recording) (out []object) {
	if !strings.Contains(rec.Type, "event-stream") {
		return []object{parseObject(t, rec.Body)}
	}
	for line := range strings.SplitSeq(string(rec.Body), "\n") {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if data = strings.TrimSpace(data); ok && data != "[DONE]" {
			out = append(out, parseObject(t, []byte(data)))
		}
	}
	return out
}

const provider = "acme"

// openAs acts as the recorded host.
func openAs(t testing.TB, rec llmtest.Recording, q object) (func(base string) llm.Model, string) {
	u, err := url.Parse(rec.URL)
	if err != nil {
		t.Fatal(err)
	}
	var tools []json.RawMessage // of the server
	for _, tool := range listAt(q, "tools") {
		if stringAt(tool, "type") != "function" {
			tools = append(tools, rawJSON(tool))
		}
	}
	path := strings.TrimSuffix(strings.TrimSuffix(u.Path, "/chat/completions"), "/responses")
	return func(base string) llm.Model {
		p := New(Config{Name: provider, BaseURL: base + path, Key: "key", Tools: tools})
		p.host, p.responses = findHost(u.Hostname()), rec.Dialect == "oairesp"
		return p.Model(stringAt(q, "model"))
	}, u.RequestURI()
}

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
			q := parseObject(t, rec.Request)
			open, path := openAs(t, rec, q)
			req := askedChat(t, q)
			resp, sent, err := llmtest.RoundTrip(t, rec, uint64(i), open, req)
			if err != nil {
				t.Fatalf("%s: %v", rec.File, err)
			}
			if diff := cmp.Diff(expectChat(t, rec), summarizeResponse(t, resp)); diff != "" {
				t.Errorf("%s: answer (-want +got):\n%s", rec.File, diff)
			}
			got := parseObject(t, sent.Body)
			if diff := cmp.Diff(summarizeChatRequest(t, q), summarizeChatRequest(t, got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: request (-want +got):\n%s", rec.File, diff)
			}
			if sent.Path != path || got["stream"] != true || valueAt(got, "stream_options", "include_usage") != true {
				t.Errorf("%s: sent to %s with stream %v, options %v", rec.File, sent.Path, got["stream"], got["stream_options"])
			}
			checkMarks(t, q, got)
			checkKept(t, rec, resp)
		})
	}
}

// Recorded cache marks are kept.
func checkMarks(t *testing.T, want, got object) {
	msgs := listAt(got, "messages")
	marked := func(m any) bool {
		parts := listAt(m, "content")
		return len(parts) > 0 && valueAt(parts[len(parts)-1], "cache_control") != nil
	}
	for i, m := range listAt(want, "messages") {
		if valueAt(m, "cache_control") != nil && !marked(msgs[i]) && i != 1 { // the adapter marks the last message, the recording a call
			t.Errorf("message %d is not marked for the cache", i)
		}
	}
}

// The next request returns details verbatim.
func checkKept(t *testing.T, rec llmtest.Recording, resp *llm.Response) {
	if strings.Contains(rec.Type, "event-stream") {
		return
	}
	want := valueAt(parseObject(t, rec.Body), "choices", 0, "message", "reasoning_details")
	var got any
	for _, p := range resp.Message.Parts {
		if p.Opaque != nil {
			got = valueAt(parseObject(t, p.Opaque.Data), "reasoning_details")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: kept details (-want +got):\n%s", rec.File, diff)
	}
}

func TestResponsesRecordings(t *testing.T) {
	recs := llmtest.Recordings(t, "oairesp")
	t.Logf("%d recordings of Responses", len(recs))
	if len(recs) != responsesRecordings {
		t.Errorf("%d recordings, want %d", len(recs), responsesRecordings)
	}
	for i, rec := range recs {
		t.Run(fmt.Sprintf("%d", i), func(t *testing.T) {
			q := parseObject(t, rec.Request)
			open, path := openAs(t, rec, q)
			resp, sent, err := llmtest.RoundTrip(t, rec, uint64(i), open, askedResponses(t, q))
			if err != nil {
				t.Fatalf("%s: %v", rec.File, err)
			}
			if diff := cmp.Diff(expectResponses(t, rec), summarizeResponse(t, resp)); diff != "" {
				t.Errorf("%s: answer (-want +got):\n%s", rec.File, diff)
			}
			got := parseObject(t, sent.Body)
			if diff := cmp.Diff(summarizeResponsesRequest(t, q), summarizeResponsesRequest(t, got), cmpopts.EquateEmpty()); diff != "" {
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
