package app

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/lookup"
	"ponder/knowledge/recall"
	"ponder/mode/research"
	"ponder/store/sqlite"
	"ponder/tool/memory"
)

func (s *Service) Remember(ctx context.Context, owner string, list ...Memory) ([]Memory, error) {
	items := make([]recall.Item, len(list))
	for i, m := range list {
		kind, err := publicKind(KindOf(m.Kind))
		if err != nil {
			return nil, err
		}
		if items[i].Text, err = CheckMemory(m.Text); err != nil {
			return nil, err
		}
		items[i].Kind, items[i].Title, items[i].Source = kind, textkit.Truncate(textkit.OneLine(m.Title), MaxTitle), textkit.OneLine(m.Source)
		items[i].ExternalID, items[i].Link = textkit.OneLine(m.ExternalID), textkit.OneLine(m.URL)
		if m.URL != "" && !isWebAddress(m.URL) {
			return nil, Invalidf("url", "expected a web address, such as https://example.org/1")
		}
		items[i].Persona, items[i].Date = textkit.OneLine(m.Persona), m.Created
	}
	lib, err := s.libraries.Provider(owner)(ctx)
	if err != nil {
		return nil, err
	}
	defer lib.Release()
	kept, err := lib.Remember(ctx, items...)
	if err != nil {
		return nil, err
	}
	out := make([]Memory, len(kept))
	for i, it := range kept {
		out[i] = memoryOf(it)
	}
	return out, nil
}

func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != ""
}

func CheckMemory(text string) (string, error) {
	if text = strings.TrimSpace(textkit.Clean(text)); text == "" {
		return "", Invalidf("text", "nothing to remember")
	}
	return text, nil
}

func (s *Service) Remembered(ctx context.Context, owner string, ids ...string) (list []Memory, err error) {
	lib, err := s.libraries.Provider(owner)(ctx)
	if err != nil {
		return nil, err
	}
	defer lib.Release()
	for _, id := range ids {
		it, err := lib.Item(ctx, id)
		switch {
		case errors.Is(err, recall.ErrNone), errors.Is(err, recall.ErrAmbiguous), err == nil && it.ID != id:
		case err != nil:
			return nil, err
		default:
			list = append(list, memoryOf(it))
		}
	}
	return list, nil
}

// publicKind returns kinds, or an error without the text of the request.
func publicKind[T any](kinds T, err error) (T, error) {
	if err != nil {
		err = Invalidf("kind", "unknown kind; use memory, document, post, journal or thread")
	}
	return kinds, err
}

// MaxHits limits the hits of a query.
const MaxHits = 100

func (q Query) memoryKinds() ([]recall.Kind, error) {
	if q.Limit < 0 {
		return nil, Invalidf("limit", "must be from 1 to %d", MaxHits)
	}
	return publicKind(KindsOf(q.Kinds))
}

func CheckQuery(text string) error {
	if strings.TrimSpace(text) == "" {
		return Invalidf("q", "the query is empty: enter search words")
	}
	return nil
}

func memoryOf(it recall.Item) Memory {
	m := Memory{
		ID: it.ID, Kind: string(it.Kind), Title: it.Title, Text: textkit.Clean(it.Text), Source: lookup.SourceName(it.Source), ExternalID: it.ExternalID, URL: it.Link, Persona: it.Persona, Created: it.Date,
	}
	if m.Created.IsZero() {
		m.Created = it.Added
	}
	return m
}

func (s *Service) Search(ctx context.Context, owner string, q Query) ([]Hit, error) {
	kinds, err := q.memoryKinds()
	if err == nil {
		err = CheckQuery(q.Text)
	}
	switch {
	case err != nil:
		return nil, err
	case q.Limit > MaxHits:
		return nil, Invalidf("limit", "must be from 1 to %d", MaxHits)
	}
	lib, err := s.libraries.Provider(owner)(ctx)
	if err != nil {
		return nil, err
	}
	defer lib.Release()
	found, err := lib.Search(ctx, q.Text, recall.SearchOptions{N: q.Limit, Kinds: kinds, Persona: q.Persona})
	if err != nil {
		return nil, err
	}
	list := make([]Hit, len(found.Hits))
	for i, h := range found.Hits {
		list[i] = Hit{Memory: memoryOf(h.Item), Quote: textkit.Clean(h.Quote), Score: h.Score}
		list[i].Text = textkit.Clean(h.Context)
	}
	return list, nil
}

func (s *Service) Memories(ctx context.Context, owner string, q Query, after string) ([]Memory, error) {
	kinds, err := q.memoryKinds()
	if err != nil {
		return nil, err
	}
	lib, err := s.libraries.Provider(owner)(ctx)
	if err != nil {
		return nil, err
	}
	defer lib.Release()
	items, err := lib.List(ctx, recall.Filter{Kinds: kinds, Persona: q.Persona, N: q.Limit, After: after})
	if err != nil {
		return nil, err
	}
	list := make([]Memory, len(items))
	for i, it := range items {
		list[i] = memoryOf(it)
	}
	return list, nil
}

func (s *Service) Forget(ctx context.Context, owner, id string) error {
	lib, err := s.libraries.Provider(owner)(ctx)
	if err != nil {
		return err
	}
	defer lib.Release()
	it, err := lib.Item(ctx, id)
	if errors.Is(err, recall.ErrNone) || errors.Is(err, recall.ErrAmbiguous) || err == nil && it.ID != id {
		return NotFoundf("memory_id", "%s", "no memory has the ID "+textkit.Truncate(textkit.OneLine(id), 60))
	}
	if err != nil {
		return err
	}
	_, err = lib.Forget(ctx, it.ID)
	return err
}

func KindOf(name string) (recall.Kind, error) {
	if name == "" {
		return "", nil
	}
	var names []string
	for _, k := range recall.Kinds() {
		if string(k) == name {
			return k, nil
		}
		names = append(names, string(k))
	}
	return "", Invalidf("kind", "%q is unknown; use one of %s", textkit.Truncate(name, 20), strings.Join(names, ", "))
}

func KindsOf(names []string) (list []recall.Kind, err error) {
	for _, name := range names {
		k, err := KindOf(name)
		if err != nil {
			return nil, err
		}
		list = append(list, k)
	}
	return list, nil
}

func Where(it recall.Item) string {
	for _, place := range []string{it.Path, it.Link, it.Source} {
		if place != "" {
			if it.Part != "" && place == it.Path {
				place += "#" + it.Part
			}
			return document.QuotePath(place)
		}
	}
	return it.ID
}

// A MemoryWriter stores memories of a conversation. It opens or creates the library on first
// use.
type MemoryWriter struct {
	open func(context.Context) (*LibraryHandle, error)

	mu      sync.Mutex
	library *LibraryHandle // nil before first use
}

func (a *App) memoryWriter(store *sqlite.Store) *MemoryWriter {
	return &MemoryWriter{open: func(ctx context.Context) (*LibraryHandle, error) { return a.LibraryIn(ctx, store) }}
}

// Tools returns the tool that has something remembered.
func (k *MemoryWriter) Tools() []ponder.Tool { return memory.New(memory.Options{Keep: k.saveItems}) }

func (k *MemoryWriter) saveItems(ctx context.Context, items ...recall.Item) ([]recall.Item, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.library == nil {
		s, err := k.open(ctx)
		if err != nil {
			return nil, err
		}
		k.library = s
	}
	return k.library.Remember(ctx, items...)
}

func (k *MemoryWriter) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.library != nil {
		k.library.Release()
		k.library = nil
	}
}

// PersonaVoice returns the owner's persona of a name; the zero persona for "".
func (a *App) PersonaVoice(ctx context.Context, name string) (p research.Persona, err error) {
	if name == "" {
		return p, nil
	}
	lib, err := a.OpenLibraryReadOnly(ctx)
	if err == nil {
		defer lib.Close()
		var found recall.Persona
		found, err = lib.Persona(ctx, name)
		p = research.Persona{Name: found.Name, Voice: found.Voice}
	}
	return p, personaError(Invalid, err, name)
}

// PersonaError returns err, or a not-found error that names the persona.
func PersonaError(err error, name string) error { return personaError(NotFound, err, name) }

func personaError(code Code, err error, name string) error {
	if errors.Is(err, recall.ErrNone) || errors.Is(err, ErrNothingKnown) {
		return Errorf(code, "persona", "%w %q", ErrNoPersona, textkit.Truncate(textkit.OneLine(name), 40))
	}
	return err
}
