package transcript

import (
	"testing"

	"ponder"
)

func TestSourceList(t *testing.T) {
	var u SourceList
	if u.Text() != "" {
		t.Errorf("%q", u.Text())
	}
	page, notes := ponder.UntrustedSource{Source: "web page https://a.example/\u202e", Seq: 5}, ponder.UntrustedSource{Source: "result of\nnotes"}
	for _, list := range [][]ponder.UntrustedSource{nil, {page}, {page, notes}} {
		u.Apply(ponder.Event{Body: ponder.AssistantMessage{Content: "so", Untrusted: list}})
	}
	u.Apply(ponder.Event{Body: ponder.UserMessage{Content: "hello"}})
	if got, want := u.Text(), "Untrusted text in this conversation:\n  web page https://a.example/ (event 5)\n  result of notes\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
