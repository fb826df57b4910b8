package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func newRequest(host string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Host = host
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func refusalStatus(refused *Refusal) int {
	if refused == nil {
		return http.StatusOK
	}
	return refused.Status
}

func TestHostAndOrigin(t *testing.T) {
	g := New(Config{Owner: "local", Hosts: []string{"ponder.example"}, Origins: []string{"https://desk.example"}})
	for _, tt := range []struct {
		name   string
		req    *http.Request
		status int
	}{
		{"an address", newRequest("127.0.0.1:8744"), 200},
		{"of version 6", newRequest("[::1]:8744"), 200},
		{"without a port", newRequest("127.0.0.1"), 200},
		{"localhost", newRequest("LocalHost:8744"), 200},
		{"localhost with a dot", newRequest("localhost.:8744"), 200},
		{"a name that is configured", newRequest("ponder.example:8744"), 200},
		{"a name of others that leads here", newRequest("rebound.example:8744"), 403},
		{"a name that ends like ours", newRequest("evil-localhost:8744"), 403},
		{"a name that begins like ours", newRequest("localhost.example"), 403},
		{"none", newRequest(""), 403},
		{"a page of the server", newRequest("127.0.0.1:8744", "Origin", "http://127.0.0.1:8744"), 200},
		{"a page that is configured", newRequest("127.0.0.1:8744", "Origin", "https://desk.example"), 200},
		{"a page of another port", newRequest("127.0.0.1:8744", "Origin", "http://127.0.0.1:9000"), 403},
		{"a page of another site", newRequest("127.0.0.1:8744", "Origin", "https://evil.example"), 403},
		{"a page of nowhere", newRequest("127.0.0.1:8744", "Origin", "null"), 403},
		{"a file", newRequest("127.0.0.1:8744", "Origin", "file://"), 403},
		{"two origins", newRequest("127.0.0.1:8744", "Origin", "http://127.0.0.1:8744", "Origin", "https://evil.example"), 403},
		{"an image of another site", newRequest("127.0.0.1:8744", "Sec-Fetch-Site", "cross-site"), 403},
		{"the address bar", newRequest("127.0.0.1:8744", "Sec-Fetch-Site", "none"), 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, refused := g.Check(tt.req)
			if refusalStatus(refused) != tt.status {
				t.Errorf("status %d, want %d", refusalStatus(refused), tt.status)
			}
			if refused == nil && (c.Owner != "local" || !c.HasScope(Think)) {
				t.Errorf("caller %+v", c)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	g := New(Config{Tokens: []Token{
		{Name: "all", Owner: "local", Scopes: Scopes(), Hash: HashOf("s3cret")},
		{Name: "anna", Owner: "anna", Scopes: []Scope{Read}, Hash: HashOf("other")},
	}})
	for _, tt := range []struct {
		name, owner string
		header      []string
		status      int
	}{
		{"none", "", nil, 401},
		{"the right one", "local", []string{"Authorization", "Bearer s3cret"}, 200},
		{"in small letters", "local", []string{"Authorization", "bearer s3cret"}, 200},
		{"another's", "anna", []string{"Authorization", "Bearer other"}, 200},
		{"a wrong one", "", []string{"Authorization", "Bearer s3cre"}, 401},
		{"a longer one", "", []string{"Authorization", "Bearer s3cret2"}, 401},
		{"an empty one", "", []string{"Authorization", "Bearer "}, 401},
		{"of another kind", "", []string{"Authorization", "Basic s3cret"}, 401},
		{"as a key", "anna", []string{"X-Api-Key", "other"}, 200},
		{"a wrong key", "", []string{"X-Api-Key", "othe"}, 401},
		{"two keys", "", []string{"X-Api-Key", "other", "X-Api-Key", "s3cret"}, 401},
		{"both, which is one", "local", []string{"Authorization", "Bearer s3cret", "X-Api-Key", "other"}, 200},
		{"two", "", []string{"Authorization", "Bearer s3cret", "Authorization", "Bearer other"}, 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, refused := g.Check(newRequest("127.0.0.1", tt.header...))
			if refusalStatus(refused) != tt.status || c.Owner != tt.owner {
				t.Errorf("status %d, caller %+v", refusalStatus(refused), c)
			}
		})
	}
	c, _ := g.Check(newRequest("127.0.0.1", "Authorization", "Bearer other"))
	if c.HasScope(Think) || !c.HasScope(Read) || CallerOf(t.Context()).HasScope(Read) || CallerOf(WithCaller(t.Context(), c)).Token != "anna" {
		t.Errorf("%+v has a scope that it must not have", c)
	}
}

func TestRateLimit(t *testing.T) {
	now := time.Unix(0, 0)
	g := New(Config{Tokens: []Token{{Name: "a", PerMinute: 60, Hash: HashOf("a")}, {Name: "b", PerMinute: 60, Hash: HashOf("b")}}, Now: func() time.Time { return now }})
	ask := func(secret string) *Refusal {
		_, refused := g.Check(newRequest("127.0.0.1", "Authorization", "Bearer "+secret))
		return refused
	}
	let := 0
	for range 3600 { // ten a second for six minutes
		if refused := ask("a"); refused == nil {
			let++
		} else if refused.Status != http.StatusTooManyRequests || refused.Retry <= 0 || refused.Retry > time.Second+time.Millisecond {
			t.Fatalf("refused with %+v", refused)
		}
		now = now.Add(100 * time.Millisecond)
	}
	if let < 360 || let > 421 {
		t.Errorf("%d of 3600 requests in six minutes, at 60 a minute", let)
	}
	if ask("b") != nil {
		t.Error("one token is slowed down by another")
	}
	now = now.Add(-time.Hour)
	if refused := ask("a"); refused != nil && refused.Retry > time.Minute {
		t.Errorf("a clock that was set back: %+v", refused)
	}
}

func TestListen(t *testing.T) {
	safe := Config{Tokens: []Token{{}}}
	for listen, want := range map[string]bool{
		"127.0.0.1:8744": true, "127.8.8.8:1": true, "[::1]:8744": true, "localhost:8744": true,
		"0.0.0.0:8744": false, ":8744": false, "[::]:8744": false, "192.168.1.5:8744": false, "ponder.example:80": false,
	} {
		if err := (Config{}).CheckListen(listen); (err == nil) != want || err != nil && !errors.Is(err, ErrOpen) {
			t.Errorf("%s without a token: %v", listen, err)
		}
		if err := safe.CheckListen(listen); err != nil {
			t.Errorf("%s with a token: %v", listen, err)
		}
	}
	if err := safe.CheckListen("8744"); err == nil {
		t.Error("a port alone")
	}
}
