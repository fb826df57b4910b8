package stream

import (
	"encoding/json"
	"iter"
	"strings"

	"ponder"
)

// Shown returns an event as its owner is shown it: what the operator has models told of all
// answers, which is in the options of runs for those who go on with them, is left out.
func Shown(ev ponder.Event) ponder.Event {
	b, ok := ev.Body.(ponder.RunStarted)
	if !ok || len(b.Options) == 0 {
		return ev
	}
	var options map[string]json.RawMessage
	if json.Unmarshal(b.Options, &options) != nil {
		return ev // no object: nothing is found in it by a name
	}
	before := len(options)
	for name := range options {
		if strings.EqualFold(name, "prompt") { // as options are read
			delete(options, name)
		}
	}
	if len(options) == before {
		return ev
	}
	b.Options = nil
	if len(options) > 0 {
		js, err := json.Marshal(options)
		if err != nil { // which what was JSON cannot be
			panic(err)
		}
		b.Options = js
	}
	ev.Body = b
	return ev
}

// ShownAll returns events as their owner is shown them.
func ShownAll(events iter.Seq2[ponder.Event, error]) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range events {
			if err == nil {
				ev = Shown(ev)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
