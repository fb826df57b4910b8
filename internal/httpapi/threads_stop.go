package httpapi

import (
	"context"

	"ponder"
	"ponder/mode/chat"
)

type stopThread struct {
	ThreadPath
	OnceKey
	Body *struct {
		Seen string `json:"seen,omitempty" maxLength:"400000" doc:"what you have been shown of the answer that is being written, which is what is kept of it"`
	}
}

func (a *api) stopThread(ctx context.Context, in *stopThread) (*told, error) {
	info, err := a.owned(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	cause := in.cause(info.Owner, "stop "+string(info.ID))
	if cause != "" {
		if before, err := a.sent(ctx, info.ID, cause); err != nil || before != nil {
			return toldOf(info.ID, "it was stopped already"), err
		}
	}
	if info.Open == 0 && info.Status == ponder.Thinking { // it begins in a moment
		if err := a.await(ctx, info.ID, obeyTime, func(i ponder.Info) bool { return i.Open > 0 || i.Status != ponder.Thinking }); err != nil {
			return nil, a.failed(err)
		}
	}
	run, err := a.goingOn(ctx, info.ID)
	switch {
	case err != nil:
		return nil, a.failed(err)
	case run == "":
		return nil, wrongState("nothing is being done on the thread")
	}
	order := ponder.Steer{Do: ponder.Cancel}
	if in.Body != nil {
		order.Content = in.Body.Seen
	}
	if _, err := a.wish(ctx, info.ID, ponder.Event{Run: run, Cause: cause, Body: order}); err != nil {
		return nil, err
	}
	a.obey(ctx, info)
	err = a.await(ctx, info.ID, obeyTime, func(i ponder.Info) bool { return i.Open == 0 || i.Status.Ended() })
	if err != nil {
		return nil, a.failed(err)
	}
	return toldOf(info.ID, "it is stopped"), nil
}

// goingOn returns the root run that is being worked on: the one that talks, if there is
// one. It is empty if there is none.
func (a *api) goingOn(ctx context.Context, id ponder.ThreadID) (run ponder.RunID, err error) {
	open, err := ponder.OpenRuns(ctx, a.Store, id)
	for one, mode := range open {
		if mode == chat.Name || run == "" || open[run] != chat.Name && one > run {
			run = one
		}
	}
	return run, err
}
