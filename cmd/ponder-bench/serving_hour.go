package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"ponder/llm/llmtest"
)

// servedLong measures whether a server stays stable under long mixed use: memory, goroutines,
// files and latency. Clients delete what they create, so that the stored amount is constant.
func servedLong(ctx context.Context, lasts time.Duration) ([]figure, error) {
	s, err := startServeWith(ctx, llmtest.SimConfig{Seed: 1, Chunks: 8, FirstToken: llmtest.Delay{Mean: 400 * time.Millisecond, Jitter: 0.5}}, setting{token: benchToken})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	h := &hour{served: s, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	if err := h.furnish(ctx); err != nil {
		return nil, err
	}
	loaded, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	for i, does := range h.workers() {
		work.Go(func() { does(loaded, rand.New(rand.NewPCG(hourSeed, uint64(i)))) })
	}
	samples, err := h.samples(ctx, lasts)
	stop()
	work.Wait()
	if err != nil {
		return nil, err
	}
	return h.verdict(samples), nil
}

const (
	benchToken = "bench-token"
	hourSeed   = 1
)

// An hour is a load of mixed requests.
type hour struct {
	*served
	http *http.Client

	mu       sync.Mutex
	sessions []string // existing sessions, oldest first
	memories []string
	gets     []time.Duration // since the last sample
	posts    []time.Duration
	bare     []time.Duration // of a trivial server: the noise of the machine
	requests int
	failed   map[string]int // unexpected responses
}

// Amounts and intervals.
const (
	keptSessions = 30
	keptMemories = 300
	watchedOf    = 6 // of the newest sessions

	startEvery    = 5 * time.Second
	actEvery      = 3 * time.Second
	lookEvery     = 150 * time.Millisecond
	rememberEvery = 2 * time.Second
	turnEvery     = 2 * time.Second
	longestWatch  = 20 * time.Second
	turnsOfTalk   = 12
)

func (h *hour) workers() (list []func(context.Context, *rand.Rand)) {
	add := func(n int, every time.Duration, do func(context.Context, *rand.Rand)) {
		for range n {
			list = append(list, func(ctx context.Context, r *rand.Rand) {
				for pause(ctx, r, every) {
					do(ctx, r)
				}
			})
		}
	}
	add(1, startEvery, h.begin)
	add(1, actEvery, h.act)
	add(16, time.Second, h.watch)
	add(4, turnEvery, h.talk)
	add(4, lookEvery, h.look)
	add(1, rememberEvery, h.remember)
	return list
}

// pause waits for a random time with mean every and reports whether to continue.
func pause(ctx context.Context, r *rand.Rand, every time.Duration) bool {
	t := time.NewTimer(time.Duration(2 * r.Float64() * float64(every)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// begin starts a session and deletes the oldest beyond the limit.
func (h *hour) begin(ctx context.Context, r *rand.Rand) {
	var out struct {
		ID string `json:"session_id"`
	}
	body := fmt.Sprintf(`{"question":"What makes question %d a good one?","duration_minutes":60,"max_calls":%d,"parallel":%d}`, r.IntN(1000), 20+r.IntN(60), 1+r.IntN(2))
	if h.json(ctx, http.MethodPost, "/api/thinking/start", body, &out) {
		h.keepSession(ctx, out.ID)
	}
}

// keepSession records a session and deletes the oldest beyond the limit.
func (h *hour) keepSession(ctx context.Context, id string) {
	h.mu.Lock()
	h.sessions = append(h.sessions, id)
	oldest := ""
	if len(h.sessions) > keptSessions {
		oldest, h.sessions = h.sessions[0], h.sessions[1:]
	}
	h.mu.Unlock()
	if oldest != "" {
		h.json(ctx, http.MethodDelete, "/api/thinking/"+oldest, "", nil)
	}
}

// session returns one of the newest sessions, or "".
func (h *hour) session(r *rand.Rand, newest int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.sessions) == 0 {
		return ""
	}
	return h.sessions[max(0, len(h.sessions)-1-r.IntN(newest))]
}

// act steers a session. An ended session is no failure.
func (h *hour) act(ctx context.Context, r *rand.Rand) {
	id := h.session(r, watchedOf)
	if id == "" {
		return
	}
	one := "/api/thinking/" + id
	switch r.IntN(4) {
	case 0:
		h.json(ctx, http.MethodPost, one+"/pause", "{}", nil)
		if pause(ctx, r, time.Second) {
			h.json(ctx, http.MethodPost, one+"/resume", "{}", nil)
		}
	case 1:
		h.json(ctx, http.MethodPost, one+"/steer?wait=0s", `{"order":"add_question","content":"What does it cost?"}`, nil)
	case 2:
		h.json(ctx, http.MethodPost, one+"/cancel", "{}", nil)
	default:
		var out struct {
			ID string `json:"session_id"`
		}
		if h.json(ctx, http.MethodPost, one+"/fork", fmt.Sprintf(`{"paused":%t}`, r.IntN(2) == 0), &out) && out.ID != "" {
			h.keepSession(ctx, out.ID)
		}
	}
}

// watch streams a session for a while.
func (h *hour) watch(ctx context.Context, r *rand.Rand) {
	id := h.session(r, watchedOf)
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Float64()*float64(longestWatch)))
	defer cancel()
	h.stream(ctx, http.MethodGet, "/api/thinking/"+id+"/stream", "")
}

// talk holds a conversation and then deletes it.
func (h *hour) talk(ctx context.Context, r *rand.Rand) {
	var out struct {
		ID string `json:"thread_id"`
	}
	if !h.json(ctx, http.MethodPost, "/api/threads", `{"title":"a talk"}`, &out) {
		return
	}
	one := "/api/threads/" + out.ID
	for range turnsOfTalk {
		h.stream(ctx, http.MethodPost, one+"/messages", fmt.Sprintf(`{"content":"What comes after %d?"}`, r.IntN(100)))
		if !pause(ctx, r, turnEvery) {
			return
		}
	}
	h.json(ctx, http.MethodGet, one+"/export", "", nil)
	h.json(ctx, http.MethodDelete, one, "", nil)
}

// look sends a request that is answered immediately.
func (h *hour) look(ctx context.Context, r *rand.Rand) {
	paths := []string{"/api/thinking/", "/api/threads", "/api/memory/search?q=pumps+in+winter", "/api/usage?by=day", "/readyz", "/metrics"}
	if id := h.session(r, keptSessions); id != "" {
		one := "/api/thinking/" + id
		paths = append(paths, one, one, one, one+"/stats", one+"/questions", one+"/syntheses", one+"/stream?limit=10", one+"/export?format=markdown", "/api/threads/"+id+"/events?limit=50")
	}
	h.json(ctx, http.MethodGet, paths[r.IntN(len(paths))], "", nil)
	h.yardstick(ctx)
}

// yardstick queries the simulated server, which answers immediately.
func (h *hour) yardstick(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.sim+"/sim/config", nil)
	if err != nil {
		return
	}
	began := time.Now()
	resp, err := h.http.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.bare = append(h.bare, time.Since(began))
	}
}

func memoryOf(r *rand.Rand) string {
	return fmt.Sprintf(`{"text":"Pump %d of plant %d stood still in winter because of valve %d."}`, r.IntN(1000), r.IntN(1000), r.IntN(1000))
}

// A remembered is the response to memories.
type remembered struct {
	Memories []struct {
		ID string `json:"id"`
	} `json:"memories"`
}

// furnish creates the initial memories.
func (h *hour) furnish(ctx context.Context) error {
	r, list := rand.New(rand.NewPCG(hourSeed, keptMemories)), make([]string, keptMemories)
	for i := range list {
		list[i] = memoryOf(r)
	}
	var out remembered
	if !h.json(ctx, http.MethodPost, "/api/memory", "["+strings.Join(list, ",")+"]", &out) {
		return errors.New("nothing is remembered")
	}
	for _, m := range out.Memories {
		h.memories = append(h.memories, m.ID)
	}
	return nil
}

// remember adds a memory and deletes the oldest beyond the limit.
func (h *hour) remember(ctx context.Context, r *rand.Rand) {
	var out remembered
	if !h.json(ctx, http.MethodPost, "/api/memory", memoryOf(r), &out) || len(out.Memories) == 0 {
		return
	}
	h.mu.Lock()
	h.memories = append(h.memories, out.Memories[0].ID)
	oldest := ""
	if len(h.memories) > keptMemories {
		oldest, h.memories = h.memories[0], h.memories[1:]
	}
	h.mu.Unlock()
	if oldest != "" {
		h.json(ctx, http.MethodDelete, "/api/memory/"+oldest, "", nil)
	}
}

// json sends a request, records its duration, decodes the response into out unless nil, and
// reports success.
func (h *hour) json(ctx context.Context, method, path, body string, out any) bool {
	resp, began, ok := h.send(ctx, method, path, body, "application/json")
	if !ok {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.fail(ctx, method, path, err.Error())
		return false
	}
	h.took(method, time.Since(began))
	return resp.StatusCode < http.StatusMultipleChoices && (out == nil || json.Unmarshal(text, out) == nil)
}

// stream opens a stream, records the time to its start, and reads it to the end or until ctx ends.
func (h *hour) stream(ctx context.Context, method, path, body string) {
	resp, began, ok := h.send(ctx, method, path, body, "text/event-stream")
	if !ok {
		return
	}
	defer resp.Body.Close()
	h.took(method, time.Since(began))
	_, _ = io.Copy(io.Discard, resp.Body) // ends at the end of the stream or ctx
}

// send sends a request. If ok, the caller closes the response.
func (h *hour) send(ctx context.Context, method, path, body, accept string) (resp *http.Response, began time.Time, ok bool) {
	req, err := request(ctx, h.served, method, path, body, accept)
	if err != nil {
		h.fail(ctx, method, path, err.Error())
		return nil, began, false
	}
	began = time.Now()
	if resp, err = h.http.Do(req); err != nil {
		h.fail(ctx, method, path, err.Error())
		return nil, began, false
	}
	if resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusUnprocessableEntity {
		h.fail(ctx, method, path, resp.Status)
	}
	return resp, began, true
}

func (h *hour) took(method string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests++
	switch method {
	case http.MethodGet:
		h.gets = append(h.gets, d)
	case http.MethodPost:
		h.posts = append(h.posts, d)
	}
}

// fail records an unexpected response unless the client has disconnected.
func (h *hour) fail(ctx context.Context, method, path, why string) {
	if ctx.Err() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil {
		h.failed = make(map[string]int)
	}
	h.failed[why]++
	fmt.Fprintf(os.Stderr, "%s %s: %s\n", method, path, why)
}
