package stream

import (
	"encoding/json"
	"strings"
	"testing"

	"ponder"
)

// An owner's events lack the operator's prompt, and nothing else.
func TestShown(t *testing.T) {
	for _, tt := range []struct{ options, want string }{
		{`{"prompt":"SECRET","parallel":2}`, `{"parallel":2}`},
		{`{"prompt":"SECRET"}`, ``},
		{`{"Prompt":"SECRET","PROMPT":"SECRET","web":true}`, `{"web":true}`},
		{`{"docs":["/a"],"parallel":2}`, `{"docs":["/a"],"parallel":2}`},
		{`["prompt"]`, `["prompt"]`},
		{``, ``},
	} {
		ev := ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "session", Input: "Why?", Options: json.RawMessage(tt.options)}}
		before := string(tt.options)
		b := VisibleEvent(ev).Body.(ponder.RunStarted)
		if string(b.Options) != tt.want || b.Input != "Why?" || string(ev.Body.(ponder.RunStarted).Options) != before {
			t.Errorf("%s: %s, want %s", tt.options, b.Options, tt.want)
		}
		frame, err := FrameOf(ev)
		if err != nil || strings.Contains(string(frame.JSON), "SECRET") {
			t.Errorf("%s: %s %v", tt.options, frame.JSON, err)
		}
	}
	said := ponder.Event{Body: ponder.UserMessage{Content: "prompt"}}
	if got := VisibleEvent(said); got.Body.(ponder.UserMessage).Content != "prompt" {
		t.Errorf("%+v", got)
	}
}

// Options keep all but the operator's prompt. Those of a child run may quote internal events.
func TestVisibleOptions(t *testing.T) {
	for _, tt := range []struct {
		run           ponder.RunID
		options, want string
	}{
		{"run_1", `{"docs":["a"]}`, `{"docs":["a"]}`},
		{"run_1", `{"docs":["a"],"Prompt":"secret"}`, `{"docs":["a"]}`},
		{"run_1", `{"prompt":"secret"}`, ``},
		{"run_1", `[1]`, `[1]`},
		{"run_1/role-watcher", `{"seen":[{"content":"secret"}]}`, ``},
		{"run_1/role-watcher", ``, ``},
	} {
		ev := VisibleEvent(ponder.Event{Run: tt.run, Body: ponder.RunStarted{Mode: "m", Input: "i", Options: []byte(tt.options)}})
		b := ev.Body.(ponder.RunStarted)
		if got := strings.TrimSpace(string(b.Options)); got != tt.want || b.Mode != "m" || b.Input != "i" {
			t.Errorf("%s of %s: %s, want %s", tt.options, tt.run, got, tt.want)
		}
	}
}
