package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ponder"
	"ponder/knowledge/recall"
)

// Shelves are the libraries of the owners, each opened once for all that use it. They
// are safe for concurrent use.
type shelves struct {
	open  func(ctx context.Context, owner string) (*shelf, error)
	embed func(context.Context) string // the model that makes vectors now

	mu   sync.Mutex
	list map[string]*shared
}

// A shared shelf is one that several use.
type shared struct {
	*shelf
	model  string // that makes its vectors
	looked time.Time
	users  int
	old    bool
	rest   func() // ends the tending, and closes it
}

// freshFor is how long it is taken for granted that the same model makes vectors.
const freshFor = time.Minute

// lender returns what lends the shelf of an owner.
func (s *shelves) lender(owner string) lender {
	return func(ctx context.Context) (*shelf, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		one, err := s.of(ctx, owner)
		if err != nil {
			return nil, err
		}
		one.users++
		lent := *one.shelf
		lent.back = sync.OnceValue(func() error { return s.back(one) })
		return &lent, nil
	}
}

// of returns the shelf of an owner. One whose vectors another model makes now is opened
// anew. The caller holds s.mu.
func (s *shelves) of(ctx context.Context, owner string) (*shared, error) {
	one, now := s.list[owner], time.Now()
	if one != nil && now.Sub(one.looked) < freshFor {
		return one, nil
	}
	model := s.embed(ctx)
	if one != nil && one.model == model {
		one.looked = now
		return one, nil
	}
	made, err := s.open(context.WithoutCancel(ctx), owner)
	if err != nil {
		return nil, err
	}
	if one != nil {
		one.old = true
		if one.users == 0 {
			one.rest()
		}
	}
	one = &shared{shelf: made, model: model, looked: now}
	one.tend()
	s.list[owner] = one
	return one, nil
}

// back takes a shelf back.
func (s *shelves) back(one *shared) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.users--; one.old && one.users == 0 {
		one.rest()
	}
	return nil
}

// tend keeps a shelf in order, in the background, until rest.
func (one *shared) tend() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := one.Tend(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("what is remembered is not in order", "error", err)
		}
	}()
	one.rest = func() {
		cancel()
		<-ended
		if err := one.Library.Close(); err != nil {
			slog.Warn("close what is remembered", "error", err)
		}
	}
}

// close closes all shelves. Nobody may use one.
func (s *shelves) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for owner, one := range s.list {
		one.rest()
		delete(s.list, owner)
	}
}

// embedModel returns the model that makes vectors of what is remembered, or "".
func (s *server) embedModel(ctx context.Context) string {
	l, err := s.lineup(ctx, "")
	if err != nil {
		return ""
	}
	return l.embedder().Model
}

// as returns what the commands use, for an owner.
func (s *server) as(owner string) *cli {
	a := *s.cli
	a.user, a.known, a.lent = owner, nil, s.shelves.lender(owner)
	return &a
}

// looks says what is looked into for an owner, by default: what is remembered, if
// anything is, and the web, if there is a way to search it.
func (s *server) looks(ctx context.Context, owner string, noMemory, noWeb bool) (memory, web bool, err error) {
	if !noMemory {
		lib, err := s.shelves.lender(owner)(ctx)
		if err != nil {
			return false, false, err
		}
		defer lib.done()
		list, err := lib.List(ctx, recall.Filter{Kinds: evidenceKinds(), N: 1})
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
