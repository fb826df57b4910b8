package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"ponder"
	"ponder/llm"
)

// What cannot be stored is not looked for as long as appends go well: to encode each event
// twice would cost more than all else that is done to it. Once an append was refused for
// that, all that is decided and all that comes of actions is weighed before it is folded,
// and what is unfit gives way to an event that says so.

// errUnfit says that an event cannot be encoded.
var errNotStorable = errors.New("cannot be stored")

// isUnfit reports whether that is why an append was refused.
func notStorable(err error) bool {
	return errors.Is(err, errNotStorable) || errors.Is(err, ponder.ErrTooBig)
}

// weigh returns how many bytes an event takes with its request, or why it cannot be stored.
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

// weighAll returns how many bytes a batch takes, or why it cannot be stored.
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

// beware has what follows weighed after a batch was refused.
func (h *holder) enableSizeChecks(batch []ponder.Event, err error) {
	switch sum, unfit := encodedSizes(batch); {
	case unfit != nil:
		h.maxBatchBytes = cmp.Or(h.maxBatchBytes, math.MaxInt)
	case errors.Is(err, ponder.ErrTooBig):
		h.maxBatchBytes = max(1, sum/2)
	}
}

// fits returns why an event cannot be stored with those that the batch has, or nil.
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

// sift takes what cannot be stored out of a decision. The run that decided it fails.
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
		if err == nil || r == nil { // a root that starts has nothing in it
			d.emit(ev)
			continue
		}
		failed[r] = true
		d.failRun(r, "mode %s decided what cannot be stored: %v", r.Mode, err)
	}
}

// sound returns the event of what an attempt came to; if that cannot be stored, the attempt
// has failed.
func (h *holder) sanitize(ev ponder.Event) ponder.Event {
	err := h.checkFits(ev)
	if err == nil {
		return ev
	}
	why := "what it came to cannot be stored: " + err.Error()
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
