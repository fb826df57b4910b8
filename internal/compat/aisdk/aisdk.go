// Package aisdk speaks the UI message stream of the AI SDK, as its versions 5, 6 and 7
// read it: a chat in a web page, with what is thought and found beside the answer.
//
// aisdk.go has the routes, ask.go reads requests, answer.go writes streams.
package aisdk

import (
	"context"
	"net/http"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/steering"
	"ponder/internal/stream"
)

// An api is the handlers.
type api struct{ desk *compat.Desk }

// New returns the handlers by their patterns.
func New(desk *compat.Desk) map[string]http.Handler {
	a := &api{desk}
	return map[string]http.Handler{
		"POST /ai/chat":            a.handle(auth.Think, a.chat),
		"GET /ai/chat/{id}/stream": a.handle(auth.Read, a.resume),
		"POST /ai/chat/{id}/stop":  a.handle(auth.Think, a.stop),
		"POST /ai/chat/{id}/steer": a.handle(auth.Think, a.steer),
	}
}

// handle returns a handler that checks what the caller may do.
func (a *api) handle(s auth.Scope, h compat.Handler) http.Handler {
	return a.desk.Handle(s, h, func(w http.ResponseWriter, f *compat.Fault) { Refuse(w, f.Status, f.Detail) })
}

// Refuse answers with an error. The AI SDK shows the text of one.
func Refuse(w http.ResponseWriter, status int, detail string) {
	_ = compat.Reply(w, status, map[string]string{"error": detail})
}

// chat answers a message.
func (a *api) chat(w http.ResponseWriter, r *http.Request, owner string) error {
	var in body
	js, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	ask, err := a.ask(owner, &in)
	if err != nil {
		return err
	}
	work, answered, err := a.desk.Once(r, js, ask)
	if err != nil {
		return err
	}
	if in.ID != "" {
		if err := a.activate(context.WithoutCancel(r.Context()), owner, in.ID, work.Thread); err != nil {
			work.Forget()
			return err
		}
	}
	a.stream(w, r, work, answered)
	return nil
}

// activate notes the thread of the newest work of a chat, unless it is the same as before.
func (a *api) activate(ctx context.Context, owner, chat string, id ponder.ThreadID) error {
	if before, err := a.desk.Service.FindChat(ctx, owner, active(chat)); err != nil || before == id {
		return err
	}
	return a.desk.Service.NoteChat(ctx, owner, active(chat), id, false)
}

// active is what the work of a chat is noted under.
func active(chat string) string { return "active " + chat }

// work returns the newest work of a chat, and whether it goes on; a zero Work if there is
// none.
func (a *api) work(r *http.Request, owner string) (w compat.Work, goes bool, err error) {
	thread, err := a.desk.Service.FindChat(r.Context(), owner, active(r.PathValue("id")))
	if err != nil || thread == "" {
		return w, false, err
	}
	if w, err = a.desk.Newest(r.Context(), owner, thread); err != nil {
		if a.desk.FaultOf(err).Status == http.StatusNotFound {
			err = nil // it was removed
		}
		return w, false, err
	}
	_, end, err := a.desk.Result(r.Context(), w)
	return w, !end.Status.Ended(), err
}

// resume sends what goes on in a chat from its beginning.
func (a *api) resume(w http.ResponseWriter, r *http.Request, owner string) error {
	work, goes, err := a.work(r, owner)
	if err != nil {
		return err
	}
	if !goes {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	a.stream(w, r, work, func() {})
	return nil
}

// stop ends what goes on in a chat.
func (a *api) stop(w http.ResponseWriter, r *http.Request, owner string) error {
	work, goes, err := a.work(r, owner)
	if err != nil {
		return err
	}
	if goes {
		if err := a.desk.Cancel(r.Context(), work); err != nil {
			return err
		}
	}
	return compat.Reply(w, http.StatusOK, map[string]bool{"stopped": goes})
}

// steer adds a question to a session or research that goes on, or has it answer now.
func (a *api) steer(w http.ResponseWriter, r *http.Request, owner string) error {
	var in struct {
		Text   string `json:"text"`
		Answer bool   `json:"answerNow"`
	}
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	work, goes, err := a.work(r, owner)
	if err != nil {
		return err
	}
	if !goes {
		return &compat.Fault{Status: http.StatusConflict, Detail: "nothing goes on in this chat"}
	}
	command := steering.Request{Order: ponder.AnswerNow}
	if !in.Answer {
		command = compat.AddQuestion(in.Text)
	}
	if err := a.desk.Steer(r.Context(), work, "", "text", command); err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, map[string]bool{"accepted": true})
}

// stream sends a work from its beginning.
func (a *api) stream(w http.ResponseWriter, r *http.Request, work compat.Work, answered func()) {
	w.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	t := &telling{Writer: stream.NewWriter(w)}
	t.put(part{"type": "start", "messageId": "msg_" + work.ID()})
	t.put(part{"type": "start-step"})
	if a.desk.Tell(r.Context(), work, work.Fresh, t) {
		answered()
	}
}
