package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/knowledge/recall/vector"
	"ponder/llm"
)

// A dayPurse pays for a conversation whose token may cost so much in a day. Conversations have no
// budgets: each of their calls is made only if what it may cost at most is left.
type dayPurse struct {
	s      *Service
	thread ponder.ThreadID
	token  string
	limit  config.Token
}

// payerOf returns the token whose day a thread is paid from, if that is limited: the one
// that has begun it, else that of the caller.
func (s *Service) payerOf(ctx context.Context, id ponder.ThreadID) (token string, limit config.Token, limited bool, err error) {
	if token, err = s.Books.token(ctx, id); err != nil {
		return "", limit, false, err
	}
	token, limit, limited = s.payer(ctx, token)
	return token, limit, limited, nil
}

// payer is payerOf a thread that a token has begun, or none.
func (s *Service) payer(ctx context.Context, begun string) (token string, limit config.Token, limited bool) {
	if token = begun; token == "" {
		token, limit, limited = s.limitOf(ctx)
	} else {
		limit, limited = s.Settings.Serve.Tokens[token]
	}
	return token, limit, limited && limit.Cost > 0
}

// paid returns the models of an outfit, paid from the day of a token if that is limited.
func (s *Service) paid(ctx context.Context, o engineSpec, models map[ponder.Role][]ponder.Model) (map[ponder.Role][]ponder.Model, error) {
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
			yield(llm.Delta{}, &llm.Error{Class: llm.Payment, Model: m.Name(), Message: textkit.OneLine(err.Error())})
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
	in := llm.Usage{Input: req.Size()/BytesAToken + 16, Output: req.MaxTokens}
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
	ctx, cancel := context.WithTimeout(p.s.life, ReadyTime)
	defer cancel()
	p.s.purses.granting.Lock()
	defer p.s.purses.granting.Unlock()
	held, err := p.s.heldBy(ctx, p.thread)
	if err == nil {
		err = p.s.Books.hold(ctx, p.thread, held, max(0, held-rest))
	}
	if err != nil {
		slog.Warn("more is held for a conversation than it costs, until it is at rest", "thread", p.thread, "error", err)
	}
}

// atRest gives back what is held for a conversation that nobody works on.
func (s *Service) atRest(ctx context.Context, id ponder.ThreadID) {
	s.purses.granting.Lock()
	defer s.purses.granting.Unlock()
	if err := s.Books.atRest(ctx, id); err != nil {
		slog.Warn("something is held for a conversation that is at rest", "thread", id, "error", err)
	}
}

// embeddingTime is how long it may take to make vectors that the day of a token pays for:
// what they may cost is held no longer.
const embeddingTime = bookedTime - 10*time.Second

// embedFor makes vectors for an owner, and counts what they used among what the owner has
// used. If a token is limited, what they may cost at most is held of its day before, and
// what they have cost is charged after; if that is not left, the error is a
// [app.Error] of the code [app.OverBudget].
func (s *Service) embedFor(ctx context.Context, owner, token string, m VectorModel, texts []string) (vectors [][]float32, usage llm.Usage, err error) {
	limit, known := s.Settings.Serve.Tokens[token]
	if !known || limit.Cost == 0 || m.Price.Source == ponder.PriceLocal {
		vectors, usage, err = m.Embed(ctx, texts)
		return vectors, usage, errors.Join(err, s.noteUsed(ctx, owner, m, usage, err))
	}
	id, most, err := s.holdVectors(ctx, token, limit, m, texts)
	if err != nil {
		return nil, usage, err
	}
	paid, cancel := context.WithTimeout(ctx, embeddingTime)
	defer cancel()
	vectors, usage, err = m.Embed(paid, texts)
	cost := m.Cost(usage, err, most)
	charged := s.Books.Remove(context.WithoutCancel(ctx), id, token, cost, time.Now())
	return vectors, usage, errors.Join(err, charged, s.noteUsed(ctx, owner, m, usage, err))
}

// holdVectors holds what the vectors of texts may cost.
func (s *Service) holdVectors(ctx context.Context, token string, limit config.Token, m VectorModel, texts []string) (id ponder.ThreadID, most ponder.Money, err error) {
	if m.Price.Source == "" || m.Price.Source == ponder.PriceUnknown {
		return "", 0, Errorf(OverBudget, "", "%s", "this token is limited in what it may cost, and the price of "+m.Name+" is not known: add it to models.price")
	}
	most = m.MaxCost(texts)
	id = ponder.ThreadID(ponder.NewID("emb"))
	_, _, err = s.grant(ctx, token, limit, grant{thread: id}, func(left ponder.Money) (ponder.Money, error) {
		if most > left {
			return 0, Errorf(OverBudget, "", "the vectors may cost $%.6f, and this token $%.6f today still: ask for fewer at once, or come again tomorrow", most.USD(), left.USD())
		}
		return most, nil
	})
	return id, most, err
}

// noteUsed counts what vectors used among what their owner has used.
func (s *Service) noteUsed(ctx context.Context, owner string, m VectorModel, usage llm.Usage, failed error) error {
	if s.Books == nil {
		return nil
	}
	row := ponder.UsageRow{Key: m.Name, Calls: 1, Usage: usage}
	if failed != nil {
		row.Failed = 1
	}
	switch {
	case usage.Cost != nil && *usage.Cost > 0:
		row.Money = ponder.Money(*usage.Cost)
	case m.Price.Source == "" || m.Price.Source == ponder.PriceUnknown:
		row.Unknown = 1
	default:
		row.Money = m.Price.Cost(usage)
	}
	return s.Books.use(context.WithoutCancel(ctx), owner, row, time.Now())
}

// payFor returns an embedder whose vectors are paid from the day of the token that asks;
// those that nobody waits for, from that of a token of the owner: see [server.payers].
// While no day pays for them they are not made, and are made once one does.
func (s *Service) payFor(l *ModelSet, owner string, e vector.Embedder) vector.Embedder {
	if e.Embed == nil {
		return e
	}
	m, err := l.Vectors(e.Model)
	if err != nil {
		return vector.Embedder{}
	}
	e.Embed = func(ctx context.Context, texts []string) (vectors [][]float32, err error) {
		for _, token := range s.payers(ctx, owner) {
			vectors, _, err = s.embedFor(ctx, owner, token, m, texts)
			if CodeOf(err) != OverBudget {
				break
			}
		}
		if err == nil && len(vectors) != len(texts) {
			err = fmt.Errorf("%s: %d vectors for %d texts", m.Name, len(vectors), len(texts))
		}
		return vectors, err
	}
	return e
}

// payers returns the tokens that may pay for the vectors of an owner, one of them: that of
// the caller; else, if all tokens of the owner are limited in what they may cost, each of
// them in the order of their names; else "", for which nothing is limited.
func (s *Service) payers(ctx context.Context, owner string) []string {
	if token := auth.CallerOf(ctx).Token; token != "" {
		return []string{token}
	}
	var list []string
	for _, token := range slices.Sorted(maps.Keys(s.Settings.Serve.Tokens)) {
		switch {
		case s.ownerOf(token) != owner:
		case s.Settings.Serve.Tokens[token].Cost == 0:
			return []string{""}
		default:
			list = append(list, token)
		}
	}
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// Used implements [app.Accountant]. Of an owner who is alone, and whose are all the
// threads, is all that the ledger has.
func (s *Service) Used(ctx context.Context, owner string, alone bool, by ponder.GroupBy, since time.Time) (rows []ponder.UsageRow, err error) {
	others := !alone
	if alone {
		if others, err = s.Store.HasOthers(ctx, owner); err != nil {
			return nil, err
		}
	}
	if !others {
		rows, err = s.Store.Usage(ctx, by, since)
	} else {
		rows, err = s.Store.UsageOf(ctx, owner, by, since)
	}
	if err != nil {
		return nil, err
	}
	beside, err := s.Books.used(ctx, owner, by, since)
	return append(rows, beside...), err
}
