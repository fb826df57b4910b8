package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/schedule"
)

// A ResearchSchedule is a question that is researched again after each interval.
type ResearchSchedule struct {
	ID       string          `json:"id"`
	Question string          `json:"question"`
	Every    string          `json:"every"`
	Notify   []string        `json:"notify,omitempty"`
	Created  time.Time       `json:"created_at"`
	Next     time.Time       `json:"next_at"`
	Runs     int             `json:"runs"`
	Last     ponder.ThreadID `json:"last_research,omitempty"`
	Error    string          `json:"error_message,omitempty" doc:"why the last run did not start"`
}

func scheduleOf(s schedule.Schedule) ResearchSchedule {
	return ResearchSchedule{
		ID: s.ID, Question: s.Question, Every: schedule.EveryText(s.Every), Notify: s.Notify, Created: s.Created, Next: s.Next, Runs: s.Runs, Last: s.Last, Error: s.Error,
	}
}

func (a *api) registerSchedules(op func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation) {
	const all = "/api/research/schedules"
	huma.Register(a.huma, op(auth.Read, http.MethodGet, all, "list-schedules", "List scheduled research"), a.listSchedules)
	huma.Register(a.huma, op(auth.Think, http.MethodPost, all, "add-schedule", "Research a question now and again after each interval", http.StatusBadRequest), a.addSchedule)
	huma.Register(a.huma, op(auth.Think, http.MethodDelete, all+"/{id}", "remove-schedule", "Remove scheduled research", http.StatusNotFound), a.removeSchedule)
}

type manySchedules struct {
	Body struct {
		Success   bool               `json:"success"`
		Schedules []ResearchSchedule `json:"schedules" nullable:"false"`
	}
}

func (a *api) scheduler() (app.Scheduler, error) {
	s, ok := a.Service.(app.Scheduler)
	if !ok {
		return nil, huma.Error404NotFound("this server schedules no research")
	}
	return s, nil
}

func (a *api) listSchedules(ctx context.Context, _ *struct{}) (*manySchedules, error) {
	s, err := a.scheduler()
	if err != nil {
		return nil, err
	}
	list, err := s.ListScheduled(ctx, auth.CallerOf(ctx).Owner)
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &manySchedules{}
	out.Body.Success, out.Body.Schedules = true, []ResearchSchedule{}
	for _, one := range list {
		out.Body.Schedules = append(out.Body.Schedules, scheduleOf(one))
	}
	return out, nil
}

type addSchedule struct {
	Body struct {
		Question string   `json:"question" minLength:"3" maxLength:"20000" doc:"question"`
		Every    string   `json:"every" maxLength:"20" doc:"time between two runs" example:"1d"`
		Model    string   `json:"model_id,omitempty" maxLength:"200" doc:"provider/model; default: as configured"`
		Title    string   `json:"title,omitempty" maxLength:"200" doc:"title of the runs in lists"`
		Persona  string   `json:"persona,omitempty" maxLength:"200" doc:"name of the persona that answers"`
		Rounds   int      `json:"rounds,omitempty" minimum:"1" maximum:"20" doc:"maximum rounds of searches"`
		NoMemory bool     `json:"no_memory,omitempty" doc:"do not search the memory"`
		NoWeb    bool     `json:"no_web,omitempty" doc:"do not search the web"`
		Notify   []string `json:"notify,omitempty" maxItems:"20" doc:"channels for changes: desktop, webhook, mail, all, or a configured name"`
		Answer   bool     `json:"notify_answer,omitempty" doc:"notifications include the answer"`
		Always   bool     `json:"notify_always,omitempty" doc:"notify after each run, also without changes"`
		Limits
	}
}

func (in *addSchedule) Resolve(huma.Context) []error {
	if _, err := schedule.ParseEvery(in.Body.Every); err != nil {
		return []error{&huma.ErrorDetail{Location: "body.every", Message: err.Error(), Value: in.Body.Every}}
	}
	return nil
}

type oneSchedule struct {
	Body struct {
		Success  bool             `json:"success"`
		Schedule ResearchSchedule `json:"schedule"`
	}
}

func (a *api) addSchedule(ctx context.Context, in *addSchedule) (*oneSchedule, error) {
	s, err := a.scheduler()
	if err != nil {
		return nil, err
	}
	b := in.Body
	every, _ := schedule.ParseEvery(b.Every) // checked before
	stored, err := s.AddScheduled(ctx, auth.CallerOf(ctx).Owner, schedule.Schedule{
		Question: strings.TrimSpace(b.Question), Every: every, Model: b.Model, Title: b.Title, Persona: b.Persona, Rounds: b.Rounds, NoMemory: b.NoMemory, NoWeb: b.NoWeb,
		Notify: b.Notify, Answer: b.Answer, Always: b.Always, Budget: b.toBudget(),
	})
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &oneSchedule{}
	out.Body.Success, out.Body.Schedule = true, scheduleOf(stored)
	return out, nil
}

type schedulePath struct {
	ID string `path:"id" maxLength:"200" doc:"ID of the schedule"`
}

type doneOutput struct {
	Body struct {
		Success bool   `json:"success"`
		Message string `json:"message"`
	}
}

func (a *api) removeSchedule(ctx context.Context, in *schedulePath) (*doneOutput, error) {
	s, err := a.scheduler()
	if err == nil {
		err = s.RemoveScheduled(ctx, auth.CallerOf(ctx).Owner, in.ID)
	}
	if err != nil {
		return nil, a.apiErrorIn("path", err)
	}
	out := &doneOutput{}
	out.Body.Success, out.Body.Message = true, "the schedule is removed; its research stays"
	return out, nil
}

type askResearch struct {
	ResearchPath
	OnceKey
	Body struct {
		Content string `json:"content" minLength:"1" maxLength:"100000" doc:"question about the report" example:"Which of the sources are older than 2020?"`
		Model   string `json:"model_id,omitempty" maxLength:"200" doc:"answer with this provider/model"`
	}
}

type askOutput struct {
	Body struct {
		Success bool            `json:"success"`
		Thread  ponder.ThreadID `json:"thread_id" doc:"conversation about the report; GET /api/threads/{id}/events has the answer"`
		Event   string          `json:"event_id" doc:"ID of the question"`
	}
}

func (a *api) askResearch(ctx context.Context, in *askResearch) (*askOutput, error) {
	info, fold, err := a.readResearch(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	owner, m := auth.CallerOf(ctx).Owner, Message{UserMessage: ponder.UserMessage{Content: in.Body.Content}, Model: in.Body.Model}
	talk, ev, err := app.AskReport(ctx, a.Service, a.Store, owner, fold, in.causeKey(owner, "ask "+string(info.ID)), m)
	if errors.Is(err, ponder.ErrTaken) {
		return nil, reusedKeyError()
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &askOutput{}
	out.Body.Success, out.Body.Thread, out.Body.Event = true, talk.ID, ev.ID
	return out, nil
}
