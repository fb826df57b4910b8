package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"ponder/client"
	"ponder/llm/llmtest"
)

// A randomLoad is clients who do at random what can be done.
type randomLoad struct {
	clients     int // half of them of another owner
	lasts, warm time.Duration
	seed        uint64
}

// annaToken is that of another owner, who is limited.
const annaToken = "bench-token-of-anna"

// servedRandomly has clients do at random whatever can be done, go away in the middle of
// it, and delete all that they made. It measures what is left of that in the server, after
// a first time in which the server opens what it keeps open.
func servedRandomly(l randomLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		config := fmt.Sprintf("[serve.tokens.anna]\nhash = \"sha256:%x\"\nsessions_per_day = 1000000\ncost_per_day = 1000000.0\n", sha256.Sum256([]byte(annaToken)))
		s, err := startServeWith(ctx, llmtest.SimConfig{Seed: l.seed, Chunks: 8, FirstToken: llmtest.Delay{Mean: 60 * time.Millisecond, Jitter: 0.9}, Token: llmtest.Delay{Mean: 5 * time.Millisecond}},
			setting{token: benchToken, file: config})
		if err != nil {
			return nil, err
		}
		defer s.stop()
		if _, err := l.run(ctx, s, l.seed+1, l.warm); err != nil {
			return nil, err
		}
		before, err := s.atRest(ctx, nil)
		if err != nil {
			return nil, err
		}
		t, err := l.run(ctx, s, l.seed, l.lasts)
		if err != nil {
			return nil, err
		}
		after, err := s.atRest(ctx, before)
		if err != nil {
			return nil, err
		}
		return append(t.figures(), after.compared(before)...), nil
	}
}

// run has the clients do what they do, and deletes what is there then.
func (l randomLoad) run(ctx context.Context, s *served, seed uint64, lasts time.Duration) (*tally, error) {
	t := &tally{status: make(map[int]int)}
	anna := *s
	anna.Client, anna.token = client.New(s.base, annaToken), annaToken
	owners := []*owner{{served: s}, {served: &anna}}
	short, stop := context.WithTimeout(ctx, lasts)
	defer stop()
	var all sync.WaitGroup
	for i := range l.clients {
		all.Go(func() {
			c := &randomClient{
				owner: owners[i%2], other: owners[1-i%2], tally: t, r: rand.New(rand.NewPCG(seed, uint64(i))),
				http: &http.Client{Transport: &http.Transport{}},
			}
			defer c.http.CloseIdleConnections()
			for short.Err() == nil {
				c.step(short)
			}
		})
	}
	all.Wait()
	for _, o := range owners {
		if err := o.clear(ctx); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// An owner has what its clients made.
type owner struct {
	*served
	mu       sync.Mutex
	threads  []string
	memories []string
}

// made notes what was made.
func (o *owner) made(thread, memory string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if thread != "" && !slices.Contains(o.threads, thread) {
		o.threads = append(o.threads, thread)
	}
	if memory != "" {
		o.memories = append(o.memories, memory)
	}
}

// one returns something that was made, of the newest above all, or what is nothing.
func (o *owner) one(r *rand.Rand, memory bool) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	list, none := o.threads, "thr_none"
	if memory {
		list, none = o.memories, "mem_none"
	}
	if len(list) == 0 {
		return none
	}
	list = list[max(0, len(list)-30):]
	return list[r.IntN(len(list))]
}

// clear deletes all that there is, until nothing comes up any more.
func (o *owner) clear(ctx context.Context) error {
	for quiet := 0; quiet < 3; {
		n, err := o.clearOnce(ctx)
		if err != nil {
			return err
		}
		if quiet++; n > 0 {
			quiet = 0
		}
		time.Sleep(time.Second)
	}
	return nil
}

// A tally counts what was answered. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	asked  int
	left   int // by those who went away before the answer was there
	status map[int]int
	broken int // answers that are the server's fault
}

// note counts an answer; a status of zero is none.
func (t *tally) note(what string, status int, body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	if status == 0 {
		t.left++
		return
	}
	t.status[status]++
	if status >= http.StatusInternalServerError {
		t.broken++
		fmt.Fprintf(os.Stderr, "%s: %d %.300s\n", what, status, body)
	}
}

func (t *tally) figures() (list []figure) {
	list = []figure{
		{Name: "answers of 500 and more", Value: float64(t.broken), Goal: none},
		{Name: "requests", Value: float64(t.asked)},
		{Name: "requests whose sender went away", Value: float64(t.left)},
	}
	good, refused := 0, 0
	for status, n := range t.status {
		if status < http.StatusBadRequest {
			good += n
		} else {
			refused += n
		}
	}
	return append(list, figure{Name: "good answers", Value: float64(good)}, figure{Name: "refusals", Value: float64(refused)})
}

// none is the goal of what there is to be nothing of: a goal of zero would be none.
const none = 0.5
