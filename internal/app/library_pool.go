package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ponder/store/sqlite"
)

// A LibraryPool opens the library of each owner once for all its users. It is safe for
// concurrent use.
type LibraryPool struct {
	open  func(ctx context.Context, owner string) (*LibraryHandle, error)
	embed func(context.Context) string // the model that makes vectors now

	mu        sync.Mutex
	libraries map[string]*pooledLibrary
}

// A pooledLibrary is an open library with its number of users.
type pooledLibrary struct {
	*LibraryHandle
	model  string // that makes its vectors
	looked time.Time
	users  int
	old    bool
	rest   func() // ends the tending, and closes it
}

// freshFor is how long it is taken for granted that the same model makes vectors.
const freshFor = time.Minute

// Provider returns the provider of the library of an owner.
func (s *LibraryPool) Provider(owner string) LibraryProvider {
	return func(ctx context.Context) (*LibraryHandle, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		one, err := s.current(ctx, owner)
		if err != nil {
			return nil, err
		}
		one.users++
		lent := *one.LibraryHandle
		lent.release = sync.OnceValue(func() error { return s.release(one) })
		return &lent, nil
	}
}

// current returns the library of an owner. It opens a new one if another model makes vectors
// now. The caller holds s.mu.
func (s *LibraryPool) current(ctx context.Context, owner string) (*pooledLibrary, error) {
	one, now := s.libraries[owner], time.Now()
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
	one = &pooledLibrary{LibraryHandle: made, model: model, looked: now}
	one.maintain()
	s.libraries[owner] = one
	return one, nil
}

// release ends one use of a library.
func (s *LibraryPool) release(one *pooledLibrary) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.users--; one.old && one.users == 0 {
		one.rest()
	}
	return nil
}

// maintain keeps a library in order, in the background, until rest.
func (one *pooledLibrary) maintain() {
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

// Close closes all shelves. Nobody may use one.
func (s *LibraryPool) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for owner, one := range s.libraries {
		one.rest()
		delete(s.libraries, owner)
	}
}

// embedModel returns the model that makes vectors of what is remembered, or "".
func (a *App) embedModel(ctx context.Context) string {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return ""
	}
	return l.Embedder().Model
}

// ShareLibraries opens the library of each owner in store once for all views of a, until
// the pool is closed. Pay returns what makes vectors for an owner and charges for them.
func (a *App) ShareLibraries(store *sqlite.Store, pay VectorPayer) *LibraryPool {
	own := *a
	own.payVectors = pay
	a.pool = &LibraryPool{libraries: make(map[string]*pooledLibrary), embed: own.embedModel, open: func(ctx context.Context, owner string) (*LibraryHandle, error) {
		return own.As(owner).LibraryIn(ctx, store)
	}}
	return a.pool
}

// SharesLibraries reports whether views of a share libraries.
func (a *App) SharesLibraries() bool { return a.pool != nil }
