package main

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"ponder/llm"
)

// A meter observes the calls of many sessions. A session's question starts with its number between
// two '#'.
type meter struct {
	llm.Model
	mu          sync.Mutex
	ended       map[string]time.Time // end of the last call by session
	first       map[string]time.Time // start of the first call by session
	gaps        []time.Duration      // between the end of a call and the start of the next
	calls       int
	inFlight    int
	modelTime   time.Duration // model time
	peakReached chan struct{} // closed once the wanted number of calls is in flight
	want        int
	onCall      func(call int) // optional, called before each call
	lastRequest *llm.Request   // the last request
}

func newMeter(m llm.Model, want int) *meter {
	return &meter{Model: m, ended: make(map[string]time.Time), first: make(map[string]time.Time), peakReached: make(chan struct{}), want: want}
}

// Generate implements [llm.Model].
func (m *meter) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		id, began := requestSession(req), time.Now()
		m.startCall(id, req, began)
		for d, err := range m.Model.Generate(ctx, req) {
			if d.Done != nil || err != nil {
				m.endCall(id, began)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

func (m *meter) startCall(id string, req *llm.Request, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, ok := m.ended[id]; ok {
		m.gaps = append(m.gaps, now.Sub(last))
	} else {
		m.first[id] = now
	}
	m.calls++
	m.lastRequest = req
	if m.onCall != nil {
		m.onCall(m.calls)
	}
	if m.inFlight++; m.inFlight == m.want {
		close(m.peakReached)
	}
}

func (m *meter) endCall(id string, began time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.ended[id] = now
	m.modelTime += now.Sub(began)
	m.inFlight--
}

func requestSession(req *llm.Request) string {
	for _, msg := range req.Messages {
		for _, p := range msg.Parts {
			if _, rest, ok := strings.Cut(p.Text, "#"); ok {
				id, _, _ := strings.Cut(rest, "#")
				return id
			}
		}
	}
	return ""
}

// quantileMillis returns the q-quantile of ds in milliseconds.
func quantileMillis(ds []time.Duration, q float64) float64 {
	if len(ds) == 0 {
		return 0
	}
	ds = slices.Sorted(slices.Values(ds))
	return toMillis(ds[min(len(ds)-1, int(q*float64(len(ds))))])
}

func toMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heapAndStacks returns the heap in use and the stacks.
func heapAndStacks() float64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc + s.StackInuse)
}
