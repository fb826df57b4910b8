package sqlite_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder"
	"ponder/store/sqlite"
)

// lost holds the ways to lose an open database.
var lost = map[string]func(t *testing.T, file string){
	"removed": func(t *testing.T, file string) { removeDatabase(t, file) },
	"replaced": func(t *testing.T, file string) {
		other := filepath.Join(t.TempDir(), "other.db")
		s, err := sqlite.Open(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		removeDatabase(t, file)
		if err := os.Rename(other, file); err != nil {
			t.Fatal(err)
		}
	},
}

// removeDatabase removes a database and the files beside it.
func removeDatabase(t *testing.T, file string) {
	t.Helper()
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLost(t *testing.T) {
	for name, lose := range lost {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ponder.db")
			s := openStore(t, file)
			appendMessages(t, s, "thr_1", "before")
			if err := s.Join(t.Context(), ponder.Node{ID: "nod_1"}); err != nil {
				t.Fatal(err)
			}
			if err := s.Lost(); err != nil {
				t.Errorf("it is lost before: %v", err)
			}
			lose(t, file)
			_, appended := s.Append(t.Context(), "thr_1", 0, userMessage("after"))
			others := s.SQL().Tx(t.Context(), func(tx *sql.Tx) error {
				_, err := tx.ExecContext(t.Context(), `CREATE TABLE others (n)`)
				return err
			})
			for what, err := range map[string]error{
				"Lost": s.Lost(), "append": appended, "beat": s.Heartbeat(t.Context(), "nod_1", 0), "what others write": others,
			} {
				if !errors.Is(err, ponder.ErrLost) || !strings.Contains(err.Error(), file) {
					t.Errorf("%s: got %v, want ErrLost of %s", what, err, file)
				}
			}
			if _, err := os.Stat(file); name == "removed" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file was created again: %v", err)
			}
		})
	}
}

// TestCloseAfterReplacement closes a database that another one, which is in use, replaced.
func TestCloseAfterReplacement(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	old, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	appendMessages(t, old, "thr_1", "old")
	lost["replaced"](t, file)
	next := openStore(t, file)
	appendMessages(t, next, "thr_1", "new")
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	appendMessages(t, next, "thr_1", "newer")
	if _, err := os.Stat(file + "-wal"); err != nil {
		t.Error(err)
	}
	if got := strings.Join(threadTexts(t, openStore(t, file), "thr_1"), " "); got != "new newer" {
		t.Errorf("it has %q", got)
	}
}
