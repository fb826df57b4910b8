package compat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"ponder"
)

// Clients repeat a request after a timeout, mostly without declaring it.
const (
	retryTime  = 10 * time.Minute
	leaveTime  = 20 * time.Second // until an abandoned exchange is cancelled
	maxRetries = 4096
)

type deduper struct {
	mu        sync.Mutex
	list      map[string]*sentRequest
	cleanedAt time.Time

	lookup sync.Mutex
	busy   map[string]bool                       // by owner: see Dispatcher.wasBusy
	causes map[string]map[string]ponder.ThreadID // see Dispatcher.causes
}

type sentRequest struct {
	begun    chan struct{} // closed when work and err are set
	work     Job
	err      error
	at       time.Time
	answered bool            // delivered completely
	known    bool            // an equal request preceded it
	left     bool            // cancelled as abandoned
	failed   bool            // the work failed, so a retry needs another
	client   context.Context //nolint:containedctx // of the request; done when the client has gone
}

// BeginOnce starts a. An equal request gets the same work if the first client left without an answer, or if it
// declares a retry. The caller must call answered once the client has the complete answer.
func (d *Dispatcher) BeginOnce(r *http.Request, body []byte, a Request) (w Job, answered func(), err error) {
	a.Key = cmp.Or(a.Key, r.Header.Get("Idempotency-Key"))
	defer func() { context.AfterFunc(r.Context(), w.Forget) }()
	if a.Key != "" { // the store deduplicates by key
		w, err = d.Begin(r.Context(), a)
		return w, func() {}, err
	}
	sum := sha256.Sum256(body)
	s, first := d.deduper.enterRequest(hexOf(a.Owner, r.Method+r.URL.Path, string(sum[:])), r)
	if first {
		d.startRequest(s, r, a)
		if s.err == nil && s.work.Kind == Exchange && !a.KeepRunning {
			context.AfterFunc(r.Context(), func() { time.AfterFunc(leaveTime, func() { d.cancelAbandoned(s) }) })
		}
	} else {
		select {
		case <-s.begun:
		case <-r.Context().Done():
			return Job{}, func() {}, r.Context().Err()
		}
	}
	w, answered = s.work, func() { d.deduper.markAnswered(s) }
	w.failed = func() { d.deduper.markFailed(s) }
	if !first {
		w.listener = nil // it belongs to the first request
	}
	return w, answered, s.err
}

func (d *Dispatcher) checkKeyUnused(ctx context.Context, a Request) error {
	if a.Key == "" {
		return nil
	}
	if _, err := d.Store.Thread(ctx, a.newThread()); errors.Is(err, ponder.ErrRemoved) {
		return &APIError{Status: http.StatusConflict, Detail: "the result of this Idempotency-Key was removed: use a new key"}
	}
	return nil
}

// startRequest starts s. It always closes s.begun, also after a panic.
func (d *Dispatcher) startRequest(s *sentRequest, r *http.Request, a Request) {
	defer close(s.begun)
	s.err = errors.New("the start failed")
	ctx := context.WithoutCancel(r.Context())
	if !s.known {
		if w, found, err := d.findLost(ctx, r, a); found || err != nil {
			s.work, s.err = w, err
			return
		}
	}
	s.work, s.err = d.Begin(ctx, a)
}

// enterRequest returns the entry of a request, and whether the caller must start it.
func (l *deduper) enterRequest(key string, r *http.Request) (s *sentRequest, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if s = l.list[key]; s != nil && now.Sub(s.at) < retryTime && s.isWanted(r) {
		s.client = r.Context()
		return s, false
	}
	if l.list == nil {
		l.list = make(map[string]*sentRequest)
	}
	l.removeExpired(now)
	s = &sentRequest{begun: make(chan struct{}), at: now, client: r.Context(), known: s != nil}
	l.list[key] = s
	return s, true
}

// isWanted reports whether r may share the work of s.
func (s *sentRequest) isWanted(r *http.Request) bool {
	select {
	case <-s.begun:
		if s.err != nil || s.left || s.failed {
			return false
		}
	default:
	}
	return isRetry(r) || !s.answered && s.client.Err() != nil
}

// isRetry reports whether the header of r declares a retry.
func isRetry(r *http.Request) bool {
	n := r.Header.Get("X-Stainless-Retry-Count")
	return n != "" && n != "0"
}

func (l *deduper) markAnswered(s *sentRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.answered = s.client.Err() == nil
}

func (l *deduper) markFailed(s *sentRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.failed = true
}

// cancelAbandoned cancels an abandoned exchange.
func (d *Dispatcher) cancelAbandoned(s *sentRequest) {
	d.deduper.mu.Lock()
	gone := !s.answered && s.client.Err() != nil && d.Gone.Err() == nil
	s.left = s.left || gone
	d.deduper.mu.Unlock()
	if !gone {
		return
	}
	ctx, cancel := context.WithTimeout(d.Gone, leaveTime)
	defer cancel()
	if err := d.Cancel(ctx, s.work); err != nil {
		d.logger().Warn("cannot cancel the work of a disconnected client", "thread", s.work.Thread, "error", err)
	}
}

// removeExpired removes expired entries, and arbitrary ones above the limit. The caller holds l.mu.
func (l *deduper) removeExpired(now time.Time) {
	if now.Sub(l.cleanedAt) >= retryTime/10 {
		l.cleanedAt = now
		for key, s := range l.list {
			if now.Sub(s.at) >= retryTime {
				delete(l.list, key)
			}
		}
	}
	for key := range l.list {
		if len(l.list) < maxRetries {
			return
		}
		delete(l.list, key)
	}
}
