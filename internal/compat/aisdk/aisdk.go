// Package aisdk serves the UI message stream of the AI SDK, versions 5 to 7: a chat in a web page with
// thoughts and sources.
//
// aisdk.go has the routes, ask.go parses requests, answer.go writes streams.
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

type api struct{ desk *compat.Dispatcher }

// New returns the handlers by pattern.
func New(desk *compat.Dispatcher) map[string]http.Handler {
	a := &api{desk}
	return map[string]http.Handler{
		"POST /ai/chat":            a.newHandler(auth.Think, a.handleChat),
		"GET /ai/chat/{id}/stream": a.newHandler(auth.Read, a.handleResume),
		"POST /ai/chat/{id}/stop":  a.newHandler(auth.Think, a.handleStop),
		"POST /ai/chat/{id}/steer": a.newHandler(auth.Think, a.handleSteer),
	}
}

func (a *api) newHandler(s auth.Scope, h compat.Handler) http.Handler {
	return a.desk.Handle(s, h, replyError)
}

// Refuse writes an error. The AI SDK displays its text.
func Refuse(w http.ResponseWriter, status int, detail string) {
	replyError(w, &compat.APIError{Status: status, Detail: detail})
}

func replyError(w http.ResponseWriter, f *compat.APIError) {
	f.SetRetryAfter(w.Header())
	_ = compat.Reply(w, f.Status, map[string]string{"error": f.Detail})
}

func (a *api) handleChat(w http.ResponseWriter, r *http.Request, owner string) error {
	var in body
	js, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	ask, err := a.newRequest(owner, &in)
	if err != nil {
		return err
	}
	work, answered, err := a.desk.BeginOnce(r, js, ask)
	if err != nil {
		return err
	}
	if in.ID != "" {
		if err := a.noteActive(context.WithoutCancel(r.Context()), owner, in.ID, work.Thread); err != nil {
			work.Forget()
			return err
		}
	}
	if err := a.desk.AwaitStart(r.Context(), &work, work.Fresh, answered); err != nil {
		return err
	}
	a.streamAnswer(w, r, work, answered)
	return nil
}

func (a *api) noteActive(ctx context.Context, owner, chat string, id ponder.ThreadID) error {
	if before, err := a.desk.Service.FindChat(ctx, owner, activeDigest(chat)); err != nil || before == id {
		return err
	}
	return a.desk.Service.NoteChat(ctx, owner, activeDigest(chat), id, false)
}

// activeDigest is a digest for [app.ChatFinder].
func activeDigest(chat string) string { return "active " + chat }

// findJob returns the newest work of a chat, and whether it runs; a zero Work if none.
func (a *api) findJob(r *http.Request, owner string) (w compat.Job, goes bool, err error) {
	thread, err := a.desk.Service.FindChat(r.Context(), owner, activeDigest(r.PathValue("id")))
	if err != nil || thread == "" {
		return w, false, err
	}
	if w, err = a.desk.Newest(r.Context(), owner, thread); err != nil {
		if a.desk.APIErrorOf(err).Status == http.StatusNotFound {
			err = nil // it was removed
		}
		return w, false, err
	}
	_, end, err := a.desk.Result(r.Context(), w)
	return w, !end.Status.Ended(), err
}

func (a *api) handleResume(w http.ResponseWriter, r *http.Request, owner string) error {
	work, goes, err := a.findJob(r, owner)
	if err != nil {
		return err
	}
	if !goes {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	a.streamAnswer(w, r, work, func() {})
	return nil
}

func (a *api) handleStop(w http.ResponseWriter, r *http.Request, owner string) error {
	work, goes, err := a.findJob(r, owner)
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

// handleSteer adds a question, or requests the answer now.
func (a *api) handleSteer(w http.ResponseWriter, r *http.Request, owner string) error {
	var in struct {
		Text   string `json:"text"`
		Answer bool   `json:"answerNow"`
	}
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	work, goes, err := a.findJob(r, owner)
	if err != nil {
		return err
	}
	if !goes {
		return &compat.APIError{Status: http.StatusConflict, Detail: "this chat has no work in progress"}
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

func (a *api) streamAnswer(w http.ResponseWriter, r *http.Request, work compat.Job, answered func()) {
	w.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	t := &answerEncoder{Writer: stream.NewWriter(w)}
	t.writePart(part{"type": "start", "messageId": "msg_" + work.ID()})
	t.writePart(part{"type": "start-step"})
	if a.desk.EncodeJob(r.Context(), work, work.Fresh, t) {
		answered()
	}
}
