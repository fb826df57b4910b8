package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"ponder"
	"ponder/internal/access"
	"ponder/internal/config"
	"ponder/internal/httpapi"
)

// ownToken is the name of the token of the user, in the log.
const ownToken = "PONDER_TOKEN"

// guarding returns who may ask the server.
func guarding(cfg *config.Config) (access.Config, error) {
	c := access.Config{Owner: owner, Hosts: cfg.Serve.Hosts, Origins: cfg.Serve.Origins}
	if cfg.Token != "" {
		c.Tokens = append(c.Tokens, access.Token{Name: ownToken, Owner: owner, Scopes: access.Scopes(), Hash: access.HashOf(string(cfg.Token))})
	}
	of := make(map[[sha256.Size]byte]string)
	if cfg.Token != "" {
		of[c.Tokens[0].Hash] = config.ServeToken
	}
	for _, name := range cfg.Serve.TokenNames() {
		t := cfg.Serve.Tokens[name]
		hash, err := cfg.Digest(name)
		if err != nil {
			return c, failure{codeOfMind(err), fmt.Errorf("%w (in %s)", err, cfg.File)}
		}
		if err := nameOfTable(name); err != nil {
			return c, usagef("serve.tokens: %w", err)
		}
		if other := of[hash]; other != "" {
			return c, usagef("serve.tokens.%s is the same token as %s: give each its own", name, other)
		}
		of[hash] = name
		c.Tokens = append(c.Tokens, access.Token{
			Name: name, Owner: cmp.Or(t.Owner, name), Scopes: scopesOf(t), Hash: hash, PerMinute: t.PerMinute,
		})
	}
	return c, nil
}

// scopesOf returns what a token is for.
func scopesOf(t config.Token) (list []access.Scope) {
	if len(t.Scopes) == 0 {
		return []access.Scope{access.Read, access.Think}
	}
	for _, s := range t.Scopes {
		list = append(list, access.Scope(s))
	}
	return list
}

// counted does something that a token may do so often, and for so much, in a day. It cuts
// the budget to what is left of that.
func (s *server) counted(ctx context.Context, id ponder.ThreadID, budget *ponder.Budget, do func() error) error {
	name := access.CallerOf(ctx).Token
	limit, limited := s.cfg.Serve.Tokens[name]
	if !limited || limit.PerDay == 0 && limit.Cost == 0 {
		return do()
	}
	s.counting.Lock() // so that no two take what is left
	defer s.counting.Unlock()
	now := time.Now()
	begun, _, err := s.books.today(ctx, name, now)
	if err != nil {
		return err
	}
	if limit.PerDay > 0 && begun >= limit.PerDay && budget != nil {
		return &httpapi.Error{Status: http.StatusTooManyRequests, Detail: fmt.Sprintf("this token may begin %s a day, and has: come again tomorrow",
			counted(limit.PerDay, "session", "sessions"))}
	}
	left, err := s.left(ctx, name, limit, now)
	if err != nil {
		return err
	}
	if limit.Cost > 0 && budget != nil && (budget.Money == 0 || budget.Money > left) {
		budget.Money = left
	}
	if err := do(); err != nil {
		return err
	}
	if budget == nil {
		return nil
	}
	return s.books.begun(ctx, name, id, now)
}

// left returns what a token may cost today still. It is an error if that is nothing.
func (s *server) left(ctx context.Context, name string, limit config.Token, now time.Time) (ponder.Money, error) {
	if limit.Cost == 0 {
		return 0, nil
	}
	_, spent, err := s.books.today(ctx, name, now)
	if err != nil {
		return 0, err
	}
	mine, err := s.books.threads(ctx, name)
	if err != nil {
		return 0, err
	}
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	rows, err := s.store.Usage(ctx, ponder.ByThread, midnight)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if mine[r.Key] {
			spent += r.Money
		}
	}
	if left := money(limit.Cost) - spent; left > 0 {
		return left, nil
	}
	return 0, &httpapi.Error{Status: http.StatusPaymentRequired, Detail: fmt.Sprintf("this token may cost $%.2f a day, and has: come again tomorrow", limit.Cost)}
}

// spentToday returns what a thread has cost today.
func (s *server) spentToday(ctx context.Context, id ponder.ThreadID, now time.Time) (ponder.Money, error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	rows, err := s.store.Usage(ctx, ponder.ByThread, midnight)
	for _, r := range rows {
		if r.Key == string(id) {
			return r.Money, err
		}
	}
	return 0, err
}
