package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/knowledge/web/search"
	"ponder/mode/subconscious"
	"ponder/store/sqlite"
)

// A roleLookup searches the library or the web for roles. It is used rarely, so it opens its
// sources each time.
type roleLookup struct {
	a     *App
	store *sqlite.Store
	looks map[string]subconscious.LookUpSource // by role
}

func (a *App) newRoleLookup(store *sqlite.Store, roles []subconscious.Role) *roleLookup {
	l := &roleLookup{a: a, store: store, looks: make(map[string]subconscious.LookUpSource)}
	for _, r := range roles {
		l.looks[r.Name] = r.Looks
	}
	return l
}

const maxLookupHits = 5

// lookUp implements the LookUp of the minder. The library is that of the App's owner.
func (l *roleLookup) lookUp(ctx context.Context, _, role, text string) ([]ponder.Observation, error) {
	switch l.looks[role] {
	case subconscious.LookUpMemory:
		return l.inMemory(ctx, text)
	case subconscious.LookUpWeb:
		return l.inWeb(ctx, text)
	}
	return nil, errors.New("this role has no lookups")
}

// Errors that models may see. The details may have foreign text and are only logged.
var (
	errMemoryLookUp = errors.New("cannot search the memory")
	errWebLookUp    = errors.New("cannot search the web")
)

func (l *roleLookup) logFailure(shown, err error) error {
	slog.Warn("cannot run the lookup of a role", "error", err)
	return shown
}

// inMemory searches the library without results of sessions and without memories of the
// subconscious.
func (l *roleLookup) inMemory(ctx context.Context, text string) (list []ponder.Observation, err error) {
	s, err := l.a.OpenLibraryReadOnly(ctx)
	if errors.Is(err, ErrNothingKnown) {
		return nil, nil
	}
	if err != nil {
		return nil, l.logFailure(errMemoryLookUp, err)
	}
	defer s.Close()
	found, err := s.Search(ctx, text, recall.SearchOptions{N: maxLookupHits, Kinds: EvidenceKinds(), ExcludeSources: []string{mindSource}})
	if err != nil {
		return nil, l.logFailure(errMemoryLookUp, err)
	}
	for _, h := range found.Hits {
		list = append(list, ponder.Observation{Content: recalledText(h), Source: Where(h.Item), Untrusted: ofOthers(h.Item)})
	}
	return list, nil
}

func recalledText(h recall.Hit) string {
	text, title := textkit.OneLine(cmp.Or(h.Context, h.Quote)), textkit.OneLine(h.Item.Title)
	from := string(h.Item.Kind)
	if title != "" && !strings.HasPrefix(text, strings.TrimRight(title, "….")) {
		from += " " + textkit.Truncate(title, 80)
	}
	if !h.Date.IsZero() {
		from += " of " + h.Date.Local().Format(time.DateOnly)
	}
	return from + ": " + text
}

// ofOthers reports whether an item may have text of others.
func ofOthers(it recall.Item) bool {
	mine := []recall.Kind{recall.KindMemory, recall.KindJournal}
	return !slices.Contains(mine, it.Kind) || it.Link != "" || it.Original != "" || it.Meta[recall.UntrustedMeta] != ""
}

func (l *roleLookup) inWeb(ctx context.Context, text string) (list []ponder.Observation, err error) {
	n, err := l.openWeb(ctx)
	if err != nil {
		return nil, l.logFailure(errWebLookUp, err)
	}
	defer n.Fetcher.Close()
	found, err := n.Searcher.Search(ctx, search.Query{Text: text, N: maxLookupHits})
	if err != nil {
		return nil, l.logFailure(errWebLookUp, err)
	}
	for _, r := range found.Results[:min(len(found.Results), maxLookupHits)] {
		title, snippet := textkit.Truncate(textkit.OneLine(r.Title), 120), textkit.OneLine(cmp.Or(r.Snippet, r.Summary))
		if snippet == "" && title == "" {
			continue
		}
		list = append(list, ponder.Observation{Content: strings.Trim(title+": "+snippet, ": "), Source: r.URL, Untrusted: true})
	}
	return list, nil
}

func (l *roleLookup) openWeb(ctx context.Context) (*WebSource, error) {
	kept, err := archive.Open(ctx, l.store.SQL())
	if err != nil {
		return nil, err
	}
	n, err := l.a.Web(kept)
	if err != nil {
		return nil, err
	}
	if n.Searcher == nil {
		n.Fetcher.Close()
		return nil, ErrNoSearch
	}
	return n, nil
}

func mindLooks(cfg *config.Config, roles []subconscious.Role) []subconscious.Role {
	roles = slices.Clone(roles)
	for i, r := range roles {
		if r.Looks == subconscious.LookUpWeb && !(cfg.Mind.Web && searchesWeb(cfg)) {
			roles[i].Looks = subconscious.LookUpNone
		}
	}
	return roles
}

func searchesWeb(cfg *config.Config) bool {
	s := cfg.Search
	return s.Exa != "" || s.Brave != "" || s.Tavily != "" || s.SearXNG != "" || cfg.Web.Folder != ""
}
