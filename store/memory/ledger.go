package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/store/internal/storerules"
)

// Request implements [ponder.Ledger].
func (s *Store) Request(ctx context.Context, id ponder.ThreadID, run ponder.RunID, cause string) (*llm.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.findThread(id)
	if t == nil {
		return nil, ctx.Err()
	}
	a := t.attempts[attemptID{run, cause}]
	if a.request == nil {
		return nil, ctx.Err()
	}
	var req llm.Request
	if err := json.Unmarshal(a.request, &req); err != nil {
		return nil, fmt.Errorf("read request of %s %s: %w", run, cause, err)
	}
	return &req, ctx.Err()
}

// Usage implements [ponder.Ledger].
func (s *Store) Usage(ctx context.Context, by ponder.GroupBy, since time.Time) ([]ponder.UsageRow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tally := make(storerules.Tally)
	for _, r := range s.results {
		key, err := r.Group(by, r.thread)
		if err != nil {
			return nil, err
		}
		if r.Tool != "" || r.Time.Before(since) {
			continue
		}
		row := r.Row(key)
		if by == ponder.ByRun {
			row.Thread = r.thread
		}
		tally.Add(row)
	}
	return tally.Rows(), ctx.Err()
}

// LoadCheckpoint implements [ponder.Checkpoints].
func (s *Store) LoadCheckpoint(ctx context.Context, id ponder.ThreadID, fold, version string) (ponder.Seq, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.findThread(id)
	if t == nil || t.folds[fold].version != version {
		return 0, nil, ctx.Err()
	}
	c := t.folds[fold]
	return c.seq, bytes.Clone(c.state), ctx.Err()
}

// SaveCheckpoint implements [ponder.Checkpoints].
func (s *Store) SaveCheckpoint(ctx context.Context, id ponder.ThreadID, fold, version string, seq ponder.Seq, state []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("checkpoint %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.findThread(id)
	if t == nil {
		return fmt.Errorf("checkpoint %s: %w", id, ponder.ErrNoThread)
	}
	if t.isTainted() {
		return nil
	}
	if old := t.folds[fold]; old.version == version && old.seq > seq {
		return nil
	}
	t.folds[fold] = checkpoint{version, seq, bytes.Clone(state)}
	return nil
}
