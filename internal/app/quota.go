package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/internal/netaddr"
	"ponder/internal/quota"
	"ponder/mode/session"
)

func (s *Service) limitOf(ctx context.Context) (token string, limit quota.Limit, limited bool) {
	token = auth.CallerOf(ctx).Token
	limit, _ = s.limitOfToken(token)
	return token, limit, limit != quota.Limit{}
}

func (s *Service) limitOfToken(token string) (limit quota.Limit, costs bool) {
	t := s.Settings.Serve.Tokens[token]
	limit = quota.Limit{Starts: t.PerDay, Cost: MoneyOf(t.Cost)}
	return limit, limit.Cost > 0
}

// findPayer returns the token that pays for a thread, if limited: the one that started it, else the
// caller's.
func (s *Service) findPayer(ctx context.Context, starter string) (token string, limit quota.Limit, limited bool) {
	token = cmp.Or(starter, auth.CallerOf(ctx).Token)
	limit, limited = s.limitOfToken(token)
	return token, limit, limited
}

func (s *Service) reserveCost(ctx context.Context, r quota.Request) (ponder.Money, error) {
	amount, err := s.quotas.Reserve(ctx, r)
	var refused *quota.Refusal
	switch {
	case !errors.As(err, &refused):
		return amount, err
	case refused.Starts:
		return 0, Errorf(Limit, "", "%w", err)
	}
	return 0, Errorf(OverBudget, "", "%w", err)
}

// startWithQuota calls start within the quota of the caller's token. It cuts the budget to the
// wanted amount as far as available, or to half of the rest without one.
func (s *Service) startWithQuota(ctx context.Context, id ponder.ThreadID, budget *ponder.Budget, start func() error) error {
	token, limit, limited := s.limitOf(ctx)
	if !limited {
		return start()
	}
	defer s.quotas.Lock(token)()
	if _, err := s.Store.Thread(ctx, id); err == nil {
		return ponder.ErrTaken
	}
	want, now := budget.Money, time.Now()
	r := quota.Request{Token: token, Limit: limit, Thread: id, Starts: 1, Pending: true, Amount: func(_ quota.Row, left ponder.Money) (ponder.Money, error) {
		if want > 0 {
			return min(want, left), nil
		}
		return max(1, left/2), nil
	}}
	amount, err := s.reserveCost(ctx, r)
	if err != nil {
		return err
	}
	if limit.Cost > 0 {
		budget.Money = amount
	}
	return s.withReservation(ctx, r, now, start)
}

// withReservation calls do, and marks the reservation r as started, or cancels it on failure.
func (s *Service) withReservation(ctx context.Context, r quota.Request, at time.Time, do func() error) error {
	err := do()
	ctx = context.WithoutCancel(ctx)
	switch {
	case err != nil && (r.Pending || errors.Is(err, ponder.ErrNoThread)):
		err = errors.Join(err, s.quotas.Cancel(ctx, r, at))
	case err == nil && r.Pending:
		err = s.quotas.Started(ctx, r.Thread)
	}
	return err
}

// errUnread means that only the thread's log has its ceiling.
var errUnread = errors.New("cannot read the cost limit of the thread")

// remainingBudget returns the remaining budget of a session by its log, and its state.
func (s *Service) remainingBudget(ctx context.Context, info ponder.Info) (ponder.Money, session.Session, error) {
	v, err := s.foldThread(ctx, info)
	if err != nil || v.Session.Budget.USD == 0 {
		return math.MaxInt64 / 2, v.Session, err
	}
	told, err := s.pendingCeiling(ctx, info.ID, v)
	return max(0, max(MoneyOf(v.Session.Budget.USD), told)-MoneyOf(v.Session.Usage.USD)), v.Session, err
}

func hasBudget(kind ponder.Kind) bool {
	return kind == ponder.KindSession || kind == ponder.KindResearch
}

func (s *Service) foldThread(ctx context.Context, info ponder.Info) (session.View, error) {
	return FoldAny(ctx, s.Log, info)
}

// continueThread calls do, which continues a thread. If the thread thinks under a limited token, its
// budget is cut to the rest of the day.
func (s *Service) continueThread(ctx context.Context, info ponder.Info, do func() error) error {
	if hasBudget(info.Kind) && info.Status != ponder.Thinking {
		return do() // a command that costs nothing
	}
	return s.continueThinking(ctx, info, do)
}

// continueThinking is continueThread for a thread that starts to think by do.
func (s *Service) continueThinking(ctx context.Context, info ponder.Info, do func() error) error {
	token, err := s.DB.starterToken(ctx, info.ID)
	if err != nil {
		return err
	}
	return s.continueWithQuota(ctx, token, info, do)
}

// continueWithQuota is granted for a thread that token starter started; it may be empty.
func (s *Service) continueWithQuota(ctx context.Context, starter string, info ponder.Info, do func() error) error {
	token, limit, limited := s.findPayer(ctx, starter)
	if !limited {
		return do()
	}
	unread, cut, now := ponder.Money(-1), ponder.Money(0), time.Now()
	r := quota.Request{Token: token, Limit: limit, Thread: info.ID, Pending: hasBudget(info.Kind) && info.Status != ponder.Thinking}
	r.Amount = func(row quota.Row, left ponder.Money) (ponder.Money, error) {
		more := row.Reserved()
		switch {
		case !hasBudget(info.Kind):
			if !row.Active {
				more = 0
			}
			return more, nil
		case unread >= 0:
			more = unread
		case !row.Known || more > left: // the log may have less
			return 0, errUnread
		}
		cut = 0
		if more > left {
			cut, more = left, left
		}
		return more, nil
	}
	_, err := s.reserveCost(ctx, r)
	var seen session.Session
	if errors.Is(err, errUnread) {
		if unread, seen, err = s.remainingBudget(ctx, info); err == nil {
			_, err = s.reserveCost(ctx, r)
		}
	}
	if err != nil {
		return err
	}
	return s.withReservation(ctx, r, now, func() error {
		if cut > 0 {
			if _, err := ponder.SendCommands(ctx, s.Log, info.ID, limitTo(seen, cut)); err != nil {
				return err
			}
		}
		return do()
	})
}

// CostsMore calls do, which raises the ceiling of a session to most. The token must have the
// increase.
func (s *Service) CostsMore(ctx context.Context, info ponder.Info, spent, most ponder.Money, do func() error) error {
	starter, err := s.DB.starterToken(ctx, info.ID)
	if err != nil {
		return err
	}
	token, limit, limited := s.findPayer(ctx, starter)
	if !limited {
		return do()
	}
	r := quota.Request{Token: token, Limit: limit, Thread: info.ID, Amount: func(row quota.Row, left ponder.Money) (ponder.Money, error) {
		if more := most - spent; more > left {
			return 0, Errorf(OverBudget, "", "the token's daily limit has %v left; limit the session to %v, or retry tomorrow", left, spent+left)
		}
		return max(row.Reserved(), most-spent), nil
	}}
	if _, err = s.reserveCost(ctx, r); err != nil {
		return err
	}
	return s.withReservation(ctx, r, time.Now(), do)
}

func (s *Service) ownerOf(token string) string {
	return cmp.Or(s.Settings.Serve.Tokens[token].Owner, token)
}

// pendingCeiling returns the highest ceiling in pending commands, or zero.
func (s *Service) pendingCeiling(ctx context.Context, id ponder.ThreadID, v session.View) (most ponder.Money, err error) {
	acknowledged := make(map[string]bool)
	for _, w := range v.Steering {
		acknowledged[w.ID] = w.Seq > 0
	}
	for ev, err := range s.Log.Events(ctx, id, 0) {
		if err != nil {
			return 0, fmt.Errorf("read the cost limit of %s: %w", id, err)
		}
		if !acknowledged[ev.ID] {
			most = max(most, commandBudget(ev))
		}
	}
	return most, nil
}

// adoptRuns reserves the ceilings of threads that an older version started.
func (s *Service) adoptRuns(ctx context.Context) error {
	list, err := s.quotas.Unread(ctx)
	if err != nil {
		return err
	}
	for id, amount := range list {
		info, err := s.Store.Thread(ctx, id)
		if errors.Is(err, ponder.ErrNoThread) {
			continue
		}
		if err == nil && hasBudget(info.Kind) {
			amount, _, err = s.remainingBudget(ctx, info)
		}
		if err == nil {
			err = s.quotas.Adopt(ctx, id, amount)
		}
		if err != nil {
			return fmt.Errorf("reserve the cost of %s: %w", id, err)
		}
	}
	return nil
}

// ownToken names the user's token in the log.
const ownToken = "PONDER_TOKEN"

// AuthConfig returns the access rules of the server.
func AuthConfig(cfg *config.Config) (auth.Config, error) {
	c := auth.Config{Owner: LocalOwner, Hosts: cfg.Serve.Hosts, Origins: cfg.Serve.Origins}
	var err error
	if c.Proxies, err = auth.ParseProxies(cfg.Serve.Proxies); err != nil {
		return c, Invalidf("", "serve.proxies in %s: %w", cfg.File, err)
	}
	if _, err := netaddr.NewGuard(cfg.Serve.Allow); err != nil {
		return c, Invalidf("", "serve.allow in %s: %w", cfg.File, err)
	}
	if cfg.Token != "" {
		own := strings.TrimSpace(string(cfg.Token)) // as requests send it
		if own == "" {
			return c, NotReadyf("%s is blank: unset it, or make a token with `openssl rand -hex 32`", ownToken)
		}
		c.Tokens = append(c.Tokens, newToken(auth.Token{Name: ownToken, Owner: LocalOwner, Scopes: auth.Scopes(), Hash: auth.HashOf(own)}, own))
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
		if err := checkTableName(name); err != nil {
			return c, Invalidf("", "serve.tokens: %w", err)
		}
		if other := of[hash]; other != "" {
			return c, Invalidf("", "serve.tokens.%s equals the token of %s: use different tokens", name, other)
		}
		of[hash] = name
		c.Tokens = append(c.Tokens, newToken(auth.Token{
			Name: name, Owner: cmp.Or(t.Owner, name), Scopes: scopesOf(t), Hash: hash, PerMinute: t.PerMinute, RemoteContent: t.RemoteContent,
		}, string(cfg.TokenSecret(name))))
	}
	return c, nil
}

// newToken marks a weak token. The strength of a hash is unknown.
func newToken(t auth.Token, secret string) auth.Token {
	t.Weak = secret != "" && auth.IsWeak(secret)
	return t
}

func scopesOf(t config.Token) (list []auth.Scope) {
	if len(t.Scopes) == 0 {
		return []auth.Scope{auth.Read, auth.Think}
	}
	for _, s := range t.Scopes {
		list = append(list, auth.Scope(s))
	}
	return list
}
