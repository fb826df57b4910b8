package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Lifetimes of sign-ins and codes.
const (
	SignInLife = 30 * 24 * time.Hour // from the sign-in
	SignInIdle = 7 * 24 * time.Hour  // from the last use
	CodeLife   = 2 * time.Minute
	maxCodes   = 100
)

// A SignIn is the record of a browser that has exchanged a token for a cookie. It ends if the token
// is removed or changed.
type SignIn struct {
	Token   string            // name; empty on a server without tokens
	Digest  [sha256.Size]byte // of the token, see [HashOf]; zero on a server without tokens
	Created time.Time
	Used    time.Time // the last use, which may be recorded late
}

// Expires returns the end of the sign-in if it is not used again.
func (s SignIn) Expires() time.Time {
	end, idle := s.Created.Add(SignInLife), s.Used.Add(SignInIdle)
	if idle.Before(end) {
		return idle
	}
	return end
}

// SignIns stores sign-ins by the hash of a secret, which only the cookie has.
type SignIns interface {
	AddSignIn(ctx context.Context, secret string, s SignIn) error
	// FindSignIn returns a sign-in that has not expired, and records its use.
	FindSignIn(ctx context.Context, secret string, now time.Time) (s SignIn, ok bool, err error)
	RemoveSignIn(ctx context.Context, secret string) error
}

// A code is a one-time replacement for a token: see [Guard.NewCode].
type code struct {
	token   string // name
	expires time.Time
}

const (
	signInPath  = "/api/sign-in"
	signOutPath = "/api/sign-out"
	sharePath   = "/share/"
	cookieName  = "ponder-session"
)

// cookieOf returns the name of the cookie. Browsers send cookies to all ports of a host, so servers on
// different ports need different names.
func cookieOf(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookieName + "-" + port
	}
	return cookieName
}

// newCookie returns a cookie that scripts cannot read and other sites cannot send.
func (g *Guard) newCookie(r *http.Request, secret string, life time.Duration) *http.Cookie {
	c := &http.Cookie{Name: cookieOf(r), Value: secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.isSecure(r), MaxAge: int(life / time.Second)}
	if secret == "" {
		c.MaxAge = -1
	}
	return c
}

// isSecure reports whether the browser uses TLS: to this server, to a configured proxy, or by the
// Origin that the browser states.
func (g *Guard) isSecure(r *http.Request) bool {
	if r.TLS != nil || strings.HasPrefix(strings.ToLower(r.Header.Get("Origin")), "https://") {
		return true
	}
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && g.isProxy(at.Addr().Unmap()) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// SignIn exchanges a token, or the secret of a server without tokens, for a cookie. It counts a wrong
// secret as a failed login.
func (g *Guard) SignIn(r *http.Request, secret string) (Caller, *http.Cookie, *Refusal) {
	t, ok, refused := g.logInAs(r, secret, g.findToken)
	return g.finishSignIn(r, t, ok, refused, "this token is not valid here: check it, or ask the owner of the server for a token")
}

// SignInByCode is SignIn with a code of NewCode, which it consumes.
func (g *Guard) SignInByCode(r *http.Request, secret string) (Caller, *http.Cookie, *Refusal) {
	t, ok, refused := g.logInAs(r, secret, g.takeCode)
	return g.finishSignIn(r, t, ok, refused, "this link was used already or is too old: run `ponder open` again, or sign in with a token")
}

func (g *Guard) finishSignIn(r *http.Request, t Token, ok bool, refused *Refusal, wrong string) (Caller, *http.Cookie, *Refusal) {
	switch {
	case g.cfg.SignIns == nil:
		return Caller{}, nil, &Refusal{Status: http.StatusNotFound, Detail: "this server has no sign-in: send a token with each request"}
	case refused != nil:
		return Caller{}, nil, refused
	case !ok:
		return Caller{}, nil, &Refusal{Status: http.StatusUnauthorized, Detail: wrong}
	case !isOwnPage(r):
		return Caller{}, nil, foreignPage()
	}
	now, secret := g.cfg.Now(), rand.Text()+rand.Text()
	s := SignIn{Token: t.Name, Created: now, Used: now}
	if len(g.cfg.Tokens) > 0 {
		s.Digest = t.Hash
	}
	if err := g.cfg.SignIns.AddSignIn(r.Context(), secret, s); err != nil {
		return Caller{}, nil, noSignIns(err)
	}
	return g.callerOf(t, s), g.newCookie(r, secret, SignInLife), nil
}

// SignOut ends the sign-in of a request. It returns the cookie that removes the browser's.
func (g *Guard) SignOut(r *http.Request) (*http.Cookie, *Refusal) {
	if !isOwnPage(r) {
		return nil, foreignPage()
	}
	if secret := signInSecret(r); secret != "" && g.cfg.SignIns != nil {
		if err := g.cfg.SignIns.RemoveSignIn(r.Context(), secret); err != nil {
			return nil, noSignIns(err)
		}
	}
	return g.newCookie(r, "", 0), nil
}

// NewCode returns a code with which a browser signs in once as the caller. A command passes it to the
// browser in an address, where other programs may read it.
func (g *Guard) NewCode(c Caller) (secret string, expires time.Time, refused *Refusal) {
	if len(g.cfg.Tokens) == 0 && !c.HasScope(Admin) {
		return "", expires, &Refusal{Status: http.StatusForbidden, Detail: "only the user of the server gets a code: run `ponder open` as this user"}
	}
	now := g.cfg.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for hash, old := range g.codes {
		if !old.expires.After(now) || len(g.codes) >= maxCodes {
			delete(g.codes, hash)
		}
	}
	secret, expires = rand.Text(), now.Add(CodeLife)
	g.codes[HashOf(secret)] = code{c.Token, expires}
	return secret, expires, nil
}

// takeCode returns the token of a code and forgets the code.
func (g *Guard) takeCode(secret string) (Token, bool) {
	g.mu.Lock()
	known, ok := g.codes[HashOf(secret)]
	delete(g.codes, HashOf(secret))
	g.mu.Unlock()
	if !ok || !known.expires.After(g.cfg.Now()) {
		return Token{}, false
	}
	return g.tokenNamed(known.token)
}

// tokenNamed returns a configured token, or the token of the user of a server without tokens.
func (g *Guard) tokenNamed(name string) (Token, bool) {
	if len(g.cfg.Tokens) == 0 {
		return g.localToken(), name == ""
	}
	i := slices.IndexFunc(g.cfg.Tokens, func(t Token) bool { return t.Name == name })
	if i < 0 {
		return Token{}, false
	}
	return g.cfg.Tokens[i], true
}

// localToken returns the token of the user of a server without tokens.
func (g *Guard) localToken() Token {
	return Token{Owner: g.cfg.Owner, Scopes: Scopes(), Hash: HashOf(g.cfg.Local)}
}

// callerOf returns the caller of a token; s is zero if the request had the token itself.
func (g *Guard) callerOf(t Token, s SignIn) Caller {
	c := Caller{Token: t.Name, Owner: t.Owner, Scopes: t.Scopes, RemoteContent: t.RemoteContent, take: func() *Refusal { return g.limitRate(t) }}
	if !s.Created.IsZero() {
		c.Expires = s.Expires()
	}
	return c
}

// checkCookie returns the caller of the cookie in a request. It ignores a cookie that has expired, and
// refuses a cookie in a request that another page may have sent.
func (g *Guard) checkCookie(r *http.Request) (c Caller, ok bool, refused *Refusal) {
	secret := signInSecret(r)
	if secret == "" || g.cfg.SignIns == nil {
		return c, false, nil
	}
	s, ok, err := g.cfg.SignIns.FindSignIn(r.Context(), secret, g.cfg.Now())
	if err != nil {
		return c, false, noSignIns(err)
	}
	if !ok {
		return c, false, nil
	}
	t, ok := g.tokenNamed(s.Token)
	if !ok || len(g.cfg.Tokens) > 0 && subtle.ConstantTimeCompare(t.Hash[:], s.Digest[:]) != 1 {
		return c, false, nil
	}
	if !isOwnPage(r) {
		return c, false, foreignPage()
	}
	return g.callerOf(t, s), true, nil
}

// signInSecret returns the secret in the cookie, or "" for none or several.
func signInSecret(r *http.Request) string {
	if list := r.CookiesNamed(cookieOf(r)); len(list) == 1 {
		return list[0].Value
	}
	return ""
}

// isOwnPage reports whether a page of this server sent a request. Browsers state the Origin of each
// request that changes data and of each WebSocket. Other requests may lack it.
func isOwnPage(r *http.Request) bool {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		u, err := url.Parse(origins[0])
		return err == nil && len(origins) == 1 && strings.EqualFold(u.Host, r.Host) && u.Host != ""
	}
	site := r.Header.Get("Sec-Fetch-Site")
	reads := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Upgrade") == ""
	return site == "same-origin" || reads && (site == "" || site == "none")
}

func foreignPage() *Refusal {
	return &Refusal{Status: http.StatusForbidden, Detail: "a request with a cookie needs the Origin of a page of this server: use the page, or send a token in the header Authorization"}
}

func noSignIns(err error) *Refusal {
	slog.Warn("cannot use the sign-ins of browsers", "error", err)
	return &Refusal{Status: http.StatusServiceUnavailable, Retry: time.Second, Detail: "the server cannot read its sign-ins now: try again"}
}

// NeedsToken reports whether callers need a token.
func (g *Guard) NeedsToken() bool { return len(g.cfg.Tokens) > 0 }
