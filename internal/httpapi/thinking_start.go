package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
)

// Limits are how much a session may use, by the names of the contract.
type Limits struct {
	Minutes *float64 `json:"duration_minutes,omitempty" minimum:"1" maximum:"1440" doc:"how long to think, which may be a fraction; as configured, or 5, if missing" example:"30"`
	Tokens  int      `json:"max_tokens,omitempty" minimum:"1" maximum:"1000000000" doc:"tokens to use at most"`
	USD     *float64 `json:"max_cost_usd,omitempty" exclusiveMinimum:"0" maximum:"1000000" doc:"US dollars to spend at most"`
	Calls   int      `json:"max_calls,omitempty" minimum:"1" maximum:"1000000" doc:"calls of models to make at most"`
}

// budget returns the limits; what is not limited is zero.
func (l Limits) budget() (b ponder.Budget) {
	b.Tokens, b.Calls = l.Tokens, l.Calls
	if l.Minutes != nil {
		b.Time = time.Duration(*l.Minutes * float64(time.Minute))
	}
	if l.USD != nil {
		b.Money = max(1, ponder.Money(math.Round(*l.USD*1e6)))
	}
	return b
}

// A startBody is a question to think about.
type startBody struct {
	Question string   `json:"question" minLength:"3" maxLength:"20000" doc:"what to think about" example:"Why do large projects run late?"`
	Model    string   `json:"model_id,omitempty" maxLength:"200" doc:"provider/model; as configured if missing" example:"ollama/llama3.1"`
	Every    *float64 `json:"synthesis_interval_seconds,omitempty" minimum:"1" maximum:"86400" doc:"thinking time between two syntheses"`
	Parallel int      `json:"parallel,omitempty" minimum:"1" maximum:"16" doc:"how many things are thought about at a time; 1 if missing"`
	Title    string   `json:"title,omitempty" maxLength:"200" doc:"how lists show it"`
	Limits
}

type startSession struct {
	OnceKey
	Body startBody
}

// Resolve implements [huma.Resolver].
func (in *startSession) Resolve(huma.Context) []error {
	if n := utf8.RuneCountInString(in.Body.Question); n < app.MinQuestion || n > app.MaxQuestion {
		return nil // which the schema says
	}
	if _, err := app.CheckQuestion(in.Body.Question); err != nil {
		return []error{&huma.ErrorDetail{Location: "body.question", Message: err.Error()}}
	}
	return nil
}

// acted is the answer to what is done with a session.
type acted struct {
	Body struct {
		Success bool            `json:"success"`
		ID      ponder.ThreadID `json:"session_id"`
		Status  ponder.Status   `json:"status"`
		Message string          `json:"message"`
		Session Session         `json:"session"`
	}
}

const startRoute = "POST /api/thinking/start"

func (a *api) startSession(ctx context.Context, in *startSession) (*acted, error) {
	owner, b := auth.CallerOf(ctx).Owner, in.Body
	id, cause := in.thread(owner, startRoute), ""
	if in.Key != "" {
		cause = words(b)
		if _, err := a.Store.Thread(ctx, id); err == nil {
			return a.startedBefore(ctx, id, cause)
		}
		if err := a.unspent(ctx, in.Key, id); err != nil {
			return nil, err
		}
	}
	s := Start{
		Kind: ponder.KindSession, Question: strings.TrimSpace(b.Question), Model: b.Model, Budget: b.budget(), Parallel: b.Parallel, Title: b.Title, Cause: cause,
	}
	if b.Every != nil {
		s.Every = time.Duration(*b.Every * float64(time.Second))
	}
	err := a.Service.Begin(ctx, owner, id, s)
	if errors.Is(err, ponder.ErrTaken) && in.Key != "" {
		return a.startedBefore(ctx, id, cause)
	}
	if err != nil {
		return nil, a.failed(err)
	}
	return a.did(ctx, id, "the session has begun: look at it at /api/thinking/"+string(id))
}

// startedBefore answers a request that was answered already: with what has become of
// what it began, unless it asks for something else.
func (a *api) startedBefore(ctx context.Context, id ponder.ThreadID, cause string) (*acted, error) {
	if _, err := a.owned(ctx, string(id), ponder.KindSession); err != nil {
		return nil, spent()
	}
	same := false
	for ev, err := range a.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, a.failed(err)
		}
		if _, ok := ev.Body.(ponder.RunStarted); ok {
			same = ev.Cause == cause
			break
		}
	}
	if !same {
		return nil, otherWords()
	}
	return a.did(ctx, id, "the session had begun already: look at it at /api/thinking/"+string(id))
}

// did answers with a session after something was done with it.
func (a *api) did(ctx context.Context, id ponder.ThreadID, message string) (*acted, error) {
	s, err := a.see(ctx, string(id))
	if err != nil {
		return nil, err
	}
	out := &acted{}
	out.Body.Success, out.Body.ID, out.Body.Status, out.Body.Message, out.Body.Session = true, id, s.Status, message, s
	return out, nil
}

// gone reports whether an error says that a thread is not there.
func gone(err error) bool { return errors.Is(err, ponder.ErrNoThread) }

// isMissing reports whether an error is a 404.
func isMissing(err error) bool {
	var refused huma.StatusError
	return errors.As(err, &refused) && refused.GetStatus() == http.StatusNotFound
}
