package ponder

import (
	"bytes"
	"os"
	"testing"
)

// storedEvents returns stored events of all types.
func storedEvents(t testing.TB) [][]byte {
	t.Helper()
	data, err := os.ReadFile("test/testdata/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(data), []byte("\n"))
}

// FuzzReadEvent decodes any JSON, and decodes its own output again.
func FuzzReadEvent(f *testing.F) {
	for _, js := range storedEvents(f) {
		f.Add(js)
	}
	for _, js := range []string{
		`{}`, ` {"type":"thought"}`, `{"type":"thought",}`, `{"Type":"thought"}`, `{"type":"thought","seq":-7,"content":"a \" \ud800 b \u0000"}`,
		`{"type":"thought","data":{]}`, `{"type":"new","data":[1,{"a":"]"}]}`, `{"type":"tool_call","tool_args":{"a":1},"data":null}`,
		`{"type":"thought","seq":99999999999999999999}`, `{"type":"thought","data":{"erased":true}}`, `{"type":"thought","data":{"foreign":["x"],"x":1}}`,
	} {
		f.Add([]byte(js))
	}
	f.Fuzz(func(t *testing.T, js []byte) {
		var ev, again Event
		if ev.UnmarshalJSON(js) != nil {
			return
		}
		stored, err := ev.MarshalJSON()
		if err != nil {
			return // a number or a name that cannot be written
		}
		if err := again.UnmarshalJSON(stored); err != nil {
			t.Fatalf("%q was written as %q: %v", js, stored, err)
		}
		if twice, err := again.MarshalJSON(); err != nil || !bytes.Equal(twice, stored) {
			t.Errorf("%q was written as %q, then as %q: %v", js, stored, twice, err)
		}
	})
}

func BenchmarkReadEvent(b *testing.B) {
	lines := storedEvents(b)
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
