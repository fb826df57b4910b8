package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/knowledge/document"
	"ponder/knowledge/lookup"
	"ponder/knowledge/recall"
)

const boats = `# Boats

The harbour has forty boats.

## Repairs

The hull of the ferry was repaired in 2019. It cost nine thousand euros. The ferry sails twice a day.
`

// writeFolder writes files into a new folder and returns it.
func writeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// useTool calls a tool and returns its result.
func useTool(t *testing.T, do func(context.Context, json.RawMessage) (string, error), in input) lookup.Found {
	t.Helper()
	js, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := do(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	var r lookup.Found
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Results quote file names that JSON would change.
func TestQuotedNames(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a\nb.md": boats, "c\n.md": "x\x00"})
	r := useTool(t, New(Options{}).Do, input{Query: "when was the ferry's hull repaired?", Paths: []string{dir}, Limit: 1})
	if len(r.Hits) != 1 || r.Hits[0].Source != filepath.Join(dir, `a\nb.md`) {
		t.Errorf("hits: %+v", r.Hits)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Path != filepath.Join(dir, `c\n.md`) {
		t.Errorf("skipped: %+v", r.Skipped)
	}
	if got := sourceOf(recall.Item{Path: "d/\xff\n.md"}); got != `d/\xff\n.md` {
		t.Errorf("a source in memory: %q", got)
	}
}

func TestSearch(t *testing.T) {
	dir := writeFolder(t, map[string]string{"boats.md": boats, "b.md": "x\x00", "c.png": ""})
	tool := New(Options{})
	if tool.Name != "knowledge_search" || !strings.Contains(tool.Doc, "`quote`") || !json.Valid(tool.Schema) {
		t.Errorf("tool %+v", tool.Tool)
	}
	r := useTool(t, tool.Do, input{Query: "when was the ferry's hull repaired?", Paths: []string{dir}, Limit: 1})
	if len(r.Hits) != 1 {
		t.Fatalf("hits: %+v", r.Hits)
	}
	h := r.Hits[0]
	if h.Score < 0.7 || h.Score > 1 || len(h.Hash) != 64 {
		t.Errorf("score %v, hash %s", h.Score, h.Hash)
	}
	want := lookup.Hit{
		ID: h.Hash[:12] + ":46-89", Kind: "file", Source: filepath.Join(dir, "boats.md"), Title: "Boats", Section: "Repairs",
		Quote: "The hull of the ferry was repaired in 2019.", Start: 46, End: 89, Hash: h.Hash, Score: h.Score,
		Terms: []string{"ferry", "hull", "repaired"}, Topics: h.Topics, Context: "The hull of the ferry was repaired in 2019. It cost nine thousand euros. The ferry sails twice a day.",
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("hit (-want +got):\n%s", diff)
	}
	if len(h.Topics) == 0 || len(h.Topics) > 4 {
		t.Errorf("topics: %q", h.Topics)
	}
	skipped := lookup.List[lookup.SkippedFile]{{Path: dir, Reason: "unsupported format: 1 .png"}, {Path: filepath.Join(dir, "b.md"), Reason: "not a text"}}
	if diff := cmp.Diff(skipped, r.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if r.Documents != 1 || r.Sentences != 6 {
		t.Errorf("%d documents, %d sentences", r.Documents, r.Sentences)
	}
}

func TestExclude(t *testing.T) {
	dir := writeFolder(t, map[string]string{"boats.md": boats})
	tool := New(Options{})
	var ids []string
	quotes := map[string]bool{}
	for range 10 {
		r := useTool(t, tool.Do, input{Query: "ferry", Paths: []string{dir}, Limit: 1, Exclude: ids})
		if len(r.Hits) == 0 {
			break
		}
		if quotes[r.Hits[0].Quote] {
			t.Errorf("%q came again", r.Hits[0].Quote)
		}
		quotes[r.Hits[0].Quote] = true
		ids = append(ids, r.Hits[0].ID)
	}
	if len(quotes) < 2 || len(quotes) > 4 {
		t.Errorf("quotes: %v", quotes)
	}
}

func TestNothingFound(t *testing.T) {
	dir := writeFolder(t, map[string]string{"boats.md": boats})
	tool := New(Options{})
	text, err := tool.Do(t.Context(), fmt.Appendf(nil, `{"query": "zebra", "paths": [%q]}`, dir))
	if want := `{"hits":[],"skipped":[],"documents":1,"sentences":6}`; err != nil || text != want {
		t.Errorf("result %s, %v, want %s", text, err, want)
	}
}

func TestRefuses(t *testing.T) {
	dir := writeFolder(t, map[string]string{"in/a.md": "aa", "out/b.md": "bb"})
	if err := os.Symlink(filepath.Join(dir, "out"), filepath.Join(dir, "in", "link")); err != nil {
		t.Fatal(err)
	}
	open, bound := New(Options{}), New(Options{Roots: []string{filepath.Join(dir, "in")}})
	for _, c := range []struct {
		name  string
		do    func(context.Context, json.RawMessage) (string, error)
		input string
		want  string
	}{
		{"no JSON", open.Do, `{`, "input of knowledge_search: unexpected end of JSON input"},
		{"empty query", open.Do, `{"query": " ", "paths": ["DIR"]}`, "knowledge_search: query is empty"},
		{"no paths", open.Do, `{"query": "x"}`, "knowledge_search: paths is empty: name the files or folders to search"},
		{"relative", open.Do, `{"query": "x", "paths": ["in"]}`, `knowledge_search: path "in" is not absolute`},
		{"missing", open.Do, `{"query": "x", "paths": ["DIR/no"]}`, "knowledge_search: read DIR/no: no such file or folder"},
		{"too many", open.Do, `{"query": "x", "paths": ["/a"` + strings.Repeat(`, "/a"`, 70) + `]}`, "knowledge_search: 71 paths: at most 64 can be searched at once"},
		{"out of the roots", bound.Do, `{"query": "x", "paths": ["DIR/out"]}`, `knowledge_search: path "DIR/out" may not be searched`},
		{"back out of the roots", bound.Do, `{"query": "x", "paths": ["DIR/in/../out"]}`, `knowledge_search: path "DIR/out" may not be searched`},
		{"link out of the roots", bound.Do, `{"query": "x", "paths": ["DIR/in/link"]}`, `knowledge_search: path "DIR/in/link" may not be searched`},
		{"named alike", bound.Do, `{"query": "x", "paths": ["DIR/inn"]}`, `knowledge_search: path "DIR/inn" may not be searched`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.do(t.Context(), json.RawMessage(strings.ReplaceAll(c.input, "DIR", dir)))
			if want := strings.ReplaceAll(c.want, "DIR", dir); err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
	if r := useTool(t, bound.Do, input{Query: "aa bb"}); len(r.Hits) != 1 || r.Hits[0].Quote != "aa" {
		t.Errorf("hits of the roots: %+v", r.Hits)
	}
}

func TestCancelled(t *testing.T) {
	dir := writeFolder(t, map[string]string{"boats.md": boats})
	tool := New(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Do(ctx, fmt.Appendf(nil, `{"query": "ferry", "paths": [%q]}`, dir)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if r := useTool(t, tool.Do, input{Query: "ferry", Paths: []string{dir}}); len(r.Hits) == 0 {
		t.Error("a search that was cancelled spoilt the next one")
	}
}

// TestBounds searches texts that exceed the limits.
func TestBounds(t *testing.T) {
	files := map[string]string{"long.md": "# " + strings.Repeat("title ", 200) + "\n\n" + strings.Repeat("rope and more rope, ", 500)}
	for i := range 60 {
		files[fmt.Sprintf("bad%02d.md", i)] = "\x00"
		files[fmt.Sprintf("good%02d.md", i)] = fmt.Sprintf("Rope number %d hangs in room %d of the house.", i, i)
	}
	r := useTool(t, New(Options{}).Do, input{Query: "rope", Paths: []string{writeFolder(t, files)}, Limit: 1000})
	if len(r.Hits) != maxLimit || len(r.Skipped) != maxSkipped || r.More != 40 {
		t.Errorf("%d hits, %d skipped and %d more", len(r.Hits), len(r.Skipped), r.More)
	}
	for _, h := range r.Hits {
		if len(h.Quote) > document.MaxSentence || len(h.Title) > maxLabel || len(h.Context) > maxContext+8 {
			t.Errorf("hit of %d bytes, title %d, context %d", len(h.Quote), len(h.Title), len(h.Context))
		}
	}
}

func TestFilesChange(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.md": "The ferry is red."})
	c := newCache(Options{MaxBytes: 1 << 20})
	load := func() *document.Collection {
		t.Helper()
		for _, e := range c.entries {
			e.fresh = e.fresh.Add(-maxFresh)
		}
		docs, _, err := c.loadDocuments(t.Context(), []string{dir})
		if err != nil {
			t.Fatal(err)
		}
		return docs
	}
	first := load()
	if load() != first {
		t.Error("files that did not change were read again")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("The ferry is now green."), 0o600); err != nil {
		t.Fatal(err)
	}
	second := load()
	if second == first || second.Documents()[0].Text != "The ferry is now green." {
		t.Error("a file that changed was not read again")
	}
	if err := os.Remove(filepath.Join(dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	if n := len(load().Documents()); n != 0 {
		t.Errorf("%d documents after all were removed", n)
	}
}

func TestCacheForgets(t *testing.T) {
	text := strings.Repeat("A sentence of a few words. ", 40)
	c := newCache(Options{MaxBytes: 2500})
	var dirs []string
	for i := range 4 {
		dirs = append(dirs, writeFolder(t, map[string]string{"a.md": fmt.Sprint(i, text)}))
		if _, _, err := c.loadDocuments(t.Context(), dirs[i:]); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.entries) != 2 || c.entries[dirs[2]] == nil || c.entries[dirs[3]] == nil {
		t.Errorf("%d entries are left", len(c.entries))
	}
	for i := range 100 {
		if _, _, err := c.loadDocuments(t.Context(), []string{filepath.Join(dirs[0], fmt.Sprint(i))}); err == nil {
			t.Error("no error for a path that is missing")
		}
	}
	if len(c.entries) > maxEntries {
		t.Errorf("%d entries are left of paths that are missing", len(c.entries))
	}
}

func TestConcurrently(t *testing.T) {
	dir := writeFolder(t, map[string]string{"boats.md": boats, "b.md": "The ferry is not old."})
	tool := New(Options{})
	js := fmt.Appendf(nil, `{"query": "ferry hull", "paths": [%q]}`, dir)
	want, err := New(Options{}).Do(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 10 {
				if got, err := tool.Do(t.Context(), js); err != nil || got != want {
					t.Errorf("result %s, %v, want %s", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// Preferred sources come first, and excluded ones are missing.
func TestSources(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a/ferry.md": "The ferry is old and white.", "a/b.md": "The ferry is old and blue.", "c.md": "The ferry is old, and has an engine."})
	sources := func(in input) (names []string) {
		in.Query, in.Paths = "is the ferry old?", []string{dir}
		for _, h := range useTool(t, New(Options{}).Do, in).Hits {
			names = append(names, filepath.Base(h.Source))
		}
		return names
	}
	for _, tt := range []struct {
		name string
		in   input
		want []string
	}{
		{"prefer a file", input{Prefer: []string{"b.md"}, Limit: 1}, []string{"b.md"}},
		{"prefer a path", input{Prefer: []string{filepath.Join(dir, "a", "ferry.md")}, Limit: 1}, []string{"ferry.md"}},
		{"without a folder", input{Without: []string{filepath.Join(dir, "a")}}, []string{"c.md"}},
		{"without a file", input{Without: []string{"ferry.md", "c.md"}}, []string{"b.md"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sources(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// New returns knowledge_search.
func New(opts Options) ponder.Tool { return Tools(opts)[0] }
