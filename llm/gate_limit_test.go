package llm

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A limitedServer is a simulated server. Zero values have no limit and take no time.
type limitedServer struct {
	slots    int  // requests at once
	refuses  bool // further requests, instead of queueing them
	first    func(*rand.Rand) time.Duration
	write    func(*rand.Rand) time.Duration
	shared   int           // requests that run at full speed; more slow down all
	changeAt time.Duration // then becomes next
	next     *limitedServer
}

// A simulatedLoad has sessions that make one call after another through a limiter, in virtual time.
type simulatedLoad struct {
	sessions int
	lasts    time.Duration
	max      int
	server   limitedServer
	seed     uint64
}

type simulatedCall struct {
	session  int
	sent     time.Time
	inFlight int
	writes   time.Duration
}

type simulatedEvent struct {
	at    time.Time
	order int
	run   func()
}

type eventQueue []simulatedEvent

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].order < q[j].order
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(e any)   { *q = append(*q, e.(simulatedEvent)) }
func (q *eventQueue) Pop() any {
	e := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return e
}

// A loadResult has figures of the second half, but for filled and peak.
type loadResult struct {
	rate, refused float64       // calls per second; share of refused requests
	meanLimit     float64       // at the end of calls
	filled        time.Duration // until 90 % of the sessions were in flight
	peak          int           // requests at the server
	least, most   int           // calls of a session
}

// runLoad simulates a load.
func runLoad(s simulatedLoad) (r loadResult) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now, events, order := start, eventQueue{}, 0
	rng := rand.New(rand.NewPCG(s.seed, 7))
	after := func(d time.Duration, run func()) {
		order++
		heap.Push(&events, simulatedEvent{now.Add(d), order, run})
	}
	l, server := newLimiter(s.max), s.server
	var waiting []int // sessions
	var queued []*simulatedCall
	inFlight, active := 0, 0
	calls := make([]int, s.sessions)
	var done, refused, sent, limits float64
	half := func() bool { return now.Sub(start) > s.lasts/2 }
	var send func()
	var serve func(*simulatedCall)
	end := func(c *simulatedCall) {
		active--
		inFlight--
		l.observeWriting(c.writes)
		if half() {
			done++
			calls[c.session]++
			limits += float64(l.current())
		}
		for len(queued) > 0 && (server.slots == 0 || active < server.slots) {
			next := queued[0]
			queued = queued[1:]
			serve(next)
		}
		waiting = append(waiting, c.session)
		send()
	}
	serve = func(c *simulatedCall) {
		active++
		slow := 1.0
		if server.shared > 0 {
			slow = max(1, float64(active)/float64(server.shared))
		}
		c.writes = time.Duration(slow * float64(server.write(rng)))
		after(server.first(rng), func() {
			l.observeFirst(firstOutput{"m", c.sent, now.Sub(c.sent), c.inFlight, len(waiting) > 0}, now)
			send()
			after(c.writes, func() { end(c) })
		})
	}
	send = func() {
		for len(waiting) > 0 && inFlight < l.current() {
			c := &simulatedCall{session: waiting[0], sent: now}
			waiting = waiting[1:]
			inFlight++
			c.inFlight = inFlight
			r.peak = max(r.peak, inFlight)
			if half() {
				sent++
			}
			switch {
			case server.slots == 0 || active < server.slots:
				serve(c)
			case !server.refuses:
				queued = append(queued, c)
			default:
				after(20*time.Millisecond, func() {
					inFlight--
					l.observeRefusal(c.sent, inFlight, now)
					if half() {
						refused++
					}
					after(time.Second, func() { waiting = append(waiting, c.session); send() })
				})
			}
		}
		if r.filled == 0 && inFlight*10 >= 9*s.sessions {
			r.filled = now.Sub(start)
		}
	}
	for i := range s.sessions {
		waiting = append(waiting, i)
	}
	if server.next != nil {
		after(server.changeAt, func() { server = *server.next })
	}
	send()
	for len(events) > 0 && events[0].at.Sub(start) < s.lasts {
		e := heap.Pop(&events).(simulatedEvent)
		now = e.at
		e.run()
	}
	r.least, r.most = math.MaxInt, 0
	for _, n := range calls {
		r.least, r.most = min(r.least, n), max(r.most, n)
	}
	r.rate, r.refused, r.meanLimit = done/(s.lasts/2).Seconds(), refused/max(1, sent), limits/max(1, done)
	return r
}

func fixedTime(d time.Duration) func(*rand.Rand) time.Duration {
	return func(*rand.Rand) time.Duration { return d }
}

// uniformTime returns times of d plus and minus a share.
func uniformTime(d time.Duration, share float64) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return time.Duration(float64(d) * (1 + share*(2*r.Float64()-1))) }
}

// skewedTime returns times with a long tail around the median d.
func skewedTime(d time.Duration, sigma float64) func(*rand.Rand) time.Duration {
	return func(r *rand.Rand) time.Duration { return time.Duration(float64(d) * math.Exp(sigma*r.NormFloat64())) }
}

// A server that scales gets all calls within few rounds, however its latency and the length of its
// answers vary.
func TestLimiterScales(t *testing.T) {
	second := time.Second
	for name, server := range map[string]limitedServer{
		"all in the first output": {first: fixedTime(second), write: fixedTime(0)},
		"jitter":                  {first: uniformTime(second, 0.5), write: fixedTime(0)},
		"long answers":            {first: uniformTime(300*time.Millisecond, 0.3), write: skewedTime(8*second, 1)},
		"a long tail":             {first: skewedTime(400*time.Millisecond, 0.5), write: skewedTime(2*second, 1)},
		"a very long tail":        {first: skewedTime(400*time.Millisecond, 1), write: skewedTime(2*second, 1.2)},
	} {
		for seed := range uint64(2) {
			s := simulatedLoad{sessions: 1000, lasts: 2 * time.Minute, max: 4096, server: server, seed: seed}
			got := runLoad(s)
			s.max, s.sessions = 1_000_000, 1000
			ideal := runIdeal(s)
			if got.rate < 0.97*ideal || got.filled == 0 || got.filled > 30*second {
				t.Errorf("%s, seed %d: %.1f calls/s of %.1f, 90%% in flight after %v", name, seed, got.rate, ideal, got.filled)
			}
		}
	}
}

// runIdeal returns the rate of a load without a limit.
func runIdeal(s simulatedLoad) float64 {
	rng := rand.New(rand.NewPCG(s.seed, 8))
	var total time.Duration
	const n = 20_000
	for range n {
		total += s.server.first(rng) + s.server.write(rng)
	}
	return float64(s.sessions) * n / total.Seconds()
}

// A server with slots is kept busy, with a short queue or with few refusals, and no session starves.
func TestLimiterFindsCapacity(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		for _, slots := range []int{1, 3, 10, 50, 200} {
			for name, times := range map[string][2]func(*rand.Rand) time.Duration{
				"even":    {fixedTime(200 * time.Millisecond), fixedTime(1800 * time.Millisecond)},
				"varied":  {uniformTime(300*time.Millisecond, 0.5), skewedTime(1500*time.Millisecond, 0.7)},
				"at once": {uniformTime(time.Second, 0.3), fixedTime(0)},
			} {
				s := simulatedLoad{
					sessions: 500, lasts: max(time.Minute, 6000/time.Duration(slots)*time.Second), max: 4096,
					server: limitedServer{slots: slots, refuses: refuses, first: times[0], write: times[1]},
				}
				got := runLoad(s)
				s.sessions = slots
				ideal := runIdeal(s)
				what := fmt.Sprintf("%s, %d slots, refuses %v: %.1f calls/s of %.1f, mean limit %.1f, %.3f refused, peak %d, %d to %d calls",
					name, slots, refuses, got.rate, ideal, got.meanLimit, got.refused, got.peak, got.least, got.most)
				if got.rate < 0.9*ideal-0.1 {
					t.Error("idle: " + what)
				}
				if got.meanLimit > 2.1*float64(slots)+3 { // even calls come in waves, whose first ones need not wait
					t.Error("too many: " + what)
				}
				if got.refused > 0.05 {
					t.Error("refused: " + what)
				}
				if !refuses && (got.least == 0 || name == "even" && got.most-got.least > 2) {
					t.Error("unfair: " + what)
				}
			}
		}
	}
}

// The limit follows a server that changes: its capacity, or its latency for other reasons.
func TestLimiterFollows(t *testing.T) {
	first, write := uniformTime(300*time.Millisecond, 0.3), uniformTime(700*time.Millisecond, 0.3)
	slow := func(r *rand.Rand) time.Duration { return 6 * first(r) }
	tests := []struct {
		name      string
		from, to  limitedServer
		rate      float64 // after the change
		high, low float64 // of the mean limit
	}{
		{"more capacity", limitedServer{slots: 20, first: first, write: write}, limitedServer{first: first, write: write}, 300, 1000, 250},
		{"less capacity", limitedServer{first: first, write: write}, limitedServer{slots: 20, first: first, write: write}, 20, 50, 18},
		{"no more refusals", limitedServer{slots: 20, refuses: true, first: first, write: write}, limitedServer{first: first, write: write}, 300, 1000, 250},
		{"first refusals", limitedServer{first: first, write: write}, limitedServer{slots: 20, refuses: true, first: first, write: write}, 20, 30, 18},
		{"longer prompts", limitedServer{first: first, write: write}, limitedServer{first: slow, write: write}, 120, 1000, 250},
		{"slower writing", limitedServer{first: first, write: write}, limitedServer{first: first, write: uniformTime(20*time.Second, 0.9)}, 14, 1000, 290},
	}
	for _, tt := range tests {
		tt.from.next, tt.from.changeAt = &tt.to, time.Minute
		got := runLoad(simulatedLoad{sessions: 300, lasts: 10 * time.Minute, max: 4096, server: tt.from})
		if got.rate < 0.9*tt.rate || got.meanLimit > tt.high || got.meanLimit < tt.low {
			t.Errorf("%s: %.1f calls/s, want %.1f; mean limit %.1f", tt.name, got.rate, tt.rate, got.meanLimit)
		}
	}
}

// A limit in the settings is never exceeded, and the limit is never below one.
func TestLimiterBounds(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		l, now := newLimiter(1+rng.IntN(100)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 3000 {
			now = now.Add(time.Duration(rng.Int64N(int64(time.Second))))
			sent, others := now.Add(-time.Duration(rng.Int64N(int64(time.Minute)))), rng.IntN(120)
			switch rng.IntN(20) {
			case 0:
				l.observeRefusal(sent, others, now)
			case 1:
				l.observeWriting(now.Sub(sent))
			default:
				l.observeFirst(firstOutput{fmt.Sprint(rng.IntN(300)), sent, now.Sub(sent), others, rng.IntN(2) == 0}, now)
			}
			if got := l.current(); got < 1 || got > l.max {
				t.Fatalf("seed %d: the limit is %d, at most %d", seed, got, l.max)
			}
		}
	}
}
