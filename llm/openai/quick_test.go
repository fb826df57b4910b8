package openai

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm/llmtest"
)

func TestQuickChunk(t *testing.T) {
	for _, test := range []struct {
		name, in string
		text     string
		quick    bool
	}{
		{"text", `{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"a b"},"logprobs":null,"finish_reason":null}]}`, "a b", true},
		{"spaces", ` { "id" : "c" , "choices" : [ { "delta" : { "role" : "assistant" , "content" : "a" } } ] , "usage" : null } `, "a", true},
		{"escapes", `{"choices":[{"delta":{"content":"\"\\\u00e9\n"}}]}`, "\"\\é\n", true},
		{"nothing", `{"choices":[{"delta":{}}]}`, "", true},
		{"a control character", "{\"choices\":[{\"delta\":{\"content\":\"a\nb\"}}]}", "", false},
		{"bytes that are no text", "{\"choices\":[{\"delta\":{\"content\":\"a\xff\"}}]}", "a\uFFFD", true},
		{"the end", `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, "a", true},
		{"an end that is no text", `{"choices":[{"delta":{"content":"a"},"finish_reason":1}]}`, "", false},
		{"usage", `{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1,"completion_tokens_details":{"x_tokens":2}}}`, "a", true},
		{"usage with a cost", `{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1,"cost":0.1}}`, "", false},
		{"usage twice", `{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1},"usage":{"prompt_tokens":1}}`, "", false},
		{"another choice", `{"choices":[{"index":1,"delta":{"content":"a"}}]}`, "", false},
		{"two choices", `{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`, "", false},
		{"no choice", `{"choices":[]}`, "", true},
		{"no choices", `{"id":"c"}`, "", false},
		{"an escape that is none", `{"choices":[{"delta":{"content":"\a"}}]}`, "", false},
		{"an id that is none", `{"id":["c"],"choices":[{"delta":{"content":"a"}}]}`, "", false},
		{"a call", `{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}`, "", false},
		{"parts", `{"choices":[{"delta":{"content":[{"text":"a"}]}}]}`, "", false},
		{"a message", `{"choices":[{"message":{"content":"a"}}]}`, "", false},
		{"an error", `{"error":"x","choices":[{"delta":{"content":"a"}}]}`, "", false},
		{"a key in another spelling", `{"Choices":[{"delta":{"content":"a"}}]}`, "", false},
		{"cut", `{"choices":[{"delta":{"content":"a`, "", false},
		{"something after it", `{"choices":[{"delta":{"content":"a"}}]} x`, "", false},
		{"text at the end of a number", `{"created":17,"choices":[{"delta":{"content":"a"}}],"n":1}`, "a", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, ok := quickChunk([]byte(test.in), "", "")
			if got := q.said.Content.text; ok != test.quick || ok && got != test.text {
				t.Errorf("quick %v: %q, want %v: %q", ok, got, test.quick, test.text)
			}
		})
	}
}

func TestQuickEvent(t *testing.T) {
	const words = `{"type":"response.output_text.delta","output_index":3,"delta":"a"`
	for _, test := range []struct {
		name, in string
		want     event
		quick    bool
	}{
		{"words", words + `,"logprobs":[{"x":"}"}]}`, event{Type: "response.output_text.delta", Delta: "a", Index: itemIndex{3, true}}, true},
		{"words of a summary", `{"summary_index":2,"delta":"a","output_index":0,"type":"response.reasoning_summary_text.delta"}`,
			event{Type: "response.reasoning_summary_text.delta", Delta: "a", Summary: 2, Index: itemIndex{0, true}}, true},
		{"words of an item by ID", `{"type":"response.output_text.delta","item_id":"i","delta":"a"}`, event{}, false},
		{"a beginning", `{"type":"response.output_item.added","output_index":1,"item":{"id":"i"}}`, event{}, false},
		{"an index that is null", `{"type":"response.output_text.delta","output_index":null,"delta":"a"}`, event{}, false},
		{"no matter", `{"type":"response.output_text.done","text":"a"}`, event{Type: "of no matter"}, true},
		{"words twice", words + `,"delta":"b"}`, event{}, false},
		{"no words", `{"type":"response.output_text.delta"}`, event{}, false},
		{"words that are none", `{"type":"response.output_text.delta","delta":{"a":1}}`, event{}, false},
		{"the end", `{"type":"response.completed","response":{}}`, event{}, false},
		{"an item", `{"type":"response.output_item.done","item":{}}`, event{}, false},
		{"no type", `{"delta":"a"}`, event{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ev, ok := quickEvent([]byte(test.in))
			if ok != test.quick || ok && (ev.Type != test.want.Type || ev.Delta != test.want.Delta || ev.Summary != test.want.Summary || ev.Index != test.want.Index) {
				t.Errorf("quick %v: %+v", ok, ev)
			}
		})
	}
}

// Most recorded chunks are read quickly.
func TestQuickRecordings(t *testing.T) {
	for dialect, quick := range map[string]func([]byte) bool{
		"oaichat": func(b []byte) bool { _, ok := quickChunk(b, "", ""); return ok },
		"oairesp": func(b []byte) bool { _, ok := quickEvent(b); return ok },
	} {
		var all, few int
		for _, rec := range llmtest.Recordings(t, dialect) {
			if rec.Type == "application/json" {
				continue
			}
			for _, o := range readPayloads(t, rec) {
				if all++; quick(rawJSON(o)) {
					few++
				}
			}
		}
		if few*2 < all {
			t.Errorf("%s: %d of %d pieces are read quickly", dialect, few, all)
		}
	}
}

func FuzzQuick(f *testing.F) {
	f.Add([]byte(`{"id":"c","choices":[{"index":0,"delta":{"role":"x","content":"a\u00e9\"","reasoning":null},"finish_reason":null}],"usage":null}`))
	f.Add([]byte(`{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"\"\\\/\n\t"},"finish_reason":"stop"}],"usage":null}`))
	f.Add([]byte(`{"id":"c","choices":[],"usage":{"prompt_tokens":1,"total_tokens":3,"prompt_tokens_details":{"cached_tokens":1,"x":"y"}}}`))
	f.Add([]byte(`{"type":"response.output_text.delta","delta":"a","logprobs":[{"x":"\\"}],"sequence_number":3}`))
	f.Add([]byte(`{"type":"response.reasoning_summary_text.delta","summary_index":2,"delta":"a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		q, chunkOK := quickChunk(data, "known", "known")
		ev, eventOK := quickEvent(data)
		if !json.Valid(data) {
			return
		}
		if chunkOK {
			if diff := cmp.Diff(decodedQuick(t, data), q, cmp.AllowUnexported(quickResult{}, content{})); diff != "" {
				t.Fatalf("%s (-decoded +quick):\n%s", data, diff)
			}
		}
		if eventOK {
			var want event
			err := unmarshalLenient(data, &want)
			same := want.Delta == ev.Delta && want.Summary == ev.Summary && want.Index == ev.Index && want.Response == nil
			if err != nil || hasText(want.Type) && !same || ev.Type != "of no matter" && want.Type != ev.Type {
				t.Fatalf("%s is %+v, %v; quickly %+v", data, want, err, ev)
			}
		}
	})
}

func decodedQuick(t *testing.T, data []byte) quickResult {
	c := chunk{ID: "known", Model: "known"}
	if err := unmarshalLenient(data, &c); err != nil || len(c.Choices) > 1 {
		t.Fatalf("%s: %+v, %v", data, c, err)
	}
	q := quickResult{id: c.ID, model: c.Model}
	if q.id == "" {
		q.id = "known"
	}
	if q.model == "" {
		q.model = "known"
	}
	if c.Usage != nil {
		q.used = *c.Usage
	}
	if len(c.Choices) == 1 {
		if c.Choices[0].Delta == nil || c.Choices[0].Usage != nil || c.Choices[0].Error != nil {
			t.Fatalf("%s: more is in it: %+v", data, c)
		}
		q.said, q.finish = *c.Choices[0].Delta, c.Choices[0].Finish
	}
	return q
}
