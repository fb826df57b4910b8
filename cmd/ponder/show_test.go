package main

import (
	"strings"
	"testing"

	"ponder"
	"ponder/internal/app"
	"ponder/mode/session"
)

func TestEventLines(t *testing.T) {
	var log strings.Builder
	w := &sessionScreen{cli: &cli{App: &app.App{}, log: &logSink{out: &log}}, SessionView: app.SessionView{View: session.NewView()}}
	s := w.newUI(true, nil)
	focus := func(text string) ponder.Body { return ponder.Progress{Stage: "focus", Content: text} }
	for _, b := range []ponder.Body{
		focus("One?"), focus("Two?"), ponder.SystemNote{Content: "the model fails"}, focus("One?"), focus("Two?"),
		ponder.Thought{Kind: "insight", Content: "So.", Confidence: 0.5}, focus("One?"),
	} {
		s.showEvent(ponder.Event{Body: b}, w.View)
	}
	want := `0:00 focus: One?
0:00 focus: Two?
0:00 note: the model fails
0:00 insight 0.50: So.
0:00 focus: One?
`
	if log.String() != want {
		t.Errorf("got\n%s\nwant\n%s", log.String(), want)
	}
}
