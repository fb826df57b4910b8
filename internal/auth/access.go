// Package auth says who may ask a server for what: requests from other sites and for
// other hosts are refused, callers show a token, and each token has an owner, scopes and
// a pace.
//
// A server without tokens answers whoever reaches it, so it must be reached from its own
// machine alone; that a browser there is made to ask it by a foreign page, or by a name
// that leads to the machine, is what the rules about Origin and Host are for.
package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Scope is something that a token may be used for.
type Scope string

// The scopes. Each includes nothing of the others.
const (
	Read  Scope = "read"  // look at threads, memories and usage
	Think Scope = "think" // start, steer and end thinking; remember and forget
	Admin Scope = "admin" // profiles and backups of the whole server
)

// Scopes returns all of them.
func Scopes() []Scope { return []Scope{Read, Think, Admin} }

// A Token lets a caller in.
type Token struct {
	Name   string // for the log; never the token itself
	Owner  string // whose threads, memories and subconscious it is for
	Scopes []Scope
	Hash   [sha256.Size]byte // see HashOf

	PerMinute int // requests; zero is no limit
}

// HashOf returns what is kept of a token.
func HashOf(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// A Config says who is let in.
type Config struct {
	Tokens  []Token          // none: everybody, as Owner, with all scopes
	Owner   string           // of those who need no token
	Hosts   []string         // names that the server is reached by, beside those of this machine and addresses
	Origins []string         // of pages that may ask, beside those of the server itself: "https://desk.example"
	Now     func() time.Time // time.Now if nil
}

// A Guard decides about requests. It is safe for concurrent use.
type Guard struct {
	cfg   Config
	mu    sync.Mutex
	paces map[string]*pace // by name of the token
}

// New returns a guard.
func New(cfg Config) *Guard {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Guard{cfg: cfg, paces: make(map[string]*pace)}
}

// A Caller is who asks.
type Caller struct {
	Token  string // its name; empty where none is needed
	Owner  string
	Scopes []Scope
}

// May reports whether the caller may do what a scope is for.
func (c Caller) May(s Scope) bool { return slices.Contains(c.Scopes, s) }

type callerKey struct{}

// With returns a ctx of what a caller asks for.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns who asks; a zero Caller, who may do nothing, if that is not known.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// A Refusal is why a request is not answered.
type Refusal struct {
	Status int           // of HTTP
	Detail string        // a sentence for the caller: what to do
	Retry  time.Duration // when to come again; zero: not at all
}

// Check returns who sends a request, or why it is refused.
func (g *Guard) Check(r *http.Request) (Caller, *Refusal) {
	if !g.hostIsOurs(r.Host) {
		return Caller{}, &Refusal{Status: http.StatusForbidden, Detail: "the Host of the request is not this server: name it in serve.hosts, or use its address"}
	}
	if why := g.foreign(r); why != "" {
		return Caller{}, &Refusal{Status: http.StatusForbidden, Detail: why}
	}
	if len(g.cfg.Tokens) == 0 {
		return Caller{Owner: g.cfg.Owner, Scopes: Scopes()}, nil
	}
	t, ok := g.token(r)
	if !ok {
		return Caller{}, &Refusal{Status: http.StatusUnauthorized, Detail: "a token is needed: send Authorization: Bearer and one that is set for this server"}
	}
	if !isPaced(r) {
		return Caller{Token: t.Name, Owner: t.Owner, Scopes: t.Scopes}, nil
	}
	if wait := g.wait(t); wait > 0 {
		return Caller{}, &Refusal{Status: http.StatusTooManyRequests, Retry: wait,
			Detail: fmt.Sprintf("this token may be used for %d requests a minute", t.PerMinute)}
	}
	return Caller{Token: t.Name, Owner: t.Owner, Scopes: t.Scopes}, nil
}

// token returns the token that a request shows. It takes as long whichever it is.
func (g *Guard) token(r *http.Request) (found Token, ok bool) {
	secret := shown(r)
	if secret == "" {
		return Token{}, false
	}
	hash := HashOf(secret)
	for _, t := range g.cfg.Tokens {
		if subtle.ConstantTimeCompare(hash[:], t.Hash[:]) == 1 {
			found, ok = t, true
		}
	}
	return found, ok
}

// shown returns the token that a request shows: as bearer or, as clients of Anthropic do,
// as a key; empty if it shows none, or several.
func shown(r *http.Request) string {
	list, keys := r.Header.Values("Authorization"), r.Header.Values("X-Api-Key")
	switch {
	case len(list) == 1:
		kind, secret, _ := strings.Cut(list[0], " ")
		if !strings.EqualFold(kind, "Bearer") {
			return ""
		}
		return strings.TrimSpace(secret)
	case len(list) == 0 && len(keys) == 1:
		return strings.TrimSpace(keys[0])
	}
	return ""
}

// hostIsOurs reports whether a request is for this server: by an address, which no name
// of others can lead to, by a name of the machine itself, or by one that was configured.
func (g *Guard) hostIsOurs(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || slices.ContainsFunc(g.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// foreign says why a request comes from a page that may not ask, or "".
func (g *Guard) foreign(r *http.Request) string {
	const refused = "pages of other sites may not ask this server: name theirs in serve.origins"
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			return refused
		}
		return ""
	}
	if len(origins) == 1 {
		origin := strings.ToLower(origins[0])
		if g.named(origin) {
			return ""
		}
		if u, err := url.Parse(origin); err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host) {
			return ""
		}
	}
	return refused
}

// named reports whether pages of an origin may ask.
func (g *Guard) named(origin string) bool {
	return slices.ContainsFunc(g.cfg.Origins, func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "/"), origin) })
}

// HasPages reports whether there are pages that may ask, so that answers differ by Origin.
func (g *Guard) HasPages() bool { return len(g.cfg.Origins) > 0 }

// Page returns the origin of the page of another site that sends a request, if it is one
// that may ask.
func (g *Guard) Page(r *http.Request) (origin string, ok bool) {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 || !g.hostIsOurs(r.Host) || !g.named(origins[0]) {
		return "", false
	}
	return origins[0], true
}

// Loopback reports whether an address to listen on is reached from this machine alone.
// An error says that it is no address.
func Loopback(listen string) (bool, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false, fmt.Errorf("%q is no address to listen on: write host:port, such as 127.0.0.1:8744", listen)
	}
	if strings.EqualFold(host, "localhost") {
		return true, nil
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback(), nil
}

// ErrOpen is the error of a server that everybody could reach.
var ErrOpen = errors.New("whoever reaches this address could use your models: set PONDER_TOKEN, or listen on 127.0.0.1")

// CheckListen makes sure that a server which listens there is safe.
func (c Config) CheckListen(listen string) error {
	local, err := Loopback(listen)
	if err == nil && !local && len(c.Tokens) == 0 {
		err = ErrOpen
	}
	if err != nil {
		return fmt.Errorf("--listen %s: %w", listen, err)
	}
	return nil
}
