package main

import (
	"context"
	"errors"
	"strings"

	"ponder/internal/app"
	"ponder/internal/httpapi"
	"ponder/internal/textkit"
	"ponder/knowledge/recall"
)

// Remember implements [httpapi.Rememberer].
func (s *server) Remember(ctx context.Context, owner string, list ...httpapi.Memory) ([]httpapi.Memory, error) {
	items := make([]recall.Item, len(list))
	for i, m := range list {
		kind, err := memoryKind(m.Kind)
		if err != nil {
			return nil, err
		}
		if items[i].Text = strings.TrimSpace(textkit.Clean(m.Text)); items[i].Text == "" {
			return nil, app.Invalidf("text", "there is nothing to remember")
		}
		items[i].Kind, items[i].Title, items[i].Source = kind, clip(oneLine(m.Title), maxTitle), oneLine(m.Source)
		items[i].Persona, items[i].Date = oneLine(m.Persona), m.Created
	}
	lib, err := s.shelves.Provider(owner)(ctx)
	if err != nil {
		return nil, err
	}
	defer lib.Release()
	kept, err := lib.Remember(ctx, items...)
	if err != nil {
		return nil, err
	}
	out := make([]httpapi.Memory, len(kept))
	for i, it := range kept {
		out[i] = memoryOf(it)
	}
	return out, nil
}

// Remembered implements [httpapi.Rememberer].
func (s *server) Remembered(ctx context.Context, owner string, ids ...string) (list []httpapi.Memory, err error) {
	lib, err := s.shelves.Provider(owner)(ctx)
	if err != nil {
		return nil, err
	}
	defer lib.Release()
	for _, id := range ids {
		it, err := lib.Item(ctx, id)
		switch {
		case errors.Is(err, recall.ErrNone), errors.Is(err, recall.ErrMany), err == nil && it.ID != id:
		case err != nil:
			return nil, err
		default:
			list = append(list, memoryOf(it))
		}
	}
	return list, nil
}

// memoryKind reads the name of a kind.
func memoryKind(name string) (recall.Kind, error) {
	k, err := kindOf(name)
	if err != nil {
		return "", app.Invalidf("kind", "the kind is none of memory, document, post, journal, thread")
	}
	return k, nil
}

func memoryKinds(names []string) (list []recall.Kind, err error) {
	for _, name := range names {
		k, err := memoryKind(name)
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return list, nil
}

// memoryOf returns an item as programs are shown it.
func memoryOf(it recall.Item) httpapi.Memory {
	m := httpapi.Memory{
		ID: it.ID, Kind: string(it.Kind), Title: it.Title, Text: textkit.Clean(it.Text), Source: it.Source, Persona: it.Persona, Created: it.Date,
	}
	if m.Created.IsZero() {
		m.Created = it.Added
	}
	return m
}

// Search implements [httpapi.Rememberer].
func (s *server) Search(ctx context.Context, owner string, q httpapi.Query) ([]httpapi.Hit, error) {
	kinds, err := memoryKinds(q.Kinds)
	if err != nil {
		return nil, err
	}
	lib, err := s.shelves.Provider(owner)(ctx)
	if err != nil {
		return nil, err
	}
	defer lib.Release()
	found, err := lib.Search(ctx, q.Text, recall.SearchOptions{N: q.Limit, Kinds: kinds, Persona: q.Persona})
	if err != nil {
		return nil, err
	}
	list := make([]httpapi.Hit, len(found.Hits))
	for i, h := range found.Hits {
		list[i] = httpapi.Hit{Memory: memoryOf(h.Item), Quote: textkit.Clean(h.Quote), Score: h.Score}
		list[i].Text = textkit.Clean(h.Context)
	}
	return list, nil
}

// Memories implements [httpapi.Rememberer].
func (s *server) Memories(ctx context.Context, owner string, q httpapi.Query, after string) ([]httpapi.Memory, error) {
	kinds, err := memoryKinds(q.Kinds)
	if err != nil {
		return nil, err
	}
	lib, err := s.shelves.Provider(owner)(ctx)
	if err != nil {
		return nil, err
	}
	defer lib.Release()
	items, err := lib.List(ctx, recall.Filter{Kinds: kinds, Persona: q.Persona, N: q.Limit, After: after})
	if err != nil {
		return nil, err
	}
	list := make([]httpapi.Memory, len(items))
	for i, it := range items {
		list[i] = memoryOf(it)
	}
	return list, nil
}

// Forget implements [httpapi.Rememberer].
func (s *server) Forget(ctx context.Context, owner, id string) error {
	lib, err := s.shelves.Provider(owner)(ctx)
	if err != nil {
		return err
	}
	defer lib.Release()
	it, err := lib.Item(ctx, id)
	if errors.Is(err, recall.ErrNone) || errors.Is(err, recall.ErrMany) || err == nil && it.ID != id {
		return app.NotFoundf("", "%s", "nothing that is remembered has the id "+clip(oneLine(id), 60))
	}
	if err != nil {
		return err
	}
	_, err = lib.Forget(ctx, it.ID)
	return err
}
