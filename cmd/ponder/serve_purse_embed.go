package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/knowledge/recall/vector"
	"ponder/llm"
)

// embeddingTime is how long it may take to make vectors that the day of a token pays for:
// what they may cost is held no longer.
const embeddingTime = bookedTime - 10*time.Second

// embedFor makes vectors for an owner, and counts what they used among what the owner has
// used. If a token is limited, what they may cost at most is held of its day before, and
// what they have cost is charged after; if that is not left, the error is a
// [app.Error] of the code [app.OverBudget].
func (s *server) embedFor(ctx context.Context, owner, token string, m app.VectorModel, texts []string) (vectors [][]float32, usage llm.Usage, err error) {
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
	charged := s.books.remove(context.WithoutCancel(ctx), id, token, cost, time.Now())
	return vectors, usage, errors.Join(err, charged, s.noteUsed(ctx, owner, m, usage, err))
}

// holdVectors holds what the vectors of texts may cost.
func (s *server) holdVectors(ctx context.Context, token string, limit config.Token, m app.VectorModel, texts []string) (id ponder.ThreadID, most ponder.Money, err error) {
	if m.Price.Source == "" || m.Price.Source == ponder.PriceUnknown {
		return "", 0, app.Errorf(app.OverBudget, "", "%s", "this token is limited in what it may cost, and the price of "+m.Name+" is not known: add it to models.price")
	}
	most = m.MaxCost(texts)
	id = ponder.ThreadID(ponder.NewID("emb"))
	_, _, err = s.grant(ctx, token, limit, grant{thread: id}, func(left ponder.Money) (ponder.Money, error) {
		if most > left {
			return 0, app.Errorf(app.OverBudget, "", "the vectors may cost $%.6f, and this token $%.6f today still: ask for fewer at once, or come again tomorrow", most.USD(), left.USD())
		}
		return most, nil
	})
	return id, most, err
}

// noteUsed counts what vectors used among what their owner has used.
func (s *server) noteUsed(ctx context.Context, owner string, m app.VectorModel, usage llm.Usage, failed error) error {
	if s.books == nil {
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
	return s.books.use(context.WithoutCancel(ctx), owner, row, time.Now())
}

// payFor returns an embedder whose vectors are paid from the day of the token that asks;
// those that nobody waits for, from that of a token of the owner: see [server.payers].
// While no day pays for them they are not made, and are made once one does.
func (s *server) payFor(l *app.ModelSet, owner string, e vector.Embedder) vector.Embedder {
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
			if app.CodeOf(err) != app.OverBudget {
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
func (s *server) payers(ctx context.Context, owner string) []string {
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
func (s *server) Used(ctx context.Context, owner string, alone bool, by ponder.GroupBy, since time.Time) (rows []ponder.UsageRow, err error) {
	others := !alone
	if alone {
		if others, err = s.store.HasOthers(ctx, owner); err != nil {
			return nil, err
		}
	}
	if !others {
		rows, err = s.store.Usage(ctx, by, since)
	} else {
		rows, err = s.store.UsageOf(ctx, owner, by, since)
	}
	if err != nil {
		return nil, err
	}
	beside, err := s.books.used(ctx, owner, by, since)
	return append(rows, beside...), err
}
