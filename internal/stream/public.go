package stream

import (
	"context"
	"encoding/json"
	"iter"

	"ponder"
	"ponder/knowledge/lookup"
	"ponder/llm"
)

// PublicStore returns the store that clients of the server read. Its events name sources by
// [lookup.SourceName], so that no path of the server leaves it. The log keeps the paths, which
// commands need to check quotes. The guard makes unknown links inert; a hub of the store applies
// it to deltas too.
func PublicStore(s ponder.Store, guard *LinkGuard) ponder.Store { return publicStore{s, guard} }

type publicStore struct {
	ponder.Store
	guard *LinkGuard
}

func (s publicStore) Events(ctx context.Context, thread ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range s.Store.Events(ctx, thread, after) {
			if err == nil {
				ev = s.guard.guardEvent(ctx, PublicEvent(ev))
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (s publicStore) Lookup(ctx context.Context, thread ponder.ThreadID, like ponder.Event) (ponder.Event, bool, error) {
	ev, found, err := s.Store.Lookup(ctx, thread, like)
	if err == nil && found {
		ev = s.guard.guardEvent(ctx, PublicEvent(ev))
	}
	return ev, found, err
}

func (s publicStore) Thread(ctx context.Context, thread ponder.ThreadID) (ponder.Info, error) {
	info, err := s.Store.Thread(ctx, thread)
	return s.guard.guardInfo(ctx, info), err
}

func (s publicStore) List(ctx context.Context, filter ponder.Filter) ([]ponder.Info, error) {
	list, err := s.Store.List(ctx, filter)
	for i, info := range list {
		list[i] = s.guard.guardInfo(ctx, info)
	}
	return list, err
}

// PublicEvent returns ev with names of sources instead of paths. Texts of users and models, and
// tools of clients, are unchanged.
func PublicEvent(ev ponder.Event) ponder.Event {
	ev.Body = sourceNames.mapBody(ev.Body)
	if b, ok := ev.Body.(ponder.Observation); ok {
		b.Cursor = nil // a position of the sensor, for it alone
		ev.Body = b
	}
	return ev
}

var sourceNames = eventMapper{
	written: same[string], message: same[llm.Message], state: nameSources,
	source: lookup.SourceName, program: lookup.NamePaths, sources: nameSources,
}

func nameSources(js json.RawMessage) json.RawMessage { return lookup.NameSources(js) }

// PublicState returns the JSON of a subconscious as clients of a [PublicStore] see it. head is the last
// event of its thread that it contains.
func PublicState(ctx context.Context, s ponder.Store, thread ponder.ThreadID, head ponder.Seq, js json.RawMessage) json.RawMessage {
	js = nameSources(js)
	if s, ok := s.(publicStore); ok {
		js = s.guard.guardState(&linkPolicy{guard: s.guard, ctx: ctx, thread: thread, after: head}, js)
	}
	return js
}
