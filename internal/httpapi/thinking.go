package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/auth"
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
func sessionOf(info ponder.Info, v session.View, now time.Time) Session {
	s := Session{Session: v.Session, Title: info.Title}
	s.Confidence, s.Progress.Foci, s.Usage.Models = slices.Clone(s.Confidence), slices.Clone(s.Progress.Foci), slices.Clone(s.Usage.Models)
	if s.ID == "" { // nothing has been started on the thread
		s.ID, s.Question, s.Status, s.Created = info.ID, info.Title, info.Status, &info.Created
	}
	if s.Model == "" { // none has answered yet
		s.Model = info.Model
	}
	if info.Interrupted(now) {
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

type SessionPath struct {
	ID string `path:"id" maxLength:"200" doc:"the id of the session"`
}

// thinking adds the routes of sessions.
func (a *api) thinking() {
	const one = "/api/thinking/{id}"
	read, think := auth.Read, auth.Think
	get := func(path, id, summary string, errs ...int) huma.Operation {
		return a.operation(read, http.MethodGet, path, id, summary, tagSessions, errs...)
	}
	post := func(path, id, summary string, errs ...int) huma.Operation {
		return a.operation(think, http.MethodPost, path, id, summary, tagSessions, errs...)
	}
	huma.Register(a.huma, get("/api/thinking/", "list-sessions", "Sessions, the newest first"), a.listSessions)
	huma.Register(a.huma, post("/api/thinking/start", "start-session", "Think about a question", http.StatusBadRequest, http.StatusConflict), a.startSession)
	huma.Register(a.huma, get(one, "get-session", "A session as it stands", http.StatusNotFound), a.getSession)
	huma.Register(a.huma, get(one+"/questions", "list-questions", "The questions that came up", http.StatusNotFound), a.getQuestions)
	huma.Register(a.huma, get(one+"/syntheses", "list-syntheses", "What it has come to, again and again", http.StatusNotFound), a.getSyntheses)
	huma.Register(a.huma, get(one+"/stats", "get-session-stats", "Counts of a session", http.StatusNotFound), a.getStats)
	stream := get(one+"/stream", "stream-session", "What it thinks: the thoughts, or its events as they come", http.StatusNotFound)
	stream = a.jsonOr(stream, "200", reflect.TypeFor[manyThoughts](), "ManyThoughts", streamSays)
	stream.Responses["204"] = &huma.Response{Description: "of a stream: the session has ended, and there is nothing behind the cursor"}
	huma.Register(a.huma, stream, a.streamSession)
	export := get(one+"/export", "export-session", "A session as a file", http.StatusNotFound)
	huma.Register(a.huma, documented(export, "application/json", "text/markdown", "application/x-ndjson"), a.exportSession)
	huma.Register(a.huma, post(one+"/pause", "pause-session", "Let a session come to rest", http.StatusNotFound, http.StatusConflict), a.pauseSession)
	huma.Register(a.huma, post(one+"/resume", "resume-session", "Go on with a session that is paused or was interrupted", http.StatusBadRequest, http.StatusNotFound, http.StatusConflict), a.resumeSession)
	huma.Register(a.huma, post(one+"/cancel", "cancel-session", "End a session without an answer", http.StatusNotFound, http.StatusConflict), a.cancelSession)
	huma.Register(a.huma, post(one+"/steer", "steer-session", "Tell a session what to think about, what is wrong, or to answer now", http.StatusBadRequest, http.StatusPaymentRequired, http.StatusNotFound, http.StatusConflict), a.steerSession)
	huma.Register(a.huma, post(one+"/fork", "fork-session", "Think on from within a session, another way", http.StatusBadRequest, http.StatusNotFound, http.StatusConflict), a.forkSession)
	huma.Register(a.huma, a.operation(think, http.MethodDelete, one, "delete-session", "Erase a session and all that belongs to it", tagSessions, http.StatusNotFound), a.deleteSession)
}

// see returns a session of whoever asks, as it is now.
func (a *api) see(ctx context.Context, id string) (s Session, err error) {
	info, err := a.owned(ctx, id, ponder.KindSession)
	if err != nil {
		return s, err
	}
	return s, a.look(ctx, info, func(v session.View) { s = sessionOf(info, v, a.views.now()) })
}

// look calls show with what a session has come to. See [views.look].
func (a *api) look(ctx context.Context, info ponder.Info, show func(session.View)) error {
	err := a.views.look(ctx, info, func(v session.View) {
		if a.Calibration != nil {
			v = v.Calibrate(a.Calibration(ctx, info.Owner))
		}
		show(v)
	})
	return a.failed(err)
}

func (a *api) getSession(ctx context.Context, in *SessionPath) (out *oneSession, err error) {
	out = &oneSession{}
	out.Body.Success = true
	out.Body.Session, err = a.see(ctx, in.ID)
	return out, err
}

type listSessions struct {
	Page
	Status ponder.Status `query:"status" enum:"created,thinking,paused,completed,failed,cancelled" doc:"only those of a status"`
}

type manySessions struct {
	Link string `header:"Link" doc:"where the next page is"`
	Body struct {
		Success  bool      `json:"success"`
		Count    int       `json:"session_count"`
		Sessions []Session `json:"sessions" nullable:"false"`
		Next     string    `json:"next_cursor,omitempty" doc:"cursor of the next page; none on the last"`
	}
}

func (a *api) listSessions(ctx context.Context, in *listSessions) (*manySessions, error) {
	now := a.views.now()
	// What is interrupted is paused to whoever asks.
	list, next, err := a.list(ctx, in.Page, ponder.Filter{Kind: ponder.KindSession, Status: in.Status, Idle: now.Add(-ponder.DeadAfter)})
	if err != nil {
		return nil, err
	}
	out := &manySessions{}
	out.Body.Success, out.Body.Sessions, out.Body.Next = true, []Session{}, next
	for _, info := range list {
		err := a.look(ctx, info, func(v session.View) { out.Body.Sessions = append(out.Body.Sessions, sessionOf(info, v, now)) })
		if isMissing(err) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
	}
	out.Body.Count = len(out.Body.Sessions)
	out.Link = linkTo("/api/thinking/", url.Values{"status": {string(in.Status)}, "limit": {strconv.Itoa(in.Limit)}}, next)
	return out, nil
}

// deleted is the answer to what erases.
type deleted struct {
	Body struct {
		Success bool            `json:"success"`
		ID      ponder.ThreadID `json:"session_id"`
		Message string          `json:"message"`
	}
}

func (a *api) deleteSession(ctx context.Context, in *SessionPath) (*deleted, error) {
	info, err := a.owned(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	if err := a.remove(ctx, info); err != nil {
		return nil, err
	}
	out := &deleted{}
	out.Body.Success, out.Body.ID, out.Body.Message = true, info.ID, "the session and all that belongs to it is erased"
	return out, nil
}

// remove erases a thread.
func (a *api) remove(ctx context.Context, info ponder.Info) error {
	if err := a.Service.Remove(ctx, info.ID); err != nil {
		return a.failed(err)
	}
	a.views.drop(info.ID)
	return nil
}
