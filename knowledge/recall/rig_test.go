package recall_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/knowledge/recall/vector"
	"ponder/store/sqlite"
)

var now = time.Date(2024, 6, 15, 12, 0, 0, 0, time.UTC)

func fixedNow() time.Time { return now }

type rig struct {
	*recall.Library
	t     testing.TB
	store *sqlite.Store
	arch  *archive.Archive
	file  string
}

func openRig(t testing.TB, file string, change ...func(*recall.Config)) *rig {
	t.Helper()
	store, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	arch, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	c := recall.Config{DB: store.SQL(), Archive: arch, Now: fixedNow}
	for _, f := range change {
		f(&c)
	}
	l, err := recall.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &rig{l, t, store, arch, file}
}

func newRig(t testing.TB, change ...func(*recall.Config)) *rig {
	return openRig(t, filepath.Join(t.TempDir(), "ponder.db"), change...)
}

// writeFolder makes a folder of files; names ending in "/" are folders.
func writeFolder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		writeFile(t, filepath.Join(dir, name), files[name])
	}
	return dir
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, old, old); err != nil { // old enough that its time proves it unchanged
		t.Fatal(err)
	}
}

var old = time.Date(2024, 1, 10, 8, 0, 0, 0, time.UTC)

func (r *rig) ingestPaths(o recall.IngestOptions, paths ...string) recall.Report {
	r.t.Helper()
	report, err := r.Ingest(r.t.Context(), paths, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

func (r *rig) rememberItems(items ...recall.Item) []recall.Item {
	r.t.Helper()
	list, err := r.Remember(r.t.Context(), items...)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r *rig) searchText(text string, o recall.SearchOptions) recall.Result {
	r.t.Helper()
	result, err := r.Search(r.t.Context(), text, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

func (r *rig) listItems(f recall.Filter) []recall.Item {
	r.t.Helper()
	list, err := r.List(r.t.Context(), f)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func hitQuotes(r recall.Result) (list []string) {
	for _, h := range r.Hits {
		list = append(list, h.Quote)
	}
	return list
}

// allContent returns a sorted line for each item, without the varying fields.
func (r *rig) allContent() []string {
	r.t.Helper()
	var lines []string
	for _, it := range r.listItems(recall.Filter{N: -1}) {
		full, err := r.Item(r.t.Context(), it.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s#%s %q %q %s %v %s %s %d %d %q", it.Kind, it.Path, it.Part, it.Title, it.Source, it.Date, it.Tags, it.Hash, it.Original,
			it.Size, it.Passages, full.Text))
	}
	slices.Sort(lines)
	return lines
}

// bagEmbedder is an embedder that knows synonyms.
func bagEmbedder(groups ...string) vector.Embedder {
	return vector.Embedder{Model: "bag", Embed: func(_ context.Context, texts []string) ([][]float32, error) {
		var out [][]float32
		for _, t := range texts {
			v := make([]float32, len(groups)+1)
			v[len(groups)] = 0.1
			for _, w := range strings.Fields(strings.ToLower(t)) {
				w = strings.Trim(w, ".,!?")
				for i, g := range groups {
					if slices.Contains(strings.Fields(g), w) {
						v[i]++
					}
				}
			}
			out = append(out, v)
		}
		return out, nil
	}}
}
