package sqlite

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"slices"

	"ponder"
	"ponder/store/internal/storerules"
)

// encodeRoots returns the open root runs of an info in the form of ponder_batch, or NULL if
// they are unknown.
func encodeRoots(info ponder.Info) driver.Value {
	if len(info.Roots) != info.Open {
		return nil
	}
	if info.Open == 0 {
		return noRoots
	}
	js, _ := json.Marshal(info.Roots) // marshalling a Root cannot fail
	return string(js)
}

const noRoots = "[]"

// decodeRoots returns the root runs of a row, or nil if they are unknown.
func decodeRoots(js string) (roots []ponder.Root) {
	if js == "" || js == noRoots || json.Unmarshal([]byte(js), &roots) != nil {
		return nil
	}
	return roots
}

// rootsBefore returns the root runs of a thread before events. If the newest row lacks them
// and the events need them, it reads the log back to the start of the oldest one.
func (tx *tx) rootsBefore(t *thread, events []ponder.Event) []ponder.Root {
	if len(t.roots) != t.open && storerules.NeedsRoots(t.open, events) {
		t.roots = tx.readRoots(t)
	}
	return t.roots
}

func (tx *tx) readRoots(t *thread) []ponder.Root {
	var events []ponder.Event // of open runs, newest first
	ended := make(map[ponder.RunID]bool)
	for seq, missing := t.head+1, t.open; missing > 0; {
		r, ok := tx.rowBefore(t, seq)
		if !ok {
			break
		}
		seq = r.first
		for _, ev := range slices.Backward(tx.runEvents(r)) {
			switch ev.Body.(type) {
			case ponder.RunFinished:
				ended[ev.Run] = true
			case ponder.RunStarted:
				if ev.Run.Parent() == "" && !ended[ev.Run] {
					missing--
				}
			}
			if !ended[ev.Run] {
				events = append(events, ev)
			}
		}
	}
	var info ponder.Info
	for _, ev := range slices.Backward(events) {
		info = info.Apply(ev)
	}
	return info.Roots
}

// rowBefore returns the row of a thread before an event.
func (tx *tx) rowBefore(t *thread, seq ponder.Seq) (r row, ok bool) {
	cells := make([]driver.Value, 3)
	if !tx.queryRow(cells, `SELECT first, last, lines FROM ponder_batch WHERE num = ? AND last < ? ORDER BY last DESC LIMIT 1`, t.num, int64(seq)) {
		return r, false
	}
	r.first, r.last = ponder.Seq(cells[0].(int64)), ponder.Seq(cells[1].(int64))
	r.lines, _ = cells[2].([]byte)
	return r, true
}

// runEvents returns the events of a row if one of them changes the state of runs.
func (tx *tx) runEvents(r row) (events []ponder.Event) {
	if !bytes.Contains(r.lines, []byte(`"type":"run_`)) && !bytes.Contains(r.lines, []byte(`"type":"steer"`)) {
		return nil
	}
	events, err := r.decodeEvents(nil, "", 0)
	if err != nil && tx.err == nil {
		tx.err = err
	}
	return events
}
