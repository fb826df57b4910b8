package llmtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A Sim is a simulated model server: an [http.Handler] that speaks the wire
// formats of OpenAI (chat completions and Responses), Anthropic, Gemini and
// Ollama at the paths where they do, streaming and not:
//
//	/v1/chat/completions /v1/responses /v1/embeddings /v1/models
//	/v1/messages /v1/messages/count_tokens
//	/v1beta/models/{model}:generateContent and its siblings
//	/api/chat /api/generate /api/embed /api/show /api/tags /api/version
//
// A path may be preceded by /openai, /anthropic, /gemini or /ollama. What it
// answers is a pure function of the seed and of what the request asks, whatever
// the dialect and the order of requests. It checks requests as the providers
// do, so that one they would refuse with 400 is refused here.
//
// GET /sim/stats returns [Stats], GET /sim/config the [SimConfig]; POST
// /sim/config changes the fields it is sent, POST /sim/reset forgets what was
// counted and how often prompts and script lines were met.
//
// A Sim is safe for concurrent use.
type Sim struct {
	config atomic.Pointer[SimConfig]
	limit  limiter
	held   atomic.Int64 // requests that count against Parallel
	seen   tally        // prompts and script lines met

	mu    sync.Mutex // of stats
	stats Stats
}

// NewSim returns a simulated server. The zero configuration answers at once.
func NewSim(c SimConfig) *Sim {
	s := new(Sim)
	s.Configure(c)
	s.Reset()
	return s
}

// Configure changes how requests are met that come from now on.
func (s *Sim) Configure(c SimConfig) { s.config.Store(&c) }

// Reset forgets what was counted and how often prompts and script lines were met.
func (s *Sim) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats = newStats(s.stats.Active)
	s.seen.reset()
	s.limit.reset()
}

const (
	maxBody     = 64 << 20 // bytes of a request
	maxSettings = 4 << 20  // bytes of a configuration
	maxReserved = 1 << 20  // bytes of a body that are reserved before they come
)

// ServeHTTP implements [http.Handler].
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
		s.serve(w, r)
	}
}

// reconfigure changes the fields of the configuration that the body has.
func (s *Sim) reconfigure(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSettings))
	if err == nil {
		c := *s.config.Load()
		if err = c.merge(body); err == nil {
			s.Configure(c)
			writeJSON(w, http.StatusOK, c)
			return
		}
	}
	writeJSON(w, http.StatusBadRequest, map[string]string{"error": fmt.Sprintf("change configuration: %v", err)})
}

// serve answers a request to a provider.
func (s *Sim) serve(w http.ResponseWriter, r *http.Request) {
	to := route(r)
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
	s.began()
	defer x.end()
	if why, ok := x.admit(); !ok {
		x.refuse(why)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		x.refuse(failure{kind: badRequest, message: "cannot read the request: " + err.Error()})
		return
	}
	x.rec.Body = body
	to.serve(x, to.model, body)
}

// readBody reads a body of up to 64 MB.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxReserved {
		b.Grow(int(n) + bytes.MinRead) // for it grows once more before it sees the end
	}
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	return b.Bytes(), err
}

// An exchange is a request that is being answered.
type exchange struct {
	sim     *Sim
	config  *SimConfig
	dialect *dialect
	w       http.ResponseWriter
	r       *http.Request
	rec     Record
	held    bool // counts against Parallel
	done    bool // what was to be sent is sent
}

// admit checks the key.
func (x *exchange) admit() (failure, bool) {
	if x.config.Key == "" || x.dialect.key(x.r) == x.config.Key {
		return failure{}, true
	}
	return failure{kind: wrongKey}, false
}

// refuse answers with an error.
func (x *exchange) refuse(f failure) {
	status, body := x.dialect.refuse(f)
	if f.status != 0 {
		status = f.status
	}
	form := x.config.RetryForm
	if f.retry > 0 && form == "" {
		form = x.dialect.retryForm
	}
	if f.retry > 0 {
		retryHeaders(x.w.Header(), form, f.retry)
	}
	x.rec.Status = status
	x.send(status, cmp.Or(f.contentType, "application/json"), body)
}

// send writes a whole body.
func (x *exchange) send(status int, contentType string, body []byte) {
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", fmt.Sprint(len(body)))
	x.w.WriteHeader(status)
	x.rec.Started = time.Now()
	_, err := x.w.Write(body)
	x.done = err == nil
}

// answer sends v as JSON.
func (x *exchange) answer(v any) { x.send(http.StatusOK, "application/json", encode(v)) }

// end counts the exchange.
func (x *exchange) end() {
	if x.held {
		x.sim.held.Add(-1)
	}
	x.rec.Ended = time.Now()
	x.rec.Cancelled = !x.done && x.r.Context().Err() != nil
	x.sim.ended(x.rec)
	if x.config.Record != nil {
		x.config.Record(x.rec)
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(encode(v), '\n'))
}

// encode returns v, which is made of plain values, as JSON.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}
