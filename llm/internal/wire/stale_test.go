package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ponder/llm"
)

// Connections are numbered from 1.
func serveTCP(t *testing.T, serve func(conn *net.TCPConn, n int)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn.(*net.TCPConn), n)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func readRequestBody(r *bufio.Reader) (string, error) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(req.Body)
	return string(body), err
}

const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

func exchangeBody(ctx context.Context, c *Client, url, body string) error {
	resp, err := postBody(ctx, c, url, []byte(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// Calls survive silently closed connections.
func TestClosedWhileIdle(t *testing.T) {
	for name, rests := range map[string]bool{"at once": false, "once it rests": true} {
		for size, body := range map[string]string{"small": `"ask"`, "large": `"` + strings.Repeat("a", 1<<20) + `"`} {
			t.Run(name+", "+size, func(t *testing.T) {
				rest, closed := make(chan struct{}), make(chan struct{})
				url := serveTCP(t, func(conn *net.TCPConn, _ int) {
					if got, err := readRequestBody(bufio.NewReader(conn)); err != nil || got != body {
						if err == nil {
							t.Errorf("a body of %d bytes came", len(got))
						}
						return
					}
					_, _ = io.WriteString(conn, answer)
					if rests {
						<-rest
						_ = conn.Close()
						closed <- struct{}{}
					}
				})
				c := newClient()
				for i := range 20 {
					if err := exchangeBody(t.Context(), c, url, body); err != nil {
						t.Fatalf("call %d: %v", i, err)
					}
					if rests {
						rest <- struct{}{}
						<-closed
					}
				}
			})
		}
	}
}

func TestStale(t *testing.T) {
	const drop = "" // instead of an answer
	for _, tt := range []struct {
		name    string
		answers [][]string // by connection; the last repeats
		jar     bool
		asked   int
		fails   bool
	}{
		{"reset when new", [][]string{{drop}}, false, 1, true},
		{"second on a kept one", [][]string{{answer, drop}, {answer}}, false, 3, false},
		{"with cookies", [][]string{{answer, drop}, {answer}}, true, 3, false},
		{"closed always", [][]string{{answer, drop}, {drop}}, false, 3, true},
		{"some bytes came", [][]string{{answer, "HTTP/1.1 200 OK\r\n"}, {answer}}, false, 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int32
			url := serveTCP(t, func(conn *net.TCPConn, n int) {
				r := bufio.NewReader(conn)
				for _, a := range tt.answers[min(n, len(tt.answers))-1] {
					if body, err := readRequestBody(r); err != nil || body != `"ask"` {
						return
					}
					asked.Add(1)
					_, _ = io.WriteString(conn, a)
					if a == drop {
						_ = conn.SetLinger(0)
					}
					if a != answer {
						return
					}
				}
				_, _ = r.ReadByte()
			})
			c := newClient()
			if tt.jar {
				c.HTTP.Jar, _ = cookiejar.New(nil)
			}
			var err error
			for range len(tt.answers) {
				err = exchangeBody(t.Context(), c, url, `"ask"`)
			}
			var e *llm.Error
			if tt.fails && (!errors.As(err, &e) || e.Class != llm.Transient || !strings.HasPrefix(e.Message, "connection lost: ")) ||
				!tt.fails && err != nil {
				t.Errorf("got %v", err)
			}
			if n := int(asked.Load()); n != tt.asked {
				t.Errorf("%d requests came, want %d", n, tt.asked)
			}
		})
	}
}

// A held request is repeated in full.
func TestStaleHeld(t *testing.T) {
	url := serveTCP(t, func(conn *net.TCPConn, n int) {
		r := bufio.NewReader(conn)
		for i := 0; ; i++ {
			if body, err := readRequestBody(r); err != nil || body != `"ask"` || n == 1 && i == 1 {
				return
			}
			_, _ = io.WriteString(conn, answer)
		}
	})
	c := newClient()
	if err := exchangeBody(t.Context(), c, url, `"ask"`); err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{})
	time.AfterFunc(20*time.Millisecond, func() { close(released) })
	if err := exchangeBody(PrepareContext(t.Context(), released), c, url, `"ask"`); err != nil {
		t.Error(err)
	}
}

// A connection lost late is not stale.
func TestStaleLate(t *testing.T) {
	var p connTrace
	p.reused.Store(true)
	if !p.isStale(io.EOF) {
		t.Error("before it was sent")
	}
	p.sent.Store(time.Now().UnixNano())
	if !p.isStale(io.EOF) {
		t.Error("at once")
	}
	p.sent.Store(time.Now().Add(-2 * staleTime).UnixNano())
	if p.isStale(io.EOF) {
		t.Error("late")
	}
}
