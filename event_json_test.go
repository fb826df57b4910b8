package ponder

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"ponder/llm"
)

// plainJSON returns the JSON of package json, without escaping '<', '>' and '&'.
func plainJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fillValue sets each field of a value to a different content.
func fillValue(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, *n, 0, time.UTC)))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"n": [1, "<&>"]}`))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), n)
	case reflect.Struct:
		for _, f := range v.Fields() {
			fillValue(f, n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillValue(v.Index(i), n)
		}
	case reflect.String:
		v.SetString("<s>\n" + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 8)
	case reflect.Uint8:
		v.SetUint(uint64(*n))
	default:
		v.SetInt(int64(*n))
	}
}

// TestRoundTrip encodes and decodes bodies of all types, whole and in parts.
func TestRoundTrip(t *testing.T) {
	for _, body := range filledBodies(t) {
		v := reflect.ValueOf(body)
		parts := []Body{body, reflect.Zero(v.Type()).Interface().(Body)}
		for i := range v.NumField() {
			one, but := reflect.New(v.Type()).Elem(), reflect.New(v.Type()).Elem()
			one.Field(i).Set(v.Field(i))
			but.Set(v)
			but.Field(i).SetZero()
			parts = append(parts, one.Interface().(Body), but.Interface().(Body))
		}
		for _, b := range parts {
			if b.Type() != "" {
				roundTrip(t, Event{ID: "evt_1", Seq: 7, Run: "run_1", Cause: "k#1", Elapsed: time.Second, Body: b})
			}
		}
	}
	roundTrip(t, Event{Time: time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC), Internal: true, Erased: true, Body: UserMessage{}})
	roundTrip(t, Event{Extra: map[string]json.RawMessage{"x<": json.RawMessage(`{"a":"<"}`)}, Body: Thought{Content: "a"}})
}

// roundTrip checks that decoding restores an encoded event, and that the JSON is compact.
func roundTrip(t *testing.T, ev Event) {
	t.Helper()
	js, err := ev.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var got Event
	if err := got.UnmarshalJSON(js); err != nil {
		t.Fatalf("%s: %v", js, err)
	}
	again, err := got.MarshalJSON()
	if err != nil || string(again) != string(js) {
		t.Errorf("%v: written again %s\nwant %s", err, again, js)
	}
	if strings.Contains(string(js), `"data":{}`) || plainJSON(t, json.RawMessage(js)) != string(js) {
		t.Errorf("wrote %s", js)
	}
	if !reflect.DeepEqual(compactEvent(got), compactEvent(ev)) {
		t.Errorf("read %#v\nwant %#v", got, ev)
	}
}

// compactEvent returns an event with its raw JSON in compact form.
func compactEvent(ev Event) Event {
	v := reflect.New(reflect.TypeOf(ev.Body)).Elem()
	v.Set(reflect.ValueOf(ev.Body))
	compactValue(v)
	ev.Body = v.Interface().(Body)
	if b, ok := ev.Body.(CallStarted); ok {
		b.Request = nil // the ledger has it
		ev.Body = b
	}
	return ev
}

func compactValue(v reflect.Value) {
	if js, ok := v.Interface().(json.RawMessage); ok {
		var b bytes.Buffer
		if json.Compact(&b, js) == nil {
			v.SetBytes(b.Bytes())
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			compactValue(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, f := range v.Fields() {
			compactValue(f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			compactValue(v.Index(i))
		}
	}
}

// TestAppendRequest writes requests as package json does.
func TestAppendRequest(t *testing.T) {
	var req llm.Request
	n := 0
	fillValue(reflect.ValueOf(&req).Elem(), &n)
	for _, req := range []llm.Request{req, {}} {
		var e EventEncoder
		if err := e.AppendRequest(&req); err != nil || string(e.Bytes()) != plainJSON(t, req) {
			t.Errorf("%v: wrote %s\nwant %s", err, e.Bytes(), plainJSON(t, req))
		}
	}
}

func TestAppendInvalidEvent(t *testing.T) {
	for name, ev := range map[string]Event{
		"data":      {Body: Unknown{Name: "dream", Data: json.RawMessage(`{"a":`)}},
		"arguments": {Body: ToolCall{Args: json.RawMessage(`nonsense`)}},
		"number":    {Body: Thought{Confidence: infinity()}},
		"message":   {Body: CallFinished{Message: llm.Message{Parts: []llm.Part{{Call: &llm.ToolCall{Input: json.RawMessage(`{`)}}}}}},
	} {
		if js, err := ev.MarshalJSON(); err == nil {
			t.Errorf("%s: wrote %s", name, js)
		}
	}
	if err := new(EventEncoder).AppendRequest(&llm.Request{Schema: &llm.Schema{JSON: json.RawMessage(`{`)}}); err == nil {
		t.Error("wrote a request that is not JSON")
	}
}

func infinity() float64 { x := 1e308; return x * 10 }

func BenchmarkEncode(b *testing.B) {
	text := strings.Repeat("a thought of some length, ", 10)
	events := []Event{
		{ID: NewID("evt"), Run: "run_1", Cause: "think-1#1", Time: time.Now(), Body: CallFinished{
			Message: llm.Say(llm.Assistant, text), Finish: llm.FinishStop, Model: "sim/slow", Usage: llm.Usage{Input: 9, Output: 2}, Spent: Cost{Calls: 1},
		}},
		{ID: NewID("evt"), Run: "run_1", Cause: "note-1/1.4", Time: time.Now(), Body: Thought{
			Content: text, Number: 7, Kind: "insight", Confidence: 0.5, Offset: 12.5, Model: "sim/slow",
		}},
	}
	req := &llm.Request{System: strings.Repeat("think well. ", 40), Messages: []llm.Message{llm.Say(llm.User, strings.Repeat(text, 6))}, MaxTokens: 800}
	for i, name := range []string{"call_finished", "thought"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var e EventEncoder
			for b.Loop() {
				e.Reset(e.Bytes())
				if err := e.Append(events[i]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		var e EventEncoder
		for b.Loop() {
			e.Reset(e.Bytes())
			if err := e.AppendRequest(req); err != nil {
				b.Fatal(err)
			}
		}
	})
}
