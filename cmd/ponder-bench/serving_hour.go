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

// measureServeLong measures whether a server stays stable under long mixed use: memory, goroutines,
// files and latency. Clients delete what they create, so that the stored amount is constant.
func measureServeLong(ctx context.Context, lasts time.Duration) ([]figure, error) {
	s, err := startServeSetting(ctx, llmtest.SimConfig{Seed: 1, Chunks: 8, FirstToken: llmtest.Delay{Mean: 400 * time.Millisecond, Jitter: 0.5}}, setting{token: benchToken})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	h := &mixedLoad{serveProcess: s, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	if err := h.seedMemories(ctx); err != nil {
		return nil, err
	}
	loaded, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	for i, does := range h.makeWorkers() {
		work.Go(func() { does(loaded, rand.New(rand.NewPCG(hourSeed, uint64(i)))) })
	}
	samples, err := h.takeSamples(ctx, lasts)
	stop()
	work.Wait()
	if err != nil {
		return nil, err
	}
	return h.compareThirds(samples), nil
}

const (
	benchToken = "bench-token"
	hourSeed   = 1
)

// A mixedLoad is a load of mixed requests.
type mixedLoad struct {
	*serveProcess
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
	keptSessions  = 30
	keptMemories  = 300
	newestWatched = 6 // of the newest sessions

	startInterval        = 5 * time.Second
	steerInterval        = 3 * time.Second
	queryInterval        = 150 * time.Millisecond
	memoryInterval       = 2 * time.Second
	turnInterval         = 2 * time.Second
	maxWatchTime         = 20 * time.Second
	turnsPerConversation = 12
)

func (h *mixedLoad) makeWorkers() (list []func(context.Context, *rand.Rand)) {
	add := func(n int, every time.Duration, do func(context.Context, *rand.Rand)) {
		for range n {
			list = append(list, func(ctx context.Context, r *rand.Rand) {
				for randomPause(ctx, r, every) {
					do(ctx, r)
				}
			})
		}
	}
	add(1, startInterval, h.startSession)
	add(1, steerInterval, h.steerSession)
	add(16, time.Second, h.watchSession)
	add(4, turnInterval, h.holdConversation)
	add(4, queryInterval, h.queryServer)
	add(1, memoryInterval, h.addMemory)
	return list
}

// randomPause waits for a random time with mean every and reports whether to continue.
func randomPause(ctx context.Context, r *rand.Rand, every time.Duration) bool {
	t := time.NewTimer(time.Duration(2 * r.Float64() * float64(every)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// startSession starts a session and deletes the oldest beyond the limit.
func (h *mixedLoad) startSession(ctx context.Context, r *rand.Rand) {
	var out struct {
		ID string `json:"session_id"`
	}
	body := fmt.Sprintf(`{"question":"What makes question %d a good one?","duration_minutes":60,"max_calls":%d,"parallel":%d}`, r.IntN(1000), 20+r.IntN(60), 1+r.IntN(2))
	if h.requestJSON(ctx, http.MethodPost, "/api/thinking/start", body, &out) {
		h.trackSession(ctx, out.ID)
	}
}

// trackSession records a session and deletes the oldest beyond the limit.
func (h *mixedLoad) trackSession(ctx context.Context, id string) {
	h.mu.Lock()
	h.sessions = append(h.sessions, id)
	oldest := ""
	if len(h.sessions) > keptSessions {
		oldest, h.sessions = h.sessions[0], h.sessions[1:]
	}
	h.mu.Unlock()
	if oldest != "" {
		h.requestJSON(ctx, http.MethodDelete, "/api/thinking/"+oldest, "", nil)
	}
}

// pickSession returns one of the newest sessions, or "".
func (h *mixedLoad) pickSession(r *rand.Rand, newest int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.sessions) == 0 {
		return ""
	}
	return h.sessions[max(0, len(h.sessions)-1-r.IntN(newest))]
}

// steerSession steers a session. An ended session is no failure.
func (h *mixedLoad) steerSession(ctx context.Context, r *rand.Rand) {
	id := h.pickSession(r, newestWatched)
	if id == "" {
		return
	}
	one := "/api/thinking/" + id
	switch r.IntN(4) {
	case 0:
		h.requestJSON(ctx, http.MethodPost, one+"/pause", "{}", nil)
		if randomPause(ctx, r, time.Second) {
			h.requestJSON(ctx, http.MethodPost, one+"/resume", "{}", nil)
		}
	case 1:
		h.requestJSON(ctx, http.MethodPost, one+"/steer?wait=0s", `{"order":"add_question","content":"What does it cost?"}`, nil)
	case 2:
		h.requestJSON(ctx, http.MethodPost, one+"/cancel", "{}", nil)
	default:
		var out struct {
			ID string `json:"session_id"`
		}
		if h.requestJSON(ctx, http.MethodPost, one+"/fork", fmt.Sprintf(`{"paused":%t}`, r.IntN(2) == 0), &out) && out.ID != "" {
			h.trackSession(ctx, out.ID)
		}
	}
}

// watchSession streams a session for a while.
func (h *mixedLoad) watchSession(ctx context.Context, r *rand.Rand) {
	id := h.pickSession(r, newestWatched)
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.Float64()*float64(maxWatchTime)))
	defer cancel()
	h.readStream(ctx, http.MethodGet, "/api/thinking/"+id+"/stream", "")
}

// holdConversation holds a conversation and then deletes it.
func (h *mixedLoad) holdConversation(ctx context.Context, r *rand.Rand) {
	var out struct {
		ID string `json:"thread_id"`
	}
	if !h.requestJSON(ctx, http.MethodPost, "/api/threads", `{"title":"a talk"}`, &out) {
		return
	}
	one := "/api/threads/" + out.ID
	for range turnsPerConversation {
		h.readStream(ctx, http.MethodPost, one+"/messages", fmt.Sprintf(`{"content":"What comes after %d?"}`, r.IntN(100)))
		if !randomPause(ctx, r, turnInterval) {
			return
		}
	}
	h.requestJSON(ctx, http.MethodGet, one+"/export", "", nil)
	h.requestJSON(ctx, http.MethodDelete, one, "", nil)
}

// queryServer sends a request that is answered immediately.
func (h *mixedLoad) queryServer(ctx context.Context, r *rand.Rand) {
	paths := []string{"/api/thinking/", "/api/threads", "/api/memory/search?q=pumps+in+winter", "/api/usage?by=day", "/readyz", "/metrics"}
	if id := h.pickSession(r, keptSessions); id != "" {
		one := "/api/thinking/" + id
		paths = append(paths, one, one, one, one+"/stats", one+"/questions", one+"/syntheses", one+"/stream?limit=10", one+"/export?format=markdown", "/api/threads/"+id+"/events?limit=50")
	}
	h.requestJSON(ctx, http.MethodGet, paths[r.IntN(len(paths))], "", nil)
	h.queryBaseline(ctx)
}

// queryBaseline queries the simulated server, which answers immediately.
func (h *mixedLoad) queryBaseline(ctx context.Context) {
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

func memoryBody(r *rand.Rand) string {
	return fmt.Sprintf(`{"text":"Pump %d of plant %d stood still in winter because of valve %d."}`, r.IntN(1000), r.IntN(1000), r.IntN(1000))
}

// A memoriesResponse is the response to memories.
type memoriesResponse struct {
	Memories []struct {
		ID string `json:"id"`
	} `json:"memories"`
}

// seedMemories creates the initial memories.
func (h *mixedLoad) seedMemories(ctx context.Context) error {
	r, list := rand.New(rand.NewPCG(hourSeed, keptMemories)), make([]string, keptMemories)
	for i := range list {
		list[i] = memoryBody(r)
	}
	var out memoriesResponse
	if !h.requestJSON(ctx, http.MethodPost, "/api/memory", "["+strings.Join(list, ",")+"]", &out) {
		return errors.New("the memory is empty")
	}
	for _, m := range out.Memories {
		h.memories = append(h.memories, m.ID)
	}
	return nil
}

// addMemory adds a memory and deletes the oldest beyond the limit.
func (h *mixedLoad) addMemory(ctx context.Context, r *rand.Rand) {
	var out memoriesResponse
	if !h.requestJSON(ctx, http.MethodPost, "/api/memory", memoryBody(r), &out) || len(out.Memories) == 0 {
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
		h.requestJSON(ctx, http.MethodDelete, "/api/memory/"+oldest, "", nil)
	}
}

// requestJSON sends a request, records its duration, decodes the response into out unless nil, and
// reports success.
func (h *mixedLoad) requestJSON(ctx context.Context, method, path, body string, out any) bool {
	resp, began, ok := h.sendRequest(ctx, method, path, body, "application/json")
	if !ok {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.recordFailure(ctx, method, path, err.Error())
		return false
	}
	h.recordDuration(method, time.Since(began))
	return resp.StatusCode < http.StatusMultipleChoices && (out == nil || json.Unmarshal(text, out) == nil)
}

// readStream opens a stream, records the time to its start, and reads it to the end or until ctx ends.
func (h *mixedLoad) readStream(ctx context.Context, method, path, body string) {
	resp, began, ok := h.sendRequest(ctx, method, path, body, "text/event-stream")
	if !ok {
		return
	}
	defer resp.Body.Close()
	h.recordDuration(method, time.Since(began))
	_, _ = io.Copy(io.Discard, resp.Body) // ends at the end of the stream or ctx
}

// sendRequest sends a request. If ok, the caller closes the response.
func (h *mixedLoad) sendRequest(ctx context.Context, method, path, body, accept string) (resp *http.Response, began time.Time, ok bool) {
	req, err := newRequest(ctx, h.serveProcess, method, path, body, accept)
	if err != nil {
		h.recordFailure(ctx, method, path, err.Error())
		return nil, began, false
	}
	began = time.Now()
	if resp, err = h.http.Do(req); err != nil {
		h.recordFailure(ctx, method, path, err.Error())
		return nil, began, false
	}
	if resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusUnprocessableEntity {
		h.recordFailure(ctx, method, path, resp.Status)
	}
	return resp, began, true
}

func (h *mixedLoad) recordDuration(method string, d time.Duration) {
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

// recordFailure records an unexpected response unless the client has disconnected.
func (h *mixedLoad) recordFailure(ctx context.Context, method, path, why string) {
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
