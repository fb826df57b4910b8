package session

import (
	"encoding/json"
	"strings"
	"testing"

	"ponder"
)

// Any events give a view whose tree has each question once.
func FuzzView(f *testing.F) {
	var b strings.Builder
	for _, ev := range fullSession() {
		js, err := json.Marshal(ev)
		if err != nil {
			f.Fatal(err)
		}
		b.Write(append(js, '\n'))
	}
	f.Add(b.String())
	f.Add(`{"type":"run_started","run_id":"run_test","content":"Why?","data":{"mode":"session","options":{"parallel":-1}}}` + "\n" +
		`{"type":"sub_question","run_id":"run_test","data":{"question_id":"q1","parent_id":"q1","priority":-9}}` + "\n" +
		`{"type":"progress","run_id":"run_test","data":{"stage":"merged","thoughts":[-1,0,9223372036854775807]}}`)
	f.Fuzz(func(t *testing.T, lines string) {
		v := NewView()
		for line := range strings.Lines(lines) {
			var ev ponder.Event
			if json.Unmarshal([]byte(line), &ev) == nil {
				v = v.Apply(ev)
			}
		}
		seen := make(map[string]bool)
		for n := range v.Tree() {
			if seen[n.ID] || n.Depth < 0 || n.Depth > maxDepth {
				t.Fatalf("%s at depth %d", n.ID, n.Depth)
			}
			seen[n.ID] = true
		}
		p := v.Session.Progress
		if len(seen) != len(v.Questions) || p.Explored+p.Dropped > len(v.Questions)+p.Dropped || p.Percentage < 0 || p.Percentage > 100 {
			t.Errorf("%d of %d questions in the tree, progress %+v", len(seen), len(v.Questions), p)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
	})
}
