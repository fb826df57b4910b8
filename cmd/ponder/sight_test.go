package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder/internal/app"
	"ponder/knowledge/archive"
	"ponder/knowledge/web"
	"ponder/store/sqlite"
)

// Pages of the folder are read from it, even before a search, and a path without an address
// never reaches the network.
func TestFolderIsReadBeforeTheNetwork(t *testing.T) {
	dir := t.TempDir()
	pages := filepath.Join(dir, "pages")
	if err := os.Mkdir(pages, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"config.toml":    fmt.Sprintf("[web]\nfolder = %q\n", pages),
		"pages/sky.html": `<html><head><title>Sky</title><link rel="canonical" href="https://sky.example/ozone"></head><body><article><h1>Sky</h1><p>The ozone layer is expected to recover to 1980 levels by around 2040 for most of the world.</p></article></body></html>`,
		"pages/sea.html": `<html><head><title>Sea</title></head><body><article><h1>Sea</h1><p>The sea is deep in the west, as divers have measured again and again with ropes and with sound.</p></article></body></html>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	a := &cli{App: &app.App{}, log: &logSink{out: &strings.Builder{}}}
	a.Options.Config = filepath.Join(dir, "config.toml")
	for _, tt := range []struct{ url, final, says string }{
		{"https://sky.example/ozone", "https://sky.example/ozone", "2040"},
		{"https://sky.example/ozone?utm_source=x", "https://sky.example/ozone", "2040"},
		{"https://folder.invalid/sky.html", "https://sky.example/ozone", "2040"},
		{"https://folder.invalid/sea.html", "https://folder.invalid/sea.html", "divers"},
	} {
		n, err := a.Web(kept)
		if err != nil {
			t.Fatal(err)
		}
		p, err := n.Fetch(t.Context(), tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if copies, err := kept.Copies(t.Context(), tt.final); err != nil || len(copies) == 0 || copies[0].Hash != p.Hash {
			t.Errorf("%s: copies %v, %v", tt.url, copies, err)
		}
		if p.Final != tt.final || !p.Local || !strings.Contains(p.Markdown, tt.says) {
			t.Errorf("%s: %+v", tt.url, p)
		}
		if _, err := n.Fetch(t.Context(), "https://folder.invalid/none"); !errors.Is(err, web.ErrRefused) {
			t.Errorf("missing page: %v", err)
		}
	}
}
