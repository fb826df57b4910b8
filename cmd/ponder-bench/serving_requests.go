package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"ponder/client"
	"ponder/llm/llmtest"
)

type requestLoad struct {
	connections int
	lasts       time.Duration
	thoughts    int // minimal thoughts of the session
}

// requestScenario measures requests per second during a running session. The client is minimal and
// on the same machine.
func requestScenario(l requestLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		s, err := startServe(ctx, llmtest.SimConfig{Seed: 1, Chunks: 4, FirstToken: llmtest.Delay{Mean: 50 * time.Millisecond}})
		if err != nil {
			return nil, err
		}
		defer s.stop()
		session, err := s.Start(ctx, client.Question{Question: "What makes a good question?", Minutes: 60})
		if err != nil {
			return nil, err
		}
		for session.Progress.Thoughts < l.thoughts {
			time.Sleep(100 * time.Millisecond)
			if session, err = s.Session(ctx, session.ID); err != nil {
				return nil, err
			}
		}
		took, bytes, errs := make([][]time.Duration, l.connections), make([]int64, l.connections), make([]error, l.connections)
		own, theirs, began := cpuTime(), s.cpuTime(), time.Now()
		var wg sync.WaitGroup
		for i := range took {
			wg.Go(func() { took[i], bytes[i], errs[i] = l.sendRequests(ctx, s.base, session.ID) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		lasted := time.Since(began).Seconds()
		own, theirs = cpuTime()-own, s.cpuTime()-theirs
		var all []time.Duration
		for _, one := range took {
			all = append(all, one...)
		}
		n := float64(len(all))
		return []figure{
			{Name: "requests per second", Value: n / lasted, Goal: 2000, Minimum: true},
			{Name: "a request, p50", Value: quantileMillis(all, 0.5), Unit: "ms"},
			{Name: "a request, p99", Value: quantileMillis(all, 0.99), Unit: "ms"},
			{Name: "CPU of the server for a request, the session's thinking included", Value: 1000 * toMillis(theirs) / n, Unit: "µs"},
			{Name: "CPU of the client", Value: 1000 * toMillis(own) / n, Unit: "µs"},
			{Name: "bytes of an answer", Value: float64(bytes[0]) / float64(len(took[0]))},
			{Name: "resident memory of the server", Value: s.residentMemory(), Unit: "MiB"},
		}, nil
	}
}

// sendRequests sends requests over one connection until the time is up.
func (l requestLoad) sendRequests(ctx context.Context, base, id string) (took []time.Duration, bytes int64, err error) {
	host := strings.TrimPrefix(base, "http://")
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	request := []byte("GET /api/thinking/" + id + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
	for end := time.Now().Add(l.lasts); time.Now().Before(end) && ctx.Err() == nil; {
		began := time.Now()
		if _, err := conn.Write(request); err != nil {
			return nil, 0, err
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return nil, 0, err
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			return nil, 0, errors.Join(err, fmt.Errorf("answered %s", resp.Status))
		}
		took, bytes = append(took, time.Since(began)), bytes+n
	}
	return took, bytes, nil
}
