package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder/internal/config"
	"ponder/knowledge/recall"
	"ponder/mode/subconscious"
	"ponder/store/sqlite"
)

func newLookupApp(t *testing.T) (*App, *sqlite.Store) {
	t.Helper()
	dir := t.TempDir()
	pages := filepath.Join(dir, "pages")
	if err := os.Mkdir(pages, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"config.toml":    fmt.Sprintf("[web]\nfolder = %q\n", pages),
		"pages/sky.html": `<html><head><title>Sky</title><link rel="canonical" href="https://sky.example/ozone"></head><body><article><h1>Sky</h1><p>The ozone layer is expected to recover to 1980 levels by around 2040 for most of the world.</p></article></body></html>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &App{}
	a.Options.Config, a.Options.DB = filepath.Join(dir, "config.toml"), filepath.Join(dir, "p.db")
	store, err := a.OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return a, store
}

// A look-up omits results of sessions and memories of the subconscious.
func TestMindLookUp(t *testing.T) {
	a, store := newLookupApp(t)
	l := a.newRoleLookup(store, subconscious.DefaultRoles())
	if got, err := l.lookUp(t.Context(), LocalOwner, "librarian", "the lease of the flat"); len(got) != 0 || err != nil {
		t.Errorf("of nothing: %+v, %v", got, err)
	}
	s, err := a.OpenLibrary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Remember(t.Context(),
		recall.Item{Kind: recall.KindMemory, Text: "The lease of the flat ends in May."},
		recall.Item{Kind: recall.KindDocument, Title: "Letters", Text: "The landlord wrote that the lease of the flat cannot be prolonged.", Link: "https://flats.example/letter"},
		recall.Item{Kind: recall.KindThread, Text: "A session came to this: the lease of the flat is too dear."},
		recall.Item{Kind: recall.KindMemory, Text: "The lease of the flat is on the mind of the subconscious.", Source: mindSource},
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"librarian", "oracle"} {
		got, err := l.lookUp(t.Context(), LocalOwner, role, "the lease of the flat")
		if err != nil || len(got) != 2 {
			t.Fatalf("%s: %+v, %v", role, got, err)
		}
		for _, o := range got {
			mine := strings.HasPrefix(o.Content, "memory") && strings.Contains(o.Content, "ends in May")
			letter := strings.HasPrefix(o.Content, "document Letters") && o.Source == "https://flats.example/letter"
			if mine == letter || o.Untrusted != letter || o.Source == "" {
				t.Errorf("%s: %+v", role, o)
			}
		}
	}
	got, err := l.lookUp(t.Context(), LocalOwner, "dreamer", "when will the ozone layer recover")
	if err != nil || len(got) != 1 || !got[0].Untrusted || got[0].Source != "https://sky.example/ozone" || !strings.Contains(got[0].Content, "2040") {
		t.Errorf("in the web: %+v, %v", got, err)
	}
	for _, role := range []string{"watcher", "nobody"} {
		if got, err := l.lookUp(t.Context(), LocalOwner, role, "the lease"); err == nil || len(got) != 0 {
			t.Errorf("%s: %+v, %v", role, got, err)
		}
	}
}

// An error for a model has no foreign text.
func TestMindLookUpFails(t *testing.T) {
	a, store := newLookupApp(t)
	if err := os.WriteFile(a.Options.Config, []byte("[web]\nfolder = \"/nothing/SECRET\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Settings = nil
	l := a.newRoleLookup(store, subconscious.DefaultRoles())
	if got, err := l.lookUp(t.Context(), LocalOwner, "dreamer", "ozone"); err == nil || err.Error() != errWebLookUp.Error() || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMindLooks(t *testing.T) {
	searches := config.Config{}
	searches.Search.SearXNG = "http://127.0.0.1:8888"
	for name, tt := range map[string]struct {
		cfg  config.Config
		web  bool
		want subconscious.LookUpSource
	}{
		"allowed":   {searches, true, subconscious.LookUpWeb},
		"forbidden": {searches, false, subconscious.LookUpNone},
		"no search": {config.Config{}, true, subconscious.LookUpNone},
	} {
		tt.cfg.Mind.Web = tt.web
		roles := mindLooks(&tt.cfg, subconscious.DefaultRoles())
		if got := roles[3].Looks; got != tt.want || roles[1].Looks != subconscious.LookUpMemory || subconscious.DefaultRoles()[3].Looks != subconscious.LookUpWeb {
			t.Errorf("%s: %q", name, got)
		}
	}
}
