package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ponder"
	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
)

// EraseThread removes a thread and its data. It returns the numbers of memories and files,
// which it removes first: only the thread refers to them.
func (a *App) EraseThread(ctx context.Context, store *sqlite.Store, info ponder.Info, remove func(context.Context, ponder.ThreadID) error) (forgotten, files int, err error) {
	if err := cancelRuns(ctx, store, info); err != nil {
		return 0, 0, err
	}
	if forgotten, err = a.forgetThread(ctx, store, info.ID); err != nil {
		return forgotten, 0, err
	}
	if files, err = forgetFiles(ctx, store, info.ID); err != nil {
		return forgotten, files, err
	}
	if err = remove(ctx, info.ID); err == nil {
		a.removeLog(info.ID)
		a.Crashes().Release(info.ID)
	}
	return forgotten, files, err
}

func (a *App) removeLog(id ponder.ThreadID) {
	dir, err := a.Settings.StateDir()
	if err != nil || string(id) != filepath.Base(string(id)) {
		return
	}
	if err := os.Remove(filepath.Join(dir, string(id)+".log")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.Warn(fmt.Errorf("remove the process log of %s: %w", id, err))
	}
}

// How long to wait for a process to cancel its work on a thread, and how often to check.
const (
	cancelTime  = 8 * time.Second
	cancelEvery = 20 * time.Millisecond
)

// cancelRuns cancels runs in the process that holds the thread, so that calls in flight are
// charged.
func cancelRuns(ctx context.Context, store ponder.Store, info ponder.Info) error {
	if !info.Held {
		return nil
	}
	_, err := store.Append(ctx, info.ID, 0, ponder.Event{Cause: ponder.NewID("steer"), Body: ponder.Steer{Do: ponder.Cancel}})
	if err != nil {
		return fmt.Errorf("cancel runs of %s: %w", info.ID, err)
	}
	tick := time.NewTicker(cancelEvery)
	defer tick.Stop()
	for since := time.Now(); info.Held && info.Open > 0 && time.Since(since) < cancelTime; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if info, err = store.Thread(ctx, info.ID); err != nil {
			return err
		}
	}
	return nil
}

// forgetThread forgets the memories of a thread and returns their number.
func (a *App) forgetThread(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) (int, error) {
	if !a.SharesLibraries() {
		s, err := a.OpenLibraryReadOnly(ctx)
		if errors.Is(err, ErrNothingKnown) {
			return 0, nil
		}
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			return 0, err
		}
	}
	library, err := a.LibraryIn(ctx, store)
	if err != nil {
		return 0, err
	}
	defer library.Release()
	items, err := library.List(ctx, recall.Filter{Kinds: []recall.Kind{recall.KindThread}, N: -1})
	if err != nil {
		return 0, err
	}
	var ids []string
	for _, it := range items {
		if it.ExternalID == string(id) {
			ids = append(ids, it.ID)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	return library.Forget(ctx, ids...)
}

// FilesOf returns the archive source of a thread's files.
func FilesOf(id ponder.ThreadID) string { return "thread:" + string(id) }

// forgetFiles removes a thread's files and returns their number. Bytes with other sources stay.
func forgetFiles(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) (int, error) {
	db := store.SQL()
	files, err := archive.Open(ctx, db)
	if err != nil {
		return 0, err
	}
	copies, err := files.Copies(ctx, FilesOf(id))
	if err != nil || len(copies) == 0 {
		return 0, err
	}
	err = db.Tx(ctx, func(tx *sql.Tx) error {
		for _, c := range copies {
			if err := files.Remove(ctx, tx, FilesOf(id), c.Hash); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("remove the files of %s: %w", id, err)
	}
	return len(copies), nil
}
