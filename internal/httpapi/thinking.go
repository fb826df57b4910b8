package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/access"
	"ponder/mode/session"
)

// A Session is a thinking session as programs are shown it.
type Session struct {
	session.Session
	Title       string `json:"title,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"` // no process holds it, though nobody paused it
}

// sessionOf returns a copy of a session. One that no process holds does not think: it is paused,
// whatever its log says.
func sessionOf(info ponder.Info, v session.View) Session {
	s := Session{Session: v.Session, Title: info.Title}
	s.Confidence, s.Progress.Foci, s.Usage.Models = slices.Clone(s.Confidence), slices.Clone(s.Progress.Foci), slices.Clone(s.Usage.Models)
	if s.ID == "" { // nothing has been started on the thread
		s.ID, s.Question, s.Status, s.Created = info.ID, info.Title, info.Status, &info.Created
	}
	if info.Status == ponder.Thinking && !info.Held {
		s.Status, s.Interrupted = ponder.Paused, true
	}
	return s
}

// A oneSession is the answer to questions about a session.
type oneSession struct {
	Body struct {
		Success bool    `json:"success"`
		Session Session `json:"session"`
	}
}

type sessionPath struct {
	ID string `path:"id" doc:"the id of the session"`
}

// thinking adds the routes of sessions.
func (a *api) thinking(*http.ServeMux) {
	huma.Register(a.huma, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/api/thinking/{id}", Summary: "A session as it stands", Tags: []string{"sessions"},
	}, a.getSession)
}

func (a *api) getSession(ctx context.Context, in *sessionPath) (*oneSession, error) {
	if err := may(ctx, access.Read); err != nil {
		return nil, err
	}
	info, err := a.owned(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	out := &oneSession{}
	out.Body.Success = true
	if err := a.views.look(ctx, info, func(v session.View) { out.Body.Session = sessionOf(info, v) }); err != nil {
		return nil, a.failed(err)
	}
	return out, nil
}
