package main

import (
	"context"
	"errors"
	"fmt"

	"ponder"
	"ponder/internal/app"
	"ponder/mode/session"
)

// costsMore does what lets a session cost as much as an amount in all. If that is more than
// it may cost now, what its token may cost today has to pay for it.
func (s *server) costsMore(ctx context.Context, info ponder.Info, most ponder.Money, do func() error) error {
	token, limit, limited, err := s.payerOf(ctx, info.ID)
	if err != nil {
		return err
	}
	if !limited {
		return do()
	}
	_, _, err = s.grant(ctx, token, limit, grant{thread: info.ID}, func(left ponder.Money) (ponder.Money, error) {
		v, err := s.thought(ctx, info)
		if err != nil {
			return 0, err
		}
		spent := money(v.Session.Usage.USD)
		if more := most - spent; more > left {
			return 0, app.Errorf(app.OverBudget, "", "the token of the session may cost %v today still: the session can be limited to %v, or told again tomorrow", left, spent+left)
		}
		return max(0, most-spent), nil
	})
	if err != nil {
		return err
	}
	if err = do(); errors.Is(err, ponder.ErrNoThread) {
		err = errors.Join(err, s.books.atRest(context.WithoutCancel(ctx), info.ID))
	}
	return err
}

// unheard returns the most that a session is to cost by what it was told and has not heard
// of yet, or zero.
func (s *server) unheard(ctx context.Context, id ponder.ThreadID, v session.View) (most ponder.Money, err error) {
	heard := make(map[string]bool)
	for _, w := range v.Steering {
		heard[w.ID] = w.Seq > 0
	}
	for ev, err := range s.store.Events(ctx, id, 0) {
		if err != nil {
			return 0, fmt.Errorf("read what %s may cost: %w", id, err)
		}
		if !heard[ev.ID] {
			most = max(most, moneyOfWish(ev))
		}
	}
	return most, nil
}
