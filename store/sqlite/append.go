package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"ponder"
	"ponder/store/internal/storerules"
)

// Append implements [ponder.Log].
func (s *Store) Append(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) ([]ponder.Event, error) {
	added, err := s.appendEvents(ctx, id, events, func(tx *tx, b *batch) (ponder.Seq, error) { return tx.appendBatch(id, fence, b) })
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", id, err)
	}
	return added, nil
}

// appendEvents appends events with do, which returns the head before them.
func (s *Store) appendEvents(ctx context.Context, id ponder.ThreadID, events []ponder.Event, do func(*tx, *batch) (ponder.Seq, error)) ([]ponder.Event, error) {
	b, err := s.batches.encodeBatch(id, events)
	if err != nil {
		return nil, err
	}
	var head ponder.Seq
	err = s.sendRequest(ctx, &request{bytes: b.size(), calls: b.startsCall && !b.urgent, do: func(tx *tx) (err error) {
		head, err = do(tx, b)
		return err
	}})
	if err != nil {
		return nil, err
	}
	added := b.events
	s.batches.recycleBatch(b)
	for i := range added {
		added[i].Seq = head + ponder.Seq(i) + 1
	}
	if n := len(added); n > 0 {
		s.hub.Hint(id, added[n-1].Seq)
	}
	return added, nil
}

// appendBatch appends a batch and returns the head before it.
func (tx *tx) appendBatch(id ponder.ThreadID, fence ponder.Fence, b *batch) (ponder.Seq, error) {
	t := tx.loadThread(id)
	if t == nil || t.removed && fence == 0 {
		return 0, ponder.ErrNoThread
	}
	if err := storerules.CheckAppend(fence, tx.inForce(t, fence), t.head, b.events); err != nil {
		return 0, err
	}
	head := t.head
	if len(b.events) == 0 {
		return head, nil
	}
	if err := tx.addBatch(t, b, fence != 0); err != nil {
		return 0, err
	}
	for _, r := range b.results {
		tx.addResult(t, r)
	}
	return head, nil
}

// addBatch adds the events of a batch to a thread, without the costs. If held is set, a holder
// wrote them.
func (tx *tx) addBatch(t *thread, b *batch, held bool) error {
	if err := tx.takeKeys(t, b); err != nil {
		return err
	}
	events := b.events
	for i, c := range b.chunks {
		from := b.chunkEnd(i - 1)
		tx.pos++
		tx.addChunk(t, events[:c.n], b.lines.Bytes()[from.lines:c.lines], b.asked.Bytes()[from.asked:c.asked], held)
		events = events[c.n:]
	}
	tx.saveThread(t)
	t.cacheCalls(b.starts)
	return nil
}

// storedPosition returns the stored position of the place, if the first chunk has the pos after pos.
func (p place) storedPosition(pos int64) int64 {
	return (pos+1+int64(p.chunk))<<lineBits | int64(p.line)
}

// takeKeys inserts the keys of a batch. If one is taken, it inserts none and returns
// ErrTaken.
func (tx *tx) takeKeys(t *thread, b *batch) error {
	taken := false
	for rest := b.keys; len(rest) > 0 && !taken; {
		n := min(len(rest), len(insertKeys)-1)
		args, num := tx.many[:0], driver.Value(t.num)
		for i, k := range rest[:n] {
			args = append(args, num, k.number[t.keys], rest[i].hash[:], k.storedPosition(tx.pos))
		}
		tx.many = args
		taken = tx.exec(insertKeys[n], args...) < n
		rest = rest[n:]
	}
	if !taken || tx.err != nil {
		return nil //nolint:nilerr // tx.err fails the transaction as a whole
	}
	for _, k := range b.keys {
		tx.exec(`DELETE FROM ponder_key WHERE num = ? AND turn = ? AND hash = ? AND at = ?`, t.num, k.number[t.keys], k.hash[:], k.storedPosition(tx.pos))
	}
	return tx.whichTaken(t, b)
}

// whichTaken returns ErrTaken with the event of the taken key.
func (tx *tx) whichTaken(t *thread, b *batch) error {
	keys, err := storerules.Keys(b.events)
	for i, key := range keys {
		ev, h := b.events[i], hashKey(key)
		if _, ok := tx.queryNumber(findKey, t.num, t.keys.keyNumber(ev.Run, ev.Cause), h[:]); ok && key != "" {
			return fmt.Errorf("%w: event %d: %s", ponder.ErrTaken, i+1, key)
		}
	}
	return cmp.Or(err, ponder.ErrTaken)
}

// insertKeys[n] inserts n keys and ignores taken ones.
var insertKeys = func() (queries [17]string) {
	for n := range queries {
		queries[n] = `INSERT OR IGNORE INTO ponder_key (num, turn, hash, at) VALUES (?, ?, ?, ?)` + strings.Repeat(`, (?, ?, ?, ?)`, max(0, n-1))
	}
	return queries
}()

const findKey = `SELECT at FROM ponder_key WHERE num = ? AND turn = ? AND hash = ?`

const insertBatch = `INSERT INTO ponder_batch (pos, num, first, last, time, seen, lines, asked, roots) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

// addChunk adds a row of events to a thread.
func (tx *tx) addChunk(t *thread, events []ponder.Event, lines, asked []byte, held bool) {
	info := ponder.Info{Thread: ponder.Thread{Title: t.title, Kind: t.kind}, Status: t.status, Open: t.open, Roots: tx.rootsBefore(t, events)}
	for _, ev := range events {
		info = storerules.ApplyEvent(info, ev)
		if held {
			t.lease.Seen = max(t.lease.Seen, ev.Elapsed.Truncate(time.Millisecond))
		}
	}
	if len(asked) == 0 {
		asked = nil
	}
	first, last := t.head+1, t.head+ponder.Seq(len(events))
	tx.exec(insertBatch, tx.pos, t.num, int64(first), int64(last), toMicros(info.Updated), int64(t.lease.Seen), lines, asked, encodeRoots(info))
	t.head, t.roots = last, info.Roots
	if info.Status != t.status || info.Open != t.open || info.Title != t.title {
		t.status, t.open, t.title, t.changed = info.Status, info.Open, info.Title, true
	}
}

// saveThread updates the row of a thread if it has changed.
func (tx *tx) saveThread(t *thread) {
	if !t.changed {
		return
	}
	t.changed = false
	tx.exec(`UPDATE ponder_thread SET status = ?, open = ?, title = ?, fence = ?, node = ?, base = ?, clock = ? WHERE num = ?`,
		string(t.status), int64(t.open), t.title, int64(t.lease.Fence), string(t.lease.Node), int64(t.lease.Base), int64(t.lease.Clock), t.num)
}
