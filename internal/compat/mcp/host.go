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

// Host is the name of the provider whose models are those of clients. A model of it is
// named host/NAME; who knows the name answers for it.
const Host = "host"

// Times of waiting for clients.
const (
	pulse    = time.Minute     // between two signs of life to the engine
	patience = 5 * time.Minute // without a client, until its session rests
)

// Hosts is a provider of models whose answers come from the models of clients: a call
// waits until a client has asked what there is to think, and answered. It implements
// [llm.Provider] and is safe for concurrent use. The zero value is ready.
type Hosts struct {
	mu      sync.Mutex
	open    map[string]*hosted // by name
	resting func(name string)  // has what is thought by a model rest
}

// A hosted is what is wanted of the model of a client.
type hosted struct {
	asks []*asking
	news chan struct{} // closed when something changes
	seen time.Time     // when a client was last there
}

// An asking is a call that waits for its answer.
type asking struct {
	id     string // the same for the same request
	req    *llm.Request
	answer chan string
}

// Model implements [llm.Provider].
func (h *Hosts) Model(id string) llm.Model { return hostModel{h, id} }

// Check implements [llm.Provider]: nobody can say.
func (h *Hosts) Check(context.Context, string) error { return nil }

// Embed implements [llm.Provider]: clients make no vectors.
func (h *Hosts) Embed(_ context.Context, id string, _ []string) ([][]float32, llm.Usage, error) {
	return nil, llm.Usage{}, &llm.Error{Class: llm.BadRequest, Model: Host + "/" + id, Message: "the model of a client makes no vectors"}
}

// rest says what is done when no client has come for a while.
func (h *Hosts) rest(f func(name string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resting = f
}

// of returns what is wanted of a model. The caller holds h.mu.
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

// changed tells who waits. The caller holds h.mu.
func (o *hosted) changed() {
	close(o.news)
	o.news = make(chan struct{})
}

// ask puts a call where the client finds it.
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

// drop takes a call back.
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

// pending returns the oldest call that waits, if there is one, and what is closed when
// that changes. A client is there.
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

// waiting returns all calls that wait. A client is there.
func (h *Hosts) waiting(name string) []*asking {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(name)
	one.seen = time.Now()
	return slices.Clone(one.asks)
}

// answer answers a call, and reports whether there is one of that step.
func (h *Hosts) answer(name, step, text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of(name)
	one.seen = time.Now()
	for i, a := range one.asks {
		if a.id == step {
			a.answer <- text // there is room for one, and this is the one
			one.asks = append(one.asks[:i:i], one.asks[i+1:]...)
			return true
		}
	}
	return false
}

// forget drops what is known of a model of which nothing more is wanted.
func (h *Hosts) forget(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.open[name]; one != nil && len(one.asks) == 0 {
		delete(h.open, name)
	}
}

// alone has a session rest whose client has not come for a while.
func (h *Hosts) alone(name string) {
	h.mu.Lock()
	one, rest := h.of(name), h.resting
	left := time.Since(one.seen) >= patience
	if left {
		one.seen = time.Now() // once is enough for a while
	}
	h.mu.Unlock()
	if left && rest != nil {
		go rest(name)
	}
}

// stepOf returns a name of a request: the same for the same one, whenever it is asked.
func stepOf(req *llm.Request) string {
	js, err := json.Marshal(req)
	if err != nil { // which a request that is in the log cannot be
		panic(err)
	}
	sum := sha256.Sum256(js)
	return hex.EncodeToString(sum[:6])
}

// A hostModel is the model of a client.
type hostModel struct {
	hosts *Hosts
	name  string
}

// Name implements [llm.Model].
func (m hostModel) Name() string { return Host + "/" + m.name }

// Generate implements [llm.Model].
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

// hostName returns a new name for the model of a client that thinks on a thread. Nobody
// else can guess it.
func hostName() string { return ponder.NewID("by") }

// hostOf returns the name of the model of a client that a full name stands for.
func hostOf(model string) (name string, ok bool) { return strings.CutPrefix(model, Host+"/") }
