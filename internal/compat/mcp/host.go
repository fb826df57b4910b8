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
	heartbeatInterval = time.Minute     // between heartbeats to the engine
	clientTimeout     = 5 * time.Minute // until a session without a client pauses
)

// Hosts is a provider whose models are those of clients: a call waits until a client answers its prompt. It
// implements [llm.Provider] and is safe for concurrent use. The zero value is ready.
type Hosts struct {
	mu           sync.Mutex
	open         map[string]*hostQueue
	pauseSession func(name string) // pauses the session of a model
}

type hostQueue struct {
	samples     []*pendingSample
	changes     chan struct{} // closed on a change
	lastContact time.Time     // last contact of a client
}

type pendingSample struct {
	id     string // a hash of the request
	req    *llm.Request
	answer chan string
}

func (h *Hosts) Model(id string) llm.Model { return hostModel{h, id} }

// Check implements [llm.Provider]. It always returns nil.
func (h *Hosts) Check(context.Context, string) error { return nil }

func (h *Hosts) Embed(_ context.Context, id string, _ []string) ([][]float32, llm.Usage, error) {
	return nil, llm.Usage{}, &llm.Error{Class: llm.BadRequest, Model: Host + "/" + id, Message: "the model of a client has no embeddings"}
}

// setPauser sets the function that pauses sessions without a client.
func (h *Hosts) setPauser(f func(name string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pauseSession = f
}

// queueOf requires h.mu.
func (h *Hosts) queueOf(name string) *hostQueue {
	if h.open == nil {
		h.open = make(map[string]*hostQueue)
	}
	one := h.open[name]
	if one == nil {
		one = &hostQueue{changes: make(chan struct{})}
		h.open[name] = one
	}
	return one
}

// notifyWaiters wakes the waiters. It requires h.mu.
func (o *hostQueue) notifyWaiters() {
	close(o.changes)
	o.changes = make(chan struct{})
}

func (h *Hosts) addSample(name string, req *llm.Request) *pendingSample {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.queueOf(name)
	if one.lastContact.IsZero() {
		one.lastContact = time.Now()
	}
	a := &pendingSample{id: stepOf(req), req: req, answer: make(chan string, 1)}
	one.samples = append(one.samples, a)
	one.notifyWaiters()
	return a
}

func (h *Hosts) dropSample(name string, a *pendingSample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.open[name]
	if one == nil {
		return
	}
	for i, x := range one.samples {
		if x == a {
			one.samples = append(one.samples[:i:i], one.samples[i+1:]...)
			break
		}
	}
	one.notifyWaiters()
}

// nextSample records a contact of the client. It returns the oldest call or nil, the number of calls, and a
// channel that closes on a change.
func (h *Hosts) nextSample(name string) (a *pendingSample, number int, news <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.queueOf(name)
	one.lastContact = time.Now()
	if len(one.samples) > 0 {
		a = one.samples[0]
	}
	return a, len(one.samples), one.changes
}

// allSamples records a contact of the client and returns all calls.
func (h *Hosts) allSamples(name string) []*pendingSample {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.queueOf(name)
	one.lastContact = time.Now()
	return slices.Clone(one.samples)
}

// answerSample reports whether the step has a call.
func (h *Hosts) answerSample(name, step, text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.queueOf(name)
	one.lastContact = time.Now()
	for i, a := range one.samples {
		if a.id == step {
			a.answer <- text // the buffer has room for the only answer
			one.samples = append(one.samples[:i:i], one.samples[i+1:]...)
			return true
		}
	}
	return false
}

func (h *Hosts) forgetQueue(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.open[name]; one != nil && len(one.samples) == 0 {
		delete(h.open, name)
	}
}

// pauseAbandoned pauses the session of a client without contact for patience.
func (h *Hosts) pauseAbandoned(name string) {
	h.mu.Lock()
	one, rest := h.queueOf(name), h.pauseSession
	left := time.Since(one.lastContact) >= clientTimeout
	if left {
		one.lastContact = time.Now() // do not pause again at the next heartbeat
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
		a := m.hosts.addSample(m.name, req)
		defer m.hosts.forgetQueue(m.name)
		defer m.hosts.dropSample(m.name, a)
		alive := time.NewTicker(heartbeatInterval)
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
				m.hosts.pauseAbandoned(m.name)
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
