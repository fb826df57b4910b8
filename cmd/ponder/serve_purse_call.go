package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/llm"
)

// A dayPurse pays for a conversation whose token may cost so much in a day. Conversations have no
// budgets: each of their calls is made only if what it may cost at most is left.
type dayPurse struct {
	s      *server
	thread ponder.ThreadID
	token  string
	limit  config.Token
}

// payerOf returns the token whose day a thread is paid from, if that is limited: the one
// that has begun it, else that of the caller.
func (s *server) payerOf(ctx context.Context, id ponder.ThreadID) (token string, limit config.Token, limited bool, err error) {
	if token, err = s.books.token(ctx, id); err != nil {
		return "", limit, false, err
	}
	token, limit, limited = s.payer(ctx, token)
	return token, limit, limited, nil
}

// payer is payerOf a thread that a token has begun, or none.
func (s *server) payer(ctx context.Context, begun string) (token string, limit config.Token, limited bool) {
	if token = begun; token == "" {
		token, limit, limited = s.limitOf(ctx)
	} else {
		limit, limited = s.Settings.Serve.Tokens[token]
	}
	return token, limit, limited && limit.Cost > 0
}

// paid returns the models of an outfit, paid from the day of a token if that is limited.
func (s *server) paid(ctx context.Context, o outfit, models map[ponder.Role][]ponder.Model) (map[ponder.Role][]ponder.Model, error) {
	if o.Payer == "" {
		return models, nil
	}
	token, limit, limited, err := s.payerOf(ctx, o.Payer)
	if err != nil || !limited {
		return models, err
	}
	return dayPurse{s, o.Payer, token, limit}.pay(models), nil
}

// pay returns models whose calls are paid from the day of a token.
func (p dayPurse) pay(models map[ponder.Role][]ponder.Model) map[ponder.Role][]ponder.Model {
	paid := make(map[ponder.Role][]ponder.Model)
	for role, chain := range models {
		chain = slices.Clone(chain)
		for i := range chain {
			chain[i].Model = paidModel{chain[i].Model, p, chain[i].Price}
		}
		paid[role] = chain
	}
	return paid
}

// A paidModel is a model whose calls are paid from the day of a token.
type paidModel struct {
	llm.Model
	dayPurse
	price ponder.Price
}

// Admits implements [llm.Admitter].
func (m paidModel) Admits() (time.Duration, bool) { return llm.Admits(m.Model) }

// Generate implements [llm.Model].
func (m paidModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		req, most, err := m.hold(ctx, req)
		if err != nil {
			yield(llm.Delta{}, &llm.Error{Class: llm.Payment, Model: m.Name(), Message: oneLine(err.Error())})
			return
		}
		cost, wrote := most, false // of a call that is broken off
		defer func() { m.back(most - cost) }()
		for d, err := range m.Model.Generate(ctx, req) {
			switch {
			case err != nil:
				cost = m.failed(err, wrote, most)
			case d.Done != nil:
				cost = min(m.cost(d.Done.Usage), most)
			default:
				wrote = true
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// hold holds what a call may cost at most, and returns that and the request that it pays
// for: one that may be made twice is made once, if what is left does not pay for two.
func (m paidModel) hold(ctx context.Context, req *llm.Request) (*llm.Request, ponder.Money, error) {
	most, err := m.most(req)
	if err != nil || most <= 0 {
		return req, most, err
	}
	if req.Hedge {
		if m.take(ctx, 2*most) == nil {
			return req, 2 * most, nil
		}
		once := *req
		once.Hedge = false
		req = &once
	}
	return req, most, m.take(ctx, most)
}

// most returns the most that a call may cost.
func (m paidModel) most(req *llm.Request) (ponder.Money, error) {
	if m.price.Source == "" || m.price.Source == ponder.PriceUnknown {
		return 0, errors.New("the token of the conversation is limited in what it may cost, and the price of " + m.Name() + " is not known: add it to models.price")
	}
	in := llm.Usage{Input: req.Size()/app.BytesAToken + 16, Output: req.MaxTokens}
	written := llm.Usage{CacheWrite: in.Input, Output: in.Output}
	return max(m.price.Cost(in), m.price.Cost(written)), nil
}

// cost returns what usage costs.
func (m paidModel) cost(u llm.Usage) ponder.Money {
	if u.Cost != nil && *u.Cost >= 0 {
		return ponder.Money(*u.Cost)
	}
	return m.price.Cost(u)
}

// failed returns what a call may have cost that failed: nothing, if no word was answered.
func (m paidModel) failed(err error, wrote bool, most ponder.Money) ponder.Money {
	var why *llm.Error
	if !errors.As(err, &why) || wrote {
		return most
	}
	if why.Unsent {
		return 0
	}
	switch why.Class {
	case llm.Cancelled, llm.Truncated, llm.Malformed:
		return most
	}
	return min(m.cost(why.Usage), most)
}

// take holds an amount for a call. It is an error if that is not left.
func (p dayPurse) take(ctx context.Context, most ponder.Money) error {
	_, _, err := p.s.grant(ctx, p.token, p.limit, grant{thread: p.thread}, func(left ponder.Money) (ponder.Money, error) {
		spent, err := p.s.spentToday(ctx, p.thread)
		if err != nil {
			return 0, err
		}
		held, err := p.s.heldBy(ctx, p.thread)
		level := max(spent, held) + most
		if err == nil && level-spent > left {
			err = errors.New("what is left of the day of this token does not pay for an answer: come again tomorrow, or when what it has begun has ended")
		}
		return level, err
	})
	return err
}

// back gives back what a call was held for and has not cost.
func (p dayPurse) back(rest ponder.Money) {
	if rest <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(p.s.life, readyTime)
	defer cancel()
	p.s.purses.granting.Lock()
	defer p.s.purses.granting.Unlock()
	held, err := p.s.heldBy(ctx, p.thread)
	if err == nil {
		err = p.s.books.hold(ctx, p.thread, held, max(0, held-rest))
	}
	if err != nil {
		slog.Warn("more is held for a conversation than it costs, until it is at rest", "thread", p.thread, "error", err)
	}
}

// atRest gives back what is held for a conversation that nobody works on.
func (s *server) atRest(ctx context.Context, id ponder.ThreadID) {
	s.purses.granting.Lock()
	defer s.purses.granting.Unlock()
	if err := s.books.atRest(ctx, id); err != nil {
		slog.Warn("something is held for a conversation that is at rest", "thread", id, "error", err)
	}
}
