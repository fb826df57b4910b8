package sqlite

import (
	"strconv"
	"sync"

	"ponder"
	"ponder/store/internal/storerules"
)

// A batch is a group of encoded events. The appending goroutine encodes it, so that the
// writer need not.
type batch struct {
	events     []ponder.Event      // stamped, without the seq
	lines      ponder.EventEncoder // the column lines of all rows
	asked      ponder.EventEncoder // the column asked of all rows
	chunks     []chunk             // one per row
	keys       []key
	starts     []storerules.Start
	results    []storerules.Result
	startsCall bool // a model call starts when the batch is recorded
	urgent     bool // a caller waits for the disk
}

// A chunk is a row of ponder_batch: the number of its events, and the ends of its text in
// the batch.
type chunk struct{ n, lines, asked int }

// A place is the position of an event in a batch.
type place struct{ chunk, line int }

type key struct {
	place
	number [byTurn + 1]int64 // by numbering
	hash   [hashSize]byte
}

// Limits of a chunk.
const (
	chunkLines = 1 << lineBits
	chunkBytes = 64 << 10 // except for a single longer line
	lineBits   = 10
)

// batches recycles the memory of batches.
type batches struct{ pool sync.Pool }

// keepBytes limits the memory of a batch that is recycled.
const keepBytes = 256 << 10

// encodeBatch returns a batch of events. The caller gives it back when it needs only the events.
func (p *batches) encodeBatch(id ponder.ThreadID, events []ponder.Event) (*batch, error) {
	keys, err := storerules.Keys(events)
	if err != nil {
		return nil, err
	}
	b, _ := p.pool.Get().(*batch)
	if b == nil {
		b = new(batch)
	}
	b.events = make([]ponder.Event, len(events))
	now := storerules.Now()
	for i, ev := range events {
		b.events[i] = ev.Stamp(id, 0, now)
		if err := b.addEvent(b.events[i], keys[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// recycleBatch recycles a batch.
func (p *batches) recycleBatch(b *batch) {
	if cap(b.lines.Bytes())+cap(b.asked.Bytes()) > keepBytes {
		return
	}
	b.lines.Reset(b.lines.Bytes())
	b.asked.Reset(b.asked.Bytes())
	clear(b.starts)
	clear(b.results)
	b.events, b.chunks, b.keys, b.starts, b.results = nil, b.chunks[:0], b.keys[:0], b.starts[:0], b.results[:0]
	b.startsCall, b.urgent = false, false
	p.pool.Put(b)
}

// size returns the approximate bytes that the batch writes.
func (b *batch) size() int { return b.lines.Len() + b.asked.Len() }

// addEvent adds an event to the last chunk, or to a new one if it does not fit.
func (b *batch) addEvent(ev ponder.Event, k string) error {
	from := b.lines.Len()
	ev.Thread = ""
	if err := b.lines.Append(ev); err != nil {
		return err
	}
	b.lines.AppendByte('\n')
	last := len(b.chunks) - 1
	if last < 0 || b.chunks[last].n == chunkLines || b.lines.Len()-b.chunkEnd(last-1).lines > chunkBytes && from > b.chunkEnd(last-1).lines {
		b.chunks = append(b.chunks, chunk{})
		last++
	}
	c := &b.chunks[last]
	at := place{last, c.n}
	if err := b.addRequest(ev, at.line); err != nil {
		return err
	}
	*c = chunk{c.n + 1, b.lines.Len(), b.asked.Len()}
	b.noteEvent(ev, k, at)
	return nil
}

// chunkEnd returns the end of a chunk.
func (b *batch) chunkEnd(i int) chunk {
	if i < 0 {
		return chunk{}
	}
	return b.chunks[i]
}

// addRequest adds the request of an event, if it has one, after the number of its line.
func (b *batch) addRequest(ev ponder.Event, line int) error {
	req := storerules.Request(ev)
	if req == nil {
		return nil
	}
	for _, c := range strconv.Itoa(line) {
		b.asked.AppendByte(byte(c))
	}
	b.asked.AppendByte(' ')
	if err := b.asked.AppendRequest(req); err != nil {
		return err
	}
	b.asked.AppendByte('\n')
	return nil
}

// noteEvent adds the keys, starts and results of an event.
func (b *batch) noteEvent(ev ponder.Event, k string, at place) {
	if k != "" {
		numbers := [...]int64{byCause: byCause.keyNumber(ev.Run, ev.Cause), byTurn: byTurn.keyNumber(ev.Run, ev.Cause)}
		b.keys = append(b.keys, key{at, numbers, hashKey(k)})
	}
	if s, ok := storerules.Started(ev); ok {
		b.starts = append(b.starts, s)
	}
	if r, ok := storerules.Finished(ev); ok {
		b.results = append(b.results, r)
	}
	switch body := ev.Body.(type) {
	case ponder.CallStarted:
		b.startsCall = b.startsCall || body.Request != nil
	case ponder.CallFinished:
		b.urgent = b.urgent || body.Refused
	case ponder.ToolCall, ponder.RunFinished, ponder.AssistantMessage:
		b.urgent = true
	default:
		b.urgent = b.urgent || ev.IsInput()
	}
}
