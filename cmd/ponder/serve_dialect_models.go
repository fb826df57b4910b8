package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/service"
	"ponder/llm"
)

// Models implements [service.Lister]: those of the roles, each once, the models that talk
// first.
func (s *server) Models(ctx context.Context, owner string) (list []string, err error) {
	l, err := s.as(owner).lineup(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, choice := range l.choices {
		for _, full := range choice.Models {
			if !slices.Contains(list, full) {
				list = append(list, full)
			}
		}
	}
	return list, nil
}

// errNoVectors is the error of a server without a model that makes vectors.
var errNoVectors = notConfigured{errors.New("no model makes vectors: set models.embed, or PONDER_EMBED_MODEL; `ponder doctor` says more")}

// Embed implements [service.Embedder]. What it costs counts in the day of a token that is
// limited.
func (s *server) Embed(ctx context.Context, owner, model string, texts []string) (vectors [][]float32, usage llm.Usage, name string, err error) {
	l, err := s.as(owner).lineup(ctx, "")
	if err != nil {
		return nil, usage, "", err
	}
	if name = model; name == "" {
		models := l.choices.Of(ponder.Embed).Models
		if len(models) == 0 {
			return nil, usage, "", errNoVectors
		}
		name = models[0]
	}
	provider, id, err := config.SplitModel(name)
	if err != nil {
		return nil, usage, name, noSuchModel(err)
	}
	p, err := l.provider(provider)
	if err != nil {
		return nil, usage, name, noSuchModel(err)
	}
	price := l.price(name, p)
	if err := s.affords(ctx, price, name); err != nil {
		return nil, usage, name, err
	}
	vectors, usage, err = p.Embed(ctx, id, texts)
	var refused *llm.Error
	if errors.As(err, &refused) {
		usage = refused.Usage
	}
	if err == nil && len(vectors) != len(texts) {
		err = &llm.Error{Class: llm.Malformed, Model: name, Message: "it made another number of vectors than there are texts"}
	}
	return vectors, usage, name, errors.Join(toCaller(err, model != ""), s.charge(ctx, price, usage))
}

func noSuchModel(err error) error {
	return &service.Error{Status: http.StatusUnprocessableEntity, Field: "model", Detail: withoutFlags(oneLine(err.Error()))}
}

// affords refuses what is asked beside threads if nothing is left of the day of the
// caller's token.
func (s *server) affords(ctx context.Context, price ponder.Price, name string) error {
	token, limit, limited := s.limitOf(ctx)
	if !limited || limit.Cost == 0 || price.Source == ponder.PriceLocal {
		return nil
	}
	if price.Source == "" || price.Source == ponder.PriceUnknown {
		return &service.Error{Status: http.StatusPaymentRequired, Detail: "this token is limited in what it may cost, and the price of " + name + " is not known: add it to models.price"}
	}
	now := time.Now()
	d, err := s.books.today(ctx, token, now)
	if err == nil {
		_, err = s.left(ctx, d, limit, "", now)
	}
	return err
}

// charge counts what was used beside threads in the day of the caller's token, if that is
// limited.
func (s *server) charge(ctx context.Context, price ponder.Price, usage llm.Usage) error {
	token, limit, limited := s.limitOf(ctx)
	cost := price.Of(usage)
	if usage.Cost != nil && *usage.Cost > 0 {
		cost = ponder.Money(*usage.Cost)
	}
	if !limited || limit.Cost == 0 || cost <= 0 {
		return nil
	}
	return s.books.charge(context.WithoutCancel(ctx), token, cost, time.Now())
}

// cleanSystem returns what a client says of how to answer, as it is kept.
func cleanSystem(text string) (string, error) {
	if len(text) > maxSystem {
		return "", &service.Error{Status: http.StatusUnprocessableEntity, Field: "system", Detail: "what a conversation is told of how to answer has more than " + number(maxSystem) + " bytes"}
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "")), nil
}

// maxSystem is how much a client may say of how to answer, in bytes.
const maxSystem = 32 << 10

// saysOfSystem returns what a model is told of that.
func saysOfSystem(text string) string {
	return "The user speaks to you through a program, which says of how to answer:\n" + text
}
