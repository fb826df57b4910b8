package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/report"
)

// appOf returns the use cases of the caller that need the whole database.
func (a *api) appOf(ctx context.Context) (*app.App, error) {
	if a.App == nil {
		return nil, huma.Error404NotFound("this server does not offer this")
	}
	return a.App(auth.CallerOf(ctx).Owner), nil
}

func (a *api) registerEvidence() {
	const one = "/api/thinking/{id}"
	op := func(scope auth.Scope, method, path, id, summary, tag string, errs ...int) huma.Operation {
		return a.newOperation(scope, method, path, id, summary, tag, append(errs, http.StatusNotFound)...)
	}
	huma.Register(a.huma, op(auth.Read, http.MethodGet, one+"/evidence", "list-evidence", "List the quotes of a session or research, each checked against its source", tagSessions), a.listEvidence)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, one+"/evidence/{evidence_id}", "get-evidence", "Show a quote in its archived original", tagSessions), a.getEvidence)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, one+"/compare/{other_id}", "compare-sessions", "Compare two sessions, such as a session and its fork", tagSessions, http.StatusBadRequest), a.compareSessions)
	huma.Register(a.huma, op(auth.Think, http.MethodPost, one+"/resolve", "resolve-session", "Record whether the answer of a session was right", tagSessions, http.StatusBadRequest), a.resolveSession)
	huma.Register(a.huma, op(auth.Read, http.MethodPost, "/api/research/{id}/verify", "verify-research", "Check the claims and quotes of a report again", tagResearch, http.StatusBadRequest), a.verifyResearch)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/calibration", "get-calibration", "Show how often answers were right at each confidence", "usage"), a.getCalibration)
}

// A CheckedQuote is a quote with the result of its check.
type CheckedQuote struct {
	ID        string          `json:"id"`
	Seq       ponder.Seq      `json:"seq"`
	Quote     string          `json:"quote"`
	Source    ponder.Evidence `json:"source"`
	State     app.QuoteStatus `json:"state" doc:"exact, there, apart, changed, gone, not kept, search, unlike, session or user"`
	StateText string          `json:"state_says"`
}

// checkedQuotes returns quotes by their public events, which have no paths of the server.
func (a *api) checkedQuotes(ctx context.Context, id ponder.ThreadID, list []app.CheckedEvidence) ([]CheckedQuote, error) {
	states := make(map[ponder.Seq]app.CheckedEvidence, len(list))
	for _, e := range list {
		states[e.Seq] = e
	}
	quotes := []CheckedQuote{}
	for ev, err := range a.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		b, ok := ev.Body.(ponder.Evidence)
		if e, known := states[ev.Seq]; ok && known {
			quotes = append(quotes, CheckedQuote{ID: b.ID, Seq: ev.Seq, Quote: b.Content, Source: b, State: e.State, StateText: e.StateText})
		}
	}
	return quotes, nil
}

type manyQuotes struct {
	Body struct {
		Success  bool            `json:"success"`
		ID       ponder.ThreadID `json:"session_id"`
		Count    int             `json:"evidence_count"`
		Evidence []CheckedQuote  `json:"evidence" nullable:"false"`
	}
}

func (a *api) listEvidence(ctx context.Context, in *SessionPath) (*manyQuotes, error) {
	all, info, err := a.reportedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := all.CheckEvidence(ctx, string(info.ID))
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &manyQuotes{}
	out.Body.Success, out.Body.ID = true, info.ID
	if out.Body.Evidence, err = a.checkedQuotes(ctx, info.ID, list); err != nil {
		return nil, a.apiError(err)
	}
	out.Body.Count = len(out.Body.Evidence)
	return out, nil
}

// reportedThread returns a session or research of the caller, with the use cases for it.
func (a *api) reportedThread(ctx context.Context, id string) (*app.App, ponder.Info, error) {
	info, err := a.ownedThread(ctx, id, reportKinds...)
	if err != nil {
		return nil, info, err
	}
	all, err := a.appOf(ctx)
	return all, info, err
}

type quotePath struct {
	SessionPath
	Evidence string `path:"evidence_id" maxLength:"100" doc:"ID of the quote, such as e3"`
}

type oneQuote struct {
	Body struct {
		Success  bool         `json:"success"`
		Evidence CheckedQuote `json:"evidence"`
		Original *app.Passage `json:"original,omitempty" doc:"the quote in the text of its original; absent if no original is stored"`
	}
}

func (a *api) getEvidence(ctx context.Context, in *quotePath) (*oneQuote, error) {
	all, info, err := a.reportedThread(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	e, passage, err := all.FindPassage(ctx, info.ID, in.Evidence)
	if err != nil {
		return nil, a.apiErrorIn("path", err)
	}
	list, err := a.checkedQuotes(ctx, info.ID, []app.CheckedEvidence{e})
	if err != nil || len(list) == 0 {
		return nil, a.apiError(err)
	}
	out := &oneQuote{}
	out.Body.Success, out.Body.Evidence, out.Body.Original = true, list[0], passage
	return out, nil
}

type comparedPath struct {
	SessionPath
	Other string `path:"other_id" maxLength:"200" doc:"ID of the other session"`
}

type compareOutput struct {
	Body struct {
		Success    bool               `json:"success"`
		Comparison *report.Comparison `json:"comparison"`
	}
}

func (a *api) compareSessions(ctx context.Context, in *comparedPath) (*compareOutput, error) {
	first, err := a.ownedThread(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	second, err := a.ownedThread(ctx, in.Other, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	if first.ID == second.ID {
		return nil, a.apiErrorIn("path", app.Invalidf("other_id", "both are %s: compare requires two sessions", first.ID))
	}
	out := &compareOutput{}
	out.Body.Success = true
	out.Body.Comparison, err = all.CompareThreads(ctx, a.Store, first, second)
	return out, a.apiError(err)
}

type outcomeInput struct {
	SessionPath
	Body struct {
		Outcome *float64 `json:"outcome" minimum:"0" maximum:"1" doc:"1: right; 0: wrong; between: partly; null: unknown" example:"1"`
		Note    string   `json:"note,omitempty" maxLength:"2000" doc:"how it turned out"`
	}
}

// A SessionOutcome is a recorded outcome.
type SessionOutcome app.Resolution

type outcomeOutput struct {
	Body struct {
		Success    bool           `json:"success"`
		Resolution SessionOutcome `json:"resolution"`
	}
}

func (a *api) resolveSession(ctx context.Context, in *outcomeInput) (*outcomeOutput, error) {
	info, err := a.ownedThread(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	r, err := all.ResolveSession(ctx, string(info.ID), in.Body.Outcome, in.Body.Note)
	out := &outcomeOutput{}
	out.Body.Success, out.Body.Resolution = true, SessionOutcome(r)
	return out, a.apiError(err)
}

type verifyOutput struct {
	Body struct {
		Success      bool             `json:"success"`
		Verification app.Verification `json:"verification"`
		Text         string           `json:"text" doc:"the result in words"`
	}
}

func (a *api) verifyResearch(ctx context.Context, in *ResearchPath) (*verifyOutput, error) {
	info, err := a.ownedThread(ctx, in.ID, ponder.KindResearch)
	if err != nil {
		return nil, err
	}
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	v, err := all.VerifyThread(ctx, info)
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &verifyOutput{}
	out.Body.Success, out.Body.Verification, out.Body.Text = true, v.Public(), v.Public().Text()
	return out, nil
}

type calibrationOutput struct {
	Body struct {
		Success     bool            `json:"success"`
		Calibration app.Reliability `json:"calibration"`
		Missing     string          `json:"uncalibrated_because,omitempty" doc:"why confidences are not calibrated yet"`
	}
}

func (a *api) getCalibration(ctx context.Context, _ *struct{}) (*calibrationOutput, error) {
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	r, err := all.Reliability(ctx)
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &calibrationOutput{}
	out.Body.Success, out.Body.Calibration, out.Body.Missing = true, r, r.Uncalibrated
	return out, nil
}
