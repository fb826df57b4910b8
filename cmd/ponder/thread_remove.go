package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ponder"
	"ponder/internal/app"
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
	store, err := a.OpenExisting(ctx)
	if err != nil {
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
		return app.Invalidf("", "to remove %s for good, add --yes", textkit.Count(len(list), "thread", "threads"))
	}
	for _, info := range list {
		fmt.Fprintf(a.log, "%s  %s of %s, %s: %s\n", info.ID, info.Kind, textkit.Count(int(info.Head), "event", "events"), textkit.Ago(info.Updated, time.Now()), clip(oneLine(info.Title), 60))
	}
	fmt.Fprintf(a.log, "Remove %s for good? [y/N] ", textkit.Count(len(list), "thread", "threads"))
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

func (a *cli) removeThread(ctx context.Context, store *sqlite.Store, info ponder.Info) error {
	forgotten, files, err := a.EraseThread(ctx, store, info, store.Remove)
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
