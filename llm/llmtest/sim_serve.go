package llmtest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Serve serves h on the loopback until the test ends and returns its address:
// http://127.0.0.1:port.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	serve(t, h, l)
	return "http://" + l.Addr().String()
}

// Pipe returns a client whose requests all go to h, whatever host they name,
// without a network: in a testing/synctest bubble the server's delays are
// virtual. Close its idle connections or end the test to end its goroutines.
func Pipe(t testing.TB, h http.Handler) *http.Client {
	t.Helper()
	l := &pipes{ready: make(chan net.Conn), closed: make(chan struct{})}
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) }}
	serve(t, h, l)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func serve(t testing.TB, h http.Handler, l net.Listener) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends with ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	ready  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.ready <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements [net.Listener].
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.ready:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements [net.Listener].
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
