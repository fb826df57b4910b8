package ponder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder/llm"
)

// plain returns what package json writes, with '<', '>' and '&' as they are.
func plain(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fill sets a value and all in it, each field to something of its own.
func fill(v reflect.Value, n *int) {
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
		fill(v.Elem(), n)
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f, n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
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

// subsets calls f with v empty, with all of its fields set, and with each one
// set alone or missing alone.
func subsets[T any](t *testing.T, f func(v T)) {
	t.Helper()
	var full, zero T
	n := 0
	fill(reflect.ValueOf(&full).Elem(), &n)
	f(zero)
	f(full)
	for i := range reflect.TypeFor[T]().NumField() {
		one, but := zero, full
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		reflect.ValueOf(&but).Elem().Field(i).SetZero()
		f(one)
		f(but)
	}
}

// What writes itself writes what package json would.
func TestWrittenAsPackageJSONDoes(t *testing.T) {
	subsets(t, func(req llm.Request) {
		var e EventEncoder
		if err := e.AppendRequest(&req); err != nil || string(e.Bytes()) != plain(t, req) {
			t.Errorf("%v: wrote %s\nwant %s", err, e.Bytes(), plain(t, req))
		}
	})
	subsets(t, func(b CallFinished) {
		for _, m := range []llm.Message{
			b.Message, {}, {Parts: []llm.Part{}}, {Parts: []llm.Part{{}}}, llm.Say(llm.Assistant, "<so>\n"), llm.Say("", ""),
			{Role: llm.User, Parts: []llm.Part{{Text: "a"}, {Text: "b"}}}, {Role: llm.User, Parts: []llm.Part{{Text: "a", Reasoning: "b"}}},
		} {
			b.Message = m
			var w jsonWriter
			b.appendTo(&w)
			if w.err != nil || string(w.b) != plain(t, b) {
				t.Errorf("%v: wrote %s\nwant %s", w.err, w.b, plain(t, b))
			}
		}
	})
	subsets(t, func(b Thought) { written(t, b) })
	subsets(t, func(b SubQuestion) { written(t, b) })
	subsets(t, func(b QuestionUpdated) { written(t, b) })
	subsets(t, func(b Progress) { written(t, b) })
	subsets(t, func(b CallStarted) { written(t, b) })
	subsets(t, func(o Outcome) { written(t, CallFinished{Outcome: o}) })
	subsets(t, func(o Outcome) { written(t, CallFinished{Took: 1, Outcome: o}) })
	subsets(t, func(c Cost) { written(t, CallStarted{Held: c}) })
	subsets(t, func(u llm.Usage) {
		var w jsonWriter
		if w.usage(&u); w.err != nil || string(w.b) != plain(t, u) {
			t.Errorf("%v: wrote %s\nwant %s", w.err, w.b, plain(t, u))
		}
	})
	subsets(t, func(h head) {
		w := jsonWriter{b: []byte("{")}
		w.head(&h)
		if got := string(w.b) + "}"; w.err != nil || got != plain(t, h) {
			t.Errorf("%v: wrote %s\nwant %s", w.err, got, plain(t, h))
		}
	})
}

// written compares what a body writes with what package json does.
func written(t *testing.T, b Body) {
	t.Helper()
	w := jsonWriter{b: []byte("{")}
	w.data(b) // a field, if it is not empty
	want := ""
	if js := plain(t, b); js != "{}" {
		want = `"data":` + js
	}
	if got := string(w.b[1:]); w.err != nil || got != want {
		t.Errorf("%v: wrote %s\nwant %s", w.err, got, want)
	}
}

// A schema is written the same the first time and the next, whatever there are
// between.
func TestSchemasAgain(t *testing.T) {
	var w jsonWriter
	for range 3 {
		for n := range 20 {
			for _, js := range []string{`{"n":%d,"a":"<&>"}`, `{ "n" : %d }`, `[%d, "` + strings.Repeat("long", 3000) + `"]`, `%d`} {
				req := llm.Request{Schema: &llm.Schema{JSON: json.RawMessage(fmt.Sprintf(js, n))}}
				w.b = w.b[:0]
				if w.request(&req); w.err != nil || string(w.b) != plain(t, req) {
					t.Fatalf("%v: wrote %s\nwant %s", w.err, w.b, plain(t, req))
				}
			}
		}
	}
	if len(w.compact) > 8 {
		t.Errorf("%d schemas are remembered", len(w.compact))
	}
}

func FuzzNumber(f *testing.F) {
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e-6, 9.99e-7, 1e20, 1e21, -1e21, math.MaxFloat64, math.SmallestNonzeroFloat64, 1.0 / 3} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Skip()
		}
		var w jsonWriter
		if w.decimal(x); w.err != nil || string(w.b) != plain(t, x) {
			t.Errorf("%v: wrote %s, want %s", w.err, w.b, plain(t, x))
		}
	})
}

func FuzzTime(f *testing.F) {
	f.Add(int64(0), int64(0))
	f.Add(int64(1779021045), int64(123456789))
	f.Add(int64(-62135596800), int64(999))
	f.Add(int64(-70000000000), int64(1))
	f.Add(int64(253402300800), int64(1))
	f.Fuzz(func(t *testing.T, sec, nsec int64) {
		at := time.Unix(sec, nsec).UTC()
		if got, want := string(appendTime(nil, at)), at.Format(timeFormat); got != want {
			t.Errorf("wrote %s, want %s", got, want)
		}
	})
}

// An event is one object; what cannot be written is an error.
func TestWriteEventFails(t *testing.T) {
	for name, ev := range map[string]Event{
		"data":      {Body: Unknown{Name: "dream", Data: json.RawMessage(`{"a":`)}},
		"arguments": {Body: ToolCall{Args: json.RawMessage(`nonsense`)}},
		"number":    {Body: Thought{Confidence: inf()}},
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

func inf() float64 { x := 1e308; return x * 10 }

func FuzzText(f *testing.F) {
	f.Add("plain and long enough to be looked at by eights")
	f.Add("quote \" in the middle of it, and a \\ too\t\n\b\f\r\x00\x1f\x7f")
	f.Add("\u2028 \u2029 \ufffd é日本🙂 \xff\xc3")
	for c := range 256 {
		f.Add(strings.Repeat("a", c%9) + string([]byte{byte(c)}) + "bcdefghijk")
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := string(appendText([]byte("x"), s)); got != "x"+plain(t, s) {
			t.Errorf("wrote %s, want x%s", got, plain(t, s))
		}
	})
}

// BenchmarkEncode writes an answer and a thought.
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
	b.Run("request by package json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if js, err := json.Marshal(req); err != nil || slices.Contains(js, 0) {
				b.Fatal(err)
			}
		}
	})
}
