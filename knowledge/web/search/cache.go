package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

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
