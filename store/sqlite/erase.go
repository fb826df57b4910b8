package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"

	"ponder"
	"ponder/store/internal/storerules"
)

// Erase implements [ponder.Log].
func (s *Store) Erase(ctx context.Context, id ponder.ThreadID, seqs ...ponder.Seq) error {
	err := s.submit(ctx, 0, func(tx *tx) error { return tx.eraseEvents(id, seqs) })
	if err != nil {
		return fmt.Errorf("erase from %s: %w", id, err)
	}
	if len(seqs) > 0 {
		s.scrubWAL(ctx)
	}
	return nil
}

func (tx *tx) eraseEvents(id ponder.ThreadID, seqs []ponder.Seq) error {
	t := tx.loadThread(id)
	if t == nil || t.removed {
		return ponder.ErrNoThread
	}
	seqs, err := storerules.NormalizeSeqs(seqs, t.head)
	if err != nil || len(seqs) == 0 {
		return err
	}
	e := eraser{tx: tx, thread: t, title: t.title, rows: make(map[int64]*erasedRow)}
	for len(seqs) > 0 && tx.err == nil {
		if seqs, err = e.eraseRow(seqs); err != nil {
			return err
		}
	}
	e.writeRows()
	return nil
}

// An eraser collects the changes of an Erase before it writes them.
type eraser struct {
	*tx
	*thread
	title string
	order []int64 // of rows
	rows  map[int64]*erasedRow
}

// An erasedRow is the new content of a row of ponder_batch.
type erasedRow struct{ lines, asked []byte }

// eraseRow erases the events in the row of the first seq, and returns the seqs of other rows.
func (e *eraser) eraseRow(seqs []ponder.Seq) ([]ponder.Seq, error) {
	row := make([]driver.Value, 2)
	if !e.tx.queryRow(row, `SELECT pos, first FROM ponder_batch WHERE num = ? AND last >= ? ORDER BY last LIMIT 1`, e.num, int64(seqs[0])) {
		return nil, nil // tx.err has the reason
	}
	pos, first := row[0].(int64), row[1].(int64)
	r := e.loadRow(pos)
	if r == nil {
		return nil, nil
	}
	var lines ponder.EventEncoder
	lines.Reset(make([]byte, 0, len(r.lines)))
	seq := ponder.Seq(first)
	for line := range bytes.Lines(r.lines) {
		if len(seqs) == 0 || seqs[0] != seq {
			lines.AppendBytes(line)
		} else if err := e.encodeErased(&lines, line); err != nil {
			return nil, fmt.Errorf("%w: event %d: %w", ponder.ErrDamaged, seq, err)
		} else {
			seqs = seqs[1:]
		}
		seq++
	}
	r.lines = lines.Bytes()
	if len(seqs) > 0 && seqs[0] < seq {
		return nil, fmt.Errorf("%w: event %d is missing", ponder.ErrDamaged, seqs[0])
	}
	return seqs, nil
}

// encodeErased encodes an event without its content.
func (e *eraser) encodeErased(to *ponder.EventEncoder, line []byte) error {
	var ev ponder.Event
	if err := json.Unmarshal(line, &ev); err != nil {
		return err
	}
	e.title = storerules.TitleAfterErase(e.title, ev)
	if storerules.HasRequest(ev) {
		e.eraseRequest(ev)
	}
	if err := to.Append(ev.WithoutContent()); err != nil {
		return err
	}
	to.AppendByte('\n')
	return nil
}

// eraseRequest erases the request of a call, which may be in an earlier row.
func (e *eraser) eraseRequest(ev ponder.Event) {
	h := hashKey(startKey(ev.Run, ev.Cause))
	at, ok := e.queryNumber(findKey, e.num, e.keys.keyNumber(ev.Run, ev.Cause), h[:])
	if !ok {
		return
	}
	r := e.loadRow(at >> lineBits)
	if r == nil {
		return
	}
	prefix := strconv.AppendInt(nil, at&(chunkLines-1), 10)
	prefix = append(prefix, ' ')
	kept := make([]byte, 0, len(r.asked))
	for line := range bytes.Lines(r.asked) {
		if !bytes.HasPrefix(line, prefix) {
			kept = append(kept, line...)
		}
	}
	r.asked = kept
}

// loadRow returns the row with the changes so far.
func (e *eraser) loadRow(pos int64) *erasedRow {
	if r := e.rows[pos]; r != nil {
		return r
	}
	row := make([]driver.Value, 2)
	if !e.tx.queryRow(row, `SELECT lines, asked FROM ponder_batch WHERE pos = ?`, pos) {
		return nil
	}
	r := &erasedRow{}
	r.lines, _ = row[0].([]byte)
	r.asked, _ = row[1].([]byte)
	e.rows[pos], e.order = r, append(e.order, pos)
	return r
}

// writeRows writes the changes.
func (e *eraser) writeRows() {
	for _, pos := range e.order {
		r := e.rows[pos]
		var asked driver.Value
		if len(r.asked) > 0 {
			asked = r.asked
		}
		e.exec(`UPDATE ponder_batch SET lines = ?, asked = ? WHERE pos = ?`, r.lines, asked, pos)
	}
	e.exec(`DELETE FROM ponder_fold WHERE num = ?`, e.num)
	if e.tainted = 0; e.lease.Node == "" {
		e.lease.Fence++ // see [ponder.Lease]
		e.changed = true
	} else {
		e.tainted = e.lease.Fence
		e.exec(`INSERT INTO ponder_fold (num, fold, version, seq, state) VALUES (?, ?, '', ?, ?)`, e.num, taint, int64(e.lease.Fence), []byte{})
	}
	if e.title != e.thread.title {
		e.thread.title, e.changed = e.title, true
	}
	e.saveThread(e.thread)
}

// taint names a row of ponder_fold that is no checkpoint. Its seq is the fence of a lease
// whose holder has read content that was erased since.
const taint = ""

// isTainted reports whether the holder of the newest lease has read content that was erased
// since.
func (t *thread) isTainted() bool { return t.tainted != 0 && t.tainted == t.lease.Fence }
