package document

import (
	"context"
	"sync"
)

// maxInFlight limits the bytes of files that this process reads at once. Other files wait. The
// PDF engine has its own memory, one file at a time.
const maxInFlight = 96 << 20

var inFlight = &byteQueue{limit: maxInFlight}

// A byteQueue limits bytes in use. One caller may use more than the limit alone.
type byteQueue struct {
	limit int64

	mu      sync.Mutex
	used    int64
	changed chan struct{} // closed by the next release; nil if nobody waits
}

// acquire waits until n bytes are free, and takes them until release.
func (q *byteQueue) acquire(ctx context.Context, n int64) (release func(), err error) {
	for {
		q.mu.Lock()
		if q.used == 0 || q.used+n <= q.limit {
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
