package archive_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/knowledge/archive"
	"ponder/store/sqldb"
	"ponder/store/sqlite"
)

func open(t *testing.T) (*archive.Archive, sqldb.DB) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	a, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	return a, store.SQL()
}

var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func TestPutGet(t *testing.T) {
	a, _ := open(t)
	for name, text := range map[string]string{
		"empty":         "",
		"short":         "the harbour",
		"compresses":    strings.Repeat("the harbour has forty boats. ", 1000),
		"does not":      "\x00\xff\x10" + strings.Repeat("x", 125),
		"nearly nought": strings.Repeat("\x00", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			o := archive.Original{Type: "text/plain", Source: "/notes/" + name, Title: name, Fetched: noon, Bytes: []byte(text)}
			hash, err := a.Put(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			o.Hash = hash
			got, err := a.Get(t.Context(), hash)
			if err != nil {
				t.Fatal(err)
			}
			if got.Bytes == nil {
				got.Bytes = []byte{}
			}
			if diff := cmp.Diff(o, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := a.Get(t.Context(), "nothing"); !errors.Is(err, archive.ErrNone) {
		t.Errorf("Get of a missing original: %v", err)
	}
}

func TestCopies(t *testing.T) {
	a, db := open(t)
	put := func(source, text string, at time.Time) string {
		t.Helper()
		hash, err := a.Put(t.Context(), archive.Original{Source: source, Type: "text/html", Fetched: at, Bytes: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	one := put("https://a.example/", "one", noon)
	two := put("https://a.example/", "two", noon.Add(time.Hour))
	put("https://b.example/", "one", noon)
	put("https://a.example/", "one", noon.Add(2*time.Hour)) // unchanged
	put("https://a.example/", "one", noon)                  // out of order

	got, err := a.Copies(t.Context(), "https://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	want := []archive.Copy{
		{Hash: one, Type: "text/html", Source: "https://a.example/", Fetched: noon.Add(2 * time.Hour)},
		{Hash: two, Type: "text/html", Source: "https://a.example/", Fetched: noon.Add(time.Hour)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	remove := func(source, hash string) {
		t.Helper()
		if err := db.Tx(t.Context(), func(tx *sql.Tx) error { return a.Remove(t.Context(), tx, source, hash) }); err != nil {
			t.Fatal(err)
		}
	}
	remove("https://a.example/", one)
	if o, err := a.Get(t.Context(), one); err != nil || o.Source != "https://b.example/" {
		t.Errorf("after the first copy was removed: %v, %v", o, err)
	}
	remove("https://b.example/", one)
	remove("https://b.example/", one)
	if _, err := a.Get(t.Context(), one); !errors.Is(err, archive.ErrNone) {
		t.Errorf("after the last copy was removed: %v", err)
	}
	if _, err := a.Get(t.Context(), two); err != nil {
		t.Errorf("the other original: %v", err)
	}
}

func TestDamaged(t *testing.T) {
	a, db := open(t)
	hash, err := a.Put(t.Context(), archive.Original{Source: "a", Bytes: []byte(strings.Repeat("boats ", 100))})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"", "other", "\xff\xff\xff"} {
		err = db.Tx(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`UPDATE archive_blob SET body = ?`, []byte(body))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Get(t.Context(), hash); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("Get of %q: %v", body, err)
		}
	}
}

func TestNotes(t *testing.T) {
	a, _ := open(t)
	ctx := t.Context()
	if _, _, err := a.Note(ctx, "search", "boats"); !errors.Is(err, archive.ErrNone) {
		t.Fatalf("Note of nothing: %v", err)
	}
	for i, v := range []string{"old", "new"} {
		if err := a.SetNote(ctx, "search", "boats", []byte(v), noon.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	value, at, err := a.Note(ctx, "search", "boats")
	if err != nil || string(value) != "new" || !at.Equal(noon.Add(time.Hour)) {
		t.Errorf("Note: %q at %v, %v", value, at, err)
	}
	for _, step := range []struct {
		kind   string
		before time.Time
		there  bool
	}{
		{"robots", noon.Add(9 * time.Hour), true},
		{"search", noon.Add(time.Hour), true},
		{"search", noon.Add(2 * time.Hour), false},
	} {
		if err := a.Forget(ctx, step.kind, step.before); err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.Note(ctx, "search", "boats"); (err == nil) != step.there {
			t.Errorf("after Forget(%s, %v): %v", step.kind, step.before, err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	ctx := context.Background()
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(ctx, store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	hash, err := a.Put(ctx, archive.Original{Source: "a", Bytes: []byte("boats")})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	store, err = sqlite.OpenReadOnly(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if a, err = archive.Open(ctx, store.SQL()); err != nil {
		t.Fatal(err)
	}
	if o, err := a.Get(ctx, hash); err != nil || string(o.Bytes) != "boats" {
		t.Errorf("Get: %v, %v", o, err)
	}
	if _, err := a.Put(ctx, archive.Original{Source: "b"}); !errors.Is(err, sqldb.ErrReadOnly) {
		t.Errorf("Put: %v", err)
	}
}
