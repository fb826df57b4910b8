package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"ponder"
	"ponder/llm"
)

// Request implements [ponder.Ledger].
func (s *Store) Request(ctx context.Context, id ponder.ThreadID, run ponder.RunID, cause string) (*llm.Request, error) {
	h := hashKey(startKey(run, cause))
	var line int
	var asked []byte
	err := s.statements.First(ctx, s.read, []any{&line, &asked}, `SELECT k.at & ?, b.asked FROM ponder_thread t JOIN ponder_key k USING (num) JOIN ponder_batch b ON b.pos = k.at >> ?
		WHERE t.id = ? AND k.turn = CASE t.numbered WHEN ? THEN ? ELSE ? END AND k.hash = ?`, chunkLines-1, lineBits, string(id),
		int64(byCause), byCause.keyNumber(run, cause), byTurn.keyNumber(run, cause), h[:])
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var req *llm.Request
	if err == nil {
		req, err = requestOf(asked, line)
	}
	if err != nil {
		return nil, fmt.Errorf("read request of %s %s: %w", run, cause, explainError(err))
	}
	return req, nil
}

// requestOf returns the request of a line, or nil.
func requestOf(asked []byte, line int) (*llm.Request, error) {
	prefix := strconv.AppendInt(nil, int64(line), 10)
	prefix = append(prefix, ' ')
	for js := range bytes.Lines(asked) {
		js, ok := bytes.CutPrefix(js, prefix)
		if !ok {
			continue
		}
		req := new(llm.Request)
		return req, json.Unmarshal(js, req)
	}
	return nil, nil
}

// LoadCheckpoint implements [ponder.Checkpoints].
func (s *Store) LoadCheckpoint(ctx context.Context, id ponder.ThreadID, fold, version string) (seq ponder.Seq, state []byte, err error) {
	err = s.statements.First(ctx, s.read, []any{&seq, &state}, `SELECT f.seq, f.state FROM ponder_thread t JOIN ponder_fold f USING (num)
		WHERE t.id = ? AND f.fold = ? AND f.version = ?`, string(id), fold, version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, fmt.Errorf("checkpoint %s: %w", id, explainError(err))
	}
	return seq, state, nil
}

// SaveCheckpoint implements [ponder.Checkpoints].
func (s *Store) SaveCheckpoint(ctx context.Context, id ponder.ThreadID, fold, version string, seq ponder.Seq, state []byte) error {
	err := s.submit(ctx, len(state), func(tx *tx) error {
		t := tx.loadThread(id)
		if t == nil || t.removed {
			return ponder.ErrNoThread
		}
		if t.isTainted() {
			return nil
		}
		tx.exec(`INSERT INTO ponder_fold (num, fold, version, seq, state) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (num, fold) DO UPDATE SET version = excluded.version, seq = excluded.seq, state = excluded.state
			WHERE version <> excluded.version OR seq <= excluded.seq`, t.num, fold, version, int64(seq), state)
		return nil
	})
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", id, err)
	}
	return nil
}
