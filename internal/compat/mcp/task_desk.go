package mcp

import (
	"context"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

// A deskTask is a work of the desk: it is in the log, and outlives clients and servers.
type deskTask struct {
	*client
	work compat.Work
}

// deskTask returns a task by its id.
func (c *client) deskTask(ctx context.Context, id string) (Task, error) {
	work, err := c.work(ctx, id)
	switch {
	case err != nil && c.Desk.FaultOf(err).Status < http.StatusInternalServerError, err == nil && work.Way == compat.Exchange:
		return nil, badParams("there is no task %q", textkit.TruncateBytes(id, 60))
	case err != nil:
		return nil, c.told(err)
	}
	return &deskTask{c, work}, nil
}

// ID implements [Task].
func (t *deskTask) ID() string { return t.work.ID() }

// Begun implements [Task].
func (t *deskTask) Begun() time.Time { return t.work.Begun }

// Cancel implements [Task].
func (t *deskTask) Cancel(ctx context.Context) error { return t.Desk.Cancel(ctx, t.work) }

// Stands implements [Task].
func (t *deskTask) Stands(ctx context.Context, caps *sdk.ClientCapabilities) (TaskState, error) {
	out, err := t.stands(ctx, t.work)
	if err != nil {
		return TaskState{}, err
	}
	st := TaskState{Status: TaskWorking, Message: out.Status, Updated: t.work.Begun}
	if info, err := t.Desk.Store.Thread(ctx, t.work.Thread); err == nil {
		st.Updated = info.Updated
	}
	switch ponder.Status(out.Status) {
	case ponder.Completed, ponder.Failed:
		st.Status, st.Result = TaskCompleted, shown(out.outcome)
		st.Result.StructuredContent = out.outcome
	case ponder.Cancelled:
		st.Status = TaskCancelled
	default:
		if name, ok := hostOf(t.work.Model); ok && t.Hosts != nil && caps != nil && caps.Sampling != nil {
			return t.asks(ctx, name, ponder.Status(out.Status), st)
		}
	}
	return st, nil
}

// asks returns how a task stands whose client is asked to have its model think.
func (t *deskTask) asks(ctx context.Context, name string, is ponder.Status, st TaskState) (TaskState, error) {
	waiting := t.Hosts.waiting(name)
	if len(waiting) == 0 {
		if is == ponder.Paused && !t.rests(ctx) {
			return st, nil // somebody wants it so
		}
		h := &hosting{t.client, t.work, name}
		return st, h.awake(ctx)
	}
	st.Status, st.Asks = TaskAsks, make(sdk.InputRequestMap)
	for _, a := range waiting {
		st.Asks[a.id] = messageFor(a.req)
	}
	return st, nil
}

// rests reports whether the task was paused since its client did not come.
func (t *deskTask) rests(ctx context.Context) (yes bool) {
	for ev, err := range t.Desk.Store.Events(ctx, t.work.Thread, t.work.After) {
		if err != nil {
			return false
		}
		if p, ok := ev.Body.(ponder.RunPaused); ok {
			yes = p.Reason == awaits
		}
	}
	return yes
}

// Answer implements [Task].
func (t *deskTask) Answer(_ context.Context, answers sdk.InputResponseMap) error {
	name, ok := hostOf(t.work.Model)
	if !ok || t.Hosts == nil {
		return nil // it asks nothing
	}
	for step, a := range answers {
		if text, ok := saidBy(a); ok {
			t.Hosts.answer(name, step, textkit.TruncateBytes(text, maxAnswer))
		}
	}
	return nil
}
