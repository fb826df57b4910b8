package knowledge

import (
	"context"
	"strings"
	"sync"
	"time"

	"ponder/knowledge/document"
)

// Whether files have changed is looked up before every search, but not so often
// that looking takes more than a tenth of the time.
const (
	lookEvery  = 10 // times as long as a look took
	lookAtMost = 2 * time.Second
	maxEntries = 32
)

// A cache keeps the documents of sets of paths. It is safe for concurrent use.
type cache struct {
	read     document.Options
	maxBytes int64

	mu      sync.Mutex
	entries map[string]*entry
	clock   int64 // counts uses
}

// An entry is the documents of one set of paths. What a holder of the lock may
// touch is below it; the rest belongs to the cache.
type entry struct {
	used  int64
	bytes int64

	lock    chan struct{} // holds one value while it is locked
	key     string        // of the listing that was read; "" before the first
	docs    *document.Collection
	skipped []document.Skipped
	fresh   time.Time // until when the listing needs no look
}

func newCache(opts Options) *cache {
	return &cache{read: opts.Read, maxBytes: opts.MaxBytes, entries: map[string]*entry{}}
}

// load returns the documents of paths as they are now. Of callers that want the
// same paths at the same time, one reads and the others wait for it.
func (c *cache) load(ctx context.Context, paths []string) (*document.Collection, []document.Skipped, error) {
	e := c.entry(strings.Join(paths, "\x00"))
	select {
	case e.lock <- struct{}{}:
		defer func() { <-e.lock }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	err := e.refresh(ctx, paths, c.read)
	c.weigh(e)
	if err != nil {
		return nil, nil, err
	}
	return e.docs, e.skipped, nil
}

// refresh reads the documents if they have changed. The caller holds the lock.
func (e *entry) refresh(ctx context.Context, paths []string, opts document.Options) error {
	began := time.Now()
	if e.docs != nil && began.Before(e.fresh) {
		return nil
	}
	list, err := document.Scan(ctx, paths, opts)
	if err != nil {
		return err
	}
	e.fresh = time.Now().Add(min(lookEvery*time.Since(began), lookAtMost))
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

// entry returns the entry of a key, which may be new.
func (c *cache) entry(key string) *entry {
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

// weigh notes how large an entry is, and forgets those that were not used for
// longest while all are too large together.
func (c *cache) weigh(e *entry) {
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

// document returns the document whose hash begins so, of those that are kept, or
// nil. Of copies it is that of the least path.
func (c *cache) document(hash string) (found *document.Document) {
	for _, docs := range c.kept() {
		for _, d := range docs.Documents() {
			if strings.HasPrefix(d.Hash, hash) && (found == nil || d.Source < found.Source) {
				found = d
			}
		}
	}
	return found
}

// kept returns the documents that are kept and not just being read.
func (c *cache) kept() (list []*document.Collection) {
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
