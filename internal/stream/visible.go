package stream

import (
	"encoding/json"
	"iter"
	"strings"

	"ponder"
)

// VisibleEvent returns an event in the form for its owner: without the operator's prompt in the
// options of a run, and without all options of a child run, which may quote internal events. The
// log needs both to continue the runs.
func VisibleEvent(ev ponder.Event) ponder.Event {
	b, ok := ev.Body.(ponder.RunStarted)
	if !ok || len(b.Options) == 0 {
		return ev
	}
	if ev.Run.Parent() != "" {
		b.Options = nil
		ev.Body = b
		return ev
	}
	var options map[string]json.RawMessage
	if json.Unmarshal(b.Options, &options) != nil {
		return ev // not an object
	}
	before := len(options)
	for name := range options {
		if strings.EqualFold(name, "prompt") { // options are decoded without regard to case
			delete(options, name)
		}
	}
	if len(options) == before {
		return ev
	}
	b.Options = nil
	if len(options) > 0 {
		js, err := json.Marshal(options)
		if err != nil { // impossible, because the values were JSON
			panic(err)
		}
		b.Options = js
	}
	ev.Body = b
	return ev
}

// VisibleEvents applies Shown to events.
func VisibleEvents(events iter.Seq2[ponder.Event, error]) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range events {
			if err == nil {
				ev = VisibleEvent(ev)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
