package compat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"ponder"
)

// AddQuestion returns the wish that a question be thought about too, before others.
func AddQuestion(text string) ponder.Steer {
	args, err := json.Marshal(ponder.SteerArgs{Priority: urgent})
	if err != nil { // which numbers cannot be
		panic(err)
	}
	return ponder.Steer{Content: strings.TrimSpace(text), Do: ponder.AddQuestion, Args: args}
}

// urgent is the priority of what a user asks while it is thought, of 1 to 10.
const urgent = 9

// Correction returns the wish that a fact be taken as a user says that it is.
func Correction(text string) ponder.Steer {
	return ponder.Steer{Content: strings.TrimSpace(text), Do: ponder.Correct}
}

// Steer sends a wish to a session or research that goes on.
func (d *Desk) Steer(ctx context.Context, w Work, wish ponder.Steer) error {
	return d.SteerAs(ctx, w, "", wish)
}

// SteerAs is [Desk.Steer] with a cause, by which the wish is known, and sent once. Empty
// is one of its own.
func (d *Desk) SteerAs(ctx context.Context, w Work, cause string, wish ponder.Steer) error {
	run, err := d.run(ctx, w)
	if err != nil {
		return err
	}
	if run == "" || w.Way != Session && w.Way != Research {
		return &Fault{http.StatusConflict, "", "it has ended, or cannot be steered"}
	}
	if _, err := ponder.SendCommands(ctx, d.Store, w.Thread, ponder.Event{Run: run, Cause: cause, Body: wish}); err != nil {
		if errors.Is(err, ponder.ErrEnded) {
			return &Fault{http.StatusConflict, "", "it has ended"}
		}
		return fmt.Errorf("steer %s: %w", w.Thread, err)
	}
	return d.Service.Go(ctx, w.Thread, "")
}

// Newest returns the newest work of an owner on a thread.
func (d *Desk) Newest(ctx context.Context, owner string, id ponder.ThreadID) (Work, error) {
	info, err := d.thread(ctx, owner, id)
	if err != nil {
		return Work{}, err
	}
	name := strings.TrimPrefix(string(id), "thr_")
	if info.Kind != ponder.KindConversation {
		return d.Work(ctx, owner, name)
	}
	last := ponder.Seq(0)
	for ev, err := range d.Store.Events(ctx, id, max(0, info.Head-readBefore)) {
		if err != nil {
			return Work{}, fmt.Errorf("read %s: %w", id, err)
		}
		if _, ok := ev.Body.(ponder.UserMessage); ok {
			last = ev.Seq
		}
	}
	w, err := d.Work(ctx, owner, fmt.Sprintf("%s-%d", name, last))
	if err == nil {
		w.Fresh, err = d.isFirst(ctx, id, last)
	}
	return w, err
}
