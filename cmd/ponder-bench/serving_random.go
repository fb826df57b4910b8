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

// A randomLoad is a load of random clients.
type randomLoad struct {
	clients     int // half of them of another owner
	lasts, warm time.Duration
	seed        uint64
}

// annaToken belongs to another owner with limits.
const annaToken = "bench-token-of-anna"

// randomScenario lets clients send random requests, disconnect midway, and delete what they
// created. It measures what remains in the server, after a warm-up that opens persistent
// resources.
func randomScenario(l randomLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		config := fmt.Sprintf("[serve.tokens.anna]\nhash = \"sha256:%x\"\nsessions_per_day = 1000000\ncost_per_day = 1000000.0\n", sha256.Sum256([]byte(annaToken)))
		s, err := startServeSetting(ctx, llmtest.SimConfig{Seed: l.seed, Chunks: 8, FirstToken: llmtest.Delay{Mean: 60 * time.Millisecond, Jitter: 0.9}, Token: llmtest.Delay{Mean: 5 * time.Millisecond}},
			setting{token: benchToken, file: config})
		if err != nil {
			return nil, err
		}
		defer s.stop()
		if _, err := l.run(ctx, s, l.seed+1, l.warm); err != nil {
			return nil, err
		}
		before, err := s.awaitRest(ctx, nil)
		if err != nil {
			return nil, err
		}
		t, err := l.run(ctx, s, l.seed, l.lasts)
		if err != nil {
			return nil, err
		}
		after, err := s.awaitRest(ctx, before)
		if err != nil {
			return nil, err
		}
		return append(t.responseFigures(), after.compareUsage(before)...), nil
	}
}

// run runs the clients, then deletes the remaining objects.
func (l randomLoad) run(ctx context.Context, s *serveProcess, seed uint64, lasts time.Duration) (*tally, error) {
	t := &tally{status: make(map[int]int)}
	anna := *s
	anna.Client, anna.token = client.New(s.base, annaToken), annaToken
	owners := []*owner{{serveProcess: s}, {serveProcess: &anna}}
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
				c.sendRandom(short)
			}
		})
	}
	all.Wait()
	for _, o := range owners {
		if err := o.deleteAll(ctx); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// An owner tracks the objects of its clients.
type owner struct {
	*serveProcess
	mu       sync.Mutex
	threads  []string
	memories []string
}

// recordCreated records a created object.
func (o *owner) recordCreated(thread, memory string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if thread != "" && !slices.Contains(o.threads, thread) {
		o.threads = append(o.threads, thread)
	}
	if memory != "" {
		o.memories = append(o.memories, memory)
	}
}

// pickObject returns a created object, mostly a recent one, or a nonexistent ID.
func (o *owner) pickObject(r *rand.Rand, memory bool) string {
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

// deleteAll deletes all objects until none remains.
func (o *owner) deleteAll(ctx context.Context) error {
	for quiet := 0; quiet < 3; {
		n, err := o.deletePass(ctx)
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

// A tally counts responses. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	asked  int
	left   int // by clients that disconnected early
	status map[int]int
	broken int // responses that show a server fault
}

// recordResponse counts a response; a zero status means none.
func (t *tally) recordResponse(what string, status int, body []byte) {
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

func (t *tally) responseFigures() (list []figure) {
	list = []figure{
		{Name: "answers of 500 and more", Value: float64(t.broken), Goal: zeroGoal},
		{Name: "requests", Value: float64(t.asked)},
		{Name: "requests whose client disconnected", Value: float64(t.left)},
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

// zeroGoal is the goal for zero, because a zero goal means no goal.
const zeroGoal = 0.5
