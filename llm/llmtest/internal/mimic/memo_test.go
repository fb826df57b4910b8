package mimic

import (
	"fmt"
	"strings"
	"testing"
)

func TestMemo(t *testing.T) {
	var m Memo[int]
	if _, ok := m.Load([]byte("a")); ok {
		t.Error("knows what it was never told")
	}
	m.Store([]byte("a"), 1)
	if v, ok := m.Load([]byte("a")); !ok || v != 1 {
		t.Errorf("Load = %d, %t", v, ok)
	}
	long := []byte(strings.Repeat("x", memoBytes+1))
	if m.Store(long, 2); len(m.values) != 1 {
		t.Error("keeps a text that is too long")
	}
	for i := range 10 * memoTexts {
		m.Store(fmt.Appendf(nil, "%d", i), i)
		if len(m.values) > memoTexts {
			t.Fatalf("keeps %d texts", len(m.values))
		}
		if v, ok := m.Load(fmt.Appendf(nil, "%d", i)); !ok || v != i {
			t.Fatalf("Load(%d) = %d, %t", i, v, ok)
		}
	}
}

func TestSchemaIsShared(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}}},
		{"properties":{"y":{"enum":[1,2]}}}]},"b":{"$ref":"#/$defs/b"}},"required":["a","b"],"$defs":{"b":{"type":["ARRAY","null"],"items":{"type":"integer"}}}}`)
	want := string(New(1, Prompt{Text: "What is a schema?"}).Fill(schema))
	for range 3 {
		if got := string(New(1, Prompt{Text: "What is a schema?"}).Fill(schema)); got != want {
			t.Errorf("Fill = %s, and before %s", got, want)
		}
	}
	schemaCache.values = nil
	if got := string(New(1, Prompt{Text: "What is a schema?"}).Fill(schema)); got != want {
		t.Errorf("Fill = %s, and with others' schema %s", got, want)
	}
}
