package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ponder"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
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

type Sources struct {
	Docs   []string
	Memory bool
	Web    bool

	OtherTools bool          // with tools of MCP servers
	Patience   time.Duration // for MCP servers; zero: ChatPatience

	Research bool // for a mode with a persona's memory
	Persona  string
}

func SourcesOf(s session.Session) Sources {
	return Sources{Docs: s.Metadata.Docs, Memory: s.Metadata.Memory, Web: s.Metadata.Web}
}

// SourceTools returns the tools that read what, and a function that releases them.
func (a *App) SourceTools(ctx context.Context, store *sqlite.Store, what Sources) ([]ponder.Tool, func(), error) {
	list := []ponder.Tool{thread.New(store, a.Owner()), thread.NewRead(store, deep.Name)}
	end := func() {}
	looks := knowledge.Options{Roots: what.Docs, Read: document.Options{CheckCache: a.readings}}
	if what.Memory {
		s, err := a.LibraryIn(ctx, store)
		if err != nil {
			return nil, nil, err
		}
		looks.Library, end = evidenceLibrary{s.Library}, func() { s.Release() }
		if what.Research {
			list = append(list, memory.New(memory.Options{Context: s.Library.PersonaContext, Persona: what.Persona})...)
		}
	}
	if len(what.Docs) > 0 || what.Memory {
		list = append(list, knowledge.Tools(looks)...)
	}
	if !what.Web {
		return list, end, nil
	}
	kept, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return nil, nil, err
	}
	w, err := a.Web(kept)
	if err != nil {
		return nil, nil, err
	}
	return append(list, w.webTools()...), func() { w.Fetcher.Close(); end() }, nil
}

// evidenceLibrary is the library without finished threads.
type evidenceLibrary struct{ *recall.Library }

func (k evidenceLibrary) Search(ctx context.Context, text string, o recall.SearchOptions) (recall.Result, error) {
	if len(o.Kinds) == 0 {
		o.Kinds = EvidenceKinds()
	}
	return k.Library.Search(ctx, text, o)
}

type WebSource struct {
	Searcher *search.Searcher
	Fetcher  *web.Fetcher
	archive  *archive.Archive
	Names    []string
	folder   search.Provider // of pages on disk; its Page may be nil
}

// Web returns the web source. Without a provider it has no searcher.
func (a *App) Web(kept *archive.Archive) (*WebSource, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	f, err := a.WebFetcher(kept)
	if err != nil {
		return nil, err
	}
	n := &WebSource{Fetcher: f, archive: kept}
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
			return nil, Invalidf("", "web.folder in %s: %w", cfg.File, err)
		}
		n.folder = search.Folder(search.Crawl{Dir: dir, Read: readPage})
		list = append(list, n.folder)
	}
	for _, p := range list {
		n.Names = append(n.Names, p.Name)
	}
	if len(list) > 0 {
		n.Searcher = search.New(list, kept, search.Options{})
	}
	return n, nil
}

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
		return "", fmt.Errorf("%s is not a folder", dir)
	}
	return dir, nil
}

func (n *WebSource) webTools() []ponder.Tool {
	o := webtool.Options{Fetch: n.Fetch, Judge: webtool.NewJudge(time.Now)}
	if n.archive != nil {
		o.Keep = n.archiveResult
	}
	if n.Searcher != nil {
		o.Search = webtool.NewSearch(n.Searcher.Search)
	}
	return webtool.New(o)
}

// SearchAnswer prefixes the archive source of a search result.
const SearchAnswer = "search:"

// archiveResult archives a search result. Its source differs from the page's, because it is no copy of
// the page.
func (n *WebSource) archiveResult(ctx context.Context, r webtool.Result) (string, error) {
	return n.archive.Put(ctx, archive.Original{
		Type: "text/plain", Source: SearchAnswer + r.URL, Title: r.Title, Fetched: time.Now(), Bytes: []byte(r.Snippet),
	})
}

// Fetch reads a page from the folder, or else from its host.
func (n *WebSource) Fetch(ctx context.Context, url string) (*web.Page, error) {
	if n.folder.Page == nil {
		return n.Fetcher.Fetch(ctx, url)
	}
	r, ok, err := n.folder.Page(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", url, err)
	}
	if !ok || r.Text == "" {
		return n.Fetcher.Fetch(ctx, url)
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

// DefaultSources returns the default sources of a session: memory if there is any, the web if
// it can be searched. says describes them.
func (a *App) DefaultSources(ctx context.Context, noMemory, noWeb bool) (memory, web bool, says string, err error) {
	var parts []string
	if !noMemory {
		if memory, err = a.hasEvidence(ctx); err != nil {
			return false, false, "", err
		}
		if memory {
			parts = append(parts, "the memory")
		}
	}
	if !noWeb {
		n, err := a.Web(nil)
		if err != nil {
			return false, false, "", err
		}
		n.Fetcher.Close()
		if web = n.Searcher != nil; web {
			parts = append(parts, "the web ("+strings.Join(n.Names, ", ")+")")
		}
	}
	if len(parts) > 0 {
		says = "searching " + strings.Join(parts, " and ")
	}
	return memory, web, says, nil
}

// hasEvidence reports whether the library has evidence. It creates no database.
func (a *App) hasEvidence(ctx context.Context) (bool, error) {
	s, err := a.OpenLibraryReadOnly(ctx)
	if errors.Is(err, ErrNothingKnown) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer s.Close()
	list, err := s.List(ctx, recall.Filter{Kinds: EvidenceKinds(), N: 1})
	return len(list) > 0, err
}

// EvidenceKinds returns the kinds of memories that a session may cite. Results of sessions have
// a separate tool, which adds their outcome.
func EvidenceKinds() []recall.Kind {
	return []recall.Kind{recall.KindMemory, recall.KindDocument, recall.KindPost, recall.KindJournal}
}

func readPage(page []byte, address string) (search.Page, error) {
	c, err := extract.Article(page, address)
	if err != nil {
		return search.Page{}, err
	}
	return search.Page{URL: c.Canonical, Title: c.Title, Author: c.Author, Text: c.Markdown, Published: c.Published}, nil
}

func (a *App) WebFetcher(kept *archive.Archive) (*web.Fetcher, error) {
	return a.newFetcher(web.Options{Archive: kept})
}

// newFetcher returns a fetcher with o and the hosts that the user allows.
func (a *App) newFetcher(o web.Options) (*web.Fetcher, error) {
	cfg, err := a.Config()
	if err != nil {
		return nil, err
	}
	for _, host := range cfg.Web.Allow {
		if err := web.CheckAllow(host); err != nil {
			return nil, Invalidf("", "web.allow in %s: %w", cfg.File, err)
		}
	}
	o.Allow, o.UserAgent = cfg.Web.Allow, "Ponder/"+a.Options.Version
	return web.New(o), nil
}

func (a *App) SearchWeb(ctx context.Context, q search.Query) (found search.Response, err error) {
	err = a.withWeb(ctx, func(w *WebSource) error {
		if w.Searcher == nil {
			return ErrNoSearch
		}
		found, err = w.Searcher.Search(ctx, q)
		return err
	})
	return found, err
}

func (a *App) FetchPage(ctx context.Context, url string) (page *web.Page, err error) {
	err = a.withWeb(ctx, func(w *WebSource) error {
		page, err = w.Fetch(ctx, url)
		return PageError(err)
	})
	return page, err
}

func (a *App) withWeb(ctx context.Context, use func(*WebSource) error) error {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	kept, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return err
	}
	w, err := a.Web(kept)
	if err != nil {
		return err
	}
	defer w.Fetcher.Close()
	return use(w)
}

// ErrPrivateHost is the cause of a refused host with a private address.
var ErrPrivateHost = errors.New("the address is not public")

// PageError adds the code to an error of fetching a page.
func PageError(err error) error {
	switch {
	case errors.Is(err, web.ErrURL):
		return Invalidf("", "%w", err)
	case errors.Is(err, web.ErrRefused) && privateAddress.MatchString(err.Error()):
		return &Error{Code: NotReady, Message: err.Error(), Err: errors.Join(ErrPrivateHost, err)}
	case errors.Is(err, web.ErrRefused):
		return NotReadyf("%w", err)
	}
	return err
}

// privateAddress matches the refusal of an address that a user may want to allow.
var privateAddress = regexp.MustCompile(`is a (loopback|private) address`)
