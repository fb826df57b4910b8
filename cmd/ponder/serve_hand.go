package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"ponder/internal/server"

	"ponder/internal/app"

	"ponder"
	"ponder/client"
	"ponder/internal/placement"
	"ponder/store/sqlite"
)

// Times of what is asked of a server by the commands.
const (
	takeTime = 5 * time.Second // to begin with what is left to it in the queue
)

// A partner is the server of the command's database, and a client of it.
type partner struct {
	server.LocalServer
	*client.Client
	token bool // it is shown one
}

// served returns the server of the command's database, if one runs and says that it is
// the one that is looked for. Only then it is shown the token of PONDER_TOKEN.
func (a *cli) served(ctx context.Context) (*partner, bool) {
	db := a.DatabasePath()
	for _, s := range server.LocalServers(a.App) {
		if db == "" || s.Database != db || !s.Answers(ctx) {
			continue
		}
		token := os.Getenv("PONDER_TOKEN")
		p := &partner{LocalServer: s, Client: client.New(s.Reach(), token), token: token != ""}
		p.HTTP.Transport = server.Direct
		p.Patience = -1 // there is another way
		return p, true
	}
	return nil, false
}

// handToServer leaves a thread to `ponder serve`, if that runs on the database and takes
// it, and returns who has it: nil if nobody. A model, unless it is empty, thinks from now
// on.
//
// The server is asked, so that it begins at once or says why not. If it is not for who
// asks, for want of the right token, the thread is put into the queue of those that
// serve, which takes no token and no model.
func (a *cli) handToServer(ctx context.Context, store ponder.Store, id ponder.ThreadID, model string) *server.LocalServer {
	s, ok := a.served(ctx)
	if !ok {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, server.GiveTime)
	defer cancel()
	err := s.Work(short, string(id), model)
	if err == nil {
		return &s.LocalServer
	}
	if ctx.Err() != nil {
		return nil
	}
	if !isStranger(err) {
		a.note("`ponder serve` (process %d) does not take it: %s", s.PID, reasonWhy(err))
		return nil
	}
	if s.token {
		a.note("`ponder serve` (process %d) refuses the token in PONDER_TOKEN: %s", s.PID, whyStranger(err))
	}
	if model == "" && a.enqueued(ctx, store, id) {
		return &s.LocalServer
	}
	return nil
}

// isStranger reports whether a server has refused for who asks, not for what is asked:
// the token is missing, wrong, of another owner, not for that, or used too often.
func isStranger(err error) bool {
	var p *client.Problem
	if !errors.As(err, &p) {
		return false
	}
	switch p.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests, http.StatusPaymentRequired:
		return true
	}
	return false
}

// whyStranger says why a server refuses a token.
func whyStranger(err error) string {
	switch {
	case errors.Is(err, &client.Problem{Status: http.StatusUnauthorized}):
		return "it knows none like that"
	case errors.Is(err, &client.Problem{Status: http.StatusNotFound}):
		return "what the commands make is not of its owner"
	}
	return reasonWhy(err)
}

// reasonWhy returns what a server says in a refusal, without how it was asked.
func reasonWhy(err error) string {
	var p *client.Problem
	if errors.As(err, &p) {
		return clip(oneLine(p.Error()), 200)
	}
	return clip(oneLine(reasonOf(err).Error()), 200)
}

// enqueued has a thread worked on by a process that serves, and reports whether one does
// before long. What is left to do on a conversation is only put into the queue.
func (a *cli) enqueued(ctx context.Context, store ponder.Store, id ponder.ThreadID) bool {
	file, is := store.(*sqlite.Store)
	if !is || a.enqueue(ctx, file, id) != nil {
		return false
	}
	taken, err := takenOn(ctx, store, id)
	return taken && err == nil
}

// enqueue has a thread worked on by a process that serves.
func (a *cli) enqueue(ctx context.Context, store *sqlite.Store, id ponder.ThreadID) error {
	p, err := placement.Open(ctx, placement.Config{Store: store, DB: store.DB(), Node: placement.Self(), Work: func(context.Context, ponder.ThreadID) error {
		return errors.New("this process does not work")
	}})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.CloseTime)
		defer cancel()
		_ = p.Close(ctx) // what is enqueued is kept
	}()
	return p.Enqueue(ctx, id, a.Owner(), 0)
}

// takenOn reports whether a thread is worked on before long.
func takenOn(ctx context.Context, store ponder.Threads, id ponder.ThreadID) (bool, error) {
	return poll(ctx, takeTime, func() (bool, error) {
		info, err := store.Thread(ctx, id)
		if err != nil {
			return false, fmt.Errorf("look after %s: %w", id, err)
		}
		return hasBegun(info) || info.Kind == ponder.KindConversation, nil
	})
}
