// Package auth authorises requests to a server. It refuses requests from other sites and for other
// hosts, and authenticates callers by tokens with an owner, scopes and a rate.
//
// A server without tokens serves every caller, so it must listen only on its own machine. The
// rules on Origin and Host protect it against foreign web pages and DNS rebinding in a local
// browser. Other users of the machine are refused where the system names them. A caller has the scope
// Admin only with the secret of the server's own user.
//
// A browser exchanges a token for a cookie: see [Guard.SignIn]. A request with a cookie must come from a
// page of this server.
package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Scope is a permission of a token.
type Scope string

// The scopes. No scope includes another.
const (
	Read  Scope = "read"  // look at threads, memories and usage
	Think Scope = "think" // start, steer and end thinking; remember and forget
	Admin Scope = "admin" // profiles and backups of the whole server
)

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{Read, Think, Admin} }

// A Token grants access.
type Token struct {
	Name   string // for the log; not the secret
	Owner  string // whose threads, memories and subconscious it accesses
	Scopes []Scope
	Hash   [sha256.Size]byte // of the secret, see HashOf

	PerMinute int // rate limit; 0: none

	RemoteContent bool // the answers keep all links and images
	Weak          bool // the secret is easy to guess, see [IsWeak]
}

// HashOf returns the stored hash of a secret.
func HashOf(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// A Config configures a guard.
type Config struct {
	Tokens  []Token          // none: all callers act as Owner with Read and Think
	Owner   string           // of callers without a token
	Local   string           // without tokens: secret for all scopes; empty: nothing grants Admin
	Proxies []netip.Prefix   // proxies whose X-Forwarded-For names the client
	Hosts   []string         // host names besides localhost and addresses
	Origins []string         // allowed origins besides the server's own, such as "https://desk.example"
	Now     func() time.Time // default time.Now

	SignIns SignIns                    // of browsers; nil: cookies grant nothing
	Public  func(r *http.Request) bool // files of the page, for every caller and origin; nil: none
}

// A Guard checks requests. It is safe for concurrent use.
type Guard struct {
	cfg     Config
	mu      sync.Mutex
	buckets map[string]*bucket // by token name
	codes   map[[sha256.Size]byte]code
	logins  *logins
}

// New returns a guard for cfg.
func New(cfg Config) *Guard {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Guard{cfg: cfg, buckets: make(map[string]*bucket), codes: make(map[[sha256.Size]byte]code), logins: newLogins(cfg.Now())}
}

// A Caller is an authenticated caller.
type Caller struct {
	Token  string // token name; empty without tokens
	Owner  string
	Scopes []Scope

	RemoteContent bool // see [Token]

	Expires time.Time // of the sign-in; zero without a cookie

	take func() *Refusal // nil: no limit
}

// TakeRequest counts a request of an open connection, such as a message of a WebSocket. It returns
// a refusal if the token has sent too many.
func (c Caller) TakeRequest() *Refusal {
	if c.take == nil {
		return nil
	}
	return c.take()
}

// HasScope reports whether the caller has a scope.
func (c Caller) HasScope(s Scope) bool { return slices.Contains(c.Scopes, s) }

type callerKey struct{}

// WithCaller returns a context with a caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller in ctx, or a zero Caller without permissions.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// A Refusal is the reason to reject a request.
type Refusal struct {
	Status int           // HTTP status
	Detail string        // message with the remedy
	Retry  time.Duration // time until a retry; 0: no retry
}

// Check authenticates a request or returns a refusal.
func (g *Guard) Check(r *http.Request) (Caller, *Refusal) {
	if !g.isOwnHost(r.Host) {
		return Caller{}, &Refusal{Status: http.StatusForbidden, Detail: "unknown Host of the request: add it to serve.hosts, or use the server's address"}
	}
	if g.isPage(r) {
		return Caller{}, nil
	}
	if why := g.refuseOrigin(r); why != "" {
		return Caller{}, &Refusal{Status: http.StatusForbidden, Detail: why}
	}
	c, ok, refused := g.identify(r)
	switch {
	case refused == nil && ok:
	case isPublic(r):
		return Caller{}, nil
	case refused != nil:
		return Caller{}, refused
	default:
		return Caller{}, &Refusal{Status: http.StatusUnauthorized, Detail: "no valid access token: send Authorization: Bearer with a token of this server"}
	}
	if isRateLimited(r) {
		if refused := c.TakeRequest(); refused != nil {
			return Caller{}, refused
		}
	}
	return c, nil
}

// identify returns the caller of the token or the cookie in a request. A token takes precedence.
func (g *Guard) identify(r *http.Request) (c Caller, ok bool, refused *Refusal) {
	secret := secretOf(r)
	if secret == "" {
		if c, ok, refused = g.checkCookie(r); ok || refused != nil {
			return c, ok, refused
		}
	}
	if len(g.cfg.Tokens) == 0 {
		c := Caller{Owner: g.cfg.Owner, Scopes: g.localScopes(secret)}
		if !c.HasScope(Admin) && isOtherUser(r, os.Getuid()) {
			return c, false, &Refusal{Status: http.StatusForbidden, Detail: "this server belongs to another user of the machine: let that user set PONDER_TOKEN, and send the token"}
		}
		return c, true, nil
	}
	t, ok, refused := g.logIn(r, secret)
	return g.callerOf(t, SignIn{}), ok, refused
}

// logIn returns the token of a secret. It refuses addresses with too many failures.
func (g *Guard) logIn(r *http.Request, secret string) (t Token, ok bool, refused *Refusal) {
	return g.logInAs(r, secret, g.findToken)
}

// logInAs is logIn for a way to find the token.
func (g *Guard) logInAs(r *http.Request, secret string, find func(secret string) (Token, bool)) (t Token, ok bool, refused *Refusal) {
	if secret == "" {
		return Token{}, false, nil
	}
	client := loginKey(g.clientAddress(r))
	t, ok = find(secret)
	if ok && g.logins.isKnown(client, t.Name) {
		return t, true, nil
	}
	now := g.cfg.Now()
	if wait := g.logins.retryAfter(client, now); wait > 0 {
		return Token{}, false, loginRefusal(wait)
	}
	if !ok {
		g.logins.recordFailure(client, now)
		return Token{}, false, nil
	}
	g.logins.recordSuccess(client, t.Name)
	return t, true, nil
}

// localScopes returns the scopes of a caller of a server without tokens. Clients may send any
// secret, because many cannot send none.
func (g *Guard) localScopes(secret string) []Scope {
	if g.cfg.Local != "" && subtle.ConstantTimeCompare([]byte(secret), []byte(g.cfg.Local)) == 1 {
		return Scopes()
	}
	return []Scope{Read, Think}
}

func (g *Guard) limitRate(t Token) *Refusal {
	if wait := g.takeRequest(t); wait > 0 {
		return &Refusal{Status: http.StatusTooManyRequests, Retry: wait,
			Detail: fmt.Sprintf("too many requests: the limit of this token is %d per minute", t.PerMinute)}
	}
	return nil
}

// publicPath has the agent card, which clients read before they know which token to send. It
// contains no secret.
const publicPath = "/.well-known/agent-card.json"

func isPublic(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return r.URL.Path == publicPath
	case http.MethodPost:
		return r.URL.Path == signInPath || r.URL.Path == signOutPath
	}
	return false
}

// isPage reports whether a request reads a file of the page or a shared report. Both are for every
// caller, and links of other sites lead to them.
func (g *Guard) isPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	return strings.HasPrefix(r.URL.Path, sharePath) || g.cfg.Public != nil && g.cfg.Public(r)
}

// findToken returns the token of a secret, in constant time.
func (g *Guard) findToken(secret string) (found Token, ok bool) {
	hash := HashOf(secret)
	if len(g.cfg.Tokens) == 0 && g.cfg.Local != "" {
		t := g.localToken()
		return t, subtle.ConstantTimeCompare(hash[:], t.Hash[:]) == 1
	}
	for _, t := range g.cfg.Tokens {
		if subtle.ConstantTimeCompare(hash[:], t.Hash[:]) == 1 {
			found, ok = t, true
		}
	}
	return found, ok
}

// secretOf returns the secret in the request: a bearer token, or x-api-key as Anthropic clients
// send it. It returns "" for none or several.
func secretOf(r *http.Request) string {
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

// isOwnHost reports whether a request is for this server: by an IP address, which DNS rebinding
// cannot use, by localhost, or by a configured name.
func (g *Guard) isOwnHost(host string) bool {
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

// refuseOrigin returns why the page of a request is not allowed, or "".
func (g *Guard) refuseOrigin(r *http.Request) string {
	const refused = "requests from pages of other sites are refused: add their origin to serve.origins"
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			return refused
		}
		return ""
	}
	if len(origins) == 1 {
		origin := strings.ToLower(origins[0])
		if g.isAllowedOrigin(origin) {
			return ""
		}
		if u, err := url.Parse(origin); err == nil && (u.Scheme == "http" || u.Scheme == "https") && strings.EqualFold(u.Host, r.Host) {
			return ""
		}
	}
	return refused
}

func (g *Guard) isAllowedOrigin(origin string) bool {
	return slices.ContainsFunc(g.cfg.Origins, func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "/"), origin) })
}

// HasPages reports whether foreign origins are allowed, so that responses depend on Origin.
func (g *Guard) HasPages() bool { return len(g.cfg.Origins) > 0 }

// Page returns the origin of a request if it is an allowed foreign page.
func (g *Guard) Page(r *http.Request) (origin string, ok bool) {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 || !g.isOwnHost(r.Host) || !g.isAllowedOrigin(origins[0]) {
		return "", false
	}
	return origins[0], true
}
