package knowledge

import (
	"context"
	"strings"
	"sync"
	"time"

	"ponder/knowledge/document"
)

// The cache scans for changed files before a search, but spends at most about a tenth of
// the time on it.
const (
	scanFactor = 10 // times the duration of a scan
	maxFresh   = 2 * time.Second
	maxEntries = 32
)

// A cache holds the documents of sets of paths. It is safe for concurrent use.
type cache struct {
	read     document.Options
	maxBytes int64

	mu      sync.Mutex
	entries map[string]*entry
	clock   int64 // a logical clock of uses
}

// An entry holds the documents of a set of paths. Its lock protects the fields below the
// lock; the mutex of the cache protects the others.
type entry struct {
	used  int64
	bytes int64

	lock    chan struct{} // holds a value while locked
	key     string        // the key of the loaded listing; "" before the first
	docs    *document.Collection
	skipped []document.SkippedFile
	fresh   time.Time // the next scan is due after this time
}

func newCache(opts Options) *cache {
	return &cache{read: opts.Read, maxBytes: opts.MaxBytes, entries: map[string]*entry{}}
}

// loadDocuments returns the current documents of paths. Concurrent callers with the same paths share
// the work.
func (c *cache) loadDocuments(ctx context.Context, paths []string) (*document.Collection, []document.SkippedFile, error) {
	e := c.entryFor(strings.Join(paths, "\x00"))
	select {
	case e.lock <- struct{}{}:
		defer func() { <-e.lock }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	err := e.refreshDocuments(ctx, paths, c.read)
	c.evictOldest(e)
	if err != nil {
		return nil, nil, err
	}
	return e.docs, e.skipped, nil
}

// refreshDocuments reloads the documents if they have changed. The caller holds the lock.
func (e *entry) refreshDocuments(ctx context.Context, paths []string, opts document.Options) error {
	began := time.Now()
	if e.docs != nil && began.Before(e.fresh) {
		return nil
	}
	list, err := document.Scan(ctx, paths, opts)
	if err != nil {
		return err
	}
	e.fresh = time.Now().Add(min(scanFactor*time.Since(began), maxFresh))
	key := list.Key()
	if e.docs != nil && key == e.key {
		return nil
	}
	docs, skipped, err := list.Load(ctx)
	if err != nil {
		return err
	}
	e.key, e.docs, e.skipped = key, docs, skipped
	return nil
}

// entryFor returns the entry of a key, and creates it if necessary.
func (c *cache) entryFor(key string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		e = &entry{lock: make(chan struct{}, 1)}
		c.entries[key] = e
	}
	c.clock++
	e.used = c.clock
	return e
}

// evictOldest records the size of an entry. It drops the least recently used entries while the
// cache is too large.
func (c *cache) evictOldest(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.docs != nil {
		e.bytes = e.docs.Bytes()
	}
	for {
		total, oldest, key := int64(0), (*entry)(nil), ""
		for k, other := range c.entries {
			total += other.bytes
			if other != e && (oldest == nil || other.used < oldest.used) {
				oldest, key = other, k
			}
		}
		if oldest == nil || total <= c.maxBytes && len(c.entries) <= maxEntries {
			return
		}
		delete(c.entries, key)
	}
}

// findDocument returns a cached document whose hash starts with the given one, or nil. Among
// copies it prefers the first path.
func (c *cache) findDocument(hash string) (found *document.Document) {
	for _, docs := range c.cachedDocuments() {
		for _, d := range docs.Documents() {
			if strings.HasPrefix(d.Hash, hash) && (found == nil || d.Source < found.Source) {
				found = d
			}
		}
	}
	return found
}

// cachedDocuments returns the cached documents that are not being loaded.
func (c *cache) cachedDocuments() (list []*document.Collection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		select {
		case e.lock <- struct{}{}:
			if e.docs != nil {
				list = append(list, e.docs)
			}
			<-e.lock
		default:
		}
	}
	return list
}
