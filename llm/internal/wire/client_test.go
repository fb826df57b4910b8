package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
)

func newClient() *Client {
	return &Client{HTTP: HTTP(), Name: "acme", Advice: func(c llm.Class) string {
		if c == llm.Auth {
			return "set ACME_API_KEY"
		}
		return ""
	}}
}

func serveHandler(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func postBody(ctx context.Context, c *Client, url string, body any) (*http.Response, error) {
	return c.Do(ctx, "m1", http.MethodPost, url, http.Header{"Authorization": {"Bearer topsecret"}}, body)
}

func TestDoSends(t *testing.T) {
	type got struct{ Body, Type, Auth, Agent string }
	var g got
	url := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		g = got{string(b), r.Header.Get("Content-Type"), r.Header.Get("Authorization"), r.Header.Get("User-Agent")}
	})
	value := struct {
		A string `json:"a"`
	}{"<&>"}
	for _, tt := range []struct {
		name string
		body any
		want string
	}{
		{"value", value, `{"a":"\u003c\u0026\u003e"}`}, // escaped as in stored requests
		{"bytes", []byte(`{"a":"<&>"}`), `{"a":"<&>"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := postBody(t.Context(), newClient(), url, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if diff := cmp.Diff(got{tt.want, "application/json", "Bearer topsecret", "ponder"}, g); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDoFails(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	refused := httptest.NewServer(http.NotFoundHandler())
	refused.Close()
	tests := []struct {
		name    string
		handler http.HandlerFunc
		url     string
		class   llm.Class
		text    string
	}{
		{"auth", answer(401, `{"error":"no"}`), "", llm.Auth, "acme/m1: key rejected (401): set ACME_API_KEY"},
		{"rate", answer(429, `{"error":{"message":"slow down topsecret"}}`), "", llm.RateLimited, "acme/m1: slow down [redacted] (429)"},
		{"too much", answer(413, ""), "", llm.TooLong, "acme/m1: request entity too large (413): give it less to read, or use a model with a larger context"},
		{"no end of text", answer(400, strings.Repeat("\x1b[31mred\x1b[0m\r\n", 10_000)), "", llm.BadRequest, "acme/m1: " + strings.Repeat("red ", 99) + "r… (400)"},
		{"no end of JSON", answer(400, `{"error":{"message":"it is too hot","trace":"`+strings.Repeat("x", 100<<10)+`"}}`), "", llm.BadRequest, "acme/m1: it is too hot (400)"},
		{"web page", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<!doctype html><html>")
		}, "", llm.Malformed, "acme/m1: the answer is a web page: check the base URL"},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(conn, "220 mail.example.com ESMTP\r\n")
			conn.Close()
		}, "", llm.Malformed, "acme/m1: the server does not speak HTTP: check the base URL"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusTemporaryRedirect)
		}, "", llm.NotFound, "acme/m1: the server redirects to another address (307): correct the base URL"},
		{"refused", nil, refused.URL, llm.Unreachable, "acme/m1: cannot connect to " + strings.TrimPrefix(refused.URL, "http://") + ": connection refused"},
		{"bad address", nil, "http://a b/?key=topsecret", llm.BadRequest, `acme/m1: bad address: invalid character " " in host name`},
		{"https where there is http", answer(200, ""), "https", llm.Unreachable, "acme/m1: http: server gave HTTP response to HTTPS client"},
		{"hung up", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "", llm.Transient, "acme/m1: connection lost: EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := tt.url
			if tt.handler != nil {
				url = serveHandler(t, tt.handler)
			}
			if tt.url == "https" {
				url = strings.Replace(url, "http:", "https:", 1)
			}
			resp, err := postBody(t.Context(), newClient(), url, struct{}{})
			if err == nil {
				resp.Body.Close()
				t.Fatal("no error")
			}
			var e *llm.Error
			if !errors.As(err, &e) || e.Class != tt.class || e.Error() != tt.text || e.Model != "acme/m1" {
				t.Errorf("got %s %q, want %s %q", llm.ClassOf(err), err, tt.class, tt.text)
			}
			if e.Status == 429 && e.RetryAfter != 3*time.Second {
				t.Errorf("RetryAfter is %v, want 3s", e.RetryAfter)
			}
		})
	}
}

func TestDoNoSuchHost(t *testing.T) {
	c := newClient()
	c.HTTP.Transport = roundTripFunc(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nowhere.invalid", IsNotFound: true}}
	})
	_, err := postBody(t.Context(), c, "http://nowhere.invalid/", nil)
	if llm.ClassOf(err) != llm.Unreachable || err.Error() != "acme/m1: no such host: nowhere.invalid" {
		t.Errorf("got %s %q", llm.ClassOf(err), err)
	}
}

func TestNoKey(t *testing.T) {
	url := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) })
	_, err := newClient().Do(t.Context(), "", http.MethodGet, url, nil, nil)
	if want := "acme: no API key is set (401): set ACME_API_KEY"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Do uses the URL's password and the client's cookies.
func TestDoAsClient(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		jar  http.CookieJar
		want string
	}{{"without cookies", nil, "u:p; "}, {"with cookies", jar, "u:p; a=b"}} {
		t.Run(tt.name, func(t *testing.T) {
			url := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
				user, password, _ := r.BasicAuth()
				http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
				_, _ = fmt.Fprintf(w, "%s:%s; %s", user, password, r.Header.Get("Cookie"))
			})
			c := newClient()
			c.HTTP.Jar = tt.jar
			var got []byte
			for range 2 { // the first answer sets a cookie
				resp, err := c.Do(t.Context(), "m1", http.MethodGet, strings.Replace(url, "//", "//u:p@", 1), nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err = io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			}
			if string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestErrorBodyIsBounded(t *testing.T) {
	url := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		for range 1000 {
			if _, err := io.WriteString(w, strings.Repeat("long ", 1000)); err != nil {
				return
			}
		}
	})
	_, err := postBody(t.Context(), newClient(), url, nil)
	if n := len(err.Error()); n > 700 {
		t.Errorf("the error has %d bytes", n)
	}
}

func TestCancelClosesConnection(t *testing.T) {
	tests := map[string]func(stop context.CancelFunc, resp *http.Response){
		"by the context": func(stop context.CancelFunc, _ *http.Response) { stop() },
		"by closing":     func(_ context.CancelFunc, resp *http.Response) { resp.Body.Close() },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			closed := make(chan struct{})
			url := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "data: a\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				close(closed)
			})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			resp, err := postBody(ctx, newClient(), url, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for _, err := range Events(resp.Body) {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			end(stop, resp)
			<-closed
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	url := serveHandler(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: a\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	resp, err := postBody(ctx, newClient(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var last error
	for _, err := range Events(resp.Body) {
		last = err
		stop()
	}
	if llm.ClassOf(last) != llm.Cancelled || !errors.Is(last, context.Canceled) {
		t.Errorf("mid-stream: got %v", last)
	}
	if _, err := postBody(ctx, newClient(), url, nil); llm.ClassOf(err) != llm.Cancelled {
		t.Errorf("before the request: got %v", err)
	}
}

func TestBrokenConnection(t *testing.T) {
	url := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: a\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	resp, err := postBody(t.Context(), newClient(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := readEvents(resp.Body)
	if len(got) != 1 || llm.ClassOf(err) != llm.Truncated {
		t.Errorf("got %q and %v", got, err)
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silentBody yields text, then blocks.
func silentBody(r *http.Request, text string) io.ReadCloser {
	in, out := io.Pipe()
	go func() {
		_, _ = io.WriteString(out, text)
		<-r.Context().Done()
		out.CloseWithError(r.Context().Err())
	}()
	return in
}

func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient()
		c.IdleTimeout, c.HeaderTimeout = 10*time.Second, time.Minute
		c.HTTP = &http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/never" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: silentBody(r, "data: a\n\n: ping\n\n"), Request: r}, nil
		})}
		begin := time.Now()
		_, err := postBody(t.Context(), c, "http://x/never", nil)
		if took := time.Since(begin); llm.ClassOf(err) != llm.Transient || err.Error() != "acme/m1: no data for 1m0s" || took != time.Minute {
			t.Errorf("no header: got %v after %v", err, took)
		}
		begin = time.Now()
		resp, err := postBody(t.Context(), c, "http://x/", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		n := 0
		for _, e := range Events(resp.Body) {
			if err = e; e == nil {
				n++
				time.Sleep(time.Hour) // a slow reader is no silence
			}
		}
		if took := time.Since(begin) - time.Hour; n != 1 || err == nil || err.Error() != "acme/m1: no data for 10s" || took != 10*time.Second {
			t.Errorf("silent body: got %d events and %v after %v", n, err, took)
		}
	})
}

// A finished stream keeps its connection, even if its context ends.
func TestFinishKeepsConnection(t *testing.T) {
	rest := make(chan struct{})
	url := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
		w.(http.Flusher).Flush()
		<-rest
		_, _ = io.WriteString(w, ": bye\n\n")
	})
	var dialed, drained = 0, make(chan struct{}, 2)
	c := newClient()
	transport := c.HTTP.Transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialed++
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	c.HTTP.Transport = roundTripFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := transport.RoundTrip(r)
		if err == nil {
			resp.Body = closeSignal{resp.Body, drained}
		}
		return resp, err
	})
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		resp, err := postBody(ctx, c, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range Events(resp.Body) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		Finish(resp)
		resp.Body.Close()
		stop()
		rest <- struct{}{}
		<-drained
	}
	if dialed != 1 {
		t.Errorf("dialed %d times, want once", dialed)
	}
}

type closeSignal struct {
	io.ReadCloser
	closed chan struct{}
}

func (s closeSignal) Close() error {
	err := s.ReadCloser.Close()
	s.closed <- struct{}{}
	return err
}

func TestRedact(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"none", "all is well", "all is well"},
		{"given", "the key open-sesame is wrong", "the key [redacted] is wrong"},
		{"short", "the key xy of maxyard, is: xy", "the key xy of maxyard, is: xy"},
		{"openai", "Incorrect: sk-proj-abc***xyz1.", "Incorrect: [redacted]."},
		{"google", "AIzaSyA-1234567890 and é", "[redacted] and é"},
		{"a word", "sk-learn is fine", "sk-learn is fine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := redact(tt.in, []string{"open-sesame", "xy"}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestIsSecret(t *testing.T) {
	for key, want := range map[string]bool{
		"": false, "key": false, "x": false, "12345": false, "none": false, "ollama": false, "lm-studio": false, "not-needed": false, "no_key_required": false,
		"model": false, "request": false, "API-KEY": false, "sk-test": false,
		"open-sesame": true, "hunter2": true, "sk-1234": true, "correct horse battery staple": true, "0123456789abcdef": true, "key-7f3a": true,
	} {
		if got := isSecret(key); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
	if got := redact("the model needs a key", []string{"key", "model"}); got != "the model needs a key" {
		t.Errorf("got %q", got)
	}
}

func TestTokens(t *testing.T) {
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1, 36: 10, 37: 11} {
		if got := Tokens(n); got != want {
			t.Errorf("Tokens(%d) = %d, want %d", n, got, want)
		}
	}
	if id := CallID(); !strings.HasPrefix(id, "call_") || bytes.Equal([]byte(id), []byte(CallID())) {
		t.Errorf("CallID() = %q", id)
	}
}

// A refusing proxy is Unreachable.
func TestProxyRefuses(t *testing.T) {
	proxy := serveHandler(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
	c := newClient()
	c.HTTP.Transport.(*http.Transport).Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }
	_, err := postBody(t.Context(), c, "https://model.invalid/", nil)
	if llm.ClassOf(err) != llm.Unreachable || err.Error() != "acme/m1: the proxy refuses to connect: 407 Proxy Authentication Required" {
		t.Errorf("got %v", err)
	}
}
