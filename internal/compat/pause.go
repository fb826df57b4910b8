package compat

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"ponder"
	"ponder/internal/app"
)

// Pause stops a session or research where it stands, for a reason, until [Desk.Resume].
// It returns a [Fault] if that has ended.
func (d *Desk) Pause(ctx context.Context, w Work, reason string) error {
	return d.command(ctx, w, ponder.Event{Body: ponder.RunPaused{Reason: reason}})
}

// Resume has a session or research go on that was paused, or that nobody works on.
func (d *Desk) Resume(ctx context.Context, w Work) error {
	return d.wish(ctx, w, ponder.Event{Body: ponder.RunResumed{}}, func(tell func() error) error {
		return app.Resume(ctx, d.Service, w.Thread, "", tell)
	})
}

// command tells a session or research something, and has it worked on.
func (d *Desk) command(ctx context.Context, w Work, ev ponder.Event) error {
	return d.wish(ctx, w, ev, func(tell func() error) error {
		if err := tell(); err != nil {
			return err
		}
		return d.Service.Go(ctx, w.Thread, "")
	})
}

// wish has a session or research told something, and worked on, by do.
func (d *Desk) wish(ctx context.Context, w Work, ev ponder.Event, do func(tell func() error) error) error {
	run, err := d.run(ctx, w)
	if err != nil {
		return err
	}
	if run == "" || w.Way != Session && w.Way != Research {
		return &Fault{http.StatusConflict, "", "it has ended, or cannot be steered"}
	}
	return do(func() error {
		ev.Run = run
		_, err := ponder.SendCommands(ctx, d.Store, w.Thread, ev)
		if errors.Is(err, ponder.ErrEnded) {
			return &Fault{http.StatusConflict, "", "it has ended"}
		}
		if err != nil {
			return fmt.Errorf("tell %s: %w", w.Thread, err)
		}
		return nil
	})
}
