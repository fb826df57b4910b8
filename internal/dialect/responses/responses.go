// Package responses speaks the language of OpenAI's Responses API and of Open Responses:
// answers that go on in the background, are polled, cancelled and gone on with, and whose
// streams are taken up at any event.
//
// responses.go has the routes, ask.go reads requests, note.go keeps what a response says of
// its request, response.go has the shapes, fold.go makes items and events of what comes,
// and stream.go sends them. What a stream sends depends on nothing but the log.
package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"ponder/internal/access"
	"ponder/internal/dialect"
	"ponder/internal/dialect/openai"
)

// An api is the handlers.
type api struct{ desk *dialect.Desk }

// New returns the handlers by their patterns.
func New(desk *dialect.Desk) map[string]http.Handler {
	a := &api{desk}
	handle := func(s access.Scope, h openai.Handler) http.Handler { return openai.Handle(desk, s, h) }
	return map[string]http.Handler{
		"POST /v1/responses":                 handle(access.Think, a.create),
		"GET /v1/responses/{id}":             handle(access.Read, a.get),
		"POST /v1/responses/{id}/cancel":     handle(access.Think, a.cancel),
		"DELETE /v1/responses/{id}":          handle(access.Think, a.remove),
		"GET /v1/responses/{id}/input_items": handle(access.Read, a.inputs),
	}
}

// prefix begins the ids of responses. The rest is that of the work.
const prefix = "resp_"

// A job is a response, and the work that it is of.
type job struct {
	work  dialect.Work
	owner string
	note  note
}

func (j job) id() string { return prefix + j.work.ID() }

// create begins a response.
func (a *api) create(w http.ResponseWriter, r *http.Request, owner string) error {
	var in request
	js, err := dialect.Read(r, &in)
	if err != nil {
		return err
	}
	j, answered, err := a.begin(r, owner, &in, js)
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
		openai.Reply(w, http.StatusOK, res)
		answered()
		return nil
	}
	res := j.response()
	f := newFold(res, j.note.wants(), func(event) {})
	f.begin()
	end, err := a.desk.Wait(r.Context(), j.work, func(p dialect.Part) error {
		f.part(p)
		return nil
	}, nil)
	if err != nil {
		return err
	}
	f.end(end, end.At.Unix())
	openai.Reply(w, http.StatusOK, res)
	answered()
	return a.drop(r.Context(), j)
}

// begin begins the work of a response, once, and keeps what it says of its request.
func (a *api) begin(r *http.Request, owner string, in *request, js []byte) (j job, answered func(), err error) {
	ask, err := a.ask(r.Context(), owner, in)
	if err != nil {
		return j, nil, err
	}
	ask.Key = r.Header.Get("Idempotency-Key")
	work, answered, err := a.desk.Once(r, js, ask)
	if err != nil {
		return j, nil, err
	}
	j = job{work: work, owner: owner, note: in.note()}
	ctx := context.WithoutCancel(r.Context())
	if err := a.keep(ctx, j); err != nil {
		work.Forget()
		return j, nil, err
	}
	return j, answered, nil
}

// now returns a response as it stands.
func (a *api) now(ctx context.Context, j job) (*response, error) {
	res := j.response()
	f := newFold(res, j.note.wants(), func(event) {})
	f.begin()
	parts, end, err := a.desk.Result(ctx, j.work)
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
	if j.work.Way == dialect.Chat && !j.work.Fresh {
		return a.forget(ctx, j)
	}
	return a.desk.Service.Remove(context.WithoutCancel(ctx), j.work.Thread)
}

// job returns a response of an owner by its id.
func (a *api) job(ctx context.Context, owner, id string) (j job, err error) {
	missing := &dialect.Fault{Status: http.StatusNotFound, Detail: "Response with id '" + clip(id) + "' not found."}
	name, ok := strings.CutPrefix(id, prefix)
	if !ok {
		return j, missing
	}
	work, err := a.desk.Work(ctx, owner, name)
	if err != nil {
		if a.desk.FaultOf(err).Status == http.StatusNotFound {
			err = missing
		}
		return j, err
	}
	j = job{work: work, owner: owner}
	found, err := a.read(ctx, &j)
	if err == nil && !found {
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
			return dialect.Wrong("starting_after", "starting_after: expected the sequence_number of an event")
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
	openai.Reply(w, http.StatusOK, res)
	return nil
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
		return dialect.Wrong("", "Cannot cancel a synchronous response.")
	}
	_, end, err := a.desk.Result(r.Context(), j.work)
	if err != nil {
		return err
	}
	if !end.Status.Ended() {
		if err := a.desk.Cancel(r.Context(), j.work); err != nil {
			return err
		}
		if _, err := a.desk.Wait(r.Context(), j.work, func(dialect.Part) error { return nil }, nil); err != nil {
			return err
		}
	}
	res, err := a.now(r.Context(), j)
	if err != nil {
		return err
	}
	openai.Reply(w, http.StatusOK, res)
	return nil
}

// remove removes a response: a thread of its own as a whole; of a conversation, which may
// have gone on, only what is known of it as a response.
func (a *api) remove(w http.ResponseWriter, r *http.Request, owner string) error {
	j, err := a.job(r.Context(), owner, r.PathValue("id"))
	if err != nil {
		return err
	}
	if j.work.Way == dialect.Chat {
		err = a.forget(r.Context(), j)
	} else {
		err = a.desk.Service.Remove(r.Context(), j.work.Thread)
	}
	if err != nil {
		return err
	}
	openai.Reply(w, http.StatusOK, map[string]any{"id": j.id(), "object": "response", "deleted": true})
	return nil
}

func clip(text string) string {
	if len(text) > 100 {
		text = strings.ToValidUTF8(text[:100], "")
	}
	return text
}

// response returns what a response says of its request, before anything has come.
func (j job) response() *response {
	n := j.note
	r := &response{
		ID: j.id(), Object: "response", Created: j.work.Begun.Unix(), Status: queued, Model: n.Model, Output: []any{},
		Instructions: orNull(n.Instructions), Tools: n.Tools, ToolChoice: or(n.ToolChoice, `"auto"`), Truncation: "disabled",
		Parallel: true, Text: or(n.Text, `{"format":{"type":"text"}}`), TopP: 1, Temperature: 1, Store: n.Store, Background: n.Background,
		Tier: "default", Metadata: n.Metadata, MaxOutput: n.MaxOutput, MaxTools: n.MaxTools, Safety: n.Safety, CacheKey: n.CacheKey,
	}
	if n.Previous != "" {
		r.Previous = &n.Previous
	}
	if n.Conversation != "" {
		r.Conversation = &conversationRef{n.Conversation}
	}
	if n.Temperature != nil {
		r.Temperature = *n.Temperature
	}
	if n.TopP != nil {
		r.TopP = *n.TopP
	}
	if n.Effort != "" {
		r.Reasoning.Effort = &n.Effort
	}
	if n.Summary != "" {
		r.Reasoning.Summary = &n.Summary
	}
	if r.Tools == nil {
		r.Tools = []tool{}
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	return r
}

func or(js json.RawMessage, otherwise string) json.RawMessage {
	if len(js) == 0 || string(js) == "null" {
		return json.RawMessage(otherwise)
	}
	return js
}

func orNull(js json.RawMessage) json.RawMessage { return or(js, "null") }
