package search_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/knowledge/web/search"
)

func writeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func searchURLs(t *testing.T, s *search.Searcher, q search.Query) (out []string) {
	t.Helper()
	f, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Results {
		out = append(out, r.URL+" "+r.Title)
	}
	return out
}

func TestFolder(t *testing.T) {
	dir := writeFolder(t, map[string]string{
		"manifest.json":             `{"pages":[{"path":"told.html","url":"https://told.example/a?utm_source=x","title":"As told","published":"2024-02-03"},{"path":"../../x"},{"path":7}]}`,
		"told.html":                 `<title>Own</title><link rel=canonical href="https://own.example/"><p>mill mill mill mill`,
		"own.html":                  `<title>Own &amp; more</title><link rel="canonical" href="/mill"><meta name=author content="Anna"><meta property="article:published_time" content="2023-01-02"><nav>river</nav><p>A mill of its own.<script>mill()</script>`,
		"news.example/b/index.html": `<title>By path</title><p>The mill and the bears in a longer text than the others have.`,
		"notes/plain file.md":       "# Plain\n\nThe mill as text.",
		"evil.html":                 `<title>Evil</title><link rel="canonical" href="javascript:mill()"><p>mill`,
		"picture.png":               "mill",
		".hidden/x.html":            "mill",
		"binary.html":               "mill\x00\x01",
		"empty.txt":                 "",
	})
	if err := os.Symlink("/etc/hosts", filepath.Join(dir, "hosts.txt")); err != nil {
		t.Fatal(err)
	}
	s := search.New([]search.Provider{search.Folder(search.Crawl{Dir: dir, Base: "https://base.example/saved"})}, nil, search.Options{})
	want := []string{"https://told.example/a As told", "https://base.example/mill Own & more", "https://base.example/saved/notes/plain%20file.md Plain",
		"https://base.example/saved/evil.html Evil", "https://news.example/b/ By path"}
	less := func(list []string) string { return strings.Join(list, "\n") }
	got := searchURLs(t, s, search.Query{Text: "mills"})
	if len(got) != len(want) || got[0] != want[0] {
		t.Errorf("found\n%s\nwant\n%s", less(got), less(want))
	}
	for _, w := range want {
		if !strings.Contains(less(got)+"\n", w+"\n") {
			t.Errorf("%s is not found in\n%s", w, less(got))
		}
	}
	for name, test := range map[string]struct {
		q    search.Query
		want []string
	}{
		"by host":      {search.Query{Text: "mill", Domains: []string{"news.example"}}, want[4:]},
		"by date":      {search.Query{Text: "mill", From: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), Domains: []string{"told.example", "base.example"}, N: 1}, want[:1]},
		"another word": {search.Query{Text: "bears"}, want[4:]},
		"not in menus": {search.Query{Text: "river"}, nil},
		"no such word": {search.Query{Text: "xylophone"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(test.want, searchURLs(t, s, test.q)); d != "" {
				t.Error(d)
			}
		})
	}
	f, err := s.Search(t.Context(), search.Query{Text: "own"})
	if err != nil || len(f.Results) != 1 || f.Results[0].Author != "Anna" || f.Results[0].Published.Year() != 2023 || f.Results[0].Snippet != "A mill of its own." {
		t.Errorf("%v %+v", err, f.Results)
	}
}

// Searches see changes of pages.
func TestFolderChanges(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.txt": "mill"})
	s := search.New([]search.Provider{search.Folder(search.Crawl{Dir: dir})}, nil, search.Options{})
	if got := searchURLs(t, s, search.Query{Text: "mill"}); len(got) != 1 {
		t.Error(got)
	}
	if err := os.WriteFile(filepath.Join(dir, "b.txt"), []byte("a mill, too"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := searchURLs(t, s, search.Query{Text: "mill"}); len(got) != 2 {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"https://folder.invalid/b.txt a mill, too"}, searchURLs(t, s, search.Query{Text: "mill"})); d != "" {
		t.Error(d)
	}
}

func TestNoFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, err := search.New([]search.Provider{search.Folder(search.Crawl{Dir: dir})}, nil, search.Options{}).Search(t.Context(), search.Query{Text: "x"})
	if err == nil || strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
}

func TestGiven(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.html": "one", "b.html": "two"})
	p := search.Folder(search.Crawl{Dir: dir,
		Read: func(page []byte, address string) (search.Page, error) {
			if string(page) == "two" {
				return search.Page{}, fmt.Errorf("bad")
			}
			return search.Page{Title: address, Text: string(page) + " read"}, nil
		},
		Index: func(pages []search.Page) func(string, int) []search.Hit {
			return func(query string, n int) []search.Hit {
				return []search.Hit{{Page: 7}, {Page: -1}, {Page: len(pages) - 1, Score: 2, Snippet: query}}
			}
		}})
	f, err := search.New([]search.Provider{p}, nil, search.Options{}).Search(t.Context(), search.Query{Text: "why"})
	want := []search.Result{{URL: "https://folder.invalid/a.html", Title: "https://folder.invalid/a.html", Text: "one read", Snippet: "why", Score: 1, Rank: 1, Providers: []string{"folder"}}}
	if d := cmp.Diff(want, f.Results); err != nil || d != "" {
		t.Error(err, d)
	}
}

// Pages have their own addresses and those of their paths, in any notation, even before
// a search.
func TestFolderPage(t *testing.T) {
	dir := writeFolder(t, map[string]string{
		"a.html":              `<link rel="canonical" href="https://sea.example/deep"><title>Deep</title><p>The sea is deep.`,
		"b.txt":               "The sky is high.",
		"news.example/c.html": "<title>News</title><p>There is none.",
		"named.txt":           "A name.",
		"manifest.json":       `{"pages": [{"path": "named.txt", "url": "https://names.example/n"}]}`,
	})
	p := search.Folder(search.Crawl{Dir: dir})
	for address, want := range map[string]string{
		"https://sea.example/deep":                    "https://sea.example/deep",
		"https://SEA.example:443/deep?utm_source=x#y": "https://sea.example/deep",
		"https://folder.invalid/a.html":               "https://sea.example/deep",
		"https://folder.invalid/b.txt":                "https://folder.invalid/b.txt",
		"https://news.example/c.html":                 "https://news.example/c.html",
		"https://names.example/n":                     "https://names.example/n",
		"https://folder.invalid/named.txt":            "https://names.example/n",
		"https://folder.invalid/none":                 "",
		"https://sea.example/":                        "",
		"folder.invalid/b.txt":                        "",
		"":                                            "",
	} {
		r, ok, err := p.Page(t.Context(), address)
		if err != nil || ok != (want != "") || r.URL != want || ok && r.Text == "" {
			t.Errorf("%s: %q %v %v, want %q", address, r.URL, ok, err, want)
		}
	}
	if _, ok, err := search.Folder(search.Crawl{Dir: filepath.Join(dir, "none")}).Page(t.Context(), "https://sea.example/deep"); ok || err == nil {
		t.Error(ok, err)
	}
}

// Terminal escapes are removed.
func TestFolderEscapes(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.html": "<title>\x1b]0;OWNED\a\x1b[2J\x1b[31m A mill</title><p>\x1b[1mThe mill\x1b[0m turns, as &#x1B;[31mwe &#27;[1mknow."})
	if d := cmp.Diff([]string{"https://folder.invalid/a.html A mill"}, searchURLs(t, search.New([]search.Provider{search.Folder(search.Crawl{Dir: dir})}, nil, search.Options{}), search.Query{Text: "mill"})); d != "" {
		t.Error(d)
	}
	r, ok, err := search.Folder(search.Crawl{Dir: dir}).Page(t.Context(), "https://folder.invalid/a.html")
	if err != nil || !ok || r.Text != "The mill turns, as we know." {
		t.Errorf("%q %v", r.Text, err)
	}
	f, err := search.New([]search.Provider{{Name: "x", Search: func(context.Context, search.Query) ([]search.Result, error) {
		return []search.Result{{URL: "https://a.test/", Title: "\x1b]0;OWNED\aTitle", Snippet: "\u009b31mred", Text: "\x1b[2Jtext"}}, nil
	}}}, nil, search.Options{}).Search(t.Context(), search.Query{Text: "x"})
	if err != nil || len(f.Results) != 1 || f.Results[0].Title != "Title" || f.Results[0].Snippet != "red" || f.Results[0].Text != "text" {
		t.Errorf("%+v %v", f.Results, err)
	}
}
