package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/mode/passthrough"
	"ponder/tool/knowledge"
	webtool "ponder/tool/web"
)

// Relay implements [app.Relayer].
func (s *server) Relay(ctx context.Context, owner string, id ponder.ThreadID, x app.Exchange) error {
	if _, err := s.store.Thread(ctx, id); err == nil {
		return ponder.ErrTaken
	}
	return s.begun(ctx, id, &x.Budget, func() error {
		if err := s.relay(ctx, owner, id, x); err != nil {
			return app.OfModel(x.Model, err)
		}
		if x.Made != nil {
			x.Made()
		}
		return s.place.Start(ctx, id)
	})
}

// relay makes a thread on which a model is asked what a client asks.
func (s *server) relay(ctx context.Context, owner string, id ponder.ThreadID, x app.Exchange) error {
	a := s.as(owner)
	t, err := a.ChatSetup(ctx, x.Model, false)
	if err != nil {
		return err
	}
	if x.Model != "" {
		if err := t.Check(ctx); err != nil {
			return err
		}
	}
	if err := app.CheckPrices(t.Models, x.Budget, &t.Config); err != nil {
		return err
	}
	opts := passthrough.Options{Request: x.Request}
	if x.Own {
		memory, web, err := s.looks(ctx, owner, x.NoMemory, x.NoWeb)
		if err != nil {
			return err
		}
		opts.Own = ownTools(memory, web)
		others, err := a.ReadOnlyMCPTools(ctx, app.ChatPatience)
		if err != nil {
			return err
		}
		for _, t := range others {
			opts.Own = append(opts.Own, t.Name)
		}
	}
	js, err := json.Marshal(opts)
	if err != nil {
		return fmt.Errorf("keep what is asked: %w", err)
	}
	title := clip(oneLine(textkit.Clean(x.Title)), maxTitle)
	thread := ponder.Thread{ID: id, Kind: ponder.KindExchange, Title: title, Owner: owner, Created: time.Now(), Model: t.Name}
	err = s.log.Create(ctx, thread, ponder.Event{
		Run: ponder.RunID(ponder.NewID("run")), Cause: x.Cause, Body: ponder.RunStarted{Mode: passthrough.Name, Input: title, Options: js, Budget: x.Budget},
	})
	if err == nil && x.Keep {
		err = s.books.wish(ctx, id, func(w *wishing) { w.Keep = true })
	}
	return err
}

// ownTools returns the names of the tools that look into what is remembered, and at the
// web.
func ownTools(memory, web bool) (list []string) {
	if memory {
		list = append(list, knowledge.Name, knowledge.ReadName)
	}
	if web {
		list = append(list, webtool.SearchName, webtool.FetchName)
	}
	return list
}

// relaying returns what an exchange began with, but for what is asked.
func (s *server) relaying(ctx context.Context, id ponder.ThreadID) (own []string, err error) {
	for ev, err := range s.store.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		b, ok := ev.Body.(ponder.RunStarted)
		if !ok {
			continue
		}
		var o struct{ Own []string }
		if len(b.Options) > 0 && json.Unmarshal(b.Options, &o) != nil {
			return nil, fmt.Errorf("what %s was asked cannot be read", id)
		}
		return o.Own, nil
	}
	return nil, nil
}

// exchangeOutfit sets what an exchange is answered with.
func (s *server) exchangeOutfit(ctx context.Context, info ponder.Info, o *outfit) error {
	own, err := s.relaying(ctx, info.ID)
	if err != nil {
		return err
	}
	o.Memory, o.Web = slices.Contains(own, knowledge.Name), slices.Contains(own, webtool.SearchName)
	o.Others = slices.ContainsFunc(own, func(name string) bool { return !slices.Contains(ownTools(true, true), name) })
	l, err := s.ModelSet(ctx, "")
	if err != nil {
		return err
	}
	if fast := l.Choices.Of(ponder.Fast).Models; fast == nil || fast[0] != info.Model {
		o.Model = info.Model // it was named
	}
	return nil
}

// relayingIn returns how exchanges of an outfit are answered: by the model that talks, with
// no tools but those that look.
func (a *cli) relayingIn(ctx context.Context, o outfit) (app.ChatSetup, error) {
	t, err := a.ChatSetup(ctx, o.Model, false)
	t.Sources, t.Relay, t.NoMemory = o.sight(), true, true
	return t, err
}

// Of exchanges that have ended.
const (
	exchangePage  = 200 // that are looked at at a time
	mostForgotten = 500 // that are removed in one tidying
)

// forgetExchanges removes exchanges that ended longer ago than they are kept. What they
// used stays in the sums.
func (s *server) forgetExchanges(ctx context.Context, now time.Time) {
	until := now.Add(-s.Settings.Serve.KeepFor())
	filter := ponder.Filter{Kind: ponder.KindExchange, Limit: exchangePage, Before: ponder.Position{Created: until}}
	for removed := 0; removed < mostForgotten; {
		list, err := s.store.List(ctx, filter)
		for _, info := range list {
			if err != nil || ctx.Err() != nil {
				break
			}
			filter.Before = info.Position()
			var gone bool
			if gone, err = s.forgetExchange(ctx, info, until); gone {
				removed++
			}
		}
		if err != nil && ctx.Err() == nil {
			slog.Warn("old exchanges are kept for now", "error", err)
		}
		if err != nil || ctx.Err() != nil || len(list) < exchangePage {
			return
		}
	}
}

// forgetExchange removes an exchange that had ended at a time, unless it is to be kept.
func (s *server) forgetExchange(ctx context.Context, info ponder.Info, until time.Time) (gone bool, err error) {
	if !info.Status.Ended() || info.Held || info.Updated.After(until) {
		return false, nil
	}
	if asked, err := s.books.wishes(ctx, info.ID); err != nil || asked.Keep {
		return false, err
	}
	token, err := s.books.token(ctx, info.ID)
	if err != nil {
		return false, err
	}
	var spent ponder.Money
	if token != "" {
		if spent, err = s.spentToday(ctx, info.ID); err != nil {
			return false, err
		}
	}
	if err := s.log.Remove(ctx, info.ID); err != nil { // there is nothing else of it: it is not remembered
		return false, err
	}
	return true, s.books.remove(ctx, info.ID, token, spent, time.Now())
}
