package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"time"
)

const (
	minMergeSegments = 8         // segments of similar size that cause a merge
	maxMergeSegments = 32        // segments per merge
	maxMergePassages = 1 << 20   // passages: the maximum for a merge
	stepBytes        = 512 << 10 // written per transaction
	stepRows         = 128       // deleted per transaction
)

// Merge does one maintenance step, concurrently with searches and additions, and
// reports whether more may remain. It deletes remains of merges and crashes, erases
// words of removed documents, or merges segments of similar size. A merge takes about a
// second for 100,000 passages, in transactions of some milliseconds. While another
// goroutine merges, it does nothing.
func (x *Index) Merge(ctx context.Context) (more bool, err error) {
	if !x.merging.TryLock() {
		return false, nil
	}
	defer x.merging.Unlock()
	for _, step := range []func(context.Context) (bool, error){x.sweepUnfinished, x.purgeNext, x.mergeSegments} {
		more, err = step(ctx)
		if err != nil {
			return false, fmt.Errorf("maintain index: %w", err)
		}
		if more {
			return true, nil
		}
	}
	return false, nil
}

func (x *Index) nowMicros() int64 { return x.clock().UnixMicro() }

// crashTimeout is the silence after which an unfinished segment counts as left by a crash.
const crashTimeout = time.Minute

func (x *Index) sweepUnfinished(ctx context.Context) (more bool, err error) {
	const query = `SELECT id FROM index_segment WHERE state = 2 OR state = 0 AND beat < ? ORDER BY id LIMIT 1`
	var id int64
	err = x.db.Read.QueryRowContext(ctx, x.db.Bind(query), x.nowMicros()-crashTimeout.Microseconds()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, x.db.Tx(ctx, func(tx *sql.Tx) error { return x.sweepSegment(ctx, tx, id) })
}

func (x *Index) sweepSegment(ctx context.Context, tx *sql.Tx, id int64) error {
	var n int
	var last sql.NullInt64
	const query = `SELECT count(*), max(id) FROM (SELECT id FROM index_blob WHERE id >= ? AND id < ? ORDER BY id LIMIT ?) AS some`
	if err := tx.QueryRowContext(ctx, x.db.Bind(query), blobID(id, 0, 0), blobID(id+1, 0, 0), stepRows).Scan(&n, &last); err != nil {
		return err
	}
	var queries []string
	if last.Valid {
		if _, err := tx.ExecContext(ctx, x.db.Bind(`DELETE FROM index_blob WHERE id >= ? AND id <= ?`), blobID(id, 0, 0), last.Int64); err != nil {
			return err
		}
	}
	if n == stepRows {
		queries = []string{`UPDATE index_segment SET state = 2 WHERE id = ?`}
	} else {
		queries = []string{`DELETE FROM index_purge WHERE segment = ?`, `DELETE FROM index_segment WHERE id = ?`, `UPDATE index_segment SET target = 0 WHERE target = ?`}
	}
	for _, query := range queries {
		if _, err := tx.ExecContext(ctx, x.db.Bind(query), id); err != nil {
			return err
		}
	}
	return nil
}

type merger struct {
	x     *Index
	view  *view
	in    []*segment
	remap [][]int32 // of each segment, new passage numbers or -1
	purge int64     // newest purge included

	id    int64
	out   *segment
	w     *blobWriter
	terms termWriter
}

func (x *Index) mergeSegments(ctx context.Context) (more bool, err error) {
	m := merger{x: x}
	err = x.readView(ctx, func(tx *sql.Tx, v *view) error {
		m.view = v
		m.in = v.mergeCandidates()
		return tx.QueryRowContext(ctx, `SELECT purge FROM index_state WHERE one = 1`).Scan(&m.purge)
	})
	if err != nil || len(m.in) == 0 {
		return false, err
	}
	switch err := m.run(ctx); {
	case errors.Is(err, errTaken):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("merge %d segments: %w", len(m.in), err)
	}
	return true, nil
}

var errTaken = errors.New("another process is merging")

// mergeCandidates returns an empty segment, one with a quarter removed, or segments of
// similar size, the smallest first.
func (v *view) mergeCandidates() []*segment {
	tiers := map[int][]*segment{}
	last := 0
	for _, s := range v.segments {
		if s.liveDocs == 0 || len(s.lens) > 1_000 && (len(s.lens)-s.live)*4 > len(s.lens) {
			return []*segment{s}
		}
		t := (bits.Len(uint(s.live)) + 2) / 3 // by factors of 8
		tiers[t] = append(tiers[t], s)
		last = max(last, t)
	}
	for t := 0; t <= last; t++ {
		list := tiers[t]
		if len(list) < minMergeSegments {
			continue
		}
		list = list[:min(len(list), maxMergeSegments)]
		size := 0
		for _, s := range list {
			size += s.live
		}
		if size <= maxMergePassages {
			return list
		}
	}
	return nil
}

func (m *merger) run(ctx context.Context) error {
	if err := m.reserveInputs(ctx); err != nil {
		return err
	}
	err := m.writeSegment(ctx)
	if err != nil && !m.abandon(context.WithoutCancel(ctx)) {
		err = errTaken // the segments may be lost
	}
	return err
}

// abandon marks the new segment for deletion and releases the old ones. It reports
// whether the merger still held them. If it fails, they become free after alive.
func (m *merger) abandon(ctx context.Context) (held bool) {
	err := m.x.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := m.renewBeat(ctx, tx, 2); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, m.x.db.Bind(`UPDATE index_segment SET target = 0 WHERE target = ?`), m.id)
		return err
	})
	return !errors.Is(err, errTaken)
}

func (m *merger) writeSegment(ctx context.Context) error {
	m.w = newBlobWriter(m.x, m.id)
	m.terms.emit = func(page []byte) error {
		m.addPage(page)
		m.w.addRow(termKind, page)
		return m.flushIfLarge(ctx)
	}
	if err := m.mergeDocs(ctx); err != nil {
		return err
	}
	if err := m.mergePostings(ctx); err != nil {
		return err
	}
	return m.publish(ctx)
}

func (m *merger) addPage(page []byte) {
	if p, ok := newTermPage(m.w.next[termKind], page); ok {
		m.out.terms.pages = append(m.out.terms.pages, p)
	}
}

// reserveInputs reserves segments against merges and purges of other processes.
func (m *merger) reserveInputs(ctx context.Context) error {
	return m.x.db.Tx(ctx, func(tx *sql.Tx) error {
		st, err := m.x.advanceState(ctx, tx, counters{segment: 1})
		if err != nil {
			return err
		}
		m.id = st.segment
		for _, s := range m.in {
			const query = `UPDATE index_segment SET target = ? WHERE id = ? AND state = 1 AND target = 0 AND purged = ?`
			if err := expectOneRow(tx.ExecContext(ctx, m.x.db.Bind(query), m.id, s.id, s.purged)); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, m.x.db.Bind(insertSegment), m.id, 0, 0, 0, m.x.nowMicros(), 0, []byte{})
		return err
	})
}

// expectOneRow returns errTaken unless exactly one row changed.
func expectOneRow(r sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err == nil && n != 1 {
		err = errTaken
	}
	return err
}

func (m *merger) mergeDocs(ctx context.Context) error {
	m.out = &segment{segmentRow: segmentRow{id: m.id}, terms: new(dictionary)}
	var meta []byte
	for _, s := range m.in {
		remap := make([]int32, len(s.lens))
		for i := range s.docs {
			d := s.docs[i]
			for j := range d.n {
				remap[d.at+j] = -1
				if !s.dead.isSet(i) {
					remap[d.at+j] = int32(len(m.out.lens)) + j
				}
			}
			if s.dead.isSet(i) {
				continue
			}
			lens := s.lens[d.at : d.at+d.n]
			d.at = int32(len(m.out.lens))
			before := (*docMeta)(nil)
			if n := len(m.out.docs); n > 0 {
				before = &m.out.docs[n-1]
			}
			meta = appendMeta(meta[:0], &d, before, lens)
			m.w.write(metaKind, meta)
			m.out.docs, m.out.lens = append(m.out.docs, d), append(m.out.lens, lens...)
		}
		m.remap = append(m.remap, remap)
		if err := m.flushIfLarge(ctx); err != nil {
			return err
		}
	}
	m.out.indexDocs()
	return nil
}

// flushIfLarge writes pending rows in a transaction if they are enough.
func (m *merger) flushIfLarge(ctx context.Context) error {
	if m.w.size < stepBytes {
		return nil
	}
	return m.x.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := m.renewBeat(ctx, tx, 0); err != nil {
			return err
		}
		return m.w.flush(ctx, tx, false)
	})
}

// renewBeat renews the beat and sets the state.
func (m *merger) renewBeat(ctx context.Context, tx *sql.Tx, state int) error {
	const query = `UPDATE index_segment SET beat = ?, state = ? WHERE id = ? AND state = 0`
	return expectOneRow(tx.ExecContext(ctx, m.x.db.Bind(query), m.x.nowMicros(), state, m.id))
}

func (m *merger) publish(ctx context.Context) error {
	err := m.x.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := m.renewBeat(ctx, tx, 1); err != nil {
			return err
		}
		if err := m.w.flush(ctx, tx, true); err != nil {
			return err
		}
		return m.replaceInputs(ctx, tx)
	})
	if err != nil {
		return err
	}
	m.out.countLive()
	m.x.mu.Lock()
	m.x.ready[m.id] = m.out
	m.x.mu.Unlock()
	return m.x.readView(ctx, func(*sql.Tx, *view) error { return nil })
}

func (m *merger) replaceInputs(ctx context.Context, tx *sql.Tx) error {
	st, err := m.x.advanceState(ctx, tx, counters{})
	if err != nil {
		return err
	}
	at := 0 // documents so far
	var dead []int
	for _, s := range m.in {
		now, err := m.currentDead(ctx, tx, s)
		if err != nil {
			return err
		}
		for i := range s.docs {
			if s.dead.isSet(i) {
				continue
			}
			if now.isSet(i) {
				dead = append(dead, at)
			}
			at++
		}
		if err := m.retireSegment(ctx, tx, s); err != nil {
			return err
		}
	}
	m.out.dead, m.out.changed, m.out.purged = bitset(nil).setBits(dead...), st.version, st.version
	if err := tx.QueryRowContext(ctx, m.x.db.Bind(`SELECT count(*) FROM index_purge WHERE segment = ?`), m.id).Scan(&m.out.purges); err != nil {
		return err
	}
	const query = `UPDATE index_segment SET changed = ?, purged = ?, purges = ?, dead = ? WHERE id = ?`
	if len(m.out.docs) == 0 {
		_, err := tx.ExecContext(ctx, m.x.db.Bind(`UPDATE index_segment SET state = 2 WHERE id = ?`), m.id)
		return err
	}
	_, err = tx.ExecContext(ctx, m.x.db.Bind(query), st.version, st.version, m.out.purges, append([]byte{}, m.out.dead...), m.id)
	return err
}

// currentDead returns the segment's removed documents, if the merger still holds it.
func (m *merger) currentDead(ctx context.Context, tx *sql.Tx, s *segment) (dead bitset, err error) {
	const query = `SELECT dead FROM index_segment WHERE id = ? AND state = 1 AND target = ?`
	err = tx.QueryRowContext(ctx, m.x.db.Bind(query), s.id, m.id).Scan((*[]byte)(&dead))
	if errors.Is(err, sql.ErrNoRows) {
		err = errTaken
	}
	return dead, err
}

// retireSegment marks a merged segment for deletion. Purges later than the merge move to the
// new segment.
func (m *merger) retireSegment(ctx context.Context, tx *sql.Tx, s *segment) error {
	if _, err := tx.ExecContext(ctx, m.x.db.Bind(`DELETE FROM index_purge WHERE segment = ? AND id <= ?`), s.id, m.purge); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, m.x.db.Bind(`UPDATE index_purge SET segment = ? WHERE segment = ?`), m.id, s.id); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, m.x.db.Bind(`UPDATE index_segment SET state = 2, target = 0 WHERE id = ?`), s.id)
	return err
}
