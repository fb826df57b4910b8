//go:build unix

package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ponder"
	"ponder/llm"
)

// stepEvents returns the events that a holder appends after each call: a result, four thoughts,
// and the next call.
func stepEvents(run ponder.RunID, n int) []ponder.Event {
	text := strings.Repeat("a thought of some length, ", 10)
	ev := func(cause string, body ponder.Body) ponder.Event {
		return ponder.Event{Run: run, Cause: cause, Body: body}
	}
	events := []ponder.Event{ev(fmt.Sprintf("think-%d#1", n), ponder.CallFinished{
		Message: llm.Say(llm.Assistant, text), Finish: llm.FinishStop, Model: "sim/slow", Price: ponder.PriceTable,
		Usage: llm.Usage{Input: 900, Output: 200}, Spent: ponder.Cost{Calls: 1, Tokens: 1100, Money: 5},
	})}
	for i := range 4 {
		events = append(events, ev(fmt.Sprintf("thoughts-%d/%d.4", n, i+1), ponder.Thought{
			Content: text, Number: 4*n + i, Kind: "insight", Confidence: 0.5, Offset: 12.5, Model: "sim/slow",
		}))
	}
	return append(events, ev(fmt.Sprintf("think-%d#1", n+1), ponder.CallStarted{
		Role: ponder.Slow, Mode: "session", Model: "sim/slow", Reserved: ponder.Cost{Calls: 1, Tokens: 2000},
		Request: &llm.Request{
			System: strings.Repeat("think well. ", 80), Messages: []llm.Message{llm.Say(llm.User, strings.Repeat(text, 9))},
			Schema: &llm.Schema{Name: "thoughts", JSON: schema}, MaxTokens: 800,
		},
	}))
}

// schema has the length of a schema for an answer.
var schema = []byte(`{"type":"object","properties":{"` + strings.Repeat("thought", 90) + `":{"type":"string"}}}`)

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// createHolders creates n threads with leases and returns their fences.
func createHolders(b *testing.B, s ponder.Store, n int) []ponder.Fence {
	b.Helper()
	if err := s.Join(b.Context(), ponder.Node{ID: "nod_bench"}); err != nil {
		b.Fatal(err)
	}
	fences := make([]ponder.Fence, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := s.Create(b.Context(), ponder.Thread{ID: threadName(i)}); err != nil {
				b.Error(err)
			}
			lease, err := s.Take(b.Context(), threadName(i), "nod_bench")
			if err != nil {
				b.Error(err)
			}
			fences[i] = lease.Fence
		})
	}
	wg.Wait()
	return fences
}

func threadName(i int) ponder.ThreadID { return ponder.ThreadID(fmt.Sprintf("thr_%026d", i)) }

// BenchmarkAppend appends steps of six events, with one intent and one result, to 1,000
// threads: at full speed, and at 1,000 per second.
func BenchmarkAppend(b *testing.B) {
	const threads = 1000
	for _, rate := range []int{0, 1000} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			s := openStore(b, filepath.Join(b.TempDir(), "ponder.db"))
			fences := createHolders(b, s, threads)
			stop := keepAlive(b, s)
			defer stop()
			turns := make(chan int, threads)
			took := make([][]time.Duration, threads)
			var wg sync.WaitGroup
			for i := range threads {
				wg.Go(func() {
					run := ponder.RunID(fmt.Sprintf("run_%026d", i))
					n := 0
					for range turns {
						n++
						events := stepEvents(run, n)
						start := time.Now()
						if _, err := s.Append(b.Context(), threadName(i), fences[i], events...); err != nil {
							b.Error(err)
						}
						took[i] = append(took[i], time.Since(start))
					}
				})
			}
			b.ResetTimer()
			before := cpuTime()
			sendTurns(turns, b.N, rate)
			wg.Wait()
			b.ReportMetric(float64(cpuTime()-before)/float64(time.Microsecond)/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
			all := slices.Sorted(slices.Values(slices.Concat(took...)))
			for _, p := range []int{50, 99} {
				b.ReportMetric(float64(all[len(all)*p/100])/float64(time.Millisecond), fmt.Sprint("p", p, "-ms"))
			}
			b.ReportMetric(float64(all[len(all)-1])/float64(time.Millisecond), "max-ms")
		})
	}
}

// BenchmarkAppendAlone appends such steps one by one, each in its own transaction.
func BenchmarkAppendAlone(b *testing.B) {
	const threads = 1000
	s := openStore(b, filepath.Join(b.TempDir(), "ponder.db"))
	fences := createHolders(b, s, threads)
	stop := keepAlive(b, s)
	defer stop()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	for i := range b.N {
		run := ponder.RunID(fmt.Sprintf("run_%026d", i%threads))
		if _, err := s.Append(b.Context(), threadName(i%threads), fences[i%threads], stepEvents(run, i/threads+1)...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(time.Microsecond)/float64(b.N), "cpu-µs/op")
}

// sendTurns sends n numbers, at a rate per second if rate is not zero.
func sendTurns(turns chan<- int, n, rate int) {
	defer close(turns)
	start := time.Now()
	for i := range n {
		if rate > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		}
		turns <- i
	}
}

// keepAlive sends heartbeats for the node of a benchmark.
func keepAlive(b *testing.B, s ponder.Store) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(ponder.HeartbeatInterval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.Heartbeat(b.Context(), "nod_bench", 0)
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// BenchmarkEvents reads a thread of 6,000 events, and its newest six.
func BenchmarkEvents(b *testing.B) {
	s := openStore(b, filepath.Join(b.TempDir(), "ponder.db"))
	fence := createHolders(b, s, 1)[0]
	const steps = 1000
	for n := range steps {
		if _, err := s.Append(b.Context(), threadName(0), fence, stepEvents("run_01AAAAAAAAAAAAAAAAAAAAAAAA", n+1)...); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		after ponder.Seq
	}{{"all", 0}, {"newest", 6 * (steps - 1)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				for _, err := range s.Events(b.Context(), threadName(0), c.after) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkThread reads the info of a thread, with a cancellable context.
func BenchmarkThread(b *testing.B) {
	s := openStore(b, filepath.Join(b.TempDir(), "ponder.db"))
	createHolders(b, s, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Thread(b.Context(), threadName(0)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTake has a node take the threads of a dead node.
func BenchmarkTake(b *testing.B) {
	s := openStore(b, filepath.Join(b.TempDir(), "ponder.db"))
	const threads = 1000
	createHolders(b, s, threads)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		node := ponder.NodeID(fmt.Sprint("nod_", i))
		before := ponder.NodeID(fmt.Sprint("nod_", i-1))
		if i == 0 {
			before = "nod_bench"
		}
		if err := s.MarkDead(b.Context(), before); err != nil {
			b.Fatal(err)
		}
		if err := s.Join(b.Context(), ponder.Node{ID: node}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		var wg sync.WaitGroup
		for n := range threads {
			wg.Go(func() {
				if _, err := s.Take(b.Context(), threadName(n), node); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
