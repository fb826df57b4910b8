package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ponder"
	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/knowledge/recall/vector"
	"ponder/store/sqldb"
	"ponder/store/sqlite"
)

// errNothingKnown is the error of a library that is not there yet.
var errNothingKnown = errors.New("nothing is remembered yet: begin with `ponder remember FOLDER`")

// A shelf is what the user had remembered, opened.
type shelf struct {
	*recall.Library
	archive *archive.Archive
	store   *sqlite.Store
	back    func() error // gives it back, if others use it too
}

// A lender lends a shelf that others use too. Who borrows it gives it back with done.
type lender func(context.Context) (*shelf, error)

// A paymaster returns what makes vectors for an owner, and has them paid for.
type paymaster func(l *lineup, owner string, e vector.Embedder) vector.Embedder

// close closes the shelf and the database with it, unless others use it too.
func (s *shelf) close() error {
	if s.back != nil {
		return s.back()
	}
	return errors.Join(s.Library.Close(), s.store.Close())
}

// done ends the use of the shelf. The database stays open.
func (s *shelf) done() error {
	if s.back != nil {
		return s.back()
	}
	return s.Library.Close()
}

// shelf opens the library to write to it. The caller closes it.
func (a *cli) shelf(ctx context.Context) (*shelf, error) {
	store, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	s, err := a.shelfIn(ctx, store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// shelfToRead opens the library to look something up, even where the database
// cannot be written. If there is none, its error is errNothingKnown.
func (a *cli) shelfToRead(ctx context.Context) (*shelf, error) {
	if a.lent != nil {
		return a.lent(ctx)
	}
	store, err := a.lookup(ctx)
	if errors.Is(err, errNothingYet) {
		return nil, failure{wrongUsage, errNothingKnown}
	}
	if err != nil {
		return nil, err
	}
	s, err := a.shelfIn(ctx, store)
	switch {
	case errors.Is(err, sqldb.ErrReadOnly): // its tables are not there
		err = failure{wrongUsage, errNothingKnown}
		fallthrough
	case err != nil:
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

// shelfIn opens the library of a database, or borrows it where that is shared. Who uses
// it ends that with done.
func (a *cli) shelfIn(ctx context.Context, store *sqlite.Store) (*shelf, error) {
	if a.lent != nil {
		return a.lent(ctx)
	}
	l, err := a.lineup(ctx, "")
	if err != nil {
		return nil, err
	}
	originals, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return nil, err
	}
	pays := func(e vector.Embedder) vector.Embedder { return e }
	if a.pays != nil {
		pays = func(e vector.Embedder) vector.Embedder { return a.pays(l, a.who(), e) }
	}
	lib, err := recall.Open(ctx, recall.Config{
		DB: store.SQL(), Archive: originals, Embedder: pays(l.embedder()), Owner: a.who(),
		Earlier: func(model string) vector.Embedder { return pays(l.embedderOf(model)) },
	})
	if err != nil {
		return nil, err
	}
	return &shelf{lib, originals, store, nil}, nil
}

// embedder returns what makes vectors, or one that makes none. What is remembered
// is sent to a provider of the web only if the user has named its model.
func (l *lineup) embedder() vector.Embedder {
	choice := l.choices.Of(ponder.Embed)
	for _, full := range choice.Models {
		name, _, _ := strings.Cut(full, "/")
		p, err := l.provider(name)
		if err == nil && (p.local || l.cfg.Models.Embed != nil) {
			return l.embedderOf(full)
		}
	}
	return vector.Embedder{}
}

// embedderOf returns what makes vectors with a model, or none if that is not
// configured.
func (l *lineup) embedderOf(full string) vector.Embedder {
	name, id, _ := strings.Cut(full, "/")
	p, err := l.provider(name)
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
