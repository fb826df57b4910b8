package responses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/openai"
	"ponder/internal/limitio"
	"ponder/internal/stream"
	"ponder/internal/textkit"
)

const (
	socketTime  = time.Hour
	socketWrite = 10 * time.Second // of each write
	maxMessage  = 8 << 20
	maxQueued   = 16
	maxKept     = 32 // unstored responses
	maxKeptSize = 16 << 20
	maxSteers   = 8 // of a response
)

// A socket is a WebSocket connection. Requests run in order; steers apply at once.
type socket struct {
	*api
	conn  *websocket.Conn
	r     *http.Request
	owner string

	kept       map[string][]entry // items up to each unstored response
	keptSize   map[string]int     // bytes of their requests
	order      []string           // of kept, the oldest first
	past       map[string]bool
	heldSteers map[string][]submission // steers that await tool results, by response
	live       *liveResponse           // running; nil: none
	queue      []*limitio.Body
	done       chan *liveResponse
}

type liveResponse struct {
	job      job
	in       request
	answered func()
	before   []entry      // of an unstored predecessor
	size     int          // bytes of the request and of the predecessors
	steers   []submission // accepted, not applied
	endSent  atomic.Bool  // the client has the end
	err      error
	end      *response
}

type submission struct {
	ID    string          `json:"id,omitempty"`
	To    string          `json:"previous_response_id"`
	Input json.RawMessage `json:"input,omitempty"`
	text  string
}

func (a *api) serveSocket(w http.ResponseWriter, r *http.Request, owner string) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Allow", http.MethodPost)
		return &compat.APIError{Status: http.StatusMethodNotAllowed, Detail: "responses cannot be listed; create one with POST, or open a WebSocket here"}
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil // Accept has replied
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxMessage)
	s := &socket{
		api: a, conn: conn, owner: owner, kept: make(map[string][]entry), keptSize: make(map[string]int), past: make(map[string]bool), heldSteers: make(map[string][]submission),
		done: make(chan *liveResponse, 1),
	}
	ctx, cancel := a.untilGone(r.Context())
	defer cancel()
	s.r = r.WithContext(ctx)
	s.serveMessages(ctx)
	return nil
}

// A message is a request of the client, or the reason to refuse it.
type message struct {
	body *limitio.Body
	err  error
}

// readMessage reads the next message. ok is false if the connection has ended.
func (s *socket) readMessage(ctx context.Context) (m message, ok bool) {
	_, src, err := s.conn.Reader(ctx)
	if err != nil {
		return message{}, false
	}
	m.body, m.err = limitio.MemoryOf(ctx).ReadBody(ctx, src, limitio.BodyLimit{Bytes: maxMessage, Size: -1})
	if m.err != nil {
		if _, err := io.Copy(io.Discard, src); err != nil { // up to the read limit
			return message{}, false
		}
	}
	return m, true
}

func (s *socket) serveMessages(ctx context.Context) {
	said := make(chan message)
	go func() {
		defer close(said)
		for {
			m, ok := s.readMessage(ctx)
			if !ok {
				return
			}
			select {
			case said <- m:
			case <-ctx.Done():
				m.release()
				return
			}
		}
	}()
	defer func() {
		for _, body := range s.queue {
			body.Release()
		}
	}()
	limit := time.After(socketTime)
	for {
		select {
		case m, ok := <-said:
			if !ok {
				return
			}
			if !s.handleMessage(ctx, m) {
				m.release()
			}
		case f := <-s.done:
			s.finishResponse(ctx, f)
		case <-limit:
			s.writeFailure(ctx, &compat.APIError{Status: http.StatusBadRequest, Detail: "the connection has reached its limit of one hour; open another one"}, "websocket_connection_limit_reached")
			_ = s.conn.Close(websocket.StatusNormalClosure, "")
			return
		case <-ctx.Done():
			_ = s.conn.Close(websocket.StatusGoingAway, "the server stops")
			return
		}
	}
}

func (s *socket) writeEvent(ctx context.Context, e any) error {
	js, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, socketWrite)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, js)
}

func (s *socket) writeFailure(ctx context.Context, fault *compat.APIError, code string) {
	failure := openai.FailureOf(fault)
	if code != "" {
		failure.Code = &code
	}
	_ = s.writeEvent(ctx, map[string]any{"type": "error", "status": fault.Status, "error": failure}) // the reader notices
}

func (m message) release() {
	if m.body != nil {
		m.body.Release()
	}
}

// handleMessage handles a message, or reports that it queued it.
func (s *socket) handleMessage(ctx context.Context, m message) (queued bool) {
	if refused := auth.CallerOf(s.r.Context()).TakeRequest(); refused != nil {
		s.writeFailure(ctx, &compat.APIError{Status: refused.Status, Detail: refused.Detail}, "rate_limit_exceeded")
		return false
	}
	if m.err != nil {
		s.writeFailure(ctx, messageError(m.err), "")
		return false
	}
	js := m.body.Bytes()
	var c struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(js, &c)
	switch {
	case err != nil:
		s.writeFailure(ctx, compat.InvalidField("", "the message is not JSON"), "invalid_json")
	case c.Type == "response.steer":
		s.handleSteer(ctx, js)
	case c.Type != "response.create":
		s.writeFailure(ctx, compat.InvalidField("type", "type: expected response.create or response.steer"), "")
	case s.live == nil:
		s.runCreate(ctx, js)
	case len(s.queue) >= maxQueued:
		s.writeFailure(ctx, &compat.APIError{Status: http.StatusTooManyRequests, Detail: "too many requests wait on this connection"}, "")
	default:
		s.queue = append(s.queue, m.body)
		return true
	}
	return false
}

// messageError describes why a message was not read.
func messageError(err error) *compat.APIError {
	if errors.Is(err, limitio.ErrBusy) {
		return &compat.APIError{Status: http.StatusServiceUnavailable, Detail: err.Error() + ": send the request again later"}
	}
	return compat.InvalidField("", "the message cannot be read: %s", err)
}

func (s *socket) runCreate(ctx context.Context, js json.RawMessage) {
	var in request
	if err := json.Unmarshal(js, &in); err != nil {
		s.writeFailure(ctx, compat.InvalidField("", "the request cannot be read: %s", textkit.Prefix(err.Error(), maxQuoted)), "")
		return
	}
	if err := s.beginResponse(ctx, in, js); err != nil {
		fault := s.desk.APIErrorOf(err)
		code := ""
		if fault.Field == "previous_response_id" {
			code = "previous_response_not_found"
			s.evictKept(in.Previous)
		}
		s.writeFailure(ctx, fault, code)
	}
}

func (s *socket) beginResponse(ctx context.Context, in request, js []byte) error {
	f := &liveResponse{in: in, before: s.kept[in.Previous], size: len(js) + s.keptSize[in.Previous]}
	if held := s.heldSteers[in.Previous]; len(held) > 0 {
		delete(s.heldSteers, in.Previous)
		var err error
		if in.Input, err = joinInputs(held, in.Input); err != nil {
			return err
		}
		f.in.Input = in.Input
	}
	if f.before != nil {
		in.Previous = ""
	}
	var err error
	f.job, f.answered, err = s.api.startJob(s.r, s.owner, &in, js, f.before)
	if err != nil {
		s.evictKept(f.in.Previous)
		return err
	}
	f.job.record.Previous = f.in.Previous
	s.startResponse(ctx, f)
	return nil
}

func joinInputs(held []submission, input json.RawMessage) (json.RawMessage, error) {
	var all []json.RawMessage
	for _, h := range held {
		js, err := json.Marshal(map[string]any{"type": "message", "role": "user", "content": h.text})
		if err != nil {
			return nil, fmt.Errorf("join an input: %w", err)
		}
		all = append(all, js)
	}
	var list []json.RawMessage
	if json.Unmarshal(input, &list) != nil && len(input) > 0 {
		js, err := json.Marshal(map[string]any{"type": "message", "role": "user", "content": input})
		if err != nil {
			return nil, fmt.Errorf("join an input: %w", err)
		}
		list = []json.RawMessage{js}
	}
	js, err := json.Marshal(append(all, list...))
	if err != nil {
		return nil, fmt.Errorf("join an input: %w", err)
	}
	return js, nil
}

// startResponse streams a response in the background.
func (s *socket) startResponse(ctx context.Context, f *liveResponse) {
	s.live = f
	go func() {
		res := f.job.newResponse()
		fold := newFold(res, f.job.record.includeOptions(), func(e event) {
			if slices.Contains(hookTypes, e.Type) {
				f.endSent.Store(true)
			}
			if f.err == nil {
				f.err = s.writeEvent(ctx, e)
			}
		})
		err := s.emitEvents(ctx, f.job, fold, func() error { return f.err }, func() error {
			ping, cancel := context.WithTimeout(ctx, stream.Heartbeat)
			defer cancel()
			return s.conn.Ping(ping)
		})
		if f.end = res; f.err == nil {
			f.err = err
		}
		s.done <- f
	}()
}

// finishResponse starts a successor for steers, or the next request.
func (s *socket) finishResponse(ctx context.Context, f *liveResponse) {
	s.live = nil
	id := f.job.id()
	s.past[id] = true
	if f.err != nil {
		if ctx.Err() == nil {
			s.writeFailure(ctx, s.desk.APIErrorOf(f.err), "")
		}
		s.dropLater(f.job)
		s.evictKept(f.in.Previous)
	} else {
		f.answered()
		s.keepLocal(ctx, f)
	}
	if f.err == nil {
		s.startSuccessor(ctx, f)
	}
	for s.live == nil && len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.runCreate(ctx, next.Bytes())
		next.Release()
	}
}

// keepLocal caches the items of an unstored response and drops its thread.
func (s *socket) keepLocal(ctx context.Context, f *liveResponse) {
	if f.job.record.Store {
		return
	}
	list, err := s.itemsOf(ctx, f.job)
	if err == nil {
		err = s.dropUnstored(ctx, f.job)
	}
	if err != nil {
		s.desk.APIErrorOf(err) // logs it
		return
	}
	s.kept[f.job.id()] = append(f.before[:len(f.before):len(f.before)], list...)
	s.keptSize[f.job.id()] = f.size
	s.order = append(s.order, f.job.id())
	for len(s.order) > maxKept || len(s.order) > 1 && s.totalKept() > maxKeptSize {
		s.evictKept(s.order[0])
	}
}

func (s *socket) totalKept() (size int) {
	for _, n := range s.keptSize {
		size += n
	}
	return size
}

func (s *socket) evictKept(id string) {
	delete(s.kept, id)
	delete(s.keptSize, id)
	for i, o := range s.order {
		if o == id {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}
