package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"
)

func (a *cli) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "backup FILE",
		Short:   "Copy the database, also while it is in use",
		Example: "ponder backup ponder-2026-11-21.db",
		GroupID: groupSetUp,
		Args:    take(1, 1, "a file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.backup(cmd.Context(), args[0])
		},
	}
}

// backup writes the copy beside the file and renames it, so that a copy that is
// there is whole.
func (a *cli) backup(ctx context.Context, file string) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return usagef("%s is there already: name a new file", file)
	}
	store, err := a.OpenReadOnly(ctx) // makes no database
	if err != nil {
		return err
	}
	defer store.Close()
	dir, err := os.MkdirTemp(filepath.Dir(file), ".ponder-backup-")
	if err != nil {
		return fmt.Errorf("back up to %s: %w", file, err)
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "copy.db")
	if err := store.Copy(ctx, copied); err != nil {
		return fmt.Errorf("back up to %s: %w", file, err)
	}
	if err := os.Rename(copied, file); err != nil {
		return fmt.Errorf("back up to %s: %w", file, err)
	}
	if info, err := os.Stat(file); err == nil {
		a.note("%s, %s", file, textkit.Bytes(info.Size()))
	}
	if err := store.Check(ctx); err != nil {
		return fmt.Errorf("the copy is like the database: %w", err)
	}
	return nil
}
