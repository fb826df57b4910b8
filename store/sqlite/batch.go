package sqlite

import (
	"strconv"
	"sync"

	"ponder"
	"ponder/store/internal/storerules"
)

// A batch is events as they are written. It is made before the writer sees it.
type batch struct {
	events  []ponder.Event      // stamped, but for the seq
	lines   ponder.EventEncoder // all that goes into lines
	asked   ponder.EventEncoder // all that goes into asked
	chunks  []chunk             // one for each row
	keys    []key
	starts  []storerules.Start
	results []storerules.Result
	asks    bool // a model is asked once it is recorded
	urgent  bool // somebody waits until it is durable
}

// A chunk is what a row of ponder_batch holds: n events, whose text ends there
// in the batch.
type chunk struct{ n, lines, asked int }

// A place is where an event is in a batch.
type place struct{ chunk, line int }

type key struct {
	place
	number [byTurn + 1]int64 // by each numbering
	hash   [hashSize]byte
}

// Bounds of a chunk.
const (
	chunkLines = 1 << lineBits
	chunkBytes = 64 << 10 // a line may be longer
	lineBits   = 10
)

// batches keeps batches whose memory can be used again.
type batches struct{ pool sync.Pool }

// keepBytes is how much memory a batch may have to be kept.
const keepBytes = 256 << 10

// encode makes a batch of events. Whoever has it gives it back when nothing of
// it is needed any more but its events.
func (p *batches) encode(id ponder.ThreadID, events []ponder.Event) (*batch, error) {
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
		if err := b.add(b.events[i], keys[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// give gives a batch back.
func (p *batches) give(b *batch) {
	if cap(b.lines.Bytes())+cap(b.asked.Bytes()) > keepBytes {
		return
	}
	b.lines.Reset(b.lines.Bytes())
	b.asked.Reset(b.asked.Bytes())
	clear(b.starts)
	clear(b.results)
	b.events, b.chunks, b.keys, b.starts, b.results = nil, b.chunks[:0], b.keys[:0], b.starts[:0], b.results[:0]
	b.asks, b.urgent = false, false
	p.pool.Put(b)
}

// size returns about how many bytes the batch writes.
func (b *batch) size() int { return b.lines.Len() + b.asked.Len() }

// add adds an event to the last chunk, or begins another if it does not fit.
func (b *batch) add(ev ponder.Event, k string) error {
	from := b.lines.Len()
	ev.Thread = ""
	if err := b.lines.Append(ev); err != nil {
		return err
	}
	b.lines.AppendByte('\n')
	last := len(b.chunks) - 1
	if last < 0 || b.chunks[last].n == chunkLines || b.lines.Len()-b.end(last-1).lines > chunkBytes && from > b.end(last-1).lines {
		b.chunks = append(b.chunks, chunk{})
		last++
	}
	c := &b.chunks[last]
	at := place{last, c.n}
	if err := b.ask(ev, at.line); err != nil {
		return err
	}
	*c = chunk{c.n + 1, b.lines.Len(), b.asked.Len()}
	b.note(ev, k, at)
	return nil
}

// end returns where a chunk ends.
func (b *batch) end(i int) chunk {
	if i < 0 {
		return chunk{}
	}
	return b.chunks[i]
}

// ask keeps the request of an event, if it has one, behind the number of its
// line.
func (b *batch) ask(ev ponder.Event, line int) error {
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

// note keeps what an event means beside the log.
func (b *batch) note(ev ponder.Event, k string, at place) {
	if k != "" {
		numbers := [...]int64{byCause: byCause.number(ev.Run, ev.Cause), byTurn: byTurn.number(ev.Run, ev.Cause)}
		b.keys = append(b.keys, key{at, numbers, hash(k)})
	}
	if s, ok := storerules.Started(ev); ok {
		b.starts = append(b.starts, s)
	}
	if r, ok := storerules.Finished(ev); ok {
		b.results = append(b.results, r)
	}
	switch body := ev.Body.(type) {
	case ponder.CallStarted:
		b.asks = b.asks || body.Request != nil
	case ponder.CallFinished:
		b.urgent = b.urgent || body.Refused
	case ponder.ToolCall, ponder.RunFinished, ponder.AssistantMessage:
		b.urgent = true
	default:
		b.urgent = b.urgent || ev.IsInput()
	}
}
