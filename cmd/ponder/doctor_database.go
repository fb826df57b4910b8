package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/config"
	"ponder/store/sqlite"
)

func (a *cli) configFinding(cfg *config.Config) finding {
	if _, err := os.Stat(cfg.File); err != nil {
		return finding{"settings", fine, "no file yet; `ponder settings KEY VALUE` makes " + cfg.File}
	}
	if n := len(cfg.Warnings); n > 0 {
		return finding{"settings", lacking, fmt.Sprintf("%s, %s", cfg.File, textkit.Count(n, "warning", "warnings"))}
	}
	return finding{"settings", fine, cfg.File}
}

// scarce is the free space below which a disk is nearly full, in bytes.
const scarce = 100 << 20

func (a *cli) databaseFindings(ctx context.Context) []finding {
	file, err := a.Database()
	if err != nil {
		return []finding{{"database", broken, err.Error()}}
	}
	found := []finding{a.databaseFinding(ctx, file)}
	dir := existing(filepath.Dir(file))
	free, known := freeSpace(dir)
	switch {
	case known && free < scarce:
		found = append(found, finding{"disk", broken, fmt.Sprintf("only %s free at %s: free some space, or name another place with --db", textkit.Bytes(free), dir)})
	case known:
		found = append(found, finding{"disk", fine, fmt.Sprintf("%s free at %s", textkit.Bytes(free), dir)})
	}
	return found
}

// checkedFor is how long the pages of a database are looked at.
const checkedFor = 10 * time.Second

func (a *cli) databaseFinding(ctx context.Context, file string) finding {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		dir := existing(filepath.Dir(file))
		probe, err := os.CreateTemp(dir, ".ponder-*")
		if err != nil {
			return finding{"database", broken, fmt.Sprintf("%s cannot be made: %v: name another with --db", file, err)}
		}
		probe.Close()
		os.Remove(probe.Name())
		return finding{"database", fine, file + ", not there yet"}
	}
	if err != nil {
		return finding{"database", broken, err.Error()}
	}
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return a.unopened(err)
	}
	defer store.Close()
	list, err := store.List(ctx, ponder.Filter{})
	if err != nil {
		return a.unopened(err)
	}
	what := fmt.Sprintf("%s, %s, %s", file, textkit.Count(len(list), "thread", "threads"), textkit.Bytes(info.Size()))
	within, cancel := context.WithTimeout(ctx, checkedFor)
	defer cancel()
	switch err := store.Check(within); {
	case within.Err() != nil && ctx.Err() == nil:
		what += fmt.Sprintf("; whether it is whole was not found out in %s", checkedFor)
	case err != nil:
		return finding{"database", broken, fmt.Sprintf("%s: %v: restore a backup of it", file, err)}
	}
	return finding{"database", fine, what}
}

// unopened is what is found of a database that cannot be opened, or read.
func (a *cli) unopened(err error) finding {
	return finding{"database", broken, plainly(err) + a.advice(err)}
}

// existing returns the nearest folder that is there.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
