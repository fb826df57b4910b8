package sqlite

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"

	"ponder"
	"ponder/store/internal/storerules"
)

// maxOpen limits the open calls of a thread that the writer caches. For others it reads the
// event.
const maxOpen = 16

// cacheCalls caches started calls.
func (t *thread) cacheCalls(starts []storerules.Start) {
	if more := len(t.calls) + len(starts) - maxOpen; more > 0 {
		t.calls = slices.Delete(t.calls, 0, min(more, len(t.calls)))
	}
	t.calls = append(t.calls, starts[max(0, len(starts)-maxOpen):]...)
}

// findStart returns the start of the call that ended in r, or a zero Start if it is unknown.
func (tx *tx) findStart(t *thread, r storerules.Result) storerules.Start {
	if r.Tool != "" {
		return storerules.Start{}
	}
	for i, s := range t.calls {
		if s.Run == r.Run && s.Cause == r.Cause {
			t.calls = slices.Delete(t.calls, i, i+1)
			return s
		}
	}
	h := hashKey(startKey(r.Run, r.Cause))
	at, ok := tx.queryNumber(findKey, t.num, t.keys.keyNumber(r.Run, r.Cause), h[:])
	if !ok {
		return storerules.Start{}
	}
	row := make([]driver.Value, 1)
	if !tx.queryRow(row, `SELECT lines FROM ponder_batch WHERE pos = ?`, at>>lineBits) {
		return storerules.Start{}
	}
	lines, _ := row[0].([]byte)
	s, err := startOf(lines, int(at&(chunkLines-1)))
	if err != nil && tx.err == nil {
		tx.err = fmt.Errorf("%w: start of %s %s: %w", ponder.ErrDamaged, r.Run, r.Cause, err)
	}
	return s
}

// startOf returns the start of the call in a line of a row.
func startOf(lines []byte, line int) (storerules.Start, error) {
	for js := range bytes.Lines(lines) {
		if line > 0 {
			line--
			continue
		}
		var ev ponder.Event
		if err := json.Unmarshal(js, &ev); err != nil {
			return storerules.Start{}, err
		}
		s, _ := storerules.Started(ev)
		return s, nil
	}
	return storerules.Start{}, fmt.Errorf("the batch has no such line")
}

// addResult adds a row of usage.
func (tx *tx) addResult(t *thread, r storerules.Result) {
	r = r.WithStart(tx.findStart(t, r))
	row := r.Row("")
	tx.exec(`INSERT INTO ponder_usage (num, time, run, cause, tool, role, mode, model, failed,
			input, cache_read, cache_write, output, reasoning, cost, estimated, money, price)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.num, toMicros(r.Time), string(r.Run), r.Cause, r.Tool, string(r.Role), r.Mode, r.Model, int64(row.Failed),
		int64(r.Usage.Input), int64(r.Usage.CacheRead), int64(r.Usage.CacheWrite), int64(r.Usage.Output), int64(r.Usage.Reasoning),
		nullableInt(r.Usage.Cost), boolInt(r.Usage.Estimated), int64(row.Money), string(r.Price))
}

// startKey returns the key of the event that started a call.
func startKey(run ponder.RunID, cause string) string {
	return ponder.Event{Run: run, Cause: cause, Body: ponder.CallStarted{}}.Key()
}

func nullableInt(n *int64) driver.Value {
	if n == nil {
		return nil
	}
	return *n
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
