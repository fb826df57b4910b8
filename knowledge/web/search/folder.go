package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder/internal/fileio"
	"ponder/internal/limitio"
	"ponder/internal/textkit"
)

// A Crawl is a folder of saved pages.
//
// The address of a page is the first of: the entry in manifest.json, its <link
// rel="canonical">, its path if that begins with a host (example.org/news/a.html), its
// path after Base.
//
// The manifest is {"pages": [{"path", "url", "title", "author", "published"}]}; only
// path is required.
type Crawl struct {
	Dir  string
	Base string // default "https://folder.invalid/"

	// Read reads a page; links are relative to address. The default has simple rules
	// for HTML and text.
	Read func(page []byte, address string) (Page, error)

	// Index returns a ranking function for pages, the best first, safe for concurrent
	// use. The default is BM25.
	Index func([]Page) func(query string, n int) []Hit
}

type Page struct {
	URL, Title, Author, Text string
	Published                time.Time

	canonical   string // the page's own address
	pathAddress string // address by path, canonical
}

type Hit struct {
	Page    int // index in the list
	Score   float64
	Snippet string // default: the paragraph with the most words of the query
}

// Bounds; files beyond are ignored.
const (
	maxFiles  = 20_000
	maxFile   = 10 << 20
	maxFolder = 256 << 20 // bytes of all pages
)

// Folder searches pages on disk. It reads them at the first search and after changes.
// It does not follow links on disk.
func Folder(c Crawl) Provider {
	f := &folder{Crawl: c}
	return Provider{Name: "folder", Local: true, Max: 4, Timeout: time.Minute, Search: f.searchPages, Page: f.findPage}
}

type folder struct {
	Crawl
	mu    sync.Mutex
	state uint64 // of the files
	pages []Page
	rank  func(query string, n int) []Hit
}

// searchPages ranks many pages, since filtered ones must not displace others.
func (f *folder) searchPages(ctx context.Context, q Query) ([]Result, error) {
	pages, rank, err := f.loadPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	var list []Result
	for _, h := range rank(q.Text, 10*q.N+100) {
		if h.Page < 0 || h.Page >= len(pages) {
			continue
		}
		p := pages[h.Page]
		r := p.toResult()
		r.Score = h.Score
		if !q.admitsResult(r) {
			continue
		}
		r.Snippet = cmp.Or(h.Snippet, bestSnippet(p.Text, q.Text))
		if list = append(list, r); len(list) >= q.N {
			break
		}
	}
	return list, nil
}

func (p Page) toResult() Result {
	return Result{URL: p.URL, Title: p.Title, Author: p.Author, Published: p.Published, Text: textkit.Prefix(p.Text, maxText)}
}

// findPage prefers a page's own address to that by path.
func (f *folder) findPage(ctx context.Context, address string) (Result, bool, error) {
	address, ok := Canonical(address)
	if !ok {
		return Result{}, false, nil
	}
	pages, _, err := f.loadPages(ctx)
	if err != nil {
		return Result{}, false, fmt.Errorf("read folder: %w", err)
	}
	for _, own := range []bool{true, false} {
		for _, p := range pages {
			if own && p.URL == address || !own && p.pathAddress == address {
				return p.toResult(), true, nil
			}
		}
	}
	return Result{}, false, nil
}

func (f *folder) loadPages(ctx context.Context) ([]Page, func(string, int) []Hit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return nil, nil, trimErrorPath(err)
	}
	defer root.Close()
	files, state, err := listFiles(ctx, root.FS())
	if err != nil {
		return nil, nil, trimErrorPath(err)
	}
	if f.rank != nil && state == f.state {
		return f.pages, f.rank, nil
	}
	pages, err := f.readPages(ctx, root, files)
	if err != nil {
		return nil, nil, err
	}
	index := f.Index
	if index == nil {
		index = rankWords
	}
	f.state, f.pages, f.rank = state, pages, index(pages)
	return f.pages, f.rank, nil
}

// trimErrorPath removes the path from an error.
func trimErrorPath(err error) error {
	if e, ok := err.(*fs.PathError); ok { //nolint:errorlint // as the standard library returns it
		return e.Err
	}
	return err
}

// listFiles returns the files that may be pages, and a hash that changes with them.
func listFiles(ctx context.Context, dir fs.FS) (files []string, state uint64, err error) {
	h := fnv.New64a()
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == ".":
			return err
		case err != nil || len(files) >= maxFiles:
			return nil //nolint:nilerr // unreadable files are not found
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") || !isPage(name) && name != manifestName:
			return nil
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintln(h, name, info.Size(), info.ModTime().UnixNano())
			if name != manifestName {
				files = append(files, name)
			}
		}
		return nil
	})
	return files, h.Sum64(), err
}

func isPage(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == "" || slices.Contains([]string{".html", ".htm", ".xhtml", ".txt", ".md", ".markdown", ".php", ".asp", ".aspx"}, ext)
}

// readPages skips unreadable files.
func (f *folder) readPages(ctx context.Context, dir *os.Root, files []string) ([]Page, error) {
	known := readManifest(dir)
	var pages []Page
	total := 0
	for _, name := range files {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		raw, err := readFile(dir, name, min(maxFile, maxFolder-total))
		if err != nil || bytes.IndexByte(raw[:min(len(raw), 512)], 0) >= 0 {
			continue
		}
		total += len(raw)
		if p, ok := f.newPage(name, raw, known[name]); ok {
			pages = append(pages, p)
		}
	}
	return pages, nil
}

func (f *folder) newPage(name string, raw []byte, m entry) (Page, bool) {
	place, ok := Canonical(addressByPath(name, f.Base))
	address := place
	if m.URL != "" {
		address, ok = Canonical(m.URL)
	}
	if !ok {
		return Page{}, false
	}
	strip := StripMarkupEscapes
	if slices.Contains([]string{".txt", ".md", ".markdown"}, strings.ToLower(path.Ext(name))) {
		strip = textkit.StripEscapes
	}
	read := f.Read
	if read == nil {
		read = simpleReader(name)
	}
	p, err := read([]byte(strip(string(raw))), address)
	if err != nil {
		return Page{}, false
	}
	if m.URL == "" {
		own := cmp.Or(p.canonical, p.URL)
		if base, err := url.Parse(address); err == nil && own != "" {
			if u, err := base.Parse(own); err == nil {
				own = u.String()
			}
		}
		if own, ok := Canonical(own); ok {
			address = own
		}
	}
	p.URL, p.pathAddress = address, place
	p.Title, p.Author = cmp.Or(m.Title, p.Title, name), cmp.Or(m.Author, p.Author)
	if t := textkit.ParseDate(m.Published); !t.IsZero() {
		p.Published = t
	}
	return p, true
}

// addressByPath returns a page's address by its path.
func addressByPath(name, base string) string {
	u := &url.URL{Path: name}
	host, rest, ok := strings.Cut(name, "/")
	if ok && strings.Contains(host, ".") && !strings.Contains(host, " ") {
		if _, sound := asciiHost(host); sound {
			u = &url.URL{Scheme: "https", Host: host, Path: "/" + strings.TrimSuffix(rest, "index.html")}
			return u.String()
		}
	}
	return strings.TrimRight(cmp.Or(base, "https://folder.invalid"), "/") + "/" + u.EscapedPath()
}

const manifestName = "manifest.json"

type entry struct{ Path, URL, Title, Author, Published string }

// readManifest ignores an unreadable manifest.
func readManifest(dir *os.Root) map[string]entry {
	m := map[string]entry{}
	raw, err := readFile(dir, manifestName, maxFile)
	if err != nil {
		return m
	}
	var all struct{ Pages []entry }
	var odd *json.UnmarshalTypeError // other entries stay usable
	if err := json.Unmarshal(raw, &all); err != nil && !errors.As(err, &odd) {
		return m
	}
	for _, e := range all.Pages {
		m[path.Clean(strings.TrimPrefix(e.Path, "/"))] = e
	}
	return m
}

func readFile(dir *os.Root, name string, most int) ([]byte, error) {
	file, err := fileio.OpenIn(dir, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := limitio.ReadAll(file, int64(most))
	if errors.Is(err, limitio.ErrTooLarge) {
		err = ErrTooBig
	}
	return raw, err
}
