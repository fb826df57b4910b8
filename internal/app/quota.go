package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

// Purses say what tokens may cost and begin in a day. What threads may cost that are at
// work is held back: of sessions and research what is left of their budgets, which are in
// their logs; of conversations what their calls may cost that are being made.
//
// What is left is counted without a lock of the database, and granted only if nothing else
// was granted meanwhile: see [books.grant].
type quotas struct {
	granting sync.Mutex // held while something is granted, so that few are refused for that

	mu     sync.Mutex
	begins map[string]*sync.Mutex // by token, held while a thread is begun
}

// beginning lets one thread of a token be begun at a time.
func (p *quotas) beginning(token string) (done func()) {
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
func (s *Service) limitOf(ctx context.Context) (token string, limit config.Token, limited bool) {
	token = auth.CallerOf(ctx).Token
	limit, limited = s.Settings.Serve.Tokens[token]
	return token, limit, limited && (limit.PerDay > 0 || limit.Cost > 0)
}

// begun does what begins a thread, which a token may do so often, and for so much, in a
// day. It cuts the budget to what is granted of that: what was asked for, as long as it is
// left; or, if that is nothing, half of what is left, so that the rest is for others.
func (s *Service) begun(ctx context.Context, id ponder.ThreadID, budget *ponder.Budget, do func() error) error {
	token, limit, limited := s.limitOf(ctx)
	if !limited {
		return do()
	}
	defer s.purses.beginning(token)()
	if _, err := s.Store.Thread(ctx, id); err == nil {
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
		err = errors.Join(err, s.Books.ungrant(context.WithoutCancel(ctx), d, g))
	}
	return err
}

// maxGrants is how often a grant is tried that others were quicker than.
const maxGrants = 100

// grant grants a token what ask wants of what is left of its day.
func (s *Service) grant(ctx context.Context, token string, limit config.Token, g grant, ask func(left ponder.Money) (ponder.Money, error)) (day, grant, error) {
	s.purses.granting.Lock()
	defer s.purses.granting.Unlock()
	for range maxGrants {
		now := time.Now()
		d, err := s.Books.today(ctx, token, now)
		if err != nil {
			return d, g, err
		}
		if limit.PerDay > 0 && d.begun+g.begun > limit.PerDay {
			return d, g, Errorf(Limit, "", "this token may begin %s a day, and has: come again tomorrow",
				textkit.Count(limit.PerDay, "session", "sessions"))
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
		if ok, err := s.Books.grant(ctx, d, g, now); err != nil || ok {
			return d, g, err
		}
	}
	return day{}, g, Errorf(Unavailable, "", "too much is begun with this token at once: try again")
}

// left returns what a token may cost today still, beside what a thread costs. It is an
// error if that is nothing.
func (s *Service) left(ctx context.Context, d day, limit config.Token, but ponder.ThreadID, now time.Time) (ponder.Money, error) {
	held, rise, err := s.heldFor(ctx, d.token, limit, but, now)
	if err != nil {
		return 0, err
	}
	sums, err := s.Books.spent(ctx, d.token, midnight(now)) // behind the logs: what is charged meanwhile counts twice, not never
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
	all := MoneyOf(limit.Cost)
	switch {
	case spent >= all:
		return 0, Errorf(OverBudget, "", "this token may cost %s a day, and has: come again tomorrow", Dollars(limit.Cost))
	case spent+held >= all:
		return 0, Errorf(OverBudget, "", "this token may cost %s a day, and what is left of that is held for what it has begun: wait until that ends, or pause or cancel it", Dollars(limit.Cost))
	}
	return all - spent - held, nil
}

// bookedTime is how long a thread may take to be begun, or to go on, until what it was granted is free
// again: its process has been killed.
const bookedTime = 2 * time.Minute

// heldFor returns what is held for threads of a token but one: as an amount, and for
// conversations as what they may have cost today in all.
func (s *Service) heldFor(ctx context.Context, token string, limit config.Token, but ponder.ThreadID, now time.Time) (sum ponder.Money, rise map[ponder.ThreadID]ponder.Money, err error) {
	list, err := s.Books.holdings(ctx, token)
	if err != nil {
		return 0, nil, err
	}
	thinking, err := s.Store.List(ctx, ponder.Filter{Status: ponder.Thinking, Owner: s.ownerOf(token)})
	if err != nil {
		return 0, nil, err
	}
	for _, info := range thinking {
		if _, known := list[info.ID]; known {
			continue
		}
		if of, err := s.Books.token(ctx, info.ID); err != nil {
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
		info, err := s.Store.Thread(ctx, id)
		switch {
		case errors.Is(err, ponder.ErrNoThread) && now.Sub(h.since) < bookedTime:
			sum += h.held
		case err != nil && !errors.Is(err, ponder.ErrNoThread):
			return 0, nil, err
		case err == nil && budgeted(info.Kind) && info.Status == ponder.Paused && !info.Held && h.since.After(info.Updated) && now.Sub(h.since) < bookedTime:
			sum += h.held // it is about to go on
		case err != nil, info.Status != ponder.Thinking && !info.Held:
			if err := s.Books.hold(ctx, id, h.held, 0); err != nil {
				return 0, nil, err
			}
		case !budgeted(info.Kind):
			rise[id] = h.held
		default:
			more, err := s.mayCost(ctx, info)
			if err != nil {
				return 0, nil, err
			}
			sum += min(more, MoneyOf(limit.Cost))
		}
	}
	return sum, rise, nil
}

// ownerOf returns whom a token is for.
func (s *Service) ownerOf(token string) string {
	if of := s.Settings.Serve.Tokens[token].Owner; of != "" {
		return of
	}
	return token
}

// mayCost returns what a session or a research may cost still.
func (s *Service) mayCost(ctx context.Context, info ponder.Info) (ponder.Money, error) {
	v, err := s.thought(ctx, info)
	if err != nil {
		return 0, err
	}
	if v.Session.Budget.USD == 0 {
		return math.MaxInt64, nil
	}
	told, err := s.unheard(ctx, info.ID, v)
	return max(0, max(MoneyOf(v.Session.Budget.USD), told)-MoneyOf(v.Session.Usage.USD)), err
}

// budgeted reports whether threads of a kind have a budget in their log.
func budgeted(kind ponder.Kind) bool {
	return kind == ponder.KindSession || kind == ponder.KindResearch
}

// thought returns a session, or a research as if it were one.
func (s *Service) thought(ctx context.Context, info ponder.Info) (session.View, error) {
	if info.Kind == ponder.KindResearch {
		v, _, err := FoldResearch(ctx, s.Store, info.ID)
		return asSession(v), err
	}
	return Fold(ctx, s.Store, info.ID)
}

// goesOn does what has a thread worked on that exists. A session or a research whose
// token is limited may cost no more than what is left of its day: if it might, its budget
// is cut.
func (s *Service) goesOn(ctx context.Context, info ponder.Info, do func() error) error {
	if budgeted(info.Kind) && info.Status != ponder.Thinking {
		return do() // it is told something, and costs nothing
	}
	return s.granted(ctx, info, do)
}

// granted is goesOn of a thread that is going to think by what is done, if it does not yet.
func (s *Service) granted(ctx context.Context, info ponder.Info, do func() error) error {
	token, err := s.Books.token(ctx, info.ID)
	if err != nil {
		return err
	}
	return s.grantedTo(ctx, token, info, do)
}

// grantedTo is granted of a thread that a token has begun, or none.
func (s *Service) grantedTo(ctx context.Context, begun string, info ponder.Info, do func() error) error {
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
		if _, err := ponder.SendCommands(ctx, s.Log, info.ID, limitTo(v.Session, cut)); err != nil {
			return err
		}
	}
	err = do()
	if err != nil && (waits || errors.Is(err, ponder.ErrNoThread)) {
		err = errors.Join(err, s.Books.atRest(context.WithoutCancel(ctx), info.ID))
	}
	return err
}

// heldBy returns what is held for a thread, by the books.
func (s *Service) heldBy(ctx context.Context, id ponder.ThreadID) (ponder.Money, error) {
	token, err := s.Books.token(ctx, id)
	if err != nil || token == "" {
		return 0, err
	}
	list, err := s.Books.holdings(ctx, token)
	return list[id].held, err
}

// costsMore does what lets a session cost as much as an amount in all. If that is more than
// it may cost now, what its token may cost today has to pay for it.
func (s *Service) CostsMore(ctx context.Context, info ponder.Info, most ponder.Money, do func() error) error {
	token, limit, limited, err := s.payerOf(ctx, info.ID)
	if err != nil {
		return err
	}
	if !limited {
		return do()
	}
	_, _, err = s.grant(ctx, token, limit, grant{thread: info.ID}, func(left ponder.Money) (ponder.Money, error) {
		v, err := s.thought(ctx, info)
		if err != nil {
			return 0, err
		}
		spent := MoneyOf(v.Session.Usage.USD)
		if more := most - spent; more > left {
			return 0, Errorf(OverBudget, "", "the token of the session may cost %v today still: the session can be limited to %v, or told again tomorrow", left, spent+left)
		}
		return max(0, most-spent), nil
	})
	if err != nil {
		return err
	}
	if err = do(); errors.Is(err, ponder.ErrNoThread) {
		err = errors.Join(err, s.Books.atRest(context.WithoutCancel(ctx), info.ID))
	}
	return err
}

// unheard returns the most that a session is to cost by what it was told and has not heard
// of yet, or zero.
func (s *Service) unheard(ctx context.Context, id ponder.ThreadID, v session.View) (most ponder.Money, err error) {
	heard := make(map[string]bool)
	for _, w := range v.Steering {
		heard[w.ID] = w.Seq > 0
	}
	for ev, err := range s.Store.Events(ctx, id, 0) {
		if err != nil {
			return 0, fmt.Errorf("read what %s may cost: %w", id, err)
		}
		if !heard[ev.ID] {
			most = max(most, moneyOfWish(ev))
		}
	}
	return most, nil
}

// ownToken is the name of the token of the user, in the log.
const ownToken = "PONDER_TOKEN"

// guarding returns who may ask the server.
func Guarding(cfg *config.Config) (auth.Config, error) {
	c := auth.Config{Owner: LocalOwner, Hosts: cfg.Serve.Hosts, Origins: cfg.Serve.Origins}
	if cfg.Token != "" {
		c.Tokens = append(c.Tokens, auth.Token{Name: ownToken, Owner: LocalOwner, Scopes: auth.Scopes(), Hash: auth.HashOf(string(cfg.Token))})
	}
	of := make(map[[sha256.Size]byte]string)
	if cfg.Token != "" {
		of[c.Tokens[0].Hash] = config.ServeToken
	}
	for _, name := range cfg.Serve.TokenNames() {
		t := cfg.Serve.Tokens[name]
		hash, err := cfg.Digest(name)
		if err != nil {
			return c, Errorf(codeOfMind(err), "", "%w (in %s)", err, cfg.File)
		}
		if err := nameOfTable(name); err != nil {
			return c, Invalidf("", "serve.tokens: %w", err)
		}
		if other := of[hash]; other != "" {
			return c, Invalidf("", "serve.tokens.%s is the same token as %s: give each its own", name, other)
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
func (s *Service) spentToday(ctx context.Context, id ponder.ThreadID) (ponder.Money, error) {
	return s.Books.spentBy(ctx, id, midnight(time.Now()))
}

// midnight returns when the day began.
func midnight(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
}
