package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/auth"
	"ponder/internal/httpapi"
	"ponder/internal/stream"
	"ponder/internal/transcript"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/memory"
)

// A fault is a failure of a request.
type fault struct {
	before error // the request does not arrive
	after  error // the request arrives, and the answer does not
	status int   // a proxy answers with this status
	retry  string
	cut    int // the answer ends after so many bytes, if positive
}

// A wire connects to a handler in this process, and injects faults. It stores the requests.
type wire struct {
	http.Handler
	fault func(n int, r *http.Request) fault // n counts from 0; may be nil

	mu    sync.Mutex
	asked []*http.Request
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	n := len(w.asked)
	w.asked = append(w.asked, r)
	to := w.Handler
	w.mu.Unlock()
	var f fault
	if w.fault != nil {
		f = w.fault(n, r)
	}
	switch {
	case f.before != nil:
		return nil, f.before
	case f.status != 0:
		return &http.Response{StatusCode: f.status, Header: http.Header{"Retry-After": {f.retry}}, Body: http.NoBody}, nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	in, out := io.Pipe()
	a := &answer{out: out, header: make(http.Header), begun: make(chan struct{}), left: f.cut, cut: f.cut > 0}
	inner := r.Clone(ctx)
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	go func() {
		defer cancel()
		defer out.Close()
		defer a.WriteHeader(http.StatusOK)
		to.ServeHTTP(a, inner)
	}()
	context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
	<-a.begun
	if f.after != nil {
		io.Copy(io.Discard, in)
		return nil, f.after
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: hangUp{in, cancel}, Request: r}, nil
}

func (w *wire) setHandler(to http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Handler = to
}

func (w *wire) countRequests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked)
}

// A hangUp cancels the handler when the body is closed.
type hangUp struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (h hangUp) Close() error { h.cancel(); return h.PipeReader.Close() }

var errCut = errors.New("connection reset by peer")

// An answer is the response of a handler.
type answer struct {
	out    *io.PipeWriter
	header http.Header
	status int
	begun  chan struct{}
	cut    bool
	left   int
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.header = status, a.header.Clone()
		close(a.begun)
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.cut && len(p) >= a.left {
		a.out.Write(p[:a.left])
		a.left = 0
		a.out.CloseWithError(errCut)
		return 0, errCut
	}
	a.left -= len(p)
	return a.out.Write(p)
}

func (a *answer) Flush() {}

func (a *answer) SetWriteDeadline(time.Time) error { return nil }

func (a *answer) SetReadDeadline(time.Time) error { return nil }

// A testAPI is an API over a store, and a client of it.
type testAPI struct {
	*Client
	*wire
	store ponder.Store
	hub   *stream.Hub
	stop  context.CancelFunc // of the server

	requests requests
}

// newTestAPI returns an API behind a wire.
func newTestAPI(t *testing.T) *testAPI {
	t.Helper()
	d := &testAPI{store: memory.New(), wire: &wire{}}
	d.hub = stream.New(d.store)
	d.openServer(t, &service{store: d.store})
	d.Client = New("127.0.0.1:8744", "mine")
	d.HTTP.Transport = d.wire
	return d
}

// openServer connects the wire to an API of a service until stop.
func (d *testAPI) openServer(t *testing.T, s httpapi.Service) {
	t.Helper()
	if d.stop != nil {
		d.stop()
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	d.stop = stop
	d.setHandler(httpapi.New(ctx, httpapi.Config{
		Store: d.store, Hub: d.hub, Service: s, Requests: &d.requests, Logger: slog.New(slog.DiscardHandler),
		Guard: auth.New(auth.Config{Tokens: []auth.Token{{Name: "local", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("mine")}}}),
	}))
}

// requests stores requests by idempotency key, across restarts of the server.
type requests struct{ sync.Map }

func (r *requests) Enter(_ context.Context, id, words string) (httpapi.Request, bool, error) {
	before, known := r.LoadOrStore(id, httpapi.Request{Words: words})
	return before.(httpapi.Request), known, nil
}

func (r *requests) Answer(_ context.Context, id, answer string) error {
	before, _ := r.Load(id)
	r.Store(id, httpapi.Request{Words: before.(httpapi.Request).Words, Answer: answer})
	return nil
}

func (r *requests) Leave(_ context.Context, id string) error {
	r.Delete(id)
	return nil
}

// A service implements the parts of a service that the tests need.
type service struct {
	httpapi.Service
	store ponder.Store
}

func (s *service) Begin(ctx context.Context, owner string, id ponder.ThreadID, q httpapi.Start) error {
	return s.store.Create(ctx, ponder.Thread{ID: id, Kind: q.Kind, Owner: owner, Title: q.Title},
		ponder.Event{Run: ponder.RunID("run_" + id), Cause: q.Cause, Body: ponder.RunStarted{Mode: session.Name, Input: q.Question, Budget: q.Budget}})
}

func (s *service) Go(context.Context, ponder.ThreadID, string) error { return nil }

func (s *service) Remove(ctx context.Context, id ponder.ThreadID) error {
	return s.store.Remove(ctx, id)
}

func (s *service) Report(ctx context.Context, id ponder.ThreadID, format string) (httpapi.Document, error) {
	if format == "jsonl" {
		info, err := s.store.Thread(ctx, id)
		if err != nil {
			return httpapi.Document{}, err
		}
		var lines bytes.Buffer
		err = transcript.Write(&lines, info.Thread, s.store.Events(ctx, id, 0), false)
		return httpapi.Document{Type: "application/x-ndjson", Name: "thread.jsonl", Body: lines.Bytes()}, err
	}
	return httpapi.Document{Type: "text/markdown", Name: "report.md", Body: []byte(format + " of " + string(id))}, nil
}

// createThread creates the thread that think uses.
func (d *testAPI) createThread(t *testing.T) {
	t.Helper()
	if err := d.store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread, Kind: ponder.KindSession, Owner: "local"}); err != nil {
		t.Fatal(err)
	}
}

// runSession runs a session to its end in virtual time.
func (d *testAPI) runSession(t *testing.T) {
	t.Helper()
	model := &llmtest.Model{ID: "sim/slow", Latency: llmtest.Delay{Mean: 2 * time.Second}}
	mind := enginetest.Start(t, engine.Config{Store: d.store, Modes: []ponder.Mode{session.New()}, Models: enginetest.Models(model, ponder.Price{})})
	mind.Ask(session.Name, "Why does the pump fail?", nil, ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 12}})
	mind.Stop()
}

// visibleSeqs returns the seqs of the events that users may see.
func visibleSeqs(t *testing.T, log ponder.Log, id ponder.ThreadID) (list []ponder.Seq) {
	t.Helper()
	for ev, err := range log.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if !ev.Internal {
			list = append(list, ev.Seq)
		}
	}
	return list
}
