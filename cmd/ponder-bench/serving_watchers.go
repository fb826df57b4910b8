package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/client"
	"ponder/llm/llmtest"
)

// A watchLoad is many watchers of one session with one connection each.
type watchLoad struct {
	watchers int
	calls    int // in the session
	call     time.Duration
}

// watcherScenario measures whether all watchers receive all events, and the cost.
func watcherScenario(l watchLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		s, err := startServe(ctx, llmtest.SimConfig{Seed: 1, Chunks: 4, FirstToken: llmtest.Delay{Mean: l.call}})
		if err != nil {
			return nil, err
		}
		defer s.stop()
		before := s.residentMemory()
		session, err := s.Start(ctx, client.Question{Question: "What makes a good question?", Minutes: 60, Calls: l.calls})
		if err != nil {
			return nil, err
		}
		peakMemory := s.trackPeakMemory(ctx)
		began, cpu := time.Now(), s.cpuTime()
		w := l.watchSession(ctx, s, session.ID)
		if err := errors.Join(w.errs...); err != nil {
			return nil, err
		}
		peak, used := peakMemory(), s.cpuTime()-cpu
		want, err := s.visibleSeqs(ctx, session.ID)
		if err != nil {
			return nil, err
		}
		complete, sent := 0, 0
		for _, got := range w.seen {
			if slices.Equal(got, want) {
				complete++
			}
			sent += len(got)
		}
		slices.SortFunc(w.ended, time.Time.Compare)
		return []figure{
			{Name: "watchers that got every event once, in order", Value: float64(complete), Goal: float64(l.watchers), Minimum: true},
			{Name: "resident memory of the server, at most", Value: peak, Unit: "MiB", Goal: 1024},
			{Name: "resident memory before", Value: before, Unit: "MiB"},
			{Name: "time until all watched", Value: w.lastFirstEvent.Load().(time.Time).Sub(began).Seconds(), Unit: "s"},
			{Name: "time from the first to the last watcher that saw the end", Value: toMillis(w.ended[len(w.ended)-1].Sub(w.ended[0])), Unit: "ms"},
			{Name: "CPU of the server for an event that is sent", Value: 1000 * toMillis(used) / float64(max(1, sent)), Unit: "µs"},
			{Name: "events of the session", Value: float64(len(want))},
			{Name: "events that were sent", Value: float64(sent)},
		}, nil
	}
}

type watchResult struct {
	seen           [][]ponder.Seq
	ended          []time.Time
	errs           []error
	lastFirstEvent atomic.Value // time when the last watcher received its first event, a time.Time
}

// maxDials limits concurrent connection attempts.
const maxDials = 64

// watchSession streams a session to all watchers until it ends. They read only event numbers, to leave
// the CPU to the server.
func (l watchLoad) watchSession(ctx context.Context, s *serveProcess, id string) *watchResult {
	w := &watchResult{seen: make([][]ponder.Seq, l.watchers), ended: make([]time.Time, l.watchers), errs: make([]error, l.watchers)}
	w.lastFirstEvent.Store(time.Now())
	slots := make(chan struct{}, maxDials)
	var begun atomic.Int64
	var wg sync.WaitGroup
	for i := range l.watchers {
		slots <- struct{}{}
		wg.Go(func() {
			first := sync.OnceFunc(func() {
				<-slots
				if begun.Add(1) == int64(l.watchers) {
					w.lastFirstEvent.Store(time.Now())
				}
			})
			defer first()
			for over := false; !over && w.errs[i] == nil; {
				over, w.errs[i] = s.readEventSeqs(ctx, id, &w.seen[i], first)
			}
			w.ended[i] = time.Now()
		})
	}
	wg.Wait()
	return w
}

// readEventSeqs reads event numbers after the last one from one connection and reports whether the
// session has ended.
func (s *serveProcess) readEventSeqs(ctx context.Context, id string, seen *[]ponder.Seq, first func()) (over bool, err error) {
	host := strings.TrimPrefix(s.base, "http://")
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	from := ponder.Seq(0)
	if n := len(*seen); n > 0 {
		from = (*seen)[n-1]
	}
	fmt.Fprintf(conn, "GET /api/thinking/%s/stream HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nLast-Event-ID: %d\r\n\r\n", id, host, from)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode == http.StatusNoContent {
			return true, nil
		}
		return false, fmt.Errorf("answered %s", resp.Status)
	}
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // rest of a long data line
		}
		if err != nil {
			return false, ctx.Err() // reconnect
		}
		if number, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			n, err := strconv.Atoi(string(bytes.TrimSpace(number)))
			if err != nil {
				return false, err
			}
			*seen = append(*seen, ponder.Seq(n))
			first()
		}
	}
}

// trackPeakMemory samples memory until the returned function is called, which returns the maximum.
func (s *serveProcess) trackPeakMemory(ctx context.Context) func() float64 {
	ctx, cancel := context.WithCancel(ctx)
	peak := make(chan float64, 1)
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		highest := 0.0
		for {
			highest = max(highest, s.residentMemory())
			select {
			case <-tick.C:
			case <-ctx.Done():
				peak <- highest
				return
			}
		}
	}()
	return func() float64 { cancel(); return <-peak }
}

// visibleSeqs returns the numbers of all visible events of a session.
func (s *serveProcess) visibleSeqs(ctx context.Context, id string) (list []ponder.Seq, err error) {
	file, err := s.Export(ctx, id, "jsonl")
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(file) {
		var ev struct {
			Seq ponder.Seq `json:"seq"`
		}
		if err := json.Unmarshal(line, &ev); err != nil {
			return nil, fmt.Errorf("read the export: %w", err)
		}
		if ev.Seq > 0 { // the first line describes the thread
			list = append(list, ev.Seq)
		}
	}
	return list, nil
}
