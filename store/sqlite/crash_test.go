package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ponder"
)

// readFile returns the content of a file, or nil if it does not exist.
func readFile(t testing.TB, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return content
}

// containsText reports whether the files of a database contain a text.
func containsText(t testing.TB, file, text string) bool {
	t.Helper()
	return bytes.Contains(readFile(t, file), []byte(text)) || bytes.Contains(readFile(t, file+"-wal"), []byte(text))
}

// TestTornWrite truncates or corrupts the write-ahead log at every 512 bytes of the last
// appends. Afterwards acknowledged events exist, the torn append does not, and new appends
// work.
func TestTornWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	appendMessages(t, s, "thr_1")
	defer pinSnapshot(t, file)()
	var ends []int // size of the WAL after each append
	const appends, torn = 12, 3
	for i := range appends {
		line := strings.Repeat(fmt.Sprint(i, " "), 500)
		if _, err := s.Append(t.Context(), "thr_1", 0, userMessage(line), userMessage(line), userMessage(line)); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(readFile(t, file+"-wal")))
	}
	db, wal := readFile(t, file), readFile(t, file+"-wal")
	for at := ends[appends-torn-1]; at < len(wal); at += 512 {
		spoilt := slices.Clone(wal)
		spoilt[at] ^= 0x55
		for how, content := range map[string][]byte{"cut": wal[:at], "spoilt": spoilt} {
			whole := 0
			for _, end := range ends {
				if end <= at {
					whole++
				}
			}
			t.Run(fmt.Sprint(how, " at ", at), func(t *testing.T) { reopenTorn(t, db, content, 3*whole) })
		}
	}
}

// pinSnapshot keeps new commits in the WAL by holding an older snapshot.
func pinSnapshot(t *testing.T, file string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := tx.QueryRowContext(t.Context(), `SELECT count(*) FROM ponder_batch`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return func() {
		tx.Rollback()
		db.Close()
	}
}

func reopenTorn(t *testing.T, db, wal []byte, want int) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	for name, content := range map[string][]byte{file: db, file + "-wal": wal} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openStore(t, file)
	if got := threadTexts(t, s, "thr_1"); len(got) != want {
		t.Errorf("%d events are there, want %d", len(got), want)
	}
	info, err := s.Thread(t.Context(), "thr_1")
	if err != nil || info.Head != ponder.Seq(want) {
		t.Errorf("head is %d, want %d; %v", info.Head, want, err)
	}
	appendMessages(t, s, "thr_1", "more")
	if got := threadTexts(t, s, "thr_1"); len(got) != want+1 {
		t.Errorf("%d events are there, want %d", len(got), want+1)
	}
}
