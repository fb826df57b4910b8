package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ponder"
	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/knowledge/web"
	"ponder/knowledge/web/extract"
	"ponder/knowledge/web/search"
	"ponder/mode/deep"
	"ponder/mode/session"
	"ponder/store/sqldb"
	"ponder/store/sqlite"
	"ponder/tool/knowledge"
	"ponder/tool/memory"
	"ponder/tool/thread"
	webtool "ponder/tool/web"
)

// A sight is what thinking may look into.
type sight struct {
	docs   []string // absolute paths
	memory bool     // what the user had remembered
	web    bool

	others   bool          // tools of MCP servers are there, too
	patience time.Duration // for these; chatPatience if zero

	researches bool   // by a mode that uses the memory of a persona
	persona    string // whose; empty is that of the owner
}

// sightOf returns that of a session that has begun.
func sightOf(s session.Session) sight {
	return sight{docs: s.Metadata.Docs, memory: s.Metadata.Memory, web: s.Metadata.Web}
}

// tools returns the tools that look, and what to close when they are not used any
// more.
func (a *cli) tools(ctx context.Context, store *sqlite.Store, what sight) ([]ponder.Tool, func(), error) {
	list := []ponder.Tool{thread.New(store, a.who()), thread.NewRead(store, deep.Name)}
	end := func() {}
	looks := knowledge.Options{Roots: what.docs}
	if what.memory {
		s, err := a.shelfIn(ctx, store)
		if err != nil {
			return nil, nil, err
		}
		looks.Library, end = known{s.Library}, func() { s.done() }
		if what.researches {
			list = append(list, memory.New(memory.Options{Context: s.Library.PersonaContext, Persona: what.persona})...)
		}
	}
	if len(what.docs) > 0 || what.memory {
		list = append(list, knowledge.Tools(looks)...)
	}
	if !what.web {
		return list, end, nil
	}
	kept, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return nil, nil, err
	}
	w, err := a.web(kept)
	if err != nil {
		return nil, nil, err
	}
	return append(list, w.tools()...), func() { w.fetcher.Close(); end() }, nil
}

// known is what is remembered, but for finished threads.
type known struct{ *recall.Library }

// Search implements [knowledge.Library].
func (k known) Search(ctx context.Context, text string, o recall.SearchOptions) (recall.Result, error) {
	if len(o.Kinds) == 0 {
		o.Kinds = evidenceKinds()
	}
	return k.Library.Search(ctx, text, o)
}

// A net is what reaches the web.
type net struct {
	searcher *search.Searcher
	fetcher  *web.Fetcher
	archive  *archive.Archive
	names    []string        // of the providers
	folder   search.Provider // of pages on disk; its Page is nil if there is none
}

// web returns what reaches the web. Without a provider it has no searcher.
func (a *cli) web(kept *archive.Archive) (*net, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	f, err := a.fetcher(kept)
	if err != nil {
		return nil, err
	}
	n := &net{fetcher: f, archive: kept}
	var list []search.Provider
	for _, p := range []struct {
		key  string
		make func(search.Service) search.Provider
	}{{string(cfg.Search.Exa), search.Exa}, {string(cfg.Search.Brave), search.Brave}, {string(cfg.Search.Tavily), search.Tavily}} {
		if p.key != "" {
			list = append(list, p.make(search.Service{Key: p.key}))
		}
	}
	if cfg.Search.SearXNG != "" {
		list = append(list, search.SearXNG(search.Service{URL: cfg.Search.SearXNG}))
	}
	if dir := cfg.Web.Folder; dir != "" {
		if dir, err = pagesIn(dir); err != nil {
			return nil, usagef("web.folder in %s: %w", cfg.File, err)
		}
		n.folder = search.Folder(search.Crawl{Dir: dir, Read: readPage})
		list = append(list, n.folder)
	}
	for _, p := range list {
		n.names = append(n.names, p.Name)
	}
	if len(list) > 0 {
		n.searcher = search.New(list, kept, search.Options{})
	}
	return n, nil
}

// pagesIn returns the path of a folder of pages, which must be there.
func pagesIn(dir string) (string, error) {
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, rest)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is no folder", dir)
	}
	return dir, nil
}

// errNoSearch says how to search the web.
var errNoSearch = errors.New("no search of the web is configured: set EXA_API_KEY, BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL, " +
	"or name a folder of pages with `ponder settings web.folder PATH`")

// tools returns the tools that look at the web.
func (n *net) tools() []ponder.Tool {
	o := webtool.Options{Fetch: n.fetch, Judge: webtool.Judging(time.Now)}
	if n.archive != nil {
		o.Keep = n.keep
	}
	if n.searcher != nil {
		o.Search = webtool.Searching(n.searcher.Search)
	}
	return webtool.New(o)
}

// searchAnswer begins the source of what a search said of a page.
const searchAnswer = "search:"

// keep keeps what a search said of a page. That is no copy of the page, so it has a
// source of its own.
func (n *net) keep(ctx context.Context, r webtool.Result) (string, error) {
	return n.archive.Put(ctx, archive.Original{
		Type: "text/plain", Source: searchAnswer + r.URL, Title: r.Title, Fetched: time.Now(), Bytes: []byte(r.Snippet),
	})
}

// fetch reads a page: of the folder, if it has it, and else of its host.
func (n *net) fetch(ctx context.Context, url string) (*web.Page, error) {
	if n.folder.Page == nil {
		return n.fetcher.Fetch(ctx, url)
	}
	r, ok, err := n.folder.Page(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", url, err)
	}
	if !ok || r.Text == "" {
		return n.fetcher.Fetch(ctx, url)
	}
	now := time.Now()
	hash, err := n.archive.Put(ctx, archive.Original{Type: "text/markdown", Source: r.URL, Title: r.Title, Fetched: now, Bytes: []byte(r.Text)})
	if err != nil && !errors.Is(err, sqldb.ErrReadOnly) {
		return nil, err
	}
	return &web.Page{
		URL: url, Final: r.URL, Local: true, Type: "text/markdown", Charset: "utf-8", Title: r.Title, Author: r.Author, Published: r.Published, Fetched: now,
		Markdown: r.Text, Hash: hash, Bytes: len(r.Text),
	}, nil
}

// look says what a session looks into, by default: what is remembered, if anything
// is, and the web, if there is a way to search it.
func (a *cli) look(ctx context.Context, noMemory, noWeb bool) (memory, web bool, says string, err error) {
	var parts []string
	if !noMemory {
		if memory, err = a.remembers(ctx); err != nil {
			return false, false, "", err
		}
		if memory {
			parts = append(parts, "what is remembered")
		}
	}
	if !noWeb {
		n, err := a.web(nil)
		if err != nil {
			return false, false, "", err
		}
		n.fetcher.Close()
		if web = n.searcher != nil; web {
			parts = append(parts, "the web ("+strings.Join(n.names, ", ")+")")
		}
	}
	if len(parts) > 0 {
		says = "looking into " + strings.Join(parts, " and ")
	}
	return memory, web, says, nil
}

// remembers reports whether anything is remembered that is evidence. Where there is
// no database, it makes none.
func (a *cli) remembers(ctx context.Context) (bool, error) {
	s, err := a.shelfToRead(ctx)
	if errors.Is(err, errNothingKnown) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer s.close()
	list, err := s.List(ctx, recall.Filter{Kinds: evidenceKinds(), N: 1})
	return len(list) > 0, err
}

// evidenceKinds are the kinds of what is remembered that a session may rest on:
// not what others came to, which is known from elsewhere, with how it turned out.
func evidenceKinds() []recall.Kind {
	return []recall.Kind{recall.KindMemory, recall.KindDocument, recall.KindPost, recall.KindJournal}
}

// readPage reads a page of a folder.
func readPage(page []byte, address string) (search.Page, error) {
	c, err := extract.Article(page, address)
	if err != nil {
		return search.Page{}, err
	}
	return search.Page{URL: c.Canonical, Title: c.Title, Author: c.Author, Text: c.Markdown, Published: c.Published}, nil
}
