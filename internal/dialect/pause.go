package dialect

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"ponder"
)

// Pause stops a session or research where it stands, for a reason, until [Desk.Resume].
// It returns a [Fault] if that has ended.
func (d *Desk) Pause(ctx context.Context, w Work, reason string) error {
	return d.wish(ctx, w, ponder.RunPaused{Reason: reason})
}

// Resume has a session or research go on that was paused, or that nobody works on.
func (d *Desk) Resume(ctx context.Context, w Work) error {
	return d.wish(ctx, w, ponder.RunResumed{})
}

// wish tells a session or research something.
func (d *Desk) wish(ctx context.Context, w Work, body ponder.Body) error {
	run, err := d.run(ctx, w)
	if err != nil {
		return err
	}
	if run == "" || w.Way != Session && w.Way != Research {
		return &Fault{http.StatusConflict, "", "it has ended, or cannot be steered"}
	}
	if _, err := ponder.Wish(ctx, d.Store, w.Thread, ponder.Event{Run: run, Body: body}); err != nil {
		if errors.Is(err, ponder.ErrEnded) {
			return &Fault{http.StatusConflict, "", "it has ended"}
		}
		return fmt.Errorf("tell %s: %w", w.Thread, err)
	}
	return d.Service.Go(ctx, w.Thread, "")
}
