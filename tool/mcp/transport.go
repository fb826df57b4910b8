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

// A transport is a connection to a server that can be cut.
type transport struct {
	sdk.Transport
	end    func()
	output func() string // returns the latest output on standard error
}

// openTransport returns a new transport.
func (l *link) openTransport() (transport, error) {
	if l.URL != "" {
		return l.webTransport(), nil
	}
	return l.startProgram()
}

// webTransport returns a transport to a URL.
func (l *link) webTransport() transport {
	via := l.config.Client
	if via == nil {
		via = http.DefaultTransport
	}
	client := &http.Client{
		Transport: headerTransport{via, l.Header},
		// A redirect would send secrets to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server redirects to another address; configure that one if you trust it")
		},
	}
	return transport{&sdk.StreamableClientTransport{Endpoint: l.URL, HTTPClient: client, MaxEventSize: MaxMessage}, func() {}, func() string { return "" }}
}

// A headerTransport adds headers to requests, and limits answers.
type headerTransport struct {
	via    http.RoundTripper
	header map[string]string
}

func (g headerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range g.header {
		req.Header.Set(name, value)
	}
	resp, err := g.via.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("send the request: %w", err)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // a stream has a limit for each event
		resp.Body = limitio.ReadCloser(resp.Body, MaxMessage, errTooLong)
	}
	return resp, nil
}

var errTooLong = fmt.Errorf("the answer is longer than %d MB", MaxMessage>>20)

// secretTexts returns texts that must not appear in results and errors.
func (l *link) secretTexts() (list []string) {
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

// startProgram starts the program of a server.
func (l *link) startProgram() (transport, error) {
	output := &tail{}
	cmd := process.Spec{Command: l.Command, Dir: l.Dir, Env: l.Env, Stderr: output}.Cmd(context.Background()) // ends with the session
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
	return transport{&sdk.IOTransport{Reader: out, Writer: p, MaxLineLength: MaxMessage}, func() { _ = p.Close() }, output.String}, nil
}

// A child is the program of a server. Write writes to its standard input, and Close ends
// it.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	once sync.Once
}

func (p *child) Write(b []byte) (int, error) { return p.in.Write(b) }

// maxTail limits the stored output on standard error, in bytes.
const maxTail = 300

// A tail stores the end of the data that is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[max(0, len(b)-maxTail):]...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(b), nil
}

// String returns the tail as one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return textkit.VisibleLine(string(t.text), maxTail)
}

// The times for a program to end by itself, and after a signal.
const (
	endTime  = 500 * time.Millisecond
	termTime = 2 * time.Second
)

// Close ends the program and its children.
func (p *child) Close() error {
	p.once.Do(func() {
		_ = p.in.Close() // a signal to end
		ended := make(chan struct{})
		go func() {
			_ = p.cmd.Wait() // the exit status does not matter
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
