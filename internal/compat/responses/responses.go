// Package responses serves OpenAI's Responses API and Open Responses: background responses, resumable
// streams, conversations, webhooks and WebSockets.
//
// responses.go has the routes, ask.go parses requests, requestrecord.go stores their data. response.go has the JSON
// types and the stream, fold.go makes items and events. conversation.go and items.go serve conversations,
// endpoint.go and hooks.go webhooks, socket.go and steering.go WebSockets. A stream depends only on the log.
package responses

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/openai"
	"ponder/internal/textkit"
)

type api struct {
	desk  *compat.Dispatcher
	hooks *Hooks // nil: no webhooks
}

// New returns the handlers by pattern. A nil hooks disables webhooks.
func New(desk *compat.Dispatcher, hooks *Hooks) map[string]http.Handler {
	a := &api{desk, hooks}
	if hooks != nil {
		hooks.api = a
	}
	all := make(map[string]http.Handler)
	handle := func(s auth.Scope, routes map[string]compat.Handler) {
		for pattern, h := range routes {
			all[pattern] = openai.Handle(desk, s, h)
		}
	}
	handle(auth.Think, map[string]compat.Handler{
		"POST /v1/responses":             a.createResponse,
		"GET /v1/responses":              a.serveSocket,
		"POST /v1/responses/{id}/cancel": a.cancelResponse,
		"DELETE /v1/responses/{id}":      a.removeResponse,
		"POST /v1/responses/compact":     a.compact,
	})
	handle(auth.Read, map[string]compat.Handler{
		"GET /v1/responses/{id}":             a.getResponse,
		"GET /v1/responses/{id}/input_items": a.listInputs,
		"POST /v1/responses/input_tokens":    a.countTokens,
	})
	handle(auth.Think, a.changeConversations())
	handle(auth.Read, a.readConversations())
	if hooks != nil {
		handle(auth.Think, hooks.changeRoutes())
		handle(auth.Read, hooks.readRoutes())
	}
	return all
}

// prefix precedes the work's id.
const prefix = "resp_"

type job struct {
	work    compat.Job
	owner   string
	record  requestRecord
	segment int // earlier segments of a steered run
}

func (j job) id() string {
	id := prefix + j.work.ID()
	if j.segment > 0 {
		id += "." + strconv.Itoa(j.segment)
	}
	return id
}

func (a *api) createResponse(w http.ResponseWriter, r *http.Request, owner string) error {
	var in request
	js, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	j, answered, err := a.startJob(r, owner, &in, js, nil)
	if err != nil {
		return err
	}
	switch {
	case in.Stream && in.Background:
		a.streamEvents(w, r, j, -1, answered)
		return nil
	case in.Stream:
		if err := a.desk.AwaitStart(r.Context(), &j.work, false, answered); err != nil {
			return renameField(errors.Join(err, a.dropUnstored(r.Context(), j)))
		}
		a.streamEvents(w, r, j, -1, answered)
		return nil
	case in.Background:
		j.work.Forget()
		res, err := a.currentResponse(r.Context(), j)
		if err != nil {
			return err
		}
		compat.Reply(w, http.StatusOK, res)
		answered()
		return nil
	}
	res := j.newResponse()
	f := newFold(res, j.record.includeOptions(), func(event) {})
	if err := a.emitEvents(r.Context(), j, f, noFlush, nil); err != nil {
		a.dropLater(j)
		return err
	}
	if f.fault != nil {
		answered()
		return renameField(errors.Join(f.fault, a.dropUnstored(r.Context(), j)))
	}
	compat.Reply(w, http.StatusOK, res)
	answered()
	return a.dropUnstored(r.Context(), j)
}

func noFlush() error { return nil }

// startJob starts the work after the items in before, and stores its note. It retries if a cached conversation
// is stale.
func (a *api) startJob(r *http.Request, owner string, in *request, js []byte, before []entry) (j job, answered func(), err error) {
	in.startsWork = true
	ask, err := a.parseRequest(r.Context(), owner, in)
	if err != nil {
		return j, nil, err
	}
	earlier := reader{ask: &ask, refs: in.refs}
	if err := earlier.prependItems(before); err != nil {
		return j, nil, err
	}
	in.refs = earlier.refs
	j.record = in.toRecord()
	kept, err := j.record.toObservation()
	if err != nil {
		return j, nil, err
	}
	ask.Note = &kept
	work, answered, err := a.desk.BeginOnce(r, js, ask)
	if errors.Is(err, compat.ErrStale) {
		return a.startJob(r, owner, in, js, before)
	}
	if err != nil {
		return j, nil, renameField(err)
	}
	j.work, j.owner = work, owner
	ctx := context.WithoutCancel(r.Context())
	if err := a.storeRecord(ctx, j); err != nil {
		work.Forget()
		return j, nil, err
	}
	if a.hooks != nil && j.record.Background {
		if err := a.hooks.expectEnd(ctx, j); err != nil {
			a.desk.APIErrorOf(err) // logs it; the response is valid
		}
	}
	return j, answered, nil
}

func renameField(err error) error { return compat.RenameField(err, "messages", "input") }

func (a *api) currentResponse(ctx context.Context, j job) (*response, error) {
	res := j.newResponse()
	f := newFold(res, j.record.includeOptions(), func(event) {})
	f.emitStart()
	parts, end, err := a.currentParts(ctx, j)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		f.applyPart(p)
	}
	if end.Status.Ended() {
		f.emitEnd(end, end.At.Unix())
	} else {
		res.setStatus(end, 0)
	}
	return res, nil
}

// dropUnstored removes an unstored response.
func (a *api) dropUnstored(ctx context.Context, j job) error {
	if j.record.Store {
		return nil
	}
	err := a.desk.Service.Remove(context.WithoutCancel(ctx), j.work.Thread)
	if a.isMissing(err) {
		return nil
	}
	return err
}

func (a *api) isMissing(err error) bool {
	return err != nil && a.desk.APIErrorOf(err).Status == http.StatusNotFound
}

// waitDropped delays dropLater.
const waitDropped = 10 * time.Minute

// dropLater removes an unstored response whose client left, after a delay for retries.
func (a *api) dropLater(j job) {
	if j.record.Store {
		return
	}
	go func() {
		ctx := a.desk.Gone
		if err := a.emitEvents(ctx, j, newFold(j.newResponse(), includeOptions{}, func(event) {}), noFlush, nil); err != nil {
			return
		}
		select {
		case <-time.After(waitDropped):
		case <-ctx.Done():
			return
		}
		if err := a.dropUnstored(ctx, j); err != nil {
			a.desk.APIErrorOf(err) // logs it
		}
	}()
}

func (a *api) findJob(ctx context.Context, owner, id string) (j job, err error) {
	missing := &compat.APIError{Status: http.StatusNotFound, Detail: "Response with id '" + textkit.Prefix(id, maxQuoted) + "' not found."}
	name, ok := strings.CutPrefix(id, prefix)
	if !ok {
		return j, missing
	}
	name, number, parted := strings.Cut(name, ".")
	if parted {
		if j.segment, err = strconv.Atoi(number); err != nil || j.segment < 1 || strconv.Itoa(j.segment) != number {
			return j, missing
		}
	}
	j.owner = owner
	if j.work, err = a.desk.FindJob(ctx, owner, name); err != nil {
		if a.isMissing(err) {
			err = missing
		}
		return j, err
	}
	found, err := a.loadRecord(ctx, &j)
	if err == nil && (!found || !j.record.Store) {
		err = missing
	}
	return j, err
}

// getResponse also streams. The Go client requests that in the body.
func (a *api) getResponse(w http.ResponseWriter, r *http.Request, owner string) error {
	j, err := a.findJob(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	q := r.URL.Query()
	after := -1
	if text := q.Get("starting_after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil || after < 0 {
			return compat.InvalidField("starting_after", "starting_after: expected the sequence_number of an event")
		}
	}
	j.record.Include = append(j.record.Include, append(q["include[]"], q["include"]...)...)
	if q.Get("stream") == "true" || q.Has("starting_after") || asksStream(r) {
		a.streamEvents(w, r, j, after, func() {})
		return nil
	}
	res, err := a.currentResponse(r.Context(), j)
	if err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, res)
}

func asksStream(r *http.Request) bool {
	var in struct {
		Stream bool `json:"stream"`
	}
	return r.ContentLength != 0 && json.NewDecoder(r.Body).Decode(&in) == nil && in.Stream
}

// cancelResponse waits for the end.
func (a *api) cancelResponse(w http.ResponseWriter, r *http.Request, owner string) error {
	j, err := a.findJob(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !j.record.Background {
		return compat.InvalidField("", "Cannot cancel a synchronous response.")
	}
	_, end, err := a.currentParts(r.Context(), j)
	if err != nil {
		return err
	}
	if !end.Status.Ended() {
		if err := a.desk.Cancel(r.Context(), j.work); err != nil {
			return err
		}
		if _, err := a.streamParts(r.Context(), j, func(compat.Part) error { return nil }, nil, nil); err != nil {
			return err
		}
	}
	res, err := a.currentResponse(r.Context(), j)
	if err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, res)
}

// removeResponse deletes the thread or, in a shared conversation, only the response.
func (a *api) removeResponse(w http.ResponseWriter, r *http.Request, owner string) error {
	j, err := a.findJob(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	shared := j.work.Kind == compat.Chat
	if shared {
		if shared, err = a.isShared(r.Context(), j); err != nil {
			return err
		}
	}
	if shared {
		err = a.hideResponse(r.Context(), j)
	} else {
		err = a.desk.Service.Remove(r.Context(), j.work.Thread)
	}
	if err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, map[string]any{"id": j.id(), "object": "response", "deleted": true})
}

// maxQuoted is in bytes.
const maxQuoted = 100

var errGone = errors.New("the server stops")
