package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// memorySignIns keeps sign-ins by their secrets.
type memorySignIns struct {
	list map[string]SignIn
	err  error
}

func (m *memorySignIns) AddSignIn(_ context.Context, secret string, s SignIn) error {
	m.list[secret] = s
	return m.err
}

func (m *memorySignIns) FindSignIn(_ context.Context, secret string, now time.Time) (SignIn, bool, error) {
	s, ok := m.list[secret]
	return s, ok && now.Before(s.Expires()), m.err
}

func (m *memorySignIns) RemoveSignIn(_ context.Context, secret string) error {
	delete(m.list, secret)
	return m.err
}

// A browserTest is a browser on a page of the server, in virtual time.
type browserTest struct {
	*Guard
	stored *memorySignIns
	now    time.Time
	cookie *http.Cookie
}

func newBrowserTest(tokens ...Token) *browserTest {
	b := &browserTest{now: time.Unix(1e9, 0), stored: &memorySignIns{list: make(map[string]SignIn)}}
	b.Guard = New(Config{Owner: "local", Local: "of-the-file", Tokens: tokens, SignIns: b.stored, Now: func() time.Time { return b.now }})
	return b
}

var annaToken = Token{Name: "desk", Owner: "anna", Scopes: []Scope{Read, Think}, Hash: HashOf("right"), PerMinute: 600}

// signInRequest returns a request of the page to sign in.
func signInRequest(header ...string) *http.Request {
	r := newRequest("127.0.0.1", append([]string{"Origin", "http://127.0.0.1"}, header...)...)
	r.Method, r.URL.Path = http.MethodPost, signInPath
	return r
}

func (b *browserTest) signIn(t *testing.T, secret string) Caller {
	t.Helper()
	c, cookie, refused := b.SignIn(signInRequest(), secret)
	if refused != nil {
		t.Fatalf("sign in: %+v", refused)
	}
	b.cookie = cookie
	return c
}

// check sends a request with the cookie of the browser.
func (b *browserTest) check(method, path string, header ...string) (Caller, *Refusal) {
	r := newRequest("127.0.0.1", header...)
	r.Method, r.URL.Path = method, path
	if b.cookie != nil {
		r.AddCookie(&http.Cookie{Name: b.cookie.Name, Value: b.cookie.Value})
	}
	return b.Check(r)
}

func TestSignIn(t *testing.T) {
	b := newBrowserTest(annaToken)
	if _, refused := b.check("GET", "/api/threads"); refusalStatus(refused) != http.StatusUnauthorized {
		t.Fatalf("without a cookie: %+v", refused)
	}
	if _, _, refused := b.SignIn(signInRequest(), "wrong"); refusalStatus(refused) != http.StatusUnauthorized {
		t.Errorf("a wrong token: %+v", refused)
	}
	b.signIn(t, "right")
	if c := b.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.MaxAge != int(SignInLife/time.Second) || strings.Contains(c.Value, "right") {
		t.Errorf("cookie %+v", c)
	}
	c, refused := b.check("GET", "/api/threads", "Sec-Fetch-Site", "same-origin")
	if refused != nil || c.Owner != "anna" || c.Token != "desk" || c.HasScope(Admin) || !c.Expires.Equal(b.now.Add(SignInIdle)) {
		t.Fatalf("with the cookie: %+v %+v", c, refused)
	}
	out, refused := b.SignOut(withCookie(signInRequest(), b.cookie))
	if refused != nil || out.MaxAge >= 0 || out.Name != b.cookie.Name {
		t.Fatalf("sign out: %+v %+v", out, refused)
	}
	if _, refused := b.check("GET", "/api/threads"); refusalStatus(refused) != http.StatusUnauthorized {
		t.Errorf("after the sign-out: %+v", refused)
	}
}

func withCookie(r *http.Request, c *http.Cookie) *http.Request {
	r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	return r
}

// TestCookieOrigin checks that only requests of the server's own pages may use a cookie.
func TestCookieOrigin(t *testing.T) {
	b := newBrowserTest(annaToken)
	b.cfg.Origins = []string{"https://desk.example"}
	b.signIn(t, "right")
	const own, desk = "http://127.0.0.1", "https://desk.example"
	for _, tt := range []struct {
		name, method string
		header       []string
		want         int
	}{
		{"the page reads", "GET", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"the user opens an address", "GET", []string{"Sec-Fetch-Site", "none"}, 200},
		{"a browser without fetch metadata reads", "GET", nil, 200},
		{"the page writes", "POST", []string{"Origin", own}, 200},
		{"the page writes, with metadata alone", "POST", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"the page deletes", "DELETE", []string{"Origin", own, "Sec-Fetch-Site", "same-origin"}, 200},
		{"the page opens a WebSocket", "GET", []string{"Origin", own, "Upgrade", "websocket"}, 200},

		{"an unknown page writes", "POST", nil, 403},
		{"an unknown page opens a WebSocket", "GET", []string{"Upgrade", "websocket"}, 403},
		{"the address bar writes", "POST", []string{"Sec-Fetch-Site", "none"}, 403},
		{"another site writes", "POST", []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"another site reads", "GET", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another port writes", "POST", []string{"Origin", own + ":9", "Sec-Fetch-Site", "same-site"}, 403},
		{"another port reads", "GET", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"an opaque page writes", "POST", []string{"Origin", "null"}, 403},
		{"an allowed page writes", "POST", []string{"Origin", desk}, 403},
		{"an allowed page reads", "GET", []string{"Origin", desk}, 403},
		{"an allowed page opens a WebSocket", "GET", []string{"Origin", desk, "Upgrade", "websocket"}, 403},
		{"two origins", "POST", []string{"Origin", own, "Origin", own}, 403},
	} {
		if _, refused := b.check(tt.method, "/api/threads", tt.header...); refusalStatus(refused) != tt.want {
			t.Errorf("%s: %d %+v, want %d", tt.name, refusalStatus(refused), refused, tt.want)
		}
	}
	r := withCookie(newRequest("127.0.0.1", "Origin", desk, "Authorization", "Bearer right"), b.cookie)
	r.Method = http.MethodPost
	if c, refused := b.Check(r); refused != nil || c.Owner != "anna" || !c.Expires.IsZero() {
		t.Errorf("an allowed page with a token: %+v %+v", c, refused)
	}
	if _, _, refused := b.SignIn(signInRequest("Origin", "http://evil.example"), "right"); refusalStatus(refused) != http.StatusForbidden {
		t.Errorf("another site signs in: %+v", refused)
	}
}

// TestSignInEnds checks that a sign-in ends with its time and its token.
func TestSignInEnds(t *testing.T) {
	changed := annaToken
	changed.Hash = HashOf("other")
	renamed := annaToken
	renamed.Name = "new"
	for _, tt := range []struct {
		name   string
		tokens []Token
		after  time.Duration
		want   int
	}{
		{"used each week", []Token{annaToken}, SignInIdle - time.Second, 200},
		{"idle", []Token{annaToken}, SignInIdle, 401},
		{"changed token", []Token{changed}, 0, 401},
		{"removed token", []Token{renamed}, 0, 401},
		{"further tokens", []Token{renamed, annaToken}, 0, 200},
	} {
		b := newBrowserTest(annaToken)
		b.signIn(t, "right")
		b.cfg.Tokens = tt.tokens
		b.now = b.now.Add(tt.after)
		if _, refused := b.check("GET", "/api/threads"); refusalStatus(refused) != tt.want {
			t.Errorf("%s: %+v, want %d", tt.name, refused, tt.want)
		}
	}
}

// TestSignInThrottle checks that guesses at the sign-in count as failed logins.
func TestSignInThrottle(t *testing.T) {
	b := newBrowserTest(annaToken)
	evaluated := 0
	for range 100 {
		if _, _, refused := b.SignIn(signInRequest(), "wrong"); refusalStatus(refused) == http.StatusUnauthorized {
			evaluated++
		}
	}
	if evaluated != addressFailures {
		t.Errorf("%d of 100 guesses were evaluated", evaluated)
	}
	if _, _, refused := b.SignIn(signInRequest(), "right"); refusalStatus(refused) != http.StatusTooManyRequests || refused.Retry <= 0 {
		t.Errorf("the right token behind too many failures: %+v", refused)
	}
	if _, _, refused := b.SignInByCode(signInRequest(), "wrong"); refusalStatus(refused) != http.StatusTooManyRequests {
		t.Errorf("a code behind too many failures: %+v", refused)
	}
}

// TestLocalSignIn checks that only the secret of a server without tokens makes an admin of a browser.
func TestLocalSignIn(t *testing.T) {
	b := newBrowserTest()
	if c, refused := b.check("POST", "/api/threads", "Origin", "http://127.0.0.1"); refused != nil || c.HasScope(Admin) || !c.HasScope(Think) {
		t.Errorf("without a sign-in: %+v %+v", c, refused)
	}
	if _, _, refused := b.SignIn(signInRequest(), "guess"); refusalStatus(refused) != http.StatusUnauthorized {
		t.Errorf("a guess: %+v", refused)
	}
	if c := b.signIn(t, "of-the-file"); !c.HasScope(Admin) || c.Owner != "local" {
		t.Errorf("signed in as %+v", c)
	}
	b.cfg.Local = "of-the-next-start"
	if c, refused := b.check("GET", "/api/threads"); refused != nil || !c.HasScope(Admin) {
		t.Errorf("after a restart: %+v %+v", c, refused)
	}
	b.cfg.Tokens = []Token{annaToken}
	if _, refused := b.check("GET", "/api/threads"); refusalStatus(refused) != http.StatusUnauthorized {
		t.Errorf("after the server got tokens: %+v", refused)
	}
	empty := New(Config{Owner: "local", SignIns: b.stored})
	if _, _, refused := empty.SignIn(signInRequest(), ""); refusalStatus(refused) != http.StatusUnauthorized {
		t.Errorf("an empty secret: %+v", refused)
	}
}

func TestCodes(t *testing.T) {
	b := newBrowserTest(annaToken)
	caller, refused := b.Check(newRequest("127.0.0.1", "Authorization", "Bearer right"))
	if refused != nil {
		t.Fatal(refused)
	}
	first, expires, refused := b.NewCode(caller)
	if refused != nil || !expires.Equal(b.now.Add(CodeLife)) {
		t.Fatalf("%v %+v", expires, refused)
	}
	c, cookie, refused := b.SignInByCode(signInRequest(), first)
	if refused != nil || c.Owner != "anna" || cookie.Value == "" {
		t.Fatalf("%+v %+v", c, refused)
	}
	if _, _, refused := b.SignInByCode(signInRequest(), first); refusalStatus(refused) != http.StatusUnauthorized {
		t.Errorf("used twice: %+v", refused)
	}
	late, _, _ := b.NewCode(caller)
	b.now = b.now.Add(CodeLife)
	if _, _, refused := b.SignInByCode(signInRequest(), late); refusalStatus(refused) != http.StatusUnauthorized {
		t.Errorf("too late: %+v", refused)
	}
	if _, _, refused := b.SignIn(signInRequest(), late); refusalStatus(refused) != http.StatusUnauthorized {
		t.Errorf("a code as a token: %+v", refused)
	}
	for range 3 * maxCodes {
		if _, _, refused := b.NewCode(caller); refused != nil {
			t.Fatal(refused)
		}
	}
	if len(b.codes) > maxCodes {
		t.Errorf("%d codes are kept", len(b.codes))
	}
	local := newBrowserTest()
	stranger, _ := local.check("GET", "/api/threads")
	if _, _, refused := local.NewCode(stranger); refusalStatus(refused) != http.StatusForbidden {
		t.Errorf("a caller without the secret gets a code: %+v", refused)
	}
}

func TestCookieIsSecure(t *testing.T) {
	b := newBrowserTest(annaToken)
	b.cfg.Proxies, _ = ParseProxies([]string{"10.0.0.2"})
	for _, tt := range []struct {
		name, remote string
		header       []string
		want         bool
	}{
		{"plain", "127.0.0.1:1", nil, false},
		{"the page uses TLS", "192.0.2.1:1", []string{"Origin", "https://127.0.0.1"}, true},
		{"the proxy says so", "10.0.0.2:1", []string{"X-Forwarded-Proto", "https"}, true},
		{"a stranger says so", "192.0.2.1:1", []string{"X-Forwarded-Proto", "https"}, false},
	} {
		r := newRequest("127.0.0.1", tt.header...)
		r.RemoteAddr = tt.remote
		if got := b.newCookie(r, "x", SignInLife).Secure; got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	r := newRequest("127.0.0.1")
	r.Host = "127.0.0.1:8744"
	if a, b := cookieOf(newRequest("127.0.0.1")), cookieOf(r); a == b {
		t.Errorf("servers on two ports share the cookie %s", a)
	}
}

func TestUnreadableSignIns(t *testing.T) {
	b := newBrowserTest(annaToken)
	b.signIn(t, "right")
	b.stored.err = errors.New("disk is full")
	if _, refused := b.check("GET", "/api/threads"); refusalStatus(refused) != http.StatusServiceUnavailable || refused.Retry <= 0 || strings.Contains(refused.Detail, "disk") {
		t.Errorf("%+v", refused)
	}
	if c, refused := b.Check(newRequest("127.0.0.1", "Authorization", "Bearer right")); refused != nil || c.Owner != "anna" {
		t.Errorf("a token: %+v", refused)
	}
}

// TestPublicFiles checks that files of the page and shared reports need no token, from any site.
func TestPublicFiles(t *testing.T) {
	b := newBrowserTest(annaToken)
	b.cfg.Public = func(r *http.Request) bool { return r.URL.Path == "/assets/a.js" }
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/assets/a.js", 200}, {"HEAD", "/assets/a.js", 200}, {"POST", "/assets/a.js", 403}, {"GET", "/assets/b.js", 403},
		{"GET", "/share/x", 200}, {"POST", "/share/x", 403}, {"GET", "/api/shares", 403}, {"GET", "/shared", 403},
	} {
		r := newRequest("127.0.0.1", "Sec-Fetch-Site", "cross-site")
		r.Method, r.URL.Path = tt.method, tt.path
		c, refused := b.Check(r)
		if refusalStatus(refused) != tt.want || c.Owner != "" {
			t.Errorf("%s %s: %+v %+v, want %d", tt.method, tt.path, c, refused, tt.want)
		}
	}
	r := newRequest("evil.example")
	r.Method, r.URL.Path = http.MethodGet, "/assets/a.js"
	if _, refused := b.Check(r); refusalStatus(refused) != http.StatusForbidden {
		t.Errorf("for another host: %+v", refused)
	}
}
