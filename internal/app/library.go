package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/knowledge/recall/vector"
	"ponder/store/sqldb"
	"ponder/store/sqlite"
)

// A LibraryHandle is what the user had remembered, opened.
type LibraryHandle struct {
	*recall.Library
	Archive *archive.Archive
	store   *sqlite.Store
	release func() error // gives it back, if others use it too
}

// A LibraryProvider returns a shared library. Its user calls Release.
type LibraryProvider func(context.Context) (*LibraryHandle, error)

// A VectorPayer returns what makes vectors for an owner, and has them paid for.
type VectorPayer func(l *ModelSet, owner string, e vector.Embedder) vector.Embedder

// Close closes the library and its database, unless the library is shared.
func (s *LibraryHandle) Close() error {
	if s.release != nil {
		return s.release()
	}
	return errors.Join(s.Library.Close(), s.store.Close())
}

// Release ends the use of the library. The database stays open.
func (s *LibraryHandle) Release() error {
	if s.release != nil {
		return s.release()
	}
	return s.Library.Close()
}

// OpenLibrary opens the library to write to it. The caller closes it.
func (a *App) OpenLibrary(ctx context.Context) (*LibraryHandle, error) {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	s, err := a.LibraryIn(ctx, store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// OpenLibraryReadOnly opens the library to look something up, even where the database
// cannot be written. If there is none, its error is ErrNothingKnown.
func (a *App) OpenLibraryReadOnly(ctx context.Context) (*LibraryHandle, error) {
	if a.library != nil {
		return a.library(ctx)
	}
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, ErrNothingYet) {
		return nil, ErrNothingKnown
	}
	if err != nil {
		return nil, err
	}
	s, err := a.LibraryIn(ctx, store)
	switch {
	case errors.Is(err, sqldb.ErrReadOnly): // its tables are not there
		err = ErrNothingKnown
		fallthrough
	case err != nil:
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// LibraryIn returns the library in a database, the shared one if there is one. The caller
// calls Release.
func (a *App) LibraryIn(ctx context.Context, store *sqlite.Store) (*LibraryHandle, error) {
	if a.library != nil {
		return a.library(ctx)
	}
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return nil, err
	}
	originals, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return nil, err
	}
	pays := func(e vector.Embedder) vector.Embedder { return e }
	if a.payVectors != nil {
		pays = func(e vector.Embedder) vector.Embedder { return a.payVectors(l, a.Owner(), e) }
	}
	lib, err := recall.Open(ctx, recall.Config{
		DB: store.SQL(), Archive: originals, Embedder: pays(l.Embedder()), Owner: a.Owner(),
		Earlier: func(model string) vector.Embedder { return pays(l.EmbedderOf(model)) },
	})
	if err != nil {
		return nil, err
	}
	return &LibraryHandle{lib, originals, store, nil}, nil
}

// Embedder returns what makes vectors, or one that makes none. What is remembered
// is sent to a provider of the web only if the user has named its model.
func (l *ModelSet) Embedder() vector.Embedder {
	choice := l.Choices.Of(ponder.Embed)
	for _, full := range choice.Models {
		name, _, _ := strings.Cut(full, "/")
		p, err := l.Provider(name)
		if err == nil && (p.Local || l.Config.Models.Embed != nil) {
			return l.EmbedderOf(full)
		}
	}
	return vector.Embedder{}
}

// EmbedderOf returns what makes vectors with a model, or none if that is not
// configured.
func (l *ModelSet) EmbedderOf(full string) vector.Embedder {
	name, id, _ := strings.Cut(full, "/")
	p, err := l.Provider(name)
	if err != nil {
		return vector.Embedder{}
	}
	return vector.Embedder{Model: full, Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
		vectors, _, err := p.Embed(ctx, id, texts)
		if err != nil {
			return nil, err
		}
		if len(vectors) != len(texts) {
			return nil, fmt.Errorf("%s: %d vectors for %d texts", full, len(vectors), len(texts))
		}
		return vectors, nil
	}}
}

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
