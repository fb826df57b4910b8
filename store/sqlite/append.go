package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"ponder"
	"ponder/store/internal/rule"
)

// Append implements [ponder.Log].
func (s *Store) Append(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) ([]ponder.Event, error) {
	b, err := encode(id, events)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", id, err)
	}
	var head ponder.Seq
	err = s.submit(ctx, b.bytes, func(tx *tx) (err error) {
		head, err = tx.append(id, fence, b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", id, err)
	}
	for i := range b.events {
		b.events[i].Seq = head + ponder.Seq(i) + 1
	}
	if n := len(b.events); n > 0 {
		s.hub.Hint(id, b.events[n-1].Seq)
	}
	return b.events, nil
}

// A batch is events as they are written. It is made before the writer sees it.
type batch struct {
	events   []ponder.Event // stamped, but for the seq
	chunks   []chunk        // one for each row
	keys     []key
	attempts []attempt
	results  []rule.Result
	bytes    int
}

// A chunk is what a row of ponder_batch holds.
type chunk struct {
	lines string
	n     int
}

// A place is where an event is in a batch.
type place struct{ chunk, line int }

type key struct {
	place
	turn int64
	hash []byte
}

type attempt struct {
	place
	rule.Attempt
}

// Bounds of a chunk.
const (
	chunkLines = 1 << lineBits
	chunkBytes = 64 << 10 // a line may be longer
	lineBits   = 10
)

func encode(id ponder.ThreadID, events []ponder.Event) (*batch, error) {
	keys, err := rule.Keys(events)
	if err != nil {
		return nil, err
	}
	b := &batch{events: make([]ponder.Event, len(events))}
	now := rule.Now()
	lines := make([][]byte, len(events))
	for i, ev := range events {
		ev = ev.Stamp(id, 0, now)
		b.events[i] = ev
		ev.Thread = ""
		if lines[i], err = ev.MarshalJSON(); err != nil {
			return nil, err
		}
		b.bytes += len(lines[i])
	}
	c := chunker{left: b.bytes + len(lines)}
	for i, ev := range b.events {
		if err := b.note(ev, keys[i], c.add(lines[i])); err != nil {
			return nil, err
		}
	}
	b.chunks = c.chunks
	return b, nil
}

// A chunker makes chunks of lines.
type chunker struct {
	chunks []chunk
	lines  strings.Builder // of the last chunk
	left   int             // bytes that are to come
}

// add adds a line.
func (c *chunker) add(line []byte) place {
	last := len(c.chunks) - 1
	if last < 0 || c.chunks[last].n == chunkLines || c.lines.Len()+len(line) > chunkBytes {
		c.chunks = append(c.chunks, chunk{})
		c.lines = strings.Builder{}
		c.lines.Grow(min(c.left, chunkBytes))
		last++
	}
	c.lines.Write(line)
	c.lines.WriteByte('\n')
	c.left -= len(line) + 1
	at := place{last, c.chunks[last].n}
	c.chunks[last] = chunk{c.lines.String(), at.line + 1}
	return at
}

// note keeps what an event means beside the log.
func (b *batch) note(ev ponder.Event, k string, at place) error {
	if k != "" {
		b.keys = append(b.keys, key{at, turn(ev.Cause), hash(k)})
	}
	a, ok, err := rule.Started(ev)
	if err != nil {
		return err
	}
	if ok {
		b.attempts = append(b.attempts, attempt{at, a})
		b.bytes += len(a.Request)
	}
	if r, ok := rule.Finished(ev); ok {
		b.results = append(b.results, r)
	}
	return nil
}

// append appends a batch and returns the head before it.
func (tx *tx) append(id ponder.ThreadID, fence ponder.Fence, b *batch) (ponder.Seq, error) {
	t := tx.thread(id)
	if t == nil || t.removed && fence == 0 {
		return 0, ponder.ErrNoThread
	}
	if err := rule.Admit(fence, tx.inForce(t, fence), t.head, b.events); err != nil {
		return 0, err
	}
	head := t.head
	if len(b.events) == 0 {
		return head, nil
	}
	if err := tx.add(t, b, fence != 0); err != nil {
		return 0, err
	}
	for _, r := range b.results {
		tx.addResult(t, r)
	}
	return head, nil
}

// add adds a batch, but for what it cost, to a thread. Held says that a holder
// wrote it.
func (tx *tx) add(t *thread, b *batch, held bool) error {
	if err := tx.takeKeys(t, b); err != nil {
		return err
	}
	pos, events := tx.pos, b.events
	for _, c := range b.chunks {
		tx.pos++
		tx.addChunk(t, c, events[:c.n], held)
		events = events[c.n:]
	}
	for _, a := range b.attempts {
		tx.addAttempt(t, a.at(pos), a.Attempt)
	}
	return nil
}

// at returns the number of a place, if the first chunk comes after pos.
func (p place) at(pos int64) int64 { return (pos+1+int64(p.chunk))<<lineBits | int64(p.line) }

// takeKeys takes the keys of a batch, or none and returns ErrTaken.
func (tx *tx) takeKeys(t *thread, b *batch) error {
	taken := false
	for rest := b.keys; len(rest) > 0 && !taken; {
		n := min(len(rest), len(insertKeys)-1)
		args := make([]driver.Value, 0, 4*n)
		for _, k := range rest[:n] {
			args = append(args, t.num, k.turn, k.hash, k.at(tx.pos))
		}
		taken = tx.exec(insertKeys[n], args...) < n
		rest = rest[n:]
	}
	if !taken || tx.err != nil {
		return nil //nolint:nilerr // tx.err fails the transaction as a whole
	}
	for _, k := range b.keys {
		tx.exec(`DELETE FROM ponder_key WHERE num = ? AND turn = ? AND hash = ? AND at = ?`, t.num, k.turn, k.hash, k.at(tx.pos))
	}
	return tx.whichTaken(t, b)
}

// whichTaken returns ErrTaken with the event whose key is.
func (tx *tx) whichTaken(t *thread, b *batch) error {
	for i, ev := range b.events {
		key := ev.Key()
		if _, ok := tx.number(findKey, t.num, turn(ev.Cause), hash(key)); ok && key != "" {
			return fmt.Errorf("%w: event %d: %s", ponder.ErrTaken, i+1, key)
		}
	}
	return ponder.ErrTaken
}

// insertKeys[n] inserts n keys, but those that are taken.
var insertKeys = func() (queries [17]string) {
	for n := range queries {
		queries[n] = `INSERT OR IGNORE INTO ponder_key (num, turn, hash, at) VALUES (?, ?, ?, ?)` + strings.Repeat(`, (?, ?, ?, ?)`, max(0, n-1))
	}
	return queries
}()

const findKey = `SELECT at FROM ponder_key WHERE num = ? AND turn = ? AND hash = ?`

// addChunk adds a row of events to a thread.
func (tx *tx) addChunk(t *thread, c chunk, events []ponder.Event, held bool) {
	info := ponder.Info{Thread: ponder.Thread{Title: t.title}, Status: t.status}
	for _, ev := range events {
		info = rule.Follow(info, ev)
		if held {
			t.lease.Seen = max(t.lease.Seen, ev.Elapsed.Truncate(time.Millisecond))
		}
	}
	tx.exec(`INSERT INTO ponder_batch (pos, num, first, last, time, seen, lines) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		tx.pos, t.num, int64(t.head)+1, int64(t.head)+int64(c.n), micros(info.Updated), int64(t.lease.Seen), c.lines)
	t.head += ponder.Seq(c.n)
	if info.Status != t.status || info.Title != t.title {
		tx.exec(`UPDATE ponder_thread SET status = ?, title = ? WHERE num = ?`, string(info.Status), info.Title, t.num)
		t.status, t.title = info.Status, info.Title
	}
}

// addAttempt adds a row to the ledger.
func (tx *tx) addAttempt(t *thread, at int64, a rule.Attempt) {
	tx.exec(`INSERT INTO ponder_attempt (at, num, run, cause, tool, role, mode, model, calls, tokens, money, request)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		at, t.num, string(a.Run), a.Cause, a.Tool, string(a.Role), a.Mode, a.Model,
		int64(a.Held.Calls), int64(a.Held.Tokens), int64(a.Held.Money), a.Request)
}

// addResult adds a row of costs, with what the intent says of them.
func (tx *tx) addResult(t *thread, r rule.Result) {
	row := r.Row("")
	tx.exec(`INSERT INTO ponder_usage (num, time, run, cause, tool, failed,
			input, cache_read, cache_write, output, reasoning, cost, estimated, money, price, model, role, mode)
		SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce(nullif(?, ''), a.model, ''), coalesce(a.role, ''), coalesce(a.mode, '')
		FROM (SELECT 1) LEFT JOIN ponder_attempt a
		ON a.at = (`+findKey+`)`,
		t.num, micros(r.Time), string(r.Run), r.Cause, r.Tool, int64(row.Failed),
		int64(r.Usage.Input), int64(r.Usage.CacheRead), int64(r.Usage.CacheWrite), int64(r.Usage.Output), int64(r.Usage.Reasoning),
		nullable(r.Usage.Cost), flag(r.Usage.Estimated), int64(row.Money), string(r.Price), r.Model,
		t.num, turn(r.Cause), hash(startKey(r)))
}

// startKey returns the key of the event that began what ended in r.
func startKey(r rule.Result) string {
	ev := ponder.Event{Run: r.Run, Cause: r.Cause, Body: ponder.CallStarted{}}
	if r.Tool != "" {
		ev.Body = ponder.ToolCall{}
	}
	return ev.Key()
}

func nullable(n *int64) driver.Value {
	if n == nil {
		return nil
	}
	return *n
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
