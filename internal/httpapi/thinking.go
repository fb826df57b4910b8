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
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/mode/session"
)

type Session struct {
	session.Session
	Title       string `json:"title,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"` // paused only because no process holds it
}

// sessionOf shows a session without a holder as paused, and one without an action yet as created.
func sessionOf(info ponder.Info, v session.View, now time.Time) Session {
	s := Session{Session: v.Session, Title: info.Title}
	s.Confidence, s.Progress.Foci, s.Usage.Models = slices.Clone(s.Confidence), slices.Clone(s.Progress.Foci), slices.Clone(s.Usage.Models)
	if s.ID == "" { // no run has started
		s.ID, s.Question, s.Status, s.Created = info.ID, info.Title, info.Status, &info.Created
	}
	if s.Model == "" { // no model has answered
		s.Model = info.Model
	}
	if s.Status == ponder.Thinking && s.Started == nil {
		s.Status = ponder.Created
	}
	if info.Interrupted(now) {
		s.Status, s.Interrupted = ponder.Paused, true
	}
	return s
}

type oneSession struct {
	Body struct {
		Success bool    `json:"success"`
		Session Session `json:"session"`
	}
}

type SessionPath struct {
	ID string `path:"id" maxLength:"200" doc:"ID of the session"`
}

func (a *api) registerThinking() {
	const one = "/api/thinking/{id}"
	read, think := auth.Read, auth.Think
	get := func(path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(read, http.MethodGet, path, id, summary, tagSessions, errs...)
	}
	post := func(path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(think, http.MethodPost, path, id, summary, tagSessions, errs...)
	}
	huma.Register(a.huma, get("/api/thinking/", "list-sessions", "List sessions, newest first"), a.listSessions)
	huma.Register(a.huma, post("/api/thinking/start", "start-session", "Start a session about a question", http.StatusBadRequest, http.StatusConflict), a.startSession)
	huma.Register(a.huma, get(one, "get-session", "Show a session", http.StatusNotFound), a.getSession)
	huma.Register(a.huma, get(one+"/questions", "list-questions", "List the questions of a session", http.StatusNotFound), a.getQuestions)
	huma.Register(a.huma, get(one+"/syntheses", "list-syntheses", "List the syntheses of a session", http.StatusNotFound), a.getSyntheses)
	huma.Register(a.huma, get(one+"/stats", "get-session-stats", "Show the statistics of a session", http.StatusNotFound), a.getStats)
	stream := get(one+"/stream", "stream-session", "List the thoughts of a session, or follow its events", http.StatusNotFound)
	stream = a.jsonOr(stream, "200", reflect.TypeFor[manyThoughts](), "ManyThoughts", streamSays)
	stream.Responses["204"] = &huma.Response{Description: "stream: the session has ended, and no event follows the cursor"}
	huma.Register(a.huma, stream, a.streamSession)
	export := get(one+"/export", "export-session", "Export a session", http.StatusNotFound)
	huma.Register(a.huma, documentExport(export, "application/json", "text/markdown", "text/html", "application/x-ndjson", "application/pdf"), a.exportSession)
	huma.Register(a.huma, post(one+"/pause", "pause-session", "Pause a session or research", http.StatusNotFound, http.StatusConflict), a.pauseSession)
	huma.Register(a.huma, post(one+"/resume", "resume-session", "Resume a paused or interrupted session or research", http.StatusBadRequest, http.StatusNotFound, http.StatusConflict), a.resumeSession)
	huma.Register(a.huma, post(one+"/cancel", "cancel-session", "Cancel a session or research", http.StatusNotFound, http.StatusConflict), a.cancelSession)
	huma.Register(a.huma, post(one+"/steer", "steer-session", "Steer a session or research with commands or a sentence in plain words", http.StatusBadRequest, http.StatusPaymentRequired, http.StatusNotFound, http.StatusConflict), a.steerSession)
	huma.Register(a.huma, post(one+"/fork", "fork-session", "Fork a session", http.StatusBadRequest, http.StatusNotFound, http.StatusConflict), a.forkSession)
	huma.Register(a.huma, a.newOperation(think, http.MethodDelete, one, "delete-session", "Erase a session with its thoughts and sources", tagSessions, http.StatusNotFound), a.deleteSession)
}

func (a *api) readSession(ctx context.Context, id string, kinds ...ponder.Kind) (s Session, err error) {
	info, err := a.ownedThread(ctx, id, kinds...)
	if err != nil {
		return s, err
	}
	return s, a.withCalibrated(ctx, info, func(v session.View) { s = sessionOf(info, v, a.views.now()) })
}

// withCalibrated calls show with the calibrated view: see [views.withView]. It shows a research as a session.
func (a *api) withCalibrated(ctx context.Context, info ponder.Info, show func(session.View)) error {
	if info.Kind == ponder.KindResearch {
		v, err := app.FoldAny(ctx, a.Store, info)
		if err != nil {
			return a.apiError(err)
		}
		show(v)
		return nil
	}
	err := a.views.withView(ctx, info, func(v session.View) {
		if a.Calibration != nil {
			v = v.Calibrate(a.Calibration(ctx, info.Owner))
		}
		show(v)
	})
	return a.apiError(err)
}

func (a *api) getSession(ctx context.Context, in *SessionPath) (out *oneSession, err error) {
	out = &oneSession{}
	out.Body.Success = true
	out.Body.Session, err = a.readSession(ctx, in.ID, ponder.KindSession)
	return out, err
}

type listSessions struct {
	Page
	Status ponder.Status `query:"status" enum:"created,thinking,paused,completed,failed,cancelled" doc:"only items with this status"`
}

type manySessions struct {
	Link string `header:"Link" doc:"URL of the next page"`
	Body struct {
		Success  bool      `json:"success"`
		Count    int       `json:"session_count"`
		Sessions []Session `json:"sessions" nullable:"false"`
		Next     string    `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last"`
	}
}

func (a *api) listSessions(ctx context.Context, in *listSessions) (*manySessions, error) {
	now := a.views.now()
	stored := in.Status
	if stored == ponder.Created { // the store does not know the first action
		stored = ponder.Thinking
	}
	// Idle makes interrupted sessions paused.
	list, next, err := a.threadPage(ctx, in.Page, ponder.Filter{Kind: ponder.KindSession, Status: stored, Idle: now.Add(-ponder.DeadAfter)})
	if err != nil {
		return nil, err
	}
	out := &manySessions{}
	out.Body.Success, out.Body.Sessions, out.Body.Next = true, []Session{}, next
	for _, info := range list {
		err := a.withCalibrated(ctx, info, func(v session.View) {
			s := sessionOf(info, v, now)
			if stored != ponder.Thinking || (s.Status == ponder.Created) == (in.Status == ponder.Created) {
				out.Body.Sessions = append(out.Body.Sessions, s)
			}
		})
		if isMissing(err) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
	}
	out.Body.Count = len(out.Body.Sessions)
	out.Link = linkTo("/api/thinking/", url.Values{"status": {string(in.Status)}, "limit": {strconv.Itoa(in.Limit)}}, next)
	return out, nil
}

type deleteOutput struct {
	Body struct {
		Success bool            `json:"success"`
		ID      ponder.ThreadID `json:"session_id"`
		Message string          `json:"message"`
	}
}

func (a *api) deleteSession(ctx context.Context, in *SessionPath) (*deleteOutput, error) {
	info, err := a.ownedThread(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	if err := a.removeThread(ctx, info); err != nil {
		return nil, err
	}
	out := &deleteOutput{}
	out.Body.Success, out.Body.ID, out.Body.Message = true, info.ID, "the session with its thoughts and sources is erased"
	return out, nil
}

// removeThread also drops the cached view.
func (a *api) removeThread(ctx context.Context, info ponder.Info) error {
	if err := a.Service.Remove(ctx, info.ID); err != nil {
		return a.apiError(err)
	}
	a.views.dropView(info.ID)
	return nil
}

type Thought struct {
	session.Thought
	Question *string `json:"related_to_question_id"` // null: the user's
}

func thoughtsOf(v session.View) []Thought {
	list := make([]Thought, len(v.Thoughts))
	for i, t := range v.Thoughts {
		list[i].Thought = t
		if t.Question != "" {
			list[i].Question = &t.Question
		}
	}
	return list
}

type questionsOf struct {
	SessionPath
	Explored   bool `query:"explored_only" doc:"only explored questions"`
	Unexplored bool `query:"unexplored_only" doc:"only unexplored questions"`
}

type manyQuestions struct {
	Body struct {
		Success   bool               `json:"success"`
		ID        ponder.ThreadID    `json:"session_id"`
		Count     int                `json:"question_count"`
		Questions []session.Question `json:"questions" nullable:"false"`
	}
}

func (a *api) getQuestions(ctx context.Context, in *questionsOf) (*manyQuestions, error) {
	info, err := a.ownedThread(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	out := &manyQuestions{}
	out.Body.Success, out.Body.ID = true, info.ID
	err = a.withCalibrated(ctx, info, func(v session.View) {
		out.Body.Questions = slices.DeleteFunc(slices.Concat([]session.Question{}, v.Questions), func(q session.Question) bool {
			return in.Explored && !q.Explored || in.Unexplored && (q.Explored || q.State == session.Dropped)
		})
	})
	out.Body.Count = len(out.Body.Questions)
	return out, err
}

type manySyntheses struct {
	Body struct {
		Success   bool                `json:"success"`
		ID        ponder.ThreadID     `json:"session_id"`
		Count     int                 `json:"synthesis_count"`
		Syntheses []session.Synthesis `json:"syntheses" nullable:"false"`
	}
}

func (a *api) getSyntheses(ctx context.Context, in *SessionPath) (*manySyntheses, error) {
	info, err := a.ownedThread(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	out := &manySyntheses{}
	out.Body.Success, out.Body.ID = true, info.ID
	err = a.withCalibrated(ctx, info, func(v session.View) { out.Body.Syntheses = slices.Concat([]session.Synthesis{}, v.Syntheses) })
	out.Body.Count = len(out.Body.Syntheses)
	return out, err
}

type Stats struct {
	ID             ponder.ThreadID `json:"session_id"`
	Status         ponder.Status   `json:"status"`
	Thoughts       int             `json:"total_thoughts"`
	ByType         map[string]int  `json:"thoughts_by_type"`
	Questions      int             `json:"total_questions"`
	Explored       int             `json:"explored_questions"`
	Open           int             `json:"open_questions"` // neither explored nor dropped
	Dropped        int             `json:"dropped_questions"`
	Syntheses      int             `json:"total_syntheses"`
	Sources        int             `json:"total_sources"`
	Cited          int             `json:"cited_sources"`
	Confidence     Spread          `json:"confidence"` // of the thoughts
	Evolution      []float64       `json:"confidence_evolution" nullable:"false"`
	Elapsed        float64         `json:"elapsed_seconds"`
	Percentage     float64         `json:"percentage"`
	PercentageOf   string          `json:"percentage_of"`
	TimePercentage float64         `json:"time_percentage"`
	Calls          int             `json:"calls"`
	Failed         int             `json:"failed_calls"`
	Input          int             `json:"input_tokens"`
	Output         int             `json:"output_tokens"`
	Tokens         int             `json:"total_tokens"`
	USD            float64         `json:"cost_usd"`
	Unpriced       int             `json:"unpriced_calls"` // excluded from cost_usd
}

// A Spread has null fields without numbers.
type Spread struct {
	Min  *float64 `json:"min"`
	Mean *float64 `json:"mean"`
	Max  *float64 `json:"max"`
}

type oneStats struct {
	Body struct {
		Success bool  `json:"success"`
		Stats   Stats `json:"stats"`
	}
}

func (a *api) getStats(ctx context.Context, in *SessionPath) (*oneStats, error) {
	info, err := a.ownedThread(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	out := &oneStats{}
	out.Body.Success = true
	err = a.withCalibrated(ctx, info, func(v session.View) { out.Body.Stats = statsOf(sessionOf(info, v, a.views.now()), v) })
	return out, err
}

// thoughtTypes always have a count, by contract.
var thoughtTypes = [...]string{"exploration", "critique", "connection", "insight", "question", "synthesis"}

func statsOf(s Session, v session.View) Stats {
	p, u := s.Progress, s.Usage
	st := Stats{
		ID: s.ID, Status: s.Status, Thoughts: len(v.Thoughts), ByType: make(map[string]int), Questions: len(v.Questions), Syntheses: len(v.Syntheses),
		Sources: len(v.Sources), Evolution: s.Confidence, Elapsed: p.Elapsed, Percentage: p.Percentage, PercentageOf: p.PercentageOf, TimePercentage: p.TimePercentage, Calls: u.Calls, Failed: u.Failed,
		Input: u.Input, Output: u.Output, Tokens: u.Total, USD: u.USD, Unpriced: u.Unpriced,
	}
	for _, kind := range thoughtTypes {
		st.ByType[kind] = 0
	}
	var sure []float64
	for _, t := range v.Thoughts {
		st.ByType[t.Kind]++
		if !t.Assumed {
			sure = append(sure, t.Confidence)
		}
	}
	st.Confidence = spreadOf(sure)
	for _, q := range v.Questions {
		switch {
		case q.Explored:
			st.Explored++
		case q.State == session.Dropped:
			st.Dropped++
		default:
			st.Open++
		}
	}
	for _, src := range v.Sources {
		if src.Cited {
			st.Cited++
		}
	}
	return st
}

func spreadOf(list []float64) Spread {
	if len(list) == 0 {
		return Spread{}
	}
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	least, mean, most := slices.Min(list), sum/float64(len(list)), slices.Max(list)
	return Spread{&least, &mean, &most}
}
