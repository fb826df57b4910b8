package ways

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
	"ponder/llm"
	"ponder/mode/chat"
)

// FindAsked returns the open questions that the turn of a job asked.
func FindAsked(ctx context.Context, d *compat.Dispatcher, job compat.Job) (list []app.Approval, err error) {
	if job.Kind != compat.Chat {
		return nil, nil
	}
	var questions chat.PendingApprovals
	asks := true // the turn is that of the job
	for ev, err := range d.Store.Events(ctx, job.Thread, job.After) {
		if errors.Is(err, ponder.ErrNoThread) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", job.Thread, err)
		}
		switch ev.Body.(type) {
		case ponder.UserMessage:
			asks = ev.ID == job.Message
			questions.Apply(ev)
		case ponder.ApprovalRequested:
			if asks {
				questions.Apply(ev)
			}
		}
	}
	for _, ev := range questions.Open(time.Now()) {
		list = append(list, app.NewApproval(ev))
	}
	return list, nil
}

// Decide answers questions of a conversation, as its next message. A repeated cause returns the job of the first
// message.
func Decide(ctx context.Context, d *compat.Dispatcher, owner string, thread ponder.ThreadID, cause string, decisions ...ponder.ApprovalDecision) (compat.Job, error) {
	open, err := app.ThreadApprovals(ctx, d.Store, thread)
	if err != nil {
		return compat.Job{}, err
	}
	m, err := app.DecisionMessage(open, decisions...)
	if err != nil {
		return findDecided(ctx, d, owner, thread, cause, err)
	}
	a, err := Options{}.NewRequest(d, owner, llm.Say(llm.User, m.Content))
	if err != nil {
		return compat.Job{}, err
	}
	a.Thread, a.Key, a.Cause, a.Decisions = thread, cause, cause, m.Decisions
	return d.Begin(ctx, a)
}

// findDecided returns the job of the message with a cause, or the error otherwise.
func findDecided(ctx context.Context, d *compat.Dispatcher, owner string, thread ponder.ThreadID, cause string, otherwise error) (compat.Job, error) {
	for ev, err := range d.Store.Events(ctx, thread, 0) {
		if err != nil {
			return compat.Job{}, fmt.Errorf("read %s: %w", thread, err)
		}
		if b, ok := ev.Body.(ponder.UserMessage); ok && ev.Cause == cause && len(b.Decisions) > 0 {
			return d.FindJob(ctx, owner, strings.TrimPrefix(string(thread), "thr_")+"-"+strconv.FormatInt(int64(ev.Seq), 10))
		}
	}
	return compat.Job{}, otherwise
}
