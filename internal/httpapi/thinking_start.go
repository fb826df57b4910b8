package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/steering"
)

// Limits has the names of the contract.
type Limits struct {
	Minutes *float64 `json:"duration_minutes,omitempty" minimum:"1" maximum:"1440" doc:"duration, may be a fraction; default: as configured, or 5" example:"30"`
	Tokens  int      `json:"max_tokens,omitempty" minimum:"1" maximum:"1000000000" doc:"maximum tokens"`
	USD     *float64 `json:"max_cost_usd,omitempty" exclusiveMinimum:"0" maximum:"1000000" doc:"maximum cost in US dollars"`
	Calls   int      `json:"max_calls,omitempty" minimum:"1" maximum:"1000000" doc:"maximum model calls"`
}

func (l Limits) toBudget() (b ponder.Budget) {
	b.Tokens, b.Calls = l.Tokens, l.Calls
	if l.Minutes != nil {
		b.Time = time.Duration(*l.Minutes * float64(time.Minute))
	}
	if l.USD != nil {
		b.Money = max(1, ponder.Money(math.Round(*l.USD*1e6)))
	}
	return b
}

type startBody struct {
	Question string   `json:"question" minLength:"3" maxLength:"20000" doc:"question" example:"Why do large projects run late?"`
	Model    string   `json:"model_id,omitempty" maxLength:"200" doc:"provider/model; default: as configured" example:"ollama/llama3.1"`
	Every    *float64 `json:"synthesis_interval_seconds,omitempty" minimum:"1" maximum:"86400" doc:"thinking time between two syntheses"`
	Parallel int      `json:"parallel,omitempty" minimum:"1" maximum:"16" doc:"parallel foci; default: 1"`
	ToTheEnd bool     `json:"to_the_end,omitempty" doc:"use the whole time, even without new insights"`
	Title    string   `json:"title,omitempty" maxLength:"200" doc:"title in lists"`
	NoMemory bool     `json:"no_memory,omitempty" doc:"do not search the memory"`
	NoWeb    bool     `json:"no_web,omitempty" doc:"do not search the web"`
	SourceFolders
	Limits
}

// SourceFolders are folders with documents to read.
type SourceFolders struct {
	Folders []string `json:"folders,omitempty" maxItems:"20" doc:"allowed folders with documents to read: see /api/folders"`
}

type startSession struct {
	OnceKey
	Body startBody
}

func (in *startSession) Resolve(huma.Context) []error {
	if n := utf8.RuneCountInString(in.Body.Question); n < app.MinQuestion || n > app.MaxQuestion {
		return nil // the schema reports it
	}
	if _, err := app.CheckQuestion(in.Body.Question); err != nil {
		return []error{&huma.ErrorDetail{Location: "body.question", Message: err.Error()}}
	}
	return nil
}

type sessionOutput struct {
	Body struct {
		Success bool            `json:"success"`
		ID      ponder.ThreadID `json:"session_id"`
		Status  ponder.Status   `json:"status"`
		Message string          `json:"message"`
		Session Session         `json:"session"`
	}
}

const startRoute = "POST /api/thinking/start"

func (a *api) startSession(ctx context.Context, in *startSession) (*sessionOutput, error) {
	owner, b := auth.CallerOf(ctx).Owner, in.Body
	id, cause := in.threadID(owner, startRoute), ""
	if in.Key != "" {
		cause = bodyDigest(b)
		if _, err := a.Store.Thread(ctx, id); err == nil {
			return a.startedBefore(ctx, id, cause)
		}
		if err := a.checkKeyUnused(ctx, in.Key, id); err != nil {
			return nil, err
		}
	}
	s := Start{
		Kind: ponder.KindSession, Question: strings.TrimSpace(b.Question), Model: b.Model, Budget: b.toBudget(), Parallel: b.Parallel, ToTheEnd: b.ToTheEnd, Title: b.Title, Cause: cause,
	}
	var err error
	if s.NoMemory, s.NoWeb = b.NoMemory, b.NoWeb; len(b.Folders) > 0 {
		if s.Folders, err = a.resolveFolders(ctx, b.Folders); err != nil {
			return nil, err
		}
	}
	if b.Every != nil {
		s.Every = time.Duration(*b.Every * float64(time.Second))
	}
	err = a.Service.Begin(ctx, owner, id, s)
	if errors.Is(err, ponder.ErrTaken) && in.Key != "" {
		return a.startedBefore(ctx, id, cause)
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	return a.actedReply(ctx, id, "the session has started: see /api/thinking/"+string(id))
}

// startedBefore answers a repeated start, unless the requests differ.
func (a *api) startedBefore(ctx context.Context, id ponder.ThreadID, cause string) (*sessionOutput, error) {
	if _, err := a.ownedThread(ctx, string(id), ponder.KindSession); err != nil {
		return nil, keyUsedError()
	}
	same := false
	for ev, err := range a.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, a.apiError(err)
		}
		if _, ok := ev.Body.(ponder.RunStarted); ok {
			same = ev.Cause == cause
			break
		}
	}
	if !same {
		return nil, reusedKeyError()
	}
	return a.actedReply(ctx, id, "the session was already started: see /api/thinking/"+string(id))
}

func (a *api) actedReply(ctx context.Context, id ponder.ThreadID, message string) (*sessionOutput, error) {
	s, err := a.readSession(ctx, string(id), steeredKinds...)
	if err != nil {
		return nil, err
	}
	out := &sessionOutput{}
	out.Body.Success, out.Body.ID, out.Body.Status, out.Body.Message, out.Body.Session = true, id, s.Status, message, s
	return out, nil
}

func isGone(err error) bool { return errors.Is(err, ponder.ErrNoThread) }

func isMissing(err error) bool {
	var refused huma.StatusError
	return errors.As(err, &refused) && refused.GetStatus() == http.StatusNotFound
}

type forkBody struct {
	At       int64     `json:"at,omitempty" minimum:"1" doc:"copy events up to this seq; default: the newest, or the newest before the conclusion of an ended session"`
	Model    string    `json:"model_id,omitempty" maxLength:"200" doc:"continue with this provider/model"`
	Title    string    `json:"title,omitempty" maxLength:"200" doc:"title in lists"`
	Paused   bool      `json:"paused,omitempty" doc:"create the fork paused"`
	Commands []Command `json:"wishes,omitempty" maxItems:"50" doc:"changes of the fork: see steer"`
}

type forkSession struct {
	ActOn
	Body *forkBody
}

func (in *forkSession) Resolve(huma.Context) []error {
	if in.Body == nil {
		in.Body = &forkBody{}
	}
	return nil
}

func (a *api) forkSession(ctx context.Context, in *forkSession) (*steerOutput, error) {
	info, err := a.ownedThread(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	owner, route, b := auth.CallerOf(ctx).Owner, "fork "+string(info.ID), *in.Body
	id := in.threadID(owner, route)
	if err := a.checkKeyUnused(ctx, in.Key, id); err != nil {
		return nil, err
	}
	var c commandList
	c.addAll(b.Commands)
	commands, wrong, err := a.commandEvents(ctx, info, in.causeKey(owner, route), c)
	if b.At != 0 && wrong != nil { // only the fork can check commands for earlier events
		wrong = c.locateErrors(steering.Check(c.requests))
	}
	if err != nil {
		return nil, err
	}
	_, err = a.runOnce(ctx, onceID{owner, route, in.Key}, bodyDigest(b), func() (string, error) {
		if _, err := a.Store.Thread(ctx, id); err == nil {
			return "", ponder.ErrTaken
		}
		if wrong != nil {
			return "", wrong
		}
		return string(id), a.forkThread(ctx, info, id, b, commands)
	})
	if errors.Is(err, ponder.ErrTaken) && in.Key != "" {
		return a.forkedBefore(ctx, id, b, commands)
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	return a.forkReply(ctx, id, "the session is forked")
}

func (a *api) forkThread(ctx context.Context, info ponder.Info, id ponder.ThreadID, b forkBody, commands []ponder.Event) error {
	if b.At > int64(info.Head) {
		return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
			Location: "body.at", Message: "the session has only " + strconv.FormatInt(int64(info.Head), 10) + " events", Value: b.At,
		})
	}
	f := Fork{At: ponder.Seq(b.At), Model: b.Model, Title: strings.TrimSpace(b.Title), Paused: b.Paused, Commands: commands}
	return a.Service.Fork(ctx, info.Owner, info.ID, id, f)
}

// forkReply returns a fork and its outcomes.
func (a *api) forkReply(ctx context.Context, id ponder.ThreadID, message string) (*steerOutput, error) {
	sent, _, err := a.ownCommands(ctx, id)
	if err != nil {
		return nil, a.apiError(err)
	}
	if len(sent) > 0 { // a paused fork acknowledges, too
		info, err := a.ownedThread(ctx, string(id), ponder.KindSession)
		if err != nil {
			return nil, err
		}
		a.startWork(ctx, info)
	}
	out, err := a.awaitOutcomes(ctx, id, sent, ackTimeout)
	if err == nil && len(sent) == 0 {
		out.Body.Message = message
	}
	return out, err
}

// ownCommands returns the commands of a fork, and its first event.
func (a *api) ownCommands(ctx context.Context, id ponder.ThreadID) (sent []ponder.Event, at ponder.Seq, err error) {
	for ev, err := range a.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, 0, err
		}
		switch b := ev.Body.(type) {
		case ponder.SystemNote:
			if b.From != "" {
				sent, at = nil, b.At // earlier ones are the original's
			}
		case ponder.Steer:
			sent = append(sent, ev)
		}
	}
	return sent, at, nil
}

// forkedBefore answers a repeated fork, unless the requests differ.
func (a *api) forkedBefore(ctx context.Context, id ponder.ThreadID, b forkBody, commands []ponder.Event) (*steerOutput, error) {
	info, err := a.ownedThread(ctx, string(id), ponder.KindSession)
	if err != nil {
		return nil, keyUsedError()
	}
	sent, at, err := a.ownCommands(ctx, id)
	if err != nil {
		return nil, a.apiError(err)
	}
	first := sent[:min(len(sent), len(commands))]
	if b.At != 0 && ponder.Seq(b.At) != at || !isTitleOf(b.Title, info.Title) || !sameCommands(first, commands) {
		return nil, reusedKeyError()
	}
	return a.forkReply(ctx, id, "the session was already forked")
}

// isTitleOf reports whether title may be a shortened asked.
func isTitleOf(asked, title string) bool {
	const enough = 20
	is := []rune(strings.Join(strings.Fields(asked), " "))
	return strings.HasPrefix(title, string(is[:min(len(is), enough)]))
}
