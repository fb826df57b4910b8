package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/auth"
	"ponder/internal/stream"
	"ponder/store/memory"
)

// pipeListener listens in memory, for virtual time.
type pipeListener struct {
	ch   chan net.Conn
	once sync.Once
	done chan struct{}
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.ch:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipeListener) dialPipe() net.Conn {
	here, there := net.Pipe()
	p.ch <- there
	return here
}

// overPipes adds POST /other, which reads its body and streams for a minute, and GET /idle, which never
// reads.
func overPipes(t *testing.T) *pipeListener {
	t.Helper()
	store := memory.New()
	p := &pipeListener{ch: make(chan net.Conn), done: make(chan struct{})}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{Protocols: &protocols, ReadHeaderTimeout: time.Minute, Handler: New(t.Context(), Config{
		Store: store, Hub: stream.New(store), Guard: guardOf(),
		More: map[string]http.Handler{"POST /other": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			for range 12 {
				select {
				case <-time.After(5 * time.Second):
				case <-r.Context().Done():
					t.Error("a stream was ended")
					return
				}
			}
			fmt.Fprintf(w, "%d bytes", len(body))
		})},
		Refuse: func(w http.ResponseWriter, r *http.Request, why *auth.Refusal) bool {
			if r.URL.Path == "/other" {
				http.Error(w, "other: "+why.Detail, why.Status)
			}
			return r.URL.Path == "/other"
		},
	})}
	go srv.Serve(p)
	t.Cleanup(func() { srv.Close() })
	return p
}

// Slow bodies are refused on all routes, unauthenticated ones earlier, and the connection closes.
func TestSlowBodies(t *testing.T) {
	for _, tt := range []struct {
		name, path, token string
		every             time.Duration // between pieces; 0: only one piece
		piece, size       int
		status            int
		within            time.Duration
		text              string
	}{
		{"without a token", "/api/threads", "", 0, 0, 100_000, 401, leaveTime, "token"},
		{"without a token, a large one", "/api/threads", "", 0, 0, 1_000_000, 401, leaveTime, "token"},
		{"without a token, drop by drop", "/other", "", time.Second, 1, 100_000, 401, leaveTime, "other: "},
		{"a route of the API", "/api/threads", "mine", 0, 0, 100_000, 408, bodyTime + leaveTime, "slowly"},
		{"another language", "/other", "mine", 0, 0, 100_000, 408, bodyTime + leaveTime, "other: the request body"},
		{"drop by drop", "/other", "mine", time.Second, 1, 100_000, 408, bodyTime + leaveTime, "slowly"},
		{"no such route", "/nothing", "mine", 0, 0, 100_000, 408, bodyTime + leaveTime, "slowly"},
		{"at a pace that is enough", "/other", "mine", time.Second, 20_000, 1_000_001, 200, 3 * time.Minute, "1000001 bytes"},
		{"whole", "/other", "mine", 0, 0, 1, 200, 2 * time.Minute, "1 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := overPipes(t)
				c := p.dialPipe()
				var dripping sync.WaitGroup
				defer dripping.Wait()
				defer c.Close()
				begun := time.Now()
				fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", tt.path, tt.token, tt.size)
				dripping.Go(func() { writeSlowly(c, tt.every, tt.piece, tt.size-1) })
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(resp.Body)
				if tt.status != http.StatusOK { // the connection closes
					if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
						t.Errorf("the connection: %v", err)
					}
				}
				if took := time.Since(begun); resp.StatusCode != tt.status || took > tt.within || !strings.Contains(string(body), tt.text) {
					t.Errorf("%s %s after %v", resp.Status, body, took)
				}
			})
		})
	}
}

func writeSlowly(c net.Conn, every time.Duration, piece, left int) {
	for piece > 0 && left > 0 {
		time.Sleep(every)
		if _, err := c.Write([]byte(strings.Repeat(" ", min(piece, left)))); err != nil {
			return
		}
		left -= piece
	}
}

// In HTTP/2 a slow body does not end the connection.
func TestSlowBodiesOfHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := overPipes(t)
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		dials := 0
		client := &http.Client{Transport: &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return p.dialPipe(), nil
		}}}
		defer client.CloseIdleConnections()
		whole := func() {
			if code := postSlowly(t, client, "mine", strings.NewReader("{}"), 2); code != http.StatusOK || dials != 1 {
				t.Errorf("a whole body: %d, over %d connections", code, dials)
			}
		}
		whole()
		begun := time.Now()
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				token, want, within := "mine", http.StatusRequestTimeout, bodyTime+time.Second
				if i%2 == 0 {
					token, want, within = "", http.StatusUnauthorized, time.Second
				}
				body, hold := io.Pipe()
				defer hold.Close()
				if code := postSlowly(t, client, token, body, 100_000+i); code != want || time.Since(begun) > within {
					t.Errorf("%d after %v", code, time.Since(begun))
				}
			})
		}
		all.Wait()
		whole()
	})
}

func postSlowly(t *testing.T, client *http.Client, token string, body io.Reader, size int) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/other", body)
	if err != nil {
		t.Error(err)
		return 0
	}
	r.ContentLength = int64(size)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(r)
	if err != nil {
		t.Errorf("of %s bytes: %v", strconv.Itoa(size), err)
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
