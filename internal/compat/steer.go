package compat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ponder"
	"ponder/internal/steering"
)

// AddQuestion returns the request that a question be thought about before others.
func AddQuestion(text string) steering.Request {
	return steering.Request{Order: ponder.AddQuestion, Content: text, Priority: urgent}
}

// urgent is the priority of a question that a user adds, of 1 to 10.
const urgent = 9

// Steer sends a command to a session or research that runs. The errors name the text of the
// command by its field. A cause identifies the command, which is then sent once; without
// one, each call sends it.
func (d *Desk) Steer(ctx context.Context, w Work, cause, field string, r steering.Request) error {
	commands, err := steering.View{}.Commands([]steering.Request{r})
	var wrong steering.Errors
	if errors.As(err, &wrong) {
		return Wrong(field, "%s: %s", field, wrong[0].Message)
	}
	if err != nil {
		return err
	}
	return d.command(ctx, w, ponder.Event{Cause: cause, Body: commands[0]})
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
