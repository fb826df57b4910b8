package responses

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ponder"
	"ponder/internal/compat"
)

// A session or research that is steered goes on as the same run, but as another response:
// a segment of it ends where the wish is obeyed, and the next one begins there.

// wishPrefix begins the causes of wishes that part a run. The id of the successor follows.
const wishPrefix = "resp-steer-"

func parts(p compat.Part) bool {
	return p.Kind == compat.Steered && !p.Refused && strings.HasPrefix(p.Item, wishPrefix)
}

// errSteered ends the telling of a response that has a successor.
var errSteered = errors.New("steered")

// tell hands the parts of a response to each until it has ended, and returns how.
func (a *api) tell(ctx context.Context, j job, each func(compat.Part) error, flush, quiet func() error) (compat.End, error) {
	at := 0
	end, err := a.desk.Wait(ctx, j.work, func(p compat.Part) error {
		switch {
		case parts(p) && at == j.segment:
			return errSteered
		case parts(p):
			at++
		case at == j.segment:
			return each(p)
		}
		return nil
	}, flush, quiet)
	if errors.Is(err, errSteered) {
		return compat.End{Status: ponder.Completed, Finish: steered}, nil
	}
	if err != nil {
		return end, err
	}
	return a.ended(ctx, j, end)
}

// result returns the parts of a response so far, and how it stands.
func (a *api) result(ctx context.Context, j job) (list []compat.Part, end compat.End, err error) {
	all, end, err := a.desk.Result(ctx, j.work)
	if err != nil {
		return nil, end, err
	}
	at := 0
	for _, p := range all {
		switch {
		case parts(p) && at == j.segment:
			return list, compat.End{Status: ponder.Completed, Finish: steered}, nil
		case parts(p):
			at++
		case at == j.segment:
			list = append(list, p)
		}
	}
	end, err = a.ended(ctx, j, end)
	return list, end, err
}

// ended returns how a response has ended: one that was cancelled for what a user said in
// between was steered.
func (a *api) ended(ctx context.Context, j job, end compat.End) (compat.End, error) {
	if end.Status != ponder.Cancelled || j.work.Way == compat.Session || j.work.Way == compat.Research {
		return end, nil
	}
	for ev, err := range a.desk.Store.Events(ctx, j.work.Thread, j.work.After) {
		if err != nil {
			return end, fmt.Errorf("read %s: %w", j.work.Thread, err)
		}
		if ev.Cause == j.cause("steered") {
			end.Status, end.Finish, end.Reason = ponder.Completed, steered, ""
		}
	}
	return end, nil
}

// isParted reports whether a run was steered so often that it has a segment.
func (a *api) isParted(ctx context.Context, j job) (bool, error) {
	all, _, err := a.desk.Result(ctx, j.work)
	if err != nil {
		return false, err
	}
	n := 0
	for _, p := range all {
		if parts(p) {
			n++
		}
	}
	return n >= j.segment, nil
}
