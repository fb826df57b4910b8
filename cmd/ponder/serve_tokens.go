package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/config"
)

// ownToken is the name of the token of the user, in the log.
const ownToken = "PONDER_TOKEN"

// guarding returns who may ask the server.
func guarding(cfg *config.Config) (auth.Config, error) {
	c := auth.Config{Owner: app.LocalOwner, Hosts: cfg.Serve.Hosts, Origins: cfg.Serve.Origins}
	if cfg.Token != "" {
		c.Tokens = append(c.Tokens, auth.Token{Name: ownToken, Owner: app.LocalOwner, Scopes: auth.Scopes(), Hash: auth.HashOf(string(cfg.Token))})
	}
	of := make(map[[sha256.Size]byte]string)
	if cfg.Token != "" {
		of[c.Tokens[0].Hash] = config.ServeToken
	}
	for _, name := range cfg.Serve.TokenNames() {
		t := cfg.Serve.Tokens[name]
		hash, err := cfg.Digest(name)
		if err != nil {
			return c, app.Errorf(codeOfMind(err), "", "%w (in %s)", err, cfg.File)
		}
		if err := nameOfTable(name); err != nil {
			return c, usagef("serve.tokens: %w", err)
		}
		if other := of[hash]; other != "" {
			return c, usagef("serve.tokens.%s is the same token as %s: give each its own", name, other)
		}
		of[hash] = name
		c.Tokens = append(c.Tokens, auth.Token{
			Name: name, Owner: cmp.Or(t.Owner, name), Scopes: scopesOf(t), Hash: hash, PerMinute: t.PerMinute,
		})
	}
	return c, nil
}

// scopesOf returns what a token is for.
func scopesOf(t config.Token) (list []auth.Scope) {
	if len(t.Scopes) == 0 {
		return []auth.Scope{auth.Read, auth.Think}
	}
	for _, s := range t.Scopes {
		list = append(list, auth.Scope(s))
	}
	return list
}

// spentToday returns what a thread has cost today.
func (s *server) spentToday(ctx context.Context, id ponder.ThreadID) (ponder.Money, error) {
	return s.books.spentBy(ctx, id, midnight(time.Now()))
}

// midnight returns when the day began.
func midnight(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
}
