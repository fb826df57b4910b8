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

// Limits of a provider that does not say.
const (
	atOnce  = 2
	patient = 20 * time.Second
	tries   = 3
	again   = 500 * time.Millisecond // before the next try, doubled for each
)

// A lane keeps a provider's limits: how many searches at a time, how far apart,
// and not before it said to come back.
type lane struct {
	Provider
	slots chan struct{}

	mu   sync.Mutex
	next time.Time // the earliest that it may be asked
}

func newLane(p Provider) *lane {
	if p.Max <= 0 {
		p.Max = atOnce
	}
	if p.Timeout <= 0 {
		p.Timeout = patient
	}
	return &lane{Provider: p, slots: make(chan struct{}, p.Max)}
}

// errSlow says that a provider took too long.
var errSlow = errors.New("no answer in time")

// search asks the provider, and again if it was only busy.
func (l *lane) search(ctx context.Context, q Query) ([]Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Timeout, errSlow)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-l.slots }()
	for try := 1; ; try++ {
		if err := l.wait(ctx); err != nil {
			return nil, err
		}
		list, err := l.once(ctx, q)
		pause, worth := retry(err, try)
		l.hold(pause)
		if !worth || try == tries {
			return list, err
		}
	}
}

// wait waits for the provider's turn. When that is too late it fails at once.
func (l *lane) wait(ctx context.Context) error {
	l.mu.Lock()
	now := time.Now()
	at := l.next
	if at.Before(now) {
		at = now
	}
	if end, ok := ctx.Deadline(); ok && at.After(end) {
		l.mu.Unlock()
		return fmt.Errorf("%w for another %v", ErrBusy, at.Sub(now).Round(time.Second))
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

// hold keeps all searches from a provider for a while.
func (l *lane) hold(pause time.Duration) {
	if pause <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := time.Now().Add(pause); at.After(l.next) {
		l.next = at
	}
}

// retry returns how long to leave a provider alone after an error, and whether to
// try again then.
func retry(err error, try int) (time.Duration, bool) {
	var status *StatusError
	if !errors.As(err, &status) {
		return 0, false
	}
	pause := again << (try - 1)
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

// once asks the provider one time. It does not wait for one that does not heed
// its context, and holds what one breaks on.
func (l *lane) once(ctx context.Context, q Query) ([]Result, error) {
	type answer struct {
		list []Result
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("provider broke down")}
		defer func() {
			if recover() != nil {
				a = answer{err: errors.New("provider broke down")}
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

// kind is the kind of the notes that answers are kept in.
const kind = "search"

// kept returns the answer of a provider to the same query, if it is young enough.
// One that can't be read is as good as none.
func (s *Searcher) kept(ctx context.Context, l *lane, q Query) (list []Result, at time.Time, ok bool) {
	age := cmp.Or(q.MaxAge, s.opts.MaxAge)
	if s.cache == nil || age < 0 || l.Local {
		return nil, at, false
	}
	value, at, err := s.cache.Note(ctx, kind, note(l.Name, q))
	if err != nil || q.now.Sub(at) > age || json.Unmarshal(value, &list) != nil {
		return nil, at, false
	}
	return sound(list, q), at, true
}

// keep keeps an answer. That it can't be kept is no reason to do without it.
func (s *Searcher) keep(ctx context.Context, l *lane, q Query, list []Result, at time.Time) {
	if s.cache == nil || s.opts.MaxAge < 0 || l.Local {
		return
	}
	s.clean.Do(func() { _ = s.cache.Forget(ctx, kind, at.Add(-s.opts.Keep)) })
	if value, err := json.Marshal(list); err == nil {
		_ = s.cache.SetNote(ctx, kind, note(l.Name, q), value, at)
	}
}

// note returns the name of the note for a provider and a query.
func note(provider string, q Query) string {
	q.MaxAge, q.now = 0, time.Time{}
	b, err := json.Marshal(q)
	if err != nil {
		return provider
	}
	sum := sha256.Sum256(b)
	return provider + " " + hex.EncodeToString(sum[:])
}
