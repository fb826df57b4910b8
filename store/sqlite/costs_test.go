package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"ponder"
	"ponder/llm"
)

// TestFindStart ends calls whose starts are cached, no longer cached, and unknown.
func TestFindStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	if err := s.Create(t.Context(), ponder.Thread{ID: "thr_1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Join(t.Context(), ponder.Node{ID: "nod_1"}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Take(t.Context(), "thr_1", "nod_1")
	if err != nil {
		t.Fatal(err)
	}
	cause := func(i int) string { return fmt.Sprintf("think-%d#1", i) }
	add := func(events ...ponder.Event) {
		t.Helper()
		if _, err := s.Append(t.Context(), "thr_1", lease.Fence, events...); err != nil {
			t.Fatal(err)
		}
	}
	const calls = 3 * maxOpen
	var starts []ponder.Event
	for i := range calls {
		body := ponder.CallStarted{Role: ponder.Slow, Mode: "m" + fmt.Sprint(i%2), Model: "p/m", Request: &llm.Request{System: fmt.Sprint(i)}}
		starts = append(starts, ponder.Event{Run: "run_1", Cause: cause(i), Body: body})
	}
	add(starts[:calls-1]...)
	add(starts[calls-1])
	end := func(i int) {
		t.Helper()
		add(ponder.Event{Run: "run_1", Cause: cause(i), Body: ponder.CallFinished{Usage: llm.Usage{Input: 1}, Spent: ponder.Cost{Money: 1}, Price: ponder.PriceTable}})
	}
	for i := range calls / 2 {
		end(i)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	for i := calls / 2; i < calls; i++ {
		end(i)
	}
	end(calls) // calls without a start
	by := func(by ponder.GroupBy) map[string]int {
		rows, err := s.Usage(t.Context(), by, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		n := make(map[string]int)
		for _, r := range rows {
			n[r.Key] = r.Calls
		}
		return n
	}
	checkEqual(t, "modes", by(ponder.ByMode), map[string]int{"m0": calls / 2, "m1": calls / 2, "": 1})
	checkEqual(t, "roles", by(ponder.ByRole), map[string]int{"slow": calls, "": 1})
	checkEqual(t, "models", by(ponder.ByModel), map[string]int{"p/m": calls, "": 1})
	for i := range calls {
		req, err := s.Request(t.Context(), "thr_1", "run_1", cause(i))
		checkEqual(t, cause(i), req, &llm.Request{System: fmt.Sprint(i)}, err)
	}
}

// TestChunks writes more than one row can hold.
func TestChunks(t *testing.T) {
	for name, size := range map[string]int{"many lines": 1, "long lines": 30_000, "too long lines": 2 * chunkBytes} {
		t.Run(name, func(t *testing.T) {
			var p batches
			n := 5
			if size == 1 {
				n = 2*chunkLines + 1
			}
			events := make([]ponder.Event, n)
			for i := range events {
				events[i].Body = ponder.CallStarted{Model: string(make([]byte, size/6)), Request: &llm.Request{System: fmt.Sprint(i)}}
				events[i].Run, events[i].Cause = "run_1", fmt.Sprint(i)
			}
			b, err := p.encodeBatch("thr_1", events)
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for i, c := range b.chunks {
				from := b.chunkEnd(i - 1)
				if bytes := c.lines - from.lines; c.n > chunkLines || c.n > 1 && bytes > chunkBytes {
					t.Errorf("chunk %d has %d lines and %d bytes", i, c.n, bytes)
				}
				r := row{first: ponder.Seq(seen + 1), last: ponder.Seq(seen + c.n), lines: b.lines.Bytes()[from.lines:c.lines]}
				decoded, err := r.decodeEvents(nil, "thr_1", 0)
				checkEqual(t, "events of a chunk", len(decoded), c.n, err)
				for line := range c.n {
					req, err := requestOf(b.asked.Bytes()[from.asked:c.asked], line)
					checkEqual(t, "request", req, &llm.Request{System: fmt.Sprint(seen + line)}, err)
					checkEqual(t, "is in its place", b.keys[seen+line].place == place{i, line}, true)
				}
				seen += c.n
			}
			checkEqual(t, "events", seen, n)
		})
	}
}
