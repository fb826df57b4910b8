package stream

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"ponder"
	"ponder/internal/toolname"
	"ponder/knowledge/lookup"
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
	switch b := ev.Body.(type) {
	case ponder.Evidence:
		b.Source, b.Title = lookup.SourceName(b.Source), lookup.SourceName(b.Title)
		ev.Body = b
	case ponder.ToolCall:
		if readsSources(b.Name) {
			b.Args = lookup.NameSources(b.Args)
			ev.Body = b
		}
	case ponder.ToolResult:
		if readsSources(b.Name) {
			b.Result, b.Error = string(lookup.NameSources([]byte(b.Result))), lookup.NamePaths(b.Error)
			ev.Body = b
		}
	case ponder.RunStarted:
		b.Options = lookup.NameSources(b.Options)
		ev.Body = b
	case ponder.Steer:
		b.Args = lookup.NameSources(b.Args)
		ev.Body = b
	case ponder.Progress:
		b.Content, b.Undo = lookup.NamePaths(b.Content), slices.Clone(b.Undo)
		for i, step := range b.Undo {
			b.Undo[i].Args = lookup.NameSources(step.Args)
		}
		ev.Body = b
	case ponder.SystemNote:
		b.Content, b.Reason = lookup.NamePaths(b.Content), lookup.NamePaths(b.Reason)
		ev.Body = b
	case ponder.ApprovalRequested:
		b.Untrusted = nameAll(b.Untrusted)
		ev.Body = b
	case ponder.InnerMonologue:
		b.Sources = nameAll(b.Sources)
		ev.Body = b
	default:
		ev.Body = publicMindBody(b)
	}
	return ev
}

// publicMindBody is PublicEvent for bodies of the subconscious and of ends.
func publicMindBody(body ponder.Body) ponder.Body {
	switch b := body.(type) {
	case ponder.Observation:
		if name := lookup.SourceName(b.Source); name != b.Source {
			b.Content, b.Source, b.Subject = lookup.NamePaths(b.Content), name, lookup.SourceName(b.Subject)
		}
		b.Cursor = nil // a position of the sensor, for it alone
		return b
	case ponder.Escalation:
		b.Sources = nameAll(b.Sources)
		return b
	case ponder.Subconscious:
		b.State, b.Changes = PublicState(b.State), PublicState(b.Changes)
		return b
	case ponder.Resolution:
		b.State = PublicState(b.State)
		return b
	case ponder.RunFinished:
		b.Reason = lookup.NamePaths(b.Reason)
		return b
	}
	return body
}

// PublicState returns the JSON of a subconscious with names of sources instead of paths.
func PublicState(js json.RawMessage) json.RawMessage { return lookup.NameSources(js) }

func readsSources(tool string) bool {
	switch tool {
	case toolname.KnowledgeSearch, toolname.KnowledgeRead, toolname.PersonaMemory:
		return true
	}
	return false
}

func nameAll(list []string) []string {
	list = slices.Clone(list)
	for i, s := range list {
		list[i] = lookup.SourceName(s)
	}
	return list
}
