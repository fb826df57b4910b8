package main

import (
	"context"

	"ponder"
	"ponder/internal/app"
	"ponder/knowledge/recall"
)

// as returns what the commands use, for an owner.
func (s *server) as(owner string) *cli {
	a := *s.cli
	a.App = s.App.As(owner)
	return &a
}

// looks says what is looked into for an owner, by default: what is remembered, if
// anything is, and the web, if there is a way to search it.
func (s *server) looks(ctx context.Context, owner string, noMemory, noWeb bool) (memory, web bool, err error) {
	if !noMemory {
		lib, err := s.shelves.Provider(owner)(ctx)
		if err != nil {
			return false, false, err
		}
		defer lib.Release()
		list, err := lib.List(ctx, recall.Filter{Kinds: app.EvidenceKinds(), N: 1})
		if err != nil {
			return false, false, err
		}
		memory = len(list) > 0
	}
	return memory, !noWeb && s.searches, nil
}

// whose returns the owner of a thread.
func (s *server) whose(ctx context.Context, id ponder.ThreadID) (*cli, ponder.Info, error) {
	info, err := s.store.Thread(ctx, id)
	if err != nil {
		return nil, info, err
	}
	return s.as(info.Owner), info, nil
}
