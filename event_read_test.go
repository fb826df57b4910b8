package ponder

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// recorded returns events of all types, as they are written.
func recorded(t testing.TB) [][]byte {
	t.Helper()
	data, err := os.ReadFile("test/testdata/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(data), []byte("\n"))
}

// What this package writes is read the quick way.
func TestQuick(t *testing.T) {
	for _, js := range recorded(t) {
		var ev Event
		if err := json.Unmarshal(js, &ev); err != nil {
			t.Fatal(err)
		}
		js, err := ev.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var f flat
		if !f.quick(js) {
			t.Errorf("not read: %s", js)
		}
	}
}

// Both ways read the same.
func FuzzReadEvent(f *testing.F) {
	for _, js := range recorded(f) {
		f.Add(js)
	}
	for _, js := range []string{
		`{}`, ` {"type":"thought"}`, `{"type":"thought",}`, `{"type":"thought"}{}`, `{"Type":"thought"}`, `{"type":"th\u006fught","seq":01}`,
		`{"type":"thought","seq":-7,"content":"a \" \ud800 b \u0000"}`, "{\"type\":\"thought\",\"content\":\"\xff\"}", "{\"type\":\"thought\",\"content\":\"\n\"}",
		`{"type":"thought","data":{]}`, `{"type":"thought","data":{"type":"}"}}`, `{"type":"new","data":[1,{"a":"]"}]}`, `{"type":"new","data":[1,}`,
		`{"type":"tool_call","tool_args":{"a":1},"data":null}`, `{"type":"tool_call","tool_args":{"a":}}`, `{"type":"call_finished","usage":{"input_tokens":1},"usage":{"output_tokens":2}}`,
		`{"type":"thought","seq":99999999999999999999}`, `{"type":"thought","internal":true,"internal":false}`, `{"type":"thought","seq":1.0}`, `{"type":"thought","data":{"erased":true}}`,
	} {
		f.Add([]byte(js))
	}
	f.Fuzz(func(t *testing.T, js []byte) {
		var got, want Event
		err := got.UnmarshalJSON(bytes.Clone(js))
		var slow flat
		slowErr := json.Unmarshal(js, &slow)
		if slowErr == nil {
			slowErr = want.decode(&slow)
		}
		if (err == nil) != (slowErr == nil) {
			t.Fatalf("%q: quick %v, slow %v", js, err, slowErr)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\nquick %#v\nslow  %#v", js, got, want)
		}
	})
}

func BenchmarkReadEvent(b *testing.B) {
	lines := recorded(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, js := range lines {
			var ev Event
			if err := ev.UnmarshalJSON(js); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(lines)), "ns/event")
}
