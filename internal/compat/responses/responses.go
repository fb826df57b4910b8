// Package responses speaks the language of OpenAI's Responses API and of Open Responses:
// answers that go on in the background, are polled, cancelled and gone on with, and whose
// streams are taken up at any event; conversations, webhooks and the WebSocket mode.
//
// responses.go has the routes, ask.go reads requests, note.go keeps what a response says of
// its request, response.go has the shapes, fold.go makes items and events of what comes,
// stream.go sends them, and segment.go parts a run that was steered. What a stream sends
// depends on nothing but the log. conversation.go, hooks.go, socket.go and compact.go are
// what their names say.
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

// An api is the handlers.
type api struct {
	desk  *compat.Desk
	hooks *Hooks // nil: there are none
}

// New returns the handlers by their patterns. Without hooks there are no webhooks.
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

// prefix begins the ids of responses. The rest is that of the work.
const prefix = "resp_"

// A job is a response, and the work that it is of.
type job struct {
	work    compat.Work
	owner   string
	note    note
	segment int // of a run that was steered: how often it was before
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

// begin begins the work of a response behind what was said, once, and keeps what it says
// of its request.
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
			a.desk.FaultOf(err) // which logs it: the client has its response
		}
	}
	return j, answered, nil
}

// ours names the field of a fault as this language does.
func ours(err error) error {
	var known *compat.Fault
	if errors.As(err, &known) && known.Field == "messages" {
		return &compat.Fault{Status: known.Status, Field: "input", Detail: known.Detail}
	}
	return err
}

// now returns a response as it stands.
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

// drop removes what the client does not want to be kept, once it has ended.
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

// missing reports whether an error says that something is not there.
func (a *api) missing(err error) bool {
	return err != nil && a.desk.FaultOf(err).Status == http.StatusNotFound
}

// waitDropped is how long what is not to be kept waits for a client that went away.
const waitDropped = 10 * time.Minute

// dropLater removes what is not to be kept of a client that went away: not at once, since
// it may send its request again.
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
			a.desk.FaultOf(err) // which logs it
		}
	}()
}

// job returns a response of an owner by its id.
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

// get answers with a response as it stands, or streams it. A client of Go asks for a
// stream in the body.
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

// cancel ends a response of the background.
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

// remove removes a response: a thread of its own as a whole; of a conversation that has
// more, only what is known of it as a response.
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

// maxQuoted limits what an error quotes of a request, in bytes.
const maxQuoted = 100

// errGone says that the server stops.
var errGone = errors.New("the server stops")
