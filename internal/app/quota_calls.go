package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/quota"
	"ponder/knowledge/recall/vector"
	"ponder/llm"
)

// meterModels returns models that charge the payer's token if it is limited.
func (s *Service) meterModels(ctx context.Context, o engineSpec, models map[ponder.Role][]ponder.Model) (map[ponder.Role][]ponder.Model, error) {
	if o.Payer == "" {
		return models, nil
	}
	starter, err := s.DB.starterToken(ctx, o.Payer)
	if err != nil {
		return nil, err
	}
	token, limit, limited := s.findPayer(ctx, starter)
	if !limited {
		return models, nil
	}
	return quota.Meter(models, quota.Account{Quotas: s.quotas, Token: token, Limit: limit, Thread: o.Payer, Life: s.life}), nil
}

// embeddingTime limits an embedding call: its reservation lasts no longer.
const embeddingTime = quota.StartTime - 10*time.Second

// embedFor makes vectors and counts their usage. A limited token reserves the maximal cost
// first, then pays the real one. If the rest is too small, the error has the code [OverBudget].
func (s *Service) embedFor(ctx context.Context, owner, token string, m VectorModel, texts []string) (vectors [][]float32, usage llm.Usage, err error) {
	limit, limited := s.limitOfToken(token)
	if !limited || m.Price.Source == ponder.PriceLocal {
		vectors, usage, err = m.Embed(ctx, texts)
		return vectors, usage, errors.Join(err, s.noteUsage(ctx, owner, m, usage, err))
	}
	if !m.Price.Known() {
		return nil, usage, Errorf(OverBudget, "", "%s", "this token has a cost limit, but the price of "+m.Name+" is unknown: add it to models.price")
	}
	most := m.MaxCost(texts)
	r := quota.Request{Token: token, Limit: limit, Thread: ponder.ThreadID(ponder.NewID("emb")), Pending: true, Amount: func(_ quota.Row, left ponder.Money) (ponder.Money, error) {
		if most > left {
			return 0, Errorf(OverBudget, "", "the vectors may cost $%.6f, but the token's daily limit has $%.6f left: request fewer, or retry tomorrow", most.USD(), left.USD())
		}
		return most, nil
	}}
	if _, err := s.reserveCost(ctx, r); err != nil {
		return nil, usage, err
	}
	paid, cancel := context.WithTimeout(ctx, embeddingTime)
	defer cancel()
	vectors, usage, err = m.Embed(paid, texts)
	charged := s.quotas.Charge(context.WithoutCancel(ctx), token, r.Thread, m.Cost(usage, err, most))
	return vectors, usage, errors.Join(err, charged, s.noteUsage(ctx, owner, m, usage, err))
}

func (s *Service) noteUsage(ctx context.Context, owner string, m VectorModel, usage llm.Usage, failed error) error {
	if s.DB == nil {
		return nil
	}
	row := ponder.UsageRow{Key: m.Name, Calls: 1, Usage: usage}
	if failed != nil {
		row.Failed = 1
	}
	switch {
	case usage.Cost != nil && *usage.Cost > 0:
		row.Money = ponder.Money(*usage.Cost)
	case !m.Price.Known():
		row.Unknown = 1
	default:
		row.Money = m.Price.Cost(usage)
	}
	return s.DB.addUsage(context.WithoutCancel(ctx), owner, row, time.Now())
}

// payFor returns an embedder that charges one of [Service.vectorPayers]. If none can pay, the vectors
// are made later.
func (s *Service) payFor(l *ModelSet, owner string, e vector.Embedder) vector.Embedder {
	if e.Embed == nil {
		return e
	}
	m, err := l.Vectors(e.Model)
	if err != nil {
		return vector.Embedder{}
	}
	e.Embed = func(ctx context.Context, texts []string) (vectors [][]float32, err error) {
		for _, token := range s.vectorPayers(ctx, owner) {
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

// vectorPayers returns the tokens of which one pays for an owner's vectors. It is the caller's token,
// if there is one. Else it is one of the owner's tokens if all of them are limited, or "",
// which has no limit.
func (s *Service) vectorPayers(ctx context.Context, owner string) []string {
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

// Used implements [Accountant]. If the owner is alone, it returns all usage in the ledger.
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
	unthreaded, err := s.DB.listUsage(ctx, owner, by, since)
	return append(rows, unthreaded...), err
}
