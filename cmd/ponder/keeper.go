package main

import (
	"context"
	"sync"

	"ponder"
	"ponder/internal/app"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
	"ponder/tool/memory"
)

// A keeper keeps what a conversation has remembered. Its library is opened, and made if
// there is none, with the first thing that is kept.
type keeper struct {
	open func(context.Context) (*app.LibraryHandle, error)

	mu    sync.Mutex
	shelf *app.LibraryHandle // nil before
}

// keeper returns one for a database.
func (a *cli) keeper(store *sqlite.Store) *keeper {
	return &keeper{open: func(ctx context.Context) (*app.LibraryHandle, error) { return a.LibraryIn(ctx, store) }}
}

// tools returns the tool that has something remembered.
func (k *keeper) tools() []ponder.Tool { return memory.New(memory.Options{Keep: k.keep}) }

// keep is Remember of the library.
func (k *keeper) keep(ctx context.Context, items ...recall.Item) ([]recall.Item, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.shelf == nil {
		s, err := k.open(ctx)
		if err != nil {
			return nil, err
		}
		k.shelf = s
	}
	return k.shelf.Remember(ctx, items...)
}

// close closes the library, and leaves the database open.
func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.shelf != nil {
		k.shelf.Release()
		k.shelf = nil
	}
}
