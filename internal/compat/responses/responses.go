// Package responses serves OpenAI's Responses API and Open Responses: background responses, resumable
// streams, conversations, webhooks and WebSockets.
//
// responses.go has the routes, ask.go parses requests, note.go stores their data. response.go has the JSON
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
	desk  *compat.Desk
	hooks *Hooks // nil: no webhooks
}

// New returns the handlers by pattern. A nil hooks disables webhooks.
func New(desk *compat.Desk, hooks *Hooks) map[string]http.Handler {
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
		"POST /v1/responses":             a.create,
		"GET /v1/responses":              a.socket,
		"POST /v1/responses/{id}/cancel": a.cancel,
		"DELETE /v1/responses/{id}":      a.remove,
		"POST /v1/responses/compact":     a.compact,
	})
	handle(auth.Read, map[string]compat.Handler{
		"GET /v1/responses/{id}":             a.get,
		"GET /v1/responses/{id}/input_items": a.inputs,
		"POST /v1/responses/input_tokens":    a.tokens,
	})
	handle(auth.Think, a.changeConversations())
	handle(auth.Read, a.readConversations())
	if hooks != nil {
		handle(auth.Think, hooks.changes())
		handle(auth.Read, hooks.reads())
	}
	return all
}

// prefix precedes the work's id.
const prefix = "resp_"

type job struct {
	work    compat.Work
	owner   string
	note    note
	segment int // earlier segments of a steered run
}

func (j job) id() string {
	id := prefix + j.work.ID()
	if j.segment > 0 {
		id += "." + strconv.Itoa(j.segment)
	}
	return id
}

func (a *api) create(w http.ResponseWriter, r *http.Request, owner string) error {
	var in request
	js, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	j, answered, err := a.begin(r, owner, &in, js, nil)
	if err != nil {
		return err
	}
	switch {
	case in.Stream:
		a.stream(w, r, j, -1, answered)
		return nil
	case in.Background:
		j.work.Forget()
		res, err := a.now(r.Context(), j)
		if err != nil {
			return err
		}
		compat.Reply(w, http.StatusOK, res)
		answered()
		return nil
	}
	res := j.response()
	if err := a.fold(r.Context(), j, newFold(res, j.note.wants(), func(event) {}), nothing, nil); err != nil {
		a.dropLater(j)
		return err
	}
	compat.Reply(w, http.StatusOK, res)
	answered()
	return a.drop(r.Context(), j)
}

func nothing() error { return nil }

// begin starts the work after the items in before, and stores its note. It retries if a cached conversation
// is stale.
func (a *api) begin(r *http.Request, owner string, in *request, js []byte, before []entry) (j job, answered func(), err error) {
	in.begins = true
	ask, err := a.ask(r.Context(), owner, in)
	if err != nil {
		return j, nil, err
	}
	if err := say(&ask, before); err != nil {
		return j, nil, err
	}
	j.note = in.note()
	kept, err := j.note.observation()
	if err != nil {
		return j, nil, err
	}
	ask.Note = &kept
	work, answered, err := a.desk.Once(r, js, ask)
	if errors.Is(err, compat.ErrStale) {
		return a.begin(r, owner, in, js, before)
	}
	if err != nil {
		return j, nil, ours(err)
	}
	j.work, j.owner = work, owner
	ctx := context.WithoutCancel(r.Context())
	if err := a.keep(ctx, j); err != nil {
		work.Forget()
		return j, nil, err
	}
	if a.hooks != nil && j.note.Background {
		if err := a.hooks.expect(ctx, j); err != nil {
			a.desk.FaultOf(err) // logs it; the response is valid
		}
	}
	return j, answered, nil
}

// ours renames the field of a Fault.
func ours(err error) error {
	var known *compat.Fault
	if errors.As(err, &known) && known.Field == "messages" {
		return &compat.Fault{Status: known.Status, Field: "input", Detail: known.Detail}
	}
	return err
}

func (a *api) now(ctx context.Context, j job) (*response, error) {
	res := j.response()
	f := newFold(res, j.note.wants(), func(event) {})
	f.begin()
	parts, end, err := a.result(ctx, j)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		f.part(p)
	}
	if end.Status.Ended() {
		f.end(end, end.At.Unix())
	} else {
		res.stand(end, 0)
	}
	return res, nil
}

// drop removes an unstored response.
func (a *api) drop(ctx context.Context, j job) error {
	if j.note.Store {
		return nil
	}
	err := a.desk.Service.Remove(context.WithoutCancel(ctx), j.work.Thread)
	if a.missing(err) {
		return nil
	}
	return err
}

func (a *api) missing(err error) bool {
	return err != nil && a.desk.FaultOf(err).Status == http.StatusNotFound
}

// waitDropped delays dropLater.
const waitDropped = 10 * time.Minute

// dropLater removes an unstored response whose client left, after a delay for retries.
func (a *api) dropLater(j job) {
	if j.note.Store {
		return
	}
	go func() {
		ctx := a.desk.Gone
		if err := a.fold(ctx, j, newFold(j.response(), wants{}, func(event) {}), nothing, nil); err != nil {
			return
		}
		select {
		case <-time.After(waitDropped):
		case <-ctx.Done():
			return
		}
		if err := a.drop(ctx, j); err != nil {
			a.desk.FaultOf(err) // logs it
		}
	}()
}

func (a *api) job(ctx context.Context, owner, id string) (j job, err error) {
	missing := &compat.Fault{Status: http.StatusNotFound, Detail: "Response with id '" + textkit.Prefix(id, maxQuoted) + "' not found."}
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
	if j.work, err = a.desk.Work(ctx, owner, name); err != nil {
		if a.missing(err) {
			err = missing
		}
		return j, err
	}
	found, err := a.read(ctx, &j)
	if err == nil && (!found || !j.note.Store) {
		err = missing
	}
	return j, err
}

// get also streams. The Go client requests that in the body.
func (a *api) get(w http.ResponseWriter, r *http.Request, owner string) error {
	j, err := a.job(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	q := r.URL.Query()
	after := -1
	if text := q.Get("starting_after"); text != "" {
		if after, err = strconv.Atoi(text); err != nil || after < 0 {
			return compat.Wrong("starting_after", "starting_after: expected the sequence_number of an event")
		}
	}
	j.note.Include = append(j.note.Include, append(q["include[]"], q["include"]...)...)
	if q.Get("stream") == "true" || q.Has("starting_after") || asksStream(r) {
		a.stream(w, r, j, after, func() {})
		return nil
	}
	res, err := a.now(r.Context(), j)
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

// cancel waits for the end.
func (a *api) cancel(w http.ResponseWriter, r *http.Request, owner string) error {
	j, err := a.job(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	if !j.note.Background {
		return compat.Wrong("", "Cannot cancel a synchronous response.")
	}
	_, end, err := a.result(r.Context(), j)
	if err != nil {
		return err
	}
	if !end.Status.Ended() {
		if err := a.desk.Cancel(r.Context(), j.work); err != nil {
			return err
		}
		if _, err := a.tell(r.Context(), j, func(compat.Part) error { return nil }, nil, nil); err != nil {
			return err
		}
	}
	res, err := a.now(r.Context(), j)
	if err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, res)
}

// remove deletes the thread or, in a shared conversation, only the response.
func (a *api) remove(w http.ResponseWriter, r *http.Request, owner string) error {
	j, err := a.job(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	shared := j.work.Way == compat.Chat
	if shared {
		if shared, err = a.shared(r.Context(), j); err != nil {
			return err
		}
	}
	if shared {
		err = a.forget(r.Context(), j)
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
