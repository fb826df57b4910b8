package mimic

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMost(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","required":["findings"],"properties":{
		"findings":{"type":"array","items":{"type":"object","required":["type","summary","importance"],"properties":{
			"type":{"type":"string"},"summary":{"type":"string"},"importance":{"type":"integer"},"rests_on":{"type":"array","items":{"type":"string"}},"due":{"type":"string"}}}},
		"hints":{"type":"array","items":{"type":"object","properties":{"role":{"type":"string"},"look_for":{"type":"string"}}}},
		"reason":{"type":"string"},"journal":{"type":"string"}}}`)
	long := 0
	for seed := range uint64(200) {
		p := Prompt{Text: strings.Repeat("The lease of the flat by the old harbour ends in the spring of next year. ", 20), Schema: schema}
		free := New(seed, p).Answer()
		p.MaxBytes = 1200
		got := New(seed, p).Answer()
		if len(free) > p.MaxBytes {
			long++
		}
		var v struct{ Findings []json.RawMessage }
		if err := json.Unmarshal([]byte(got), &v); err != nil || len(got) > p.MaxBytes {
			t.Errorf("seed %d: %d bytes (%v): %s", seed, len(got), err, got)
		}
		if len(free) <= p.MaxBytes && got != free {
			t.Errorf("seed %d: a short text was rewritten", seed)
		}
	}
	if long == 0 {
		t.Error("none was too long")
	}
}
