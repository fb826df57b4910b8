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
	"ponder/internal/config"
	"ponder/internal/quota"
	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/knowledge/recall/vector"
	"ponder/llm"
	"ponder/store/sqldb"
	"ponder/store/sqlite"
)

type LibraryHandle struct {
	*recall.Library
	Archive *archive.Archive
	store   *sqlite.Store
	release func() error // returns it to a pool; nil without one
}

// A LibraryProvider returns a shared library. The caller calls Release.
type LibraryProvider func(context.Context) (*LibraryHandle, error)

// A VectorPayer returns an embedder that charges an owner.
type VectorPayer func(l *ModelSet, owner string, e vector.Embedder) vector.Embedder

func (s *LibraryHandle) Close() error {
	if s.release != nil {
		return s.release()
	}
	return errors.Join(s.Library.Close(), s.store.Close())
}

func (s *LibraryHandle) Release() error {
	if s.release != nil {
		return s.release()
	}
	return s.Library.Close()
}

// OpenLibrary opens the library for writing. The caller closes it.
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

// OpenLibraryReadOnly opens the library for reading, also in an unwritable database. Without a
// library, it returns ErrNothingKnown.
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
	case errors.Is(err, sqldb.ErrReadOnly): // the tables are missing
		err = ErrNothingKnown
		fallthrough
	case err != nil:
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// LibraryIn returns the library in a database, shared if there is a pool. The caller calls
// Release.
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
		EarlierEmbedder: func(model string) vector.Embedder { return pays(l.EmbedderOf(model)) },
	})
	if err != nil {
		return nil, err
	}
	return &LibraryHandle{lib, originals, store, nil}, nil
}

// Embedder returns the configured embedder, or an empty one. Memories go to a remote provider
// only if the user named its model.
func (l *ModelSet) Embedder() vector.Embedder {
	choice := l.Choices.ForRole(ponder.Embed)
	for _, full := range choice.Models {
		name, _, _ := strings.Cut(full, "/")
		p, err := l.Provider(name)
		if err == nil && (l.isLocal(full, p) || l.Config.Models.Embed != nil) {
			return l.EmbedderOf(full)
		}
	}
	return vector.Embedder{}
}

// EmbedderOf returns the embedder of a model, or an empty one if it is not configured.
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

// A LibraryPool opens each owner's library once for all users. It is safe for concurrent use.
type LibraryPool struct {
	open  func(ctx context.Context, owner string) (*LibraryHandle, error)
	embed func(context.Context) string // returns the current embedding model

	mu        sync.Mutex
	libraries map[string]*pooledLibrary
}

type pooledLibrary struct {
	*LibraryHandle
	model           string
	checkedAt       time.Time
	users           int
	outdated        bool
	stopMaintenance func() // stops maintenance and closes the library
}

// modelCheckInterval is how long the embedding model is cached.
const modelCheckInterval = time.Minute

// Provider returns the provider of an owner's library.
func (s *LibraryPool) Provider(owner string) LibraryProvider {
	return func(ctx context.Context) (*LibraryHandle, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		one, err := s.currentLibrary(ctx, owner)
		if err != nil {
			return nil, err
		}
		one.users++
		lent := *one.LibraryHandle
		lent.release = sync.OnceValue(func() error { return s.releaseLibrary(one) })
		return &lent, nil
	}
}

// currentLibrary returns the library of an owner, a new one if the embedding model changed. The caller
// holds s.mu.
func (s *LibraryPool) currentLibrary(ctx context.Context, owner string) (*pooledLibrary, error) {
	one, now := s.libraries[owner], time.Now()
	if one != nil && now.Sub(one.checkedAt) < modelCheckInterval {
		return one, nil
	}
	model := s.embed(ctx)
	if one != nil && one.model == model {
		one.checkedAt = now
		return one, nil
	}
	made, err := s.open(context.WithoutCancel(ctx), owner)
	if err != nil {
		return nil, err
	}
	if one != nil {
		one.outdated = true
		if one.users == 0 {
			one.stopMaintenance()
		}
	}
	one = &pooledLibrary{LibraryHandle: made, model: model, checkedAt: now}
	one.startMaintenance()
	s.libraries[owner] = one
	return one, nil
}

func (s *LibraryPool) releaseLibrary(one *pooledLibrary) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.users--; one.outdated && one.users == 0 {
		one.stopMaintenance()
	}
	return nil
}

func (one *pooledLibrary) startMaintenance() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := one.Maintain(ctx); err != nil && ctx.Err() == nil {
			slog.Warn("the memory index is damaged", "error", err)
		}
	}()
	one.stopMaintenance = func() {
		cancel()
		<-ended
		if err := one.Library.Close(); err != nil {
			slog.Warn("cannot close the memory", "error", err)
		}
	}
}

// Close closes all libraries. None may be in use.
func (s *LibraryPool) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for owner, one := range s.libraries {
		one.stopMaintenance()
		delete(s.libraries, owner)
	}
}

// embedModel returns the name of the embedding model, or "".
func (a *App) embedModel(ctx context.Context) string {
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return ""
	}
	return l.Embedder().Model
}

// ShareLibraries makes all views of a share libraries until the pool is closed. pay charges an
// owner for vectors.
func (a *App) ShareLibraries(store *sqlite.Store, pay VectorPayer) *LibraryPool {
	own := *a
	own.payVectors = pay
	a.pool = &LibraryPool{libraries: make(map[string]*pooledLibrary), embed: own.embedModel, open: func(ctx context.Context, owner string) (*LibraryHandle, error) {
		return own.As(owner).LibraryIn(ctx, store)
	}}
	return a.pool
}

func (a *App) SharesLibraries() bool { return a.pool != nil }

type VectorModel struct {
	Name  string
	Price ponder.Price
	Embed func(ctx context.Context, texts []string) ([][]float32, llm.Usage, error)
}

// MaxCost returns the maximal cost of vectors of texts.
func (m VectorModel) MaxCost(texts []string) ponder.Money {
	tokens := 0
	for _, t := range texts {
		tokens += len(t)/quota.BytesPerToken + 16
	}
	return m.Price.Cost(llm.Usage{Input: tokens})
}

// Cost returns the cost of a call, or most if its usage is unknown.
func (m VectorModel) Cost(usage llm.Usage, err error, most ponder.Money) ponder.Money {
	if usage.Cost != nil && *usage.Cost > 0 {
		return ponder.Money(*usage.Cost)
	}
	if usage.Total() > 0 {
		return m.Price.Cost(usage)
	}
	var refused *llm.Error
	if errors.As(err, &refused) {
		switch refused.Class {
		case llm.Cancelled, llm.Truncated, llm.Malformed:
		default:
			return 0
		}
	}
	return most
}

func (l *ModelSet) Vectors(full string) (m VectorModel, err error) {
	provider, id, err := config.SplitModel(full)
	if err != nil {
		return m, err
	}
	p, err := l.Provider(provider)
	if err != nil {
		return m, err
	}
	return VectorModel{full, l.modelPrice(full, p), func(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
		vectors, usage, err := p.Embed(ctx, id, texts)
		var refused *llm.Error
		if errors.As(err, &refused) {
			usage = refused.Usage
		}
		return vectors, usage, err
	}}, nil
}
