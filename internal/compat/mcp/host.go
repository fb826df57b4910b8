package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/llm"
)

// Host is the provider of client models. The random NAME in host/NAME authorizes answers.
const Host = "host"

const (
	pulse    = time.Minute     // between heartbeats to the engine
	patience = 5 * time.Minute // until a session without a client pauses
)

// Hosts is a provider whose models are those of clients: a call waits until a client answers its prompt. It
// implements [llm.Provider] and is safe for concurrent use. The zero value is ready.
type Hosts struct {
	mu      sync.Mutex
	open    map[string]*hosted
	resting func(name string) // pauses the session of a model
}

type hosted struct {
	asks []*asking
	news chan struct{} // closed on a change
	seen time.Time     // last contact of a client
}

type asking struct {
	id     string // a hash of the request
	req    *llm.Request
	answer chan string
}

func (h *Hosts) Model(id string) llm.Model { return hostModel{h, id} }

// Check implements [llm.Provider]. It always returns nil.
func (h *Hosts) Check(context.Context, string) error { return nil }

func (h *Hosts) Embed(_ context.Context, id string, _ []string) ([][]float32, llm.Usage, error) {
	return nil, llm.Usage{}, &llm.Error{Class: llm.BadRequest, Model: Host + "/" + id, Message: "the model of a client makes no vectors"}
}

// rest sets the function that pauses sessions without a client.
func (h *Hosts) rest(f func(name string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resting = f
}

// of requires h.mu.
func (h *Hosts) of(name string) *hosted {
	if h.open == nil {
		h.open = make(map[string]*hosted)
	}
	one := h.open[name]
	if one == nil {
		one = &hosted{news: make(chan struct{})}
		h.open[name] = one
	}
	return one
}

// changed wakes the waiters. It requires h.mu.
func (o *hosted) changed() {
	close(o.news)
	o.news = make(chan struct{})
}

func (h *Hosts) ask(name string, req *llm.Request) *asking {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(name)
	if one.seen.IsZero() {
		one.seen = time.Now()
	}
	a := &asking{id: stepOf(req), req: req, answer: make(chan string, 1)}
	one.asks = append(one.asks, a)
	one.changed()
	return a
}

func (h *Hosts) drop(name string, a *asking) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.open[name]
	if one == nil {
		return
	}
	for i, x := range one.asks {
		if x == a {
			one.asks = append(one.asks[:i:i], one.asks[i+1:]...)
			break
		}
	}
	one.changed()
}

// pending records a contact of the client. It returns the oldest call or nil, the number of calls, and a
// channel that closes on a change.
func (h *Hosts) pending(name string) (a *asking, number int, news <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(name)
	one.seen = time.Now()
	if len(one.asks) > 0 {
		a = one.asks[0]
	}
	return a, len(one.asks), one.news
}

// waiting records a contact of the client and returns all calls.
func (h *Hosts) waiting(name string) []*asking {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(name)
	one.seen = time.Now()
	return slices.Clone(one.asks)
}

// answer reports whether the step has a call.
func (h *Hosts) answer(name, step, text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(name)
	one.seen = time.Now()
	for i, a := range one.asks {
		if a.id == step {
			a.answer <- text // the buffer has room for the only answer
			one.asks = append(one.asks[:i:i], one.asks[i+1:]...)
			return true
		}
	}
	return false
}

func (h *Hosts) forget(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.open[name]; one != nil && len(one.asks) == 0 {
		delete(h.open, name)
	}
}

// alone pauses the session of a client without contact for patience.
func (h *Hosts) alone(name string) {
	h.mu.Lock()
	one, rest := h.of(name), h.resting
	left := time.Since(one.seen) >= patience
	if left {
		one.seen = time.Now() // do not pause again at the next heartbeat
	}
	h.mu.Unlock()
	if left && rest != nil {
		go rest(name)
	}
}

// stepOf is equal for equal requests.
func stepOf(req *llm.Request) string {
	js, err := json.Marshal(req)
	if err != nil { // stored requests encode
		panic(err)
	}
	sum := sha256.Sum256(js)
	return hex.EncodeToString(sum[:6])
}

type hostModel struct {
	hosts *Hosts
	name  string
}

func (m hostModel) Name() string { return Host + "/" + m.name }

func (m hostModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		a := m.hosts.ask(m.name, req)
		defer m.hosts.forget(m.name)
		defer m.hosts.drop(m.name, a)
		alive := time.NewTicker(pulse)
		defer alive.Stop()
		for {
			select {
			case text := <-a.answer:
				yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, text), Finish: llm.FinishStop, Model: m.Name()}}, nil)
				return
			case <-ctx.Done():
				yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: m.Name(), Message: "the client has not answered", Err: ctx.Err()})
				return
			case <-alive.C:
				m.hosts.alone(m.name)
				if !yield(llm.Delta{}, nil) {
					return
				}
			}
		}
	}
}

// hostName returns an unguessable name.
func hostName() string { return ponder.NewID("by") }

func hostOf(model string) (name string, ok bool) { return strings.CutPrefix(model, Host+"/") }
