package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/limitio"
	"ponder/internal/process"
	"ponder/internal/textkit"
)

// A transport is a way to a server that can be cut off.
type transport struct {
	sdk.Transport
	end  func()
	said func() string // what was printed beside, of late
}

// transport returns a new one.
func (l *link) transport() (transport, error) {
	if l.URL != "" {
		return l.web(), nil
	}
	return l.program()
}

// web returns that to an address.
func (l *link) web() transport {
	via := l.config.Client
	if via == nil {
		via = http.DefaultTransport
	}
	client := &http.Client{
		Transport: guarded{via, l.Header},
		// A redirection would take what is secret elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects to another address: configure that one if you trust it")
		},
	}
	return transport{&sdk.StreamableClientTransport{Endpoint: l.URL, HTTPClient: client, MaxEventSize: MostMessage}, func() {}, func() string { return "" }}
}

// A guarded adds headers to requests, and bounds answers.
type guarded struct {
	via    http.RoundTripper
	header map[string]string
}

// RoundTrip implements [http.RoundTripper].
func (g guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range g.header {
		req.Header.Set(name, value)
	}
	resp, err := g.via.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // of which each event is bounded
		resp.Body = limitio.ReadCloser(resp.Body, MostMessage, errTooLong)
	}
	return resp, nil
}

// errTooLong is the error of a message that is too long.
var errTooLong = fmt.Errorf("what it said is longer than %d MB", MostMessage>>20)

// secrets returns what must not be told.
func (l *link) secrets() (list []string) {
	for _, value := range l.Header {
		for _, word := range append(strings.Fields(value), value) {
			if len(word) >= 8 {
				list = append(list, word)
			}
		}
	}
	for _, name := range l.Env {
		if value := os.Getenv(name); len(value) >= 8 {
			list = append(list, value)
		}
	}
	return list
}

// program starts the program of a server.
func (l *link) program() (transport, error) {
	said := &tail{}
	cmd := process.Spec{Command: l.Command, Dir: l.Dir, Env: l.Env, Stderr: said}.Cmd(context.Background()) // it ends with the session
	cmd.WaitDelay = termTime
	in, err := cmd.StdinPipe()
	if err != nil {
		return transport{}, fmt.Errorf("%w: %w", process.ErrStart, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return transport{}, fmt.Errorf("%w: %w", process.ErrStart, err)
	}
	if err := process.Start(cmd); err != nil {
		return transport{}, err
	}
	p := &child{cmd: cmd, in: in}
	return transport{&sdk.IOTransport{Reader: out, Writer: p, MaxLineLength: MostMessage}, func() { _ = p.Close() }, said.String}, nil
}

// A child is the program of a server: what is written to it is its standard input, and
// closing it ends it.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	once sync.Once
}

// Write implements [io.Writer].
func (p *child) Write(b []byte) (int, error) { return p.in.Write(b) }

// maxTail is how much is kept of what a program prints beside, in bytes.
const maxTail = 300

// A tail is the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements [io.Writer].
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[max(0, len(b)-maxTail):]...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(b), nil
}

// String returns it as a line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return textkit.VisibleLine(string(t.text), maxTail)
}

// How long a program may take to end by itself, and then if it is told to.
const (
	endTime  = 500 * time.Millisecond
	termTime = 2 * time.Second
)

// Close ends the program, and all that it has started.
func (p *child) Close() error {
	p.once.Do(func() {
		_ = p.in.Close() // which tells it to end
		ended := make(chan struct{})
		go func() {
			_ = p.cmd.Wait() // how it ends says nothing
			close(ended)
		}()
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		select {
		case <-ended:
		case <-ctx.Done():
			process.Terminate(p.cmd)
			select {
			case <-ended:
			case <-time.After(termTime):
			}
		}
		_ = process.Kill(p.cmd)
		<-ended
	})
	return nil
}
