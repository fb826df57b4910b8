package sqlite_test

import (
	"path/filepath"
	"testing"

	"ponder/store/sqlite"
)

func TestCopy(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ponder.db")
	s := openStore(t, file)
	appendMessages(t, s, "thr_1", "hello")
	reader, err := sqlite.OpenReadOnly(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for name, s := range map[string]*sqlite.Store{"of one that writes": s, "of one that reads": reader} {
		copied := filepath.Join(dir, name)
		if err := s.Copy(t.Context(), copied); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := threadTexts(t, openStore(t, copied), "thr_1"); len(got) != 1 || got[0] != "hello" {
			t.Errorf("%s: it has %q", name, got)
		}
		if err := s.Copy(t.Context(), copied); err == nil {
			t.Errorf("%s: copy overwrites an existing file", name)
		}
	}
}
