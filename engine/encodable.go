package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"ponder"
	"ponder/llm"
)

// The holder checks sizes only after an append failed, because encoding each event twice is
// expensive. After such a failure it checks all decisions and results before it folds them.
// It replaces those that cannot be stored by events that report the failure.

// errNotStorable says that an event cannot be encoded.
var errNotStorable = errors.New("cannot be stored")

// notStorable reports whether the store refused an append because of its content.
func notStorable(err error) bool {
	return errors.Is(err, errNotStorable) || errors.Is(err, ponder.ErrTooBig)
}

// encodedSize returns the bytes of an event with its request, or an error if it cannot be
// encoded.
func encodedSize(ev ponder.Event) (int, error) {
	var e ponder.EventEncoder
	if err := e.Append(ev); err != nil {
		return 0, fmt.Errorf("%w: %w", errNotStorable, err)
	}
	if b, ok := ev.Body.(ponder.CallStarted); ok && b.Request != nil {
		if err := e.AppendRequest(b.Request); err != nil {
			return 0, fmt.Errorf("%w: %w", errNotStorable, err)
		}
	}
	return e.Len(), nil
}

func encodedSizes(batch []ponder.Event) (sum int, err error) {
	for _, ev := range batch {
		n, err := encodedSize(ev)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// enableSizeChecks enables size checks after the store refused a batch.
func (h *holder) enableSizeChecks(batch []ponder.Event, err error) {
	switch sum, unfit := encodedSizes(batch); {
	case unfit != nil:
		h.maxBatchBytes = cmp.Or(h.maxBatchBytes, math.MaxInt)
	case errors.Is(err, ponder.ErrTooBig):
		h.maxBatchBytes = max(1, sum/2)
	}
}

// checkFits returns an error if the batch has no room for an event. Otherwise it adds its size.
func (h *holder) checkFits(ev ponder.Event) error {
	n, err := encodedSize(ev)
	switch {
	case err != nil:
		return err
	case h.batchBytes+n > h.maxBatchBytes:
		return fmt.Errorf("%s of %d bytes: %w", ev.Body.Type(), n, ponder.ErrTooBig)
	}
	h.batchBytes += n
	return nil
}

// dropUnstorable removes events from a decision that cannot be stored. Their runs fail.
func (h *holder) dropUnstorable(d *decision) {
	if h.maxBatchBytes == 0 {
		return
	}
	all, failed := d.events, make(map[*run]bool)
	d.events = nil
	for _, ev := range all {
		r := d.decider(ev)
		if failed[r] {
			continue
		}
		err := h.checkFits(ev)
		if err == nil || r == nil { // the start of a root run is small
			d.emit(ev)
			continue
		}
		failed[r] = true
		d.failRun(r, "mode %s returned an event that cannot be stored: %v", r.Mode, err)
	}
}

// sanitizeResult returns the event of a result, or the event of a failed attempt if the result
// cannot be stored.
func (h *holder) sanitizeResult(ev ponder.Event) ponder.Event {
	err := h.checkFits(ev)
	if err == nil {
		return ev
	}
	why := "result cannot be stored: " + err.Error()
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		b.Message, b.Finish = llm.Message{}, ""
		b.Error, b.Class = why, llm.Malformed
		ev.Body = b
	case ponder.ToolResult:
		b.Result, b.Error = "", why
		ev.Body = b
	}
	return ev
}
