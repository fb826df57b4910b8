package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Defaults of providers.
const (
	defaultMax     = 2
	defaultTimeout = 20 * time.Second
	maxTries       = 3
	retryDelay     = 500 * time.Millisecond // before the next try; doubles
)

// A lane enforces a provider's limits.
type lane struct {
	Provider
	slots chan struct{}

	mu   sync.Mutex
	next time.Time // earliest next request
}

func newLane(p Provider) *lane {
	if p.Max <= 0 {
		p.Max = defaultMax
	}
	if p.Timeout <= 0 {
		p.Timeout = defaultTimeout
	}
	return &lane{Provider: p, slots: make(chan struct{}, p.Max)}
}

var errTimeout = errors.New("no answer in time")

// searchWithRetry retries if the provider is busy.
func (l *lane) searchWithRetry(ctx context.Context, q Query) ([]Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Timeout, errTimeout)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-l.slots }()
	for try := 1; ; try++ {
		if err := l.waitTurn(ctx); err != nil {
			return nil, err
		}
		list, err := l.searchOnce(ctx, q)
		pause, worth := retryPause(err, try)
		l.delayNext(pause)
		if !worth || try == maxTries {
			return list, err
		}
	}
}

// waitTurn waits for a turn, or fails at once if it is too late.
func (l *lane) waitTurn(ctx context.Context) error {
	l.mu.Lock()
	now := time.Now()
	at := l.next
	if at.Before(now) {
		at = now
	}
	if end, ok := ctx.Deadline(); ok && at.After(end) {
		l.mu.Unlock()
		return fmt.Errorf("%w; try again in %v", ErrBusy, at.Sub(now).Round(time.Second))
	}
	l.next = at.Add(l.Every)
	l.mu.Unlock()
	t := time.NewTimer(at.Sub(now))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// delayNext delays all searches.
func (l *lane) delayNext(pause time.Duration) {
	if pause <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := time.Now().Add(pause); at.After(l.next) {
		l.next = at
	}
}

// retryPause returns the pause after an error, and whether to try again.
func retryPause(err error, try int) (time.Duration, bool) {
	var status *StatusError
	if !errors.As(err, &status) {
		return 0, false
	}
	pause := retryDelay << (try - 1)
	switch {
	case status.Retry > 0:
		pause = status.Retry
	case status.Status == 429:
		pause = max(pause, time.Second)
	}
	switch status.Status {
	case 429, 502, 503, 504:
		return pause, true
	case 500:
		return pause, try == 1
	}
	return status.Retry, false
}

// searchOnce makes one request. It does not wait for providers that ignore ctx, and recovers
// from panics.
func (l *lane) searchOnce(ctx context.Context, q Query) ([]Result, error) {
	type answer struct {
		list []Result
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("provider panicked")}
		defer func() {
			if recover() != nil {
				a = answer{err: errors.New("provider panicked")}
			}
			done <- a
		}()
		a.list, a.err = l.Search(ctx, q)
	}()
	select {
	case a := <-done:
		if a.err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return a.list, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// noteKind is that of the notes in the archive.
const noteKind = "search"

// findArchived returns a recent archived answer. Unreadable ones are ignored.
func (s *Searcher) findArchived(ctx context.Context, l *lane, q Query) (list []Result, at time.Time, ok bool) {
	age := cmp.Or(q.MaxAge, s.opts.MaxAge)
	if s.cache == nil || age < 0 || l.Local {
		return nil, at, false
	}
	value, at, err := s.cache.Note(ctx, noteKind, noteKey(l.Name, q))
	if err != nil || q.now.Sub(at) > age || json.Unmarshal(value, &list) != nil {
		return nil, at, false
	}
	return validateResults(list, q), at, true
}

// saveAnswer archives an answer; failures are ignored.
func (s *Searcher) saveAnswer(ctx context.Context, l *lane, q Query, list []Result, at time.Time) {
	if s.cache == nil || s.opts.MaxAge < 0 || l.Local {
		return
	}
	s.clean.Do(func() { _ = s.cache.Forget(ctx, noteKind, at.Add(-s.opts.Keep)) })
	if value, err := json.Marshal(list); err == nil {
		_ = s.cache.SetNote(ctx, noteKind, noteKey(l.Name, q), value, at)
	}
}

// noteKey returns the key of a provider's answer.
func noteKey(provider string, q Query) string {
	q.MaxAge, q.now = 0, time.Time{}
	b, err := json.Marshal(q)
	if err != nil {
		return provider
	}
	sum := sha256.Sum256(b)
	return provider + " " + hex.EncodeToString(sum[:])
}
