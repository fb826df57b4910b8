package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"ponder/llm/llmtest"
)

// serveSim runs the simulated server.
func serveSim(ctx context.Context, in io.Reader, out io.Writer) error {
	return serveHandler(ctx, in, out, func(c llmtest.SimConfig) (http.Handler, error) { return llmtest.NewSim(c), nil })
}

// serveHandler runs a server in its own process: it reads its configuration as a JSON line, prints its
// address, and exits at the end of its input.
func serveHandler[C any](ctx context.Context, in io.Reader, out io.Writer, handler func(C) (http.Handler, error)) error {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	var c C
	if err := json.Unmarshal(line, &c); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	h, err := handler(c)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s\n", l.Addr())
	server := &http.Server{Handler: h}
	go func() {
		_, _ = io.Copy(io.Discard, r)
		server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// startSim starts a simulated server in its own process and returns its URL.
func startSim(ctx context.Context, c llmtest.SimConfig) (base string, stop func(), err error) {
	child, err := startChild(ctx, "-sim", c)
	return child.base, child.stop, err
}

// A childServer is this program as a server in another process.
type childServer struct {
	base string // http://address
	pid  int
	stop func()
}

// startChild starts this program as a server with a flag.
func startChild(ctx context.Context, role string, config any) (c childServer, err error) {
	cmd := exec.CommandContext(ctx, os.Args[0], role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return c, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return c, err
	}
	if err := cmd.Start(); err != nil {
		return c, fmt.Errorf("start bench %s: %w", role, err)
	}
	c = childServer{pid: cmd.Process.Pid, stop: func() {
		stdin.Close()
		_ = cmd.Wait()
	}}
	js, err := json.Marshal(config)
	if err == nil {
		_, err = stdin.Write(append(js, '\n'))
	}
	if err == nil {
		c.base, err = bufio.NewReader(stdout).ReadString('\n')
	}
	if err != nil {
		c.stop()
		return c, fmt.Errorf("start bench %s: %w", role, err)
	}
	c.base = strings.TrimSpace(c.base)
	return c, nil
}
