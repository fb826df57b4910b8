package app

import (
	"path/filepath"
	"testing"

	"ponder/store/sqlite"
)

func TestRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	for again := range 2 {
		store, err := sqlite.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		b, err := openServerDB(t.Context(), store.SQL())
		if err != nil {
			t.Fatal(err)
		}
		if again == 0 {
			for _, r := range [][3]string{{"local", "b", `{"n":1}`}, {"anna", "a", `{"n":2}`}, {"local", "b", `{"n":3}`}, {"local", "gone", `{}`}} {
				if err := b.Put(t.Context(), "hook", r[0], r[1], []byte(r[2])); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Drop(t.Context(), "hook", "local", "gone"); err != nil {
				t.Fatal(err)
			}
			if err := b.Drop(t.Context(), "hook", "anna", "b"); err != nil {
				t.Fatal(err)
			}
		}
		for owner, want := range map[string]string{"": `anna a {"n":2};local b {"n":3};`, "local": `local b {"n":3};`, "anna": `anna a {"n":2};`, "eve": ""} {
			list, err := b.Records(t.Context(), "hook", owner)
			got := ""
			for _, r := range list {
				got += r.Owner + " " + r.ID + " " + string(r.JSON) + ";"
			}
			if err != nil || got != want {
				t.Errorf("of %q: %s, %v; want %s", owner, got, err, want)
			}
		}
		if other, err := b.Records(t.Context(), "other", ""); err != nil || len(other) > 0 {
			t.Errorf("%v, %v", other, err)
		}
		store.Close()
	}
}
