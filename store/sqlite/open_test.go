package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ponder"
	"ponder/store/sqlite"
)

// userMessage returns a user message.
func userMessage(s string) ponder.Event { return ponder.Event{Body: ponder.UserMessage{Content: s}} }

// threadTexts returns the messages of a thread.
func threadTexts(t testing.TB, s ponder.Store, id ponder.ThreadID) []string {
	t.Helper()
	var texts []string
	for ev, err := range s.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Seq != ponder.Seq(len(texts)+1) {
			t.Fatalf("event %d of %s is number %d", len(texts)+1, id, ev.Seq)
		}
		texts = append(texts, ev.Body.(ponder.UserMessage).Content)
	}
	return texts
}

// appendMessages appends messages to a thread, and creates it if necessary.
func appendMessages(t testing.TB, s ponder.Store, id ponder.ThreadID, messages ...string) {
	t.Helper()
	if err := s.Create(t.Context(), ponder.Thread{ID: id}); err != nil && !errors.Is(err, ponder.ErrTaken) {
		t.Fatal(err)
	}
	for _, s1 := range messages {
		if _, err := s.Append(t.Context(), id, 0, userMessage(s1)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenMakesPrivateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "for it")
	file := filepath.Join(dir, "100% sure? #1 日本.db")
	s := openStore(t, file)
	appendMessages(t, s, "thr_1", "hello")
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]os.FileMode{dir: 0o700, file: 0o600, file + "-wal": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", filepath.Base(name), got, want)
		}
	}
}

func TestReopen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	for i, want := range []string{"a", "ab", "abc"} {
		s, err := sqlite.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		appendMessages(t, s, "thr_1", string(rune('a'+i)))
		if got := strings.Join(threadTexts(t, s, "thr_1"), ""); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	text := write("notes.txt", strings.Repeat("not a database, but notes. ", 100))
	whole := filepath.Join(dir, "whole.db")
	s := openStore(t, whole)
	appendMessages(t, s, "thr_1", "hello")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	scrambled := []byte(strings.Clone(string(bytes)))
	for i := 100; i < 4096; i++ {
		scrambled[i] = byte(i)
	}
	newer := write("newer.db", string(bytes))
	execSQL(t, newer, `UPDATE ponder_meta SET version = version + 1`)

	for _, c := range []struct {
		name, file string
		is         error
		says       string
	}{
		{"no name", "", nil, "no file"},
		{"folder", dir, nil, "not a database"},
		{"text", text, nil, "not a database"},
		{"short text", write("short.txt", "short"), nil, "not a database"},
		{"file for a folder", filepath.Join(text, "ponder.db"), nil, "not a directory"},
		{"cut off", write("cut.db", string(bytes[:5000])), nil, "damaged"},
		{"scrambled", write("scrambled.db", string(scrambled)), nil, "damaged"},
		{"newer", newer, ponder.ErrNewer, "this program supports"},
	} {
		for how, open := range map[string]func() (*sqlite.Store, error){
			"open":      func() (*sqlite.Store, error) { return sqlite.Open(t.Context(), c.file) },
			"read-only": func() (*sqlite.Store, error) { return sqlite.OpenReadOnly(t.Context(), c.file) },
		} {
			s, err := open()
			if err == nil {
				s.Close()
				t.Errorf("%s: %s: no error", c.name, how)
				continue
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s: %s: error is not %q: %v", c.name, how, c.is, err)
			}
			if msg := err.Error(); !strings.HasPrefix(msg, "open "+c.file+": ") || strings.Contains(msg, "\n") ||
				!strings.Contains(msg, c.says) && c.file != "" {
				t.Errorf("%s: %s: error %q does not say %q", c.name, how, msg, c.says)
			}
		}
	}
	if _, err := sqlite.OpenReadOnly(t.Context(), filepath.Join(dir, "none.db")); err == nil {
		t.Error("opened a file that is not there to read it")
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("made a file to read it")
	}
	if got, err := os.ReadFile(text); err != nil || !strings.HasPrefix(string(got), "not a database") {
		t.Errorf("a file that is not a database was changed: %q, %v", got[:50], err)
	}
}

// A database whose version no program has stored is refused, and keeps its bytes.
func TestOpenImpossibleVersions(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.db")
	s := openStore(t, whole)
	appendMessages(t, s, "thr_1", "hello")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	const loose = `DROP TABLE ponder_meta; CREATE TABLE ponder_meta (version)`
	for name, c := range map[string]struct {
		change string
		is     error
	}{
		"minus one":   {`UPDATE ponder_meta SET version = -1`, ponder.ErrDamaged},
		"zero":        {`UPDATE ponder_meta SET version = 0`, ponder.ErrDamaged},
		"least":       {`UPDATE ponder_meta SET version = -9223372036854775808`, ponder.ErrDamaged},
		"31 bits":     {`UPDATE ponder_meta SET version = 2147483648`, ponder.ErrNewer},
		"most":        {`UPDATE ponder_meta SET version = 9223372036854775807`, ponder.ErrNewer},
		"text":        {loose + `; INSERT INTO ponder_meta VALUES ('six')`, ponder.ErrDamaged},
		"fraction":    {loose + `; INSERT INTO ponder_meta VALUES (1.5)`, ponder.ErrDamaged},
		"bytes":       {loose + `; INSERT INTO ponder_meta VALUES (x'06')`, ponder.ErrDamaged},
		"null":        {loose + `; INSERT INTO ponder_meta VALUES (NULL)`, ponder.ErrDamaged},
		"two":         {`INSERT INTO ponder_meta VALUES (6)`, ponder.ErrDamaged},
		"no table":    {`DROP TABLE ponder_meta`, ponder.ErrDamaged},
		"with no WAL": {`PRAGMA journal_mode = delete; UPDATE ponder_meta SET version = -1`, ponder.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ponder.db")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			execSQL(t, file, c.change)
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for how, open := range map[string]func(context.Context, string) (*sqlite.Store, error){"open": sqlite.Open, "read-only": sqlite.OpenReadOnly} {
				s, err := open(t.Context(), file)
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, c.is) || strings.ContainsAny(err.Error(), "\n(") {
					t.Errorf("%s: got %v, want %v", how, err, c.is)
				}
			}
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the database has changed (%v)", err)
			}
		})
	}
}

func TestOpenReadOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	appendMessages(t, s, "thr_1", "before")
	look := func() ponder.Store {
		r, err := sqlite.OpenReadOnly(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	r := look()
	appendMessages(t, s, "thr_1", "after")
	if got := strings.Join(threadTexts(t, r, "thr_1"), " "); got != "before after" {
		t.Errorf("while it is written: %q", got)
	}
	checkRefused(t, r)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(threadTexts(t, look(), "thr_1"), " "); got != "before after" {
		t.Errorf("when it is closed: %q", got)
	}
}

// checkRefused checks that a store refuses writes.
func checkRefused(t *testing.T, r ponder.Store) {
	t.Helper()
	_, err := r.Append(t.Context(), "thr_1", 0, userMessage("x"))
	_, err2 := r.Take(t.Context(), "thr_1", "nod_1")
	for _, err := range []error{err, err2,
		r.Create(t.Context(), ponder.Thread{ID: "thr_2"}),
		r.Remove(t.Context(), "thr_1"),
		r.Join(t.Context(), ponder.Node{ID: "nod_1"}),
		r.SaveCheckpoint(t.Context(), "thr_1", "f", "1", 1, nil),
	} {
		if !errors.Is(err, ponder.ErrReadOnly) {
			t.Errorf("got error %v, want ErrReadOnly", err)
		}
	}
}

func TestClosed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	appendMessages(t, s, "thr_1", "hello")
	heads, stop := s.Watch("thr_1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	stop()
	_, again := s.Watch("thr_1")
	again()
	if _, err := s.Append(t.Context(), "thr_1", 0, userMessage("x")); err == nil {
		t.Error("appended to a closed store")
	}
	if _, err := s.Thread(t.Context(), "thr_1"); err == nil {
		t.Error("read from a closed store")
	}
	select {
	case head, ok := <-heads:
		t.Errorf("hint %d, %v from a closed store", head, ok)
	default:
	}
}

// Opening does not change a database of another program.
func TestForeign(t *testing.T) {
	for name, query := range map[string]string{
		"tables":           `CREATE TABLE moz_places (id)`,
		"an application's": `PRAGMA application_id = 7`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "places.db")
			execSQL(t, file, query)
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, open := range []func(context.Context, string) (*sqlite.Store, error){sqlite.Open, sqlite.OpenReadOnly} {
				if _, err := open(t.Context(), file); err == nil || !strings.Contains(err.Error(), "not a database of Ponder") {
					t.Errorf("got %v", err)
				}
			}
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
				t.Errorf("it was changed: %v", err)
			}
		})
	}
}

// Open accepts a database with tables of other programs beside its own.
func TestShared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execSQL(t, file, `CREATE TABLE others (id)`)
	execSQL(t, file, `PRAGMA application_id = 7`)
	openStore(t, file)
}
