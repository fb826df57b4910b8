package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ponder"
	"ponder/internal/app"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
)

func (a *cli) threadRemoveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "remove ID...",
		Short: "Remove threads for good",
		Long: `Remove threads for good, with all that was said and thought, what is remembered
of them, and the files that were put beside them. What goes on in them is cancelled first.
What they cost stays in "ponder usage". Without a terminal to ask on, it needs --yes.`,
		Example: "ponder thread remove last\nponder thread remove 01K 01J --yes",
		Args:    take(1, maxImports, "an id: `ponder thread list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.threadRemove(cmd.Context(), args, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a *cli) threadRemove(ctx context.Context, names []string, yes bool) error {
	store, err := a.OpenReadOnly(ctx) // makes no database
	if err != nil {
		return err
	}
	store.Close()
	if store, err = a.OpenStore(ctx); err != nil {
		return err
	}
	defer store.Close()
	var list []ponder.Info
	for _, name := range names {
		info, err := a.FindThread(ctx, store, name, "")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(i ponder.Info) bool { return i.ID == info.ID }) {
			list = append(list, info)
		}
	}
	if !yes {
		if err := a.confirm(ctx, list); err != nil {
			return err
		}
	}
	for _, info := range list {
		if err := a.removeThread(ctx, store, info); err != nil {
			return err
		}
	}
	return nil
}

// confirm asks a user on a terminal whether threads are to be removed.
func (a *cli) confirm(ctx context.Context, list []ponder.Info) error {
	in, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || a.flags.json {
		return usagef("to remove %s for good, add --yes", counted(len(list), "thread", "threads"))
	}
	for _, info := range list {
		fmt.Fprintf(a.log, "%s  %s of %s, %s: %s\n", info.ID, info.Kind, counted(int(info.Head), "event", "events"), ago(info.Updated, time.Now()), clip(oneLine(info.Title), 60))
	}
	fmt.Fprintf(a.log, "Remove %s for good? [y/N] ", counted(len(list), "thread", "threads"))
	answer, err := bufio.NewReader(a.stdin(ctx)).ReadString('\n')
	if err != nil { // the line with the question is not ended
		fmt.Fprintln(a.log)
		return failure{failed, errors.New("nothing is removed")}
	}
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return failure{failed, errors.New("nothing is removed")}
	}
	return nil
}

// eraseThread removes a thread and all that belongs to it, and returns how many items
// were remembered of it and how many files were beside it. Those go first, for nobody
// would find them without it.
func (a *cli) eraseThread(ctx context.Context, store *sqlite.Store, info ponder.Info, remove func(context.Context, ponder.ThreadID) error) (forgotten, files int, err error) {
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
	}
	return forgotten, files, err
}

// removeLog removes the log of a process that worked on a thread in the background.
func (a *cli) removeLog(id ponder.ThreadID) {
	dir, err := a.Settings.StateDir()
	if err != nil || string(id) != filepath.Base(string(id)) {
		return
	}
	if err := os.Remove(filepath.Join(dir, string(id)+".log")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.say("warning: %v: what a process wrote of %s stays there", err, id)
	}
}

// removeThread removes a thread, and says so.
func (a *cli) removeThread(ctx context.Context, store *sqlite.Store, info ponder.Info) error {
	forgotten, files, err := a.eraseThread(ctx, store, info, store.Remove)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.object(struct {
			ID        ponder.ThreadID `json:"id"`
			Removed   bool            `json:"removed"`
			Forgotten int             `json:"forgotten"`
			Files     int             `json:"files"`
		}{info.ID, true, forgotten, files})
	}
	also := ""
	if forgotten > 0 {
		also = ", and what was remembered of it"
	}
	a.note("removed %s%s", info.ID, also)
	return nil
}

// How long a process may take to cancel what it does on a thread before that is
// removed, and how often to look.
const (
	cancelTime  = 8 * time.Second
	cancelEvery = 20 * time.Millisecond
)

// cancelRuns has the process that holds a thread, if one does, end what it does, so
// that the cost of what is in flight is counted.
func cancelRuns(ctx context.Context, store ponder.Store, info ponder.Info) error {
	if !info.Held {
		return nil
	}
	_, err := store.Append(ctx, info.ID, 0, ponder.Event{Cause: ponder.NewID("steer"), Body: ponder.Steer{Do: ponder.Cancel}})
	if err != nil {
		return fmt.Errorf("cancel what goes on in %s: %w", info.ID, err)
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

// forgetThread forgets what is remembered of a thread, if anything is remembered at
// all, and returns how many items that were.
func (a *cli) forgetThread(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) (int, error) {
	if !a.SharesLibraries() {
		s, err := a.OpenLibraryReadOnly(ctx) // makes no library
		if errors.Is(err, app.ErrNothingKnown) {
			return 0, nil
		}
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			return 0, err
		}
	}
	shelf, err := a.LibraryIn(ctx, store)
	if err != nil {
		return 0, err
	}
	defer shelf.Release()
	items, err := shelf.List(ctx, recall.Filter{Kinds: []recall.Kind{recall.KindThread}, N: -1})
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
	return shelf.Forget(ctx, ids...)
}
