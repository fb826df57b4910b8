package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// A loginTest sends logins from addresses, in virtual time.
type loginTest struct {
	*Guard
	now time.Time
}

func newLoginTest(proxies ...string) *loginTest {
	l := &loginTest{now: time.Unix(1e9, 0)}
	list, err := ParseProxies(proxies)
	if err != nil {
		panic(err)
	}
	l.Guard = New(Config{Now: func() time.Time { return l.now }, Proxies: list, Tokens: []Token{
		{Name: "a", Owner: "a", Scopes: Scopes(), Hash: HashOf("right")}, {Name: "b", Owner: "b", Scopes: Scopes(), Hash: HashOf("other")},
	}})
	return l
}

func (l *loginTest) status(remote, secret string, header ...string) int {
	r := newRequest("127.0.0.1", append(header, "Authorization", "Bearer "+secret)...)
	r.RemoteAddr = remote
	_, refused := l.Check(r)
	return refusalStatus(refused)
}

func (l *loginTest) fail(t *testing.T, n int, remote string) {
	t.Helper()
	for range n {
		if got := l.status(remote, "wrong"); got != http.StatusUnauthorized && got != http.StatusTooManyRequests {
			t.Fatalf("a wrong token: %d", got)
		}
	}
}

func TestFailedLoginsOfAddress(t *testing.T) {
	l := newLoginTest()
	const attacker, other = "203.0.113.7:1", "203.0.113.8:1"
	evaluated := 0
	for range 6000 { // ten a second for ten minutes
		switch got := l.status(attacker, "wrong"); got {
		case http.StatusUnauthorized:
			evaluated++
		case http.StatusTooManyRequests:
		default:
			t.Fatalf("status %d", got)
		}
		l.now = l.now.Add(100 * time.Millisecond)
	}
	if evaluated < 90 || evaluated > 115 {
		t.Errorf("%d of 6000 logins were evaluated in ten minutes", evaluated)
	}
	l.fail(t, 2, attacker)
	if got := l.status(attacker, "right"); got != http.StatusTooManyRequests {
		t.Errorf("the right token behind too many failures: %d", got)
	}
	if got := l.status(other, "right"); got != http.StatusOK {
		t.Errorf("another address: %d", got)
	}
	r := newRequest("127.0.0.1", "Authorization", "Bearer wrong")
	r.RemoteAddr = attacker
	_, refused := l.Check(r)
	if refused.Retry <= 0 || refused.Retry > addressRefill+time.Millisecond || !strings.Contains(refused.Detail, "failed logins") {
		t.Errorf("refused with %+v", refused)
	}
	l.now = l.now.Add(addressRefill)
	if got := l.status(attacker, "right"); got != http.StatusOK {
		t.Errorf("the right token after a while: %d", got)
	}
}

// TestSharedAddress checks that failures do not lock out a token that has succeeded from the same address.
func TestSharedAddress(t *testing.T) {
	l := newLoginTest()
	const shared = "127.0.0.1:1"
	if got := l.status(shared, "right"); got != http.StatusOK {
		t.Fatalf("the first login: %d", got)
	}
	l.fail(t, 1000, shared)
	if got := l.status(shared, "right"); got != http.StatusOK {
		t.Errorf("the user beside the attacker: %d", got)
	}
	if got := l.status(shared, "other"); got != http.StatusTooManyRequests {
		t.Errorf("a token that was never used there: %d", got)
	}
}

func TestFailedLoginsInTotal(t *testing.T) {
	l := newLoginTest()
	evaluated := 0
	for i := range 4000 { // each address fails twice
		if l.status(fmt.Sprintf("10.%d.%d.1:1", i/2/250, i/2%250), "wrong") == http.StatusUnauthorized {
			evaluated++
		}
	}
	if evaluated > 2000+totalFailures {
		t.Errorf("%d of 4000 logins were evaluated", evaluated)
	}
	if got := l.status("192.0.2.1:1", "right"); got != http.StatusOK {
		t.Errorf("an address without failures: %d", got)
	}
	const last = "10.7.249.1:1" // others may have replaced earlier ones
	if got := l.status(last, "right"); got != http.StatusTooManyRequests {
		t.Errorf("an address with failures: %d", got)
	}
	l.now = l.now.Add(time.Hour)
	if got := l.status(last, "right"); got != http.StatusOK {
		t.Errorf("after an hour: %d", got)
	}
}

// TestLoginNetworks checks that a user of IPv6 has one limit for the whole network, also as IPv4 in IPv6.
func TestLoginNetworks(t *testing.T) {
	l := newLoginTest()
	for i := range 100 {
		l.fail(t, 1, fmt.Sprintf("[2001:db8:1:2::%x]:1", i+1))
	}
	if got := l.status("[2001:db8:1:2:ffff::9]:1", "right"); got != http.StatusTooManyRequests {
		t.Errorf("the same network: %d", got)
	}
	if got := l.status("[2001:db8:1:3::1]:1", "right"); got != http.StatusOK {
		t.Errorf("the next network: %d", got)
	}
	l.fail(t, 100, "203.0.113.9:1")
	if got := l.status("[::ffff:203.0.113.9]:1", "right"); got != http.StatusTooManyRequests {
		t.Errorf("the mapped address: %d", got)
	}
}

func TestProxies(t *testing.T) {
	for _, tt := range []struct {
		remote    string
		forwarded []string
		want      string
	}{
		{"203.0.113.1:1", []string{"198.51.100.1"}, "203.0.113.1"}, // a stranger states another address
		{"10.0.0.2:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.2:1", []string{"192.0.2.66, 198.51.100.1"}, "198.51.100.1"}, // the client states the first
		{"10.0.0.2:1", []string{"192.0.2.66", "198.51.100.1, 10.0.0.3"}, "198.51.100.1"},
		{"10.0.0.2:1", []string{"10.0.0.9, 10.0.0.3"}, "10.0.0.9"},
		{"10.0.0.2:1", []string{"nonsense"}, "10.0.0.2"},
		{"10.0.0.2:1", nil, "10.0.0.2"},
		{"[::ffff:10.0.0.2]:1", []string{"2001:db8::1"}, "2001:db8::1"},
		{"@", []string{"198.51.100.1"}, "invalid IP"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = tt.remote
		for _, f := range tt.forwarded {
			r.Header.Add("X-Forwarded-For", f)
		}
		if got := newLoginTest("10.0.0.0/8").clientAddress(r).String(); got != tt.want {
			t.Errorf("%s %q: %s, want %s", tt.remote, tt.forwarded, got, tt.want)
		}
	}
	if _, err := ParseProxies([]string{"proxy.lan"}); err == nil {
		t.Error("a name is accepted")
	}
}

func TestLoginMemory(t *testing.T) {
	l := newLoginTest()
	if size := unsafe.Sizeof(*l.logins); size > 1<<20 {
		t.Errorf("%d bytes", size)
	}
	a := netip.MustParseAddr("2001:db8::1")
	if n := testing.AllocsPerRun(1000, func() {
		l.logins.recordFailure(loginKey(a), l.now)
		l.logins.recordSuccess(loginKey(a), "a")
		a = a.Next()
	}); n > 0 {
		t.Errorf("%v allocations for each login", n)
	}
}

// TestConnectionRate checks that requests on an open connection count for the rate of its token.
func TestConnectionRate(t *testing.T) {
	now := time.Unix(0, 0)
	g := New(Config{Tokens: []Token{{Name: "a", PerMinute: 60, Hash: HashOf("a")}}, Now: func() time.Time { return now }})
	c, refused := g.Check(newRequest("127.0.0.1", "Authorization", "Bearer a"))
	if refused != nil {
		t.Fatal(refused)
	}
	for i := range 59 {
		if refused := c.TakeRequest(); refused != nil {
			t.Fatalf("message %d: %+v", i, refused)
		}
	}
	if refused := c.TakeRequest(); refused == nil || refused.Status != http.StatusTooManyRequests || refused.Retry <= 0 {
		t.Errorf("message 60: %+v", refused)
	}
	now = now.Add(time.Second)
	if c.TakeRequest() != nil || c.TakeRequest() == nil {
		t.Error("one more a second later")
	}
	if (Caller{}).TakeRequest() != nil {
		t.Error("a caller without a token is limited")
	}
}

// TestLocalAdmin checks that a server without tokens grants Admin only for its secret.
func TestLocalAdmin(t *testing.T) {
	g := New(Config{Owner: "local", Local: "of-the-file"})
	for secret, admin := range map[string]bool{"": false, "sk-none": false, "of-the-fil": false, "of-the-file": true} {
		c, refused := g.Check(newRequest("127.0.0.1", "Authorization", "Bearer "+secret))
		if refused != nil || c.HasScope(Admin) != admin || !c.HasScope(Think) || !c.HasScope(Read) || c.Owner != "local" {
			t.Errorf("%q: %+v %+v", secret, c, refused)
		}
	}
	if c, _ := New(Config{Owner: "local"}).Check(newRequest("127.0.0.1", "Authorization", "Bearer ")); c.HasScope(Admin) {
		t.Error("without a secret, all callers have the scope admin")
	}
}

func TestIsWeak(t *testing.T) {
	for secret, weak := range map[string]bool{
		"": true, "   ": true, "secret": true, "changeme": true, "passwordpassword": true, "1234567890123456": true, "abcdefghijklmnopqrstuvwxyz": true,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": true, "qwertzuiop": true, "0000000000000000000000000000000000000001": true, "abababababababababababab": true,
		"3f786850e387550fdab836ed7e6dc881de23001b3f786850e387550fdab836ed": false, "kqJz0Xv7bT2mYwR9": false, "correct horse battery staple": false,
		"d9Qm1mWZ+0w5oQm3m8zW4kqJz0Xv7bT2": false, "MFRGGZDFMZTWQ2LKNNWG23TPOA": false,
	} {
		if IsWeak(secret) != weak {
			t.Errorf("%q: %v", secret, !weak)
		}
	}
}

func TestListenWeak(t *testing.T) {
	weak := Config{Tokens: []Token{{Name: "good"}, {Name: "PONDER_TOKEN", Weak: true}}}
	if err := weak.CheckListen("127.0.0.1:1"); err != nil {
		t.Errorf("on this machine: %v", err)
	}
	err := weak.CheckListen("0.0.0.0:1")
	if err == nil || !strings.Contains(err.Error(), "openssl rand -hex 32") || !strings.Contains(err.Error(), "PONDER_TOKEN") {
		t.Errorf("on an open address: %v", err)
	}
}
