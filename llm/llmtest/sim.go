package llmtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Sim is a simulated model server, an [http.Handler] for OpenAI (chat completions and
// Responses), Anthropic, Gemini and Ollama, streaming or not:
//
//	/v1/chat/completions /v1/responses /v1/embeddings /v1/models
//	/v1/messages /v1/messages/count_tokens
//	/v1beta/models/{model}:generateContent and its siblings
//	/api/chat /api/generate /api/embed /api/show /api/tags /api/version
//	/props /api/v0/models /info /get_server_info, as the server of Overflow
//
// Paths may start with /openai, /anthropic, /gemini or /ollama. Answers are a pure
// function of the seed and the request's meaning, in any dialect and order. A Sim refuses
// invalid requests as providers do.
//
// GET /sim/stats returns [Stats], GET /sim/config the [SimConfig]. POST /sim/config
// merges fields, POST /sim/reset calls Reset.
//
// A Sim is safe for concurrent use.
type Sim struct {
	config   atomic.Pointer[SimConfig]
	limit    limiter
	inFlight atomic.Int64 // count against Parallel
	seen     keyCounter   // prompts and script lines

	mu    sync.Mutex // of stats
	stats Stats
}

// NewSim returns a simulated server. With a zero configuration it answers at once.
func NewSim(c SimConfig) *Sim {
	s := new(Sim)
	s.Configure(c)
	s.Reset()
	return s
}

// Configure applies c to future requests.
func (s *Sim) Configure(c SimConfig) { s.config.Store(&c) }

// Reset clears all counts, those of prompts and script lines too.
func (s *Sim) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats = newStats(s.stats.Active)
	s.seen.reset()
	s.limit.reset()
}

const (
	maxBody     = 64 << 20
	maxSettings = 4 << 20
	maxReserved = 1 << 20 // bytes allocated in advance
)

func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /sim/stats":
		writeJSON(w, http.StatusOK, s.Stats())
	case "GET /sim/config":
		writeJSON(w, http.StatusOK, s.config.Load())
	case "POST /sim/config":
		s.reconfigure(w, r)
	case "POST /sim/reset":
		s.Reset()
		writeJSON(w, http.StatusOK, s.Stats())
	default:
		s.serveRequest(w, r)
	}
}

func (s *Sim) reconfigure(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSettings))
	if err == nil {
		c := *s.config.Load()
		if err = c.mergeJSON(body); err == nil {
			s.Configure(c)
			writeJSON(w, http.StatusOK, c)
			return
		}
	}
	writeJSON(w, http.StatusBadRequest, map[string]string{"error": fmt.Sprintf("change configuration: %v", err)})
}

func (s *Sim) serveRequest(w http.ResponseWriter, r *http.Request) {
	to := routeRequest(r)
	if to.serve == nil {
		writeJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{
			"message": "Invalid URL (" + r.Method + " " + r.URL.Path + ")", "type": "invalid_request_error", "param": nil, "code": nil,
		}})
		return
	}
	x := &exchange{
		sim: s, config: s.config.Load(), dialect: to.dialect, w: w, r: r,
		rec: Record{Time: time.Now(), Dialect: to.dialect.name, Path: r.URL.Path, Client: r.RemoteAddr, Model: to.model, Status: http.StatusOK},
	}
	s.countStart()
	defer x.finishExchange()
	if why, ok := x.checkKey(); !ok {
		x.sendRefusal(why)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		x.sendRefusal(failure{kind: badRequest, message: "cannot read the request: " + err.Error()})
		return
	}
	x.rec.Body = body
	to.serve(x, to.model, body)
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxReserved {
		b.Grow(int(n) + bytes.MinRead) // to see the end
	}
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	return b.Bytes(), err
}

type exchange struct {
	sim            *Sim
	config         *SimConfig
	dialect        *dialect
	w              http.ResponseWriter
	r              *http.Request
	rec            Record
	countsInFlight bool // counts against Parallel
	done           bool // fully sent
}

func (x *exchange) checkKey() (failure, bool) {
	if x.config.Key == "" || x.dialect.key(x.r) == x.config.Key {
		return failure{}, true
	}
	return failure{kind: wrongKey}, false
}

func (x *exchange) sendRefusal(f failure) {
	status, body := x.dialect.refuse(f)
	if f.status != 0 {
		status = f.status
	}
	if f.body != "" {
		body = []byte(f.body)
	}
	form := x.config.RetryForm
	if f.retry > 0 && form == "" {
		form = x.dialect.retryForm
	}
	if f.retry > 0 {
		retryHeaders(x.w.Header(), form, f.retry)
	}
	x.rec.Status = status
	x.sendBody(status, cmp.Or(f.contentType, "application/json"), body)
}

func (x *exchange) sendBody(status int, contentType string, body []byte) {
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", fmt.Sprint(len(body)))
	x.w.WriteHeader(status)
	x.rec.Started = time.Now()
	_, err := x.w.Write(body)
	x.done = err == nil
}

func (x *exchange) sendJSON(v any) { x.sendBody(http.StatusOK, "application/json", encodeJSON(v)) }

func (x *exchange) finishExchange() {
	if x.countsInFlight {
		x.sim.inFlight.Add(-1)
	}
	x.rec.Ended = time.Now()
	x.rec.Cancelled = !x.done && x.r.Context().Err() != nil
	x.sim.countEnd(x.rec)
	if x.config.Record != nil {
		x.config.Record(x.rec)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encodeJSON(v), '\n'))
}

// encodeJSON returns plain values as JSON.
func encodeJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}

// A Record describes a request to a [Sim].
type Record struct {
	Time        time.Time   `json:"time"` // arrival
	Dialect     string      `json:"dialect"`
	Path        string      `json:"path"`
	Client      string      `json:"client,omitempty"` // address
	Model       string      `json:"model,omitempty"`
	Prompt      string      `json:"prompt,omitempty"`  // hash of the meaning, in any dialect
	Attempt     int         `json:"attempt,omitempty"` // with this Prompt
	PromptBytes int         `json:"prompt_bytes"`
	Input       int         `json:"input_tokens"`
	Output      int         `json:"output_tokens"` // actual
	Status      int         `json:"status"`
	Behaviours  []Behaviour `json:"behaviours,omitempty"`
	Streamed    bool        `json:"streamed,omitempty"`
	Started     time.Time   `json:"started"` // first byte, or zero
	Ended       time.Time   `json:"ended"`
	Whole       bool        `json:"whole"`               // sent completely
	Cancelled   bool        `json:"cancelled,omitempty"` // closed early by the client

	Body []byte `json:"-"`
}

// Stats counts since the start or the last Reset.
type Stats struct {
	Requests   int               `json:"requests"`
	Answers    int               `json:"answers"`   // complete
	Cancelled  int               `json:"cancelled"` // by the client
	Failed     int               `json:"failed"`    // error status
	Repeated   int               `json:"repeated"`
	Active     int               `json:"active"`
	Peak       int               `json:"peak"` // of Active
	Input      int               `json:"input_tokens"`
	Output     int               `json:"output_tokens"`
	Dialects   map[string]int    `json:"dialects"`
	Statuses   map[int]int       `json:"statuses"`
	Behaviours map[Behaviour]int `json:"behaviours"`
}

func newStats(active int) Stats {
	return Stats{
		Active: active, Peak: active,
		Dialects: make(map[string]int), Statuses: make(map[int]int), Behaviours: make(map[Behaviour]int),
	}
}

// Stats returns the counts since the start or the last Reset.
func (s *Sim) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.Dialects = maps.Clone(out.Dialects)
	out.Statuses = maps.Clone(out.Statuses)
	out.Behaviours = maps.Clone(out.Behaviours)
	return out
}

func (s *Sim) countStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Active++
	s.stats.Peak = max(s.stats.Peak, s.stats.Active)
}

func (s *Sim) countEnd(r Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.stats
	t.Active--
	t.Requests++
	if r.Whole {
		t.Answers++
	}
	if r.Cancelled {
		t.Cancelled++
	}
	if r.Status >= 400 {
		t.Failed++
	}
	if r.Attempt > 1 {
		t.Repeated++
	}
	t.Input += r.Input
	t.Output += r.Output
	t.Dialects[r.Dialect]++
	t.Statuses[r.Status]++
	for _, b := range r.Behaviours {
		t.Behaviours[b]++
	}
}

// A keyCounter counts by key. The zero value is ready.
type keyCounter struct {
	mu sync.Mutex
	n  map[uint64]int
}

// maxTally is the number of keys at which a tally restarts.
const maxTally = 1 << 20

func (t *keyCounter) add(key uint64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil || len(t.n) >= maxTally {
		t.n = make(map[uint64]int)
	}
	t.n[key]++
	return t.n[key]
}

func (t *keyCounter) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n = nil
}

// Serve serves h on the loopback until the test ends and returns http://127.0.0.1:port.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	serveListener(t, h, l)
	return "http://" + l.Addr().String()
}

// Pipe returns a client of h without a network; delays are virtual in a testing/synctest
// bubble. Its goroutines end with the test, or when idle connections close.
func Pipe(t testing.TB, h http.Handler) *http.Client {
	t.Helper()
	l := &pipeListener{ready: make(chan net.Conn), closed: make(chan struct{})}
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) }}
	serveListener(t, h, l)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func serveListener(t testing.TB, h http.Handler, l net.Listener) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ErrServerClosed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
}

type pipeListener struct {
	ready  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.ready <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.ready:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
