package document

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
)

// Memory of reading and indexing, measured with files of 8 to 25 MB in all formats but PDF.
const (
	baseMemory   = 64 << 20 // of the process
	memoryFactor = 13       // times the text
)

// maxInFlight limits the bytes of files that this process reads at once. Other files wait. The
// PDF engine has its own memory, one file at a time.
const maxInFlight = 96 << 20

var inFlight = &byteQueue{limit: func() int64 {
	return max(min(maxInFlight, (debug.SetMemoryLimit(-1)-baseMemory)/memoryFactor), 1)
}}

// Acquire waits until this process may read n more bytes of files. The caller calls release
// when their documents are stored.
func Acquire(ctx context.Context, n int64) (release func(), err error) {
	return inFlight.acquire(ctx, n)
}

// checkMemory returns an error if text of n bytes needs more memory than the process may use.
func checkMemory(n int) error {
	limit := debug.SetMemoryLimit(-1)
	if need := baseMemory + memoryFactor*int64(n); limit != math.MaxInt64 && need > limit {
		return fmt.Errorf("it needs about %s of memory, and the limit is %s (see `ponder doctor`): raise the limit, or split the file", formatSize(need), formatSize(limit))
	}
	return nil
}

// A byteQueue limits bytes in use. One caller may use more than the limit alone.
type byteQueue struct {
	limit func() int64

	mu      sync.Mutex
	used    int64
	changed chan struct{} // closed by the next release; nil without waiting callers
}

// acquire waits until n bytes are free, and takes them until release.
func (q *byteQueue) acquire(ctx context.Context, n int64) (release func(), err error) {
	for {
		q.mu.Lock()
		if q.used == 0 || q.used+n <= q.limit() {
			q.used += n
			q.mu.Unlock()
			return sync.OnceFunc(func() { q.release(n) }), nil
		}
		if q.changed == nil {
			q.changed = make(chan struct{})
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (q *byteQueue) release(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= n
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}
