package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadings(t *testing.T) {
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "a.md"), filepath.Join(dir, "more")
	inner := filepath.Join(folder, "b.md")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	day := time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC)
	write := func(name, text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	load := func(opts Options) string {
		t.Helper()
		docs, _, err := Load(t.Context(), []string{file, folder}, opts)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, d := range docs.Documents() {
			all = append(all, strings.TrimSpace(d.Text))
		}
		return strings.Join(all, " ")
	}
	write(file, "The sea is deep.\n", day)
	write(inner, "The sea is wide.\n", day)
	opts := Options{CheckCache: &CheckCache{}}
	list, err := Scan(t.Context(), []string{file, folder}, opts)
	if err != nil {
		t.Fatal(err)
	}
	checking := opts
	checking.CacheResults = true
	if _, _, err := Load(t.Context(), []string{file}, checking); err != nil {
		t.Fatal(err)
	}
	for _, f := range list.Files {
		if !f.Named {
			if err := list.Check(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(file, "The sea is calm.\n", day) // same size and time: no change detected
	write(inner, "The sea is blue.\n", day.Add(time.Hour))
	if got := load(opts); got != "The sea is deep. The sea is blue." {
		t.Errorf("first %q", got)
	}
	if got := load(opts); got != "The sea is calm. The sea is blue." {
		t.Errorf("then %q", got)
	}
	write(file, "\x00\x01\x02\x03", day)
	if _, _, err := Load(t.Context(), []string{file}, checking); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("no text: %v", err)
	}
}
