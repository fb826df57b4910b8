package index

import (
	"maps"
	"sync"
)

// maxCached is how many bytes of postings are kept at hand.
const maxCached = 16 << 20

// A chunkKey is a row of postings as it was after a purge. It never changes.
type chunkKey struct {
	id     int64 // of the row
	purged int64 // of its segment
}

// A cache has rows of postings that were read of late: to read a row takes longer
// than to read the postings of most words out of it. It is safe for concurrent use.
type cache struct {
	mu    sync.Mutex
	young map[chunkKey][]byte // since the last turn
	old   map[chunkKey][]byte // of the turn before
	size  int                 // of young
}

// get returns a row; nil if it is not there. Nobody may change it.
func (c *cache) get(k chunkKey) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if data := c.young[k]; data != nil {
		return data
	}
	data := c.old[k]
	if data != nil {
		c.keep(k, data)
	}
	return data
}

// put keeps a row. When half of the room is taken by new ones, what was not asked
// for since the last time goes.
func (c *cache) put(k chunkKey, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(k, data)
}

func (c *cache) keep(k chunkKey, data []byte) {
	if c.size+len(data) > maxCached/2 {
		c.old, c.young, c.size = c.young, nil, 0
	}
	if c.young == nil {
		c.young = make(map[chunkKey][]byte)
	}
	if c.young[k] == nil {
		c.size += len(data)
	}
	c.young[k] = data
}

// only drops the rows of segments that are not of a view any more, or not as they
// are in it: what was erased must not stay in memory.
func (c *cache) only(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rows := range []map[chunkKey][]byte{c.young, c.old} {
		maps.DeleteFunc(rows, func(k chunkKey, _ []byte) bool {
			s := v.segment(segmentOf(k.id))
			return s == nil || s.purged != k.purged
		})
	}
	c.size = 0
	for _, data := range c.young {
		c.size += len(data)
	}
}
