package main

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/mode/session"
)

// Purses say what tokens may cost and begin in a day. What threads may cost that are at
// work is held back: of sessions and research what is left of their budgets, which are in
// their logs; of conversations what their calls may cost that are being made.
//
// What is left is counted without a lock of the database, and granted only if nothing else
// was granted meanwhile: see [books.grant].
type purses struct {
	granting sync.Mutex // held while something is granted, so that few are refused for that

	mu     sync.Mutex
	begins map[string]*sync.Mutex // by token, held while a thread is begun
}

// beginning lets one thread of a token be begun at a time.
func (p *purses) beginning(token string) (done func()) {
	p.mu.Lock()
	one := p.begins[token]
	if one == nil {
		if p.begins == nil {
			p.begins = make(map[string]*sync.Mutex)
		}
		one = new(sync.Mutex)
		p.begins[token] = one
	}
	p.mu.Unlock()
	one.Lock()
	return one.Unlock
}

// limitOf returns what the token of the caller may do in a day, if it is limited.
func (s *server) limitOf(ctx context.Context) (token string, limit config.Token, limited bool) {
	token = auth.CallerOf(ctx).Token
	limit, limited = s.Settings.Serve.Tokens[token]
	return token, limit, limited && (limit.PerDay > 0 || limit.Cost > 0)
}

// begun does what begins a thread, which a token may do so often, and for so much, in a
// day. It cuts the budget to what is granted of that: what was asked for, as long as it is
// left; or, if that is nothing, half of what is left, so that the rest is for others.
func (s *server) begun(ctx context.Context, id ponder.ThreadID, budget *ponder.Budget, do func() error) error {
	token, limit, limited := s.limitOf(ctx)
	if !limited {
		return do()
	}
	defer s.purses.beginning(token)()
	if _, err := s.store.Thread(ctx, id); err == nil {
		return ponder.ErrTaken
	}
	want := budget.Money
	d, g, err := s.grant(ctx, token, limit, grant{thread: id, begun: 1}, func(left ponder.Money) (ponder.Money, error) {
		if want > 0 {
			return min(want, left), nil
		}
		return max(1, left/2), nil
	})
	if err != nil {
		return err
	}
	if limit.Cost > 0 {
		budget.Money = g.held
	}
	if err = do(); err != nil {
		err = errors.Join(err, s.books.ungrant(context.WithoutCancel(ctx), d, g))
	}
	return err
}

// maxGrants is how often a grant is tried that others were quicker than.
const maxGrants = 100

// grant grants a token what ask wants of what is left of its day.
func (s *server) grant(ctx context.Context, token string, limit config.Token, g grant, ask func(left ponder.Money) (ponder.Money, error)) (day, grant, error) {
	s.purses.granting.Lock()
	defer s.purses.granting.Unlock()
	for range maxGrants {
		now := time.Now()
		d, err := s.books.today(ctx, token, now)
		if err != nil {
			return d, g, err
		}
		if limit.PerDay > 0 && d.begun+g.begun > limit.PerDay {
			return d, g, app.Errorf(app.Limit, "", "this token may begin %s a day, and has: come again tomorrow",
				counted(limit.PerDay, "session", "sessions"))
		}
		if limit.Cost > 0 {
			left, err := s.left(ctx, d, limit, g.thread, now)
			if err == nil {
				g.held, err = ask(left)
			}
			if err != nil {
				return d, g, err
			}
		}
		if ok, err := s.books.grant(ctx, d, g, now); err != nil || ok {
			return d, g, err
		}
	}
	return day{}, g, app.Errorf(app.Unavailable, "", "too much is begun with this token at once: try again")
}

// left returns what a token may cost today still, beside what a thread costs. It is an
// error if that is nothing.
func (s *server) left(ctx context.Context, d day, limit config.Token, but ponder.ThreadID, now time.Time) (ponder.Money, error) {
	held, rise, err := s.heldFor(ctx, d.token, limit, but, now)
	if err != nil {
		return 0, err
	}
	sums, err := s.books.spent(ctx, d.token, midnight(now)) // behind the logs: what is charged meanwhile counts twice, not never
	if err != nil {
		return 0, err
	}
	spent := d.gone
	for id, m := range sums {
		spent += max(m, rise[id])
		delete(rise, id)
	}
	for _, m := range rise {
		held += m
	}
	all := money(limit.Cost)
	switch {
	case spent >= all:
		return 0, app.Errorf(app.OverBudget, "", "this token may cost %s a day, and has: come again tomorrow", dollars(limit.Cost))
	case spent+held >= all:
		return 0, app.Errorf(app.OverBudget, "", "this token may cost %s a day, and what is left of that is held for what it has begun: wait until that ends, or pause or cancel it", dollars(limit.Cost))
	}
	return all - spent - held, nil
}

// bookedTime is how long a thread may take to be begun, or to go on, until what it was granted is free
// again: its process has been killed.
const bookedTime = 2 * time.Minute

// heldFor returns what is held for threads of a token but one: as an amount, and for
// conversations as what they may have cost today in all.
func (s *server) heldFor(ctx context.Context, token string, limit config.Token, but ponder.ThreadID, now time.Time) (sum ponder.Money, rise map[ponder.ThreadID]ponder.Money, err error) {
	list, err := s.books.holdings(ctx, token)
	if err != nil {
		return 0, nil, err
	}
	thinking, err := s.store.List(ctx, ponder.Filter{Status: ponder.Thinking, Owner: s.ownerOf(token)})
	if err != nil {
		return 0, nil, err
	}
	for _, info := range thinking {
		if _, known := list[info.ID]; known {
			continue
		}
		if of, err := s.books.token(ctx, info.ID); err != nil {
			return 0, nil, err
		} else if of == token {
			list[info.ID] = holding{}
		}
	}
	rise = make(map[ponder.ThreadID]ponder.Money)
	for id, h := range list {
		if id == but {
			continue
		}
		info, err := s.store.Thread(ctx, id)
		switch {
		case errors.Is(err, ponder.ErrNoThread) && now.Sub(h.since) < bookedTime:
			sum += h.held
		case err != nil && !errors.Is(err, ponder.ErrNoThread):
			return 0, nil, err
		case err == nil && budgeted(info.Kind) && info.Status == ponder.Paused && !info.Held && h.since.After(info.Updated) && now.Sub(h.since) < bookedTime:
			sum += h.held // it is about to go on
		case err != nil, info.Status != ponder.Thinking && !info.Held:
			if err := s.books.hold(ctx, id, h.held, 0); err != nil {
				return 0, nil, err
			}
		case !budgeted(info.Kind):
			rise[id] = h.held
		default:
			more, err := s.mayCost(ctx, info)
			if err != nil {
				return 0, nil, err
			}
			sum += min(more, money(limit.Cost))
		}
	}
	return sum, rise, nil
}

// ownerOf returns whom a token is for.
func (s *server) ownerOf(token string) string {
	if of := s.Settings.Serve.Tokens[token].Owner; of != "" {
		return of
	}
	return token
}

// mayCost returns what a session or a research may cost still.
func (s *server) mayCost(ctx context.Context, info ponder.Info) (ponder.Money, error) {
	v, err := s.thought(ctx, info)
	if err != nil {
		return 0, err
	}
	if v.Session.Budget.USD == 0 {
		return math.MaxInt64, nil
	}
	told, err := s.unheard(ctx, info.ID, v)
	return max(0, max(money(v.Session.Budget.USD), told)-money(v.Session.Usage.USD)), err
}

// budgeted reports whether threads of a kind have a budget in their log.
func budgeted(kind ponder.Kind) bool {
	return kind == ponder.KindSession || kind == ponder.KindResearch
}

// thought returns a session, or a research as if it were one.
func (s *server) thought(ctx context.Context, info ponder.Info) (session.View, error) {
	if info.Kind == ponder.KindResearch {
		v, _, err := foldResearch(ctx, s.store, info.ID)
		return asSession(v), err
	}
	return fold(ctx, s.store, info.ID)
}

// goesOn does what has a thread worked on that exists. A session or a research whose
// token is limited may cost no more than what is left of its day: if it might, its budget
// is cut.
func (s *server) goesOn(ctx context.Context, info ponder.Info, do func() error) error {
	if budgeted(info.Kind) && info.Status != ponder.Thinking {
		return do() // it is told something, and costs nothing
	}
	return s.granted(ctx, info, do)
}

// granted is goesOn of a thread that is going to think by what is done, if it does not yet.
func (s *server) granted(ctx context.Context, info ponder.Info, do func() error) error {
	token, err := s.books.token(ctx, info.ID)
	if err != nil {
		return err
	}
	return s.grantedTo(ctx, token, info, do)
}

// grantedTo is granted of a thread that a token has begun, or none.
func (s *server) grantedTo(ctx context.Context, begun string, info ponder.Info, do func() error) error {
	token, limit, limited := s.payer(ctx, begun)
	if !limited {
		return do()
	}
	var cut ponder.Money
	waits := budgeted(info.Kind) && info.Status != ponder.Thinking
	_, _, err := s.grant(ctx, token, limit, grant{thread: info.ID, waits: waits}, func(left ponder.Money) (ponder.Money, error) {
		if !budgeted(info.Kind) {
			return s.heldBy(ctx, info.ID)
		}
		more, err := s.mayCost(ctx, info)
		if cut = 0; more > left {
			cut, more = left, left
		}
		return more, err
	})
	if err != nil {
		return err
	}
	if cut > 0 {
		v, err := s.thought(ctx, info)
		if err != nil {
			return err
		}
		if _, err := ponder.SendCommands(ctx, s.log, info.ID, limitTo(v.Session, cut)); err != nil {
			return err
		}
	}
	err = do()
	if err != nil && (waits || errors.Is(err, ponder.ErrNoThread)) {
		err = errors.Join(err, s.books.atRest(context.WithoutCancel(ctx), info.ID))
	}
	return err
}

// heldBy returns what is held for a thread, by the books.
func (s *server) heldBy(ctx context.Context, id ponder.ThreadID) (ponder.Money, error) {
	token, err := s.books.token(ctx, id)
	if err != nil || token == "" {
		return 0, err
	}
	list, err := s.books.holdings(ctx, token)
	return list[id].held, err
}
