package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/mode/research"
)

// ResearchPlan has the names of the plan event.
type ResearchPlan struct {
	Steps  []string `json:"steps,omitempty" maxItems:"20" doc:"questions that the answer covers"`
	Terms  []string `json:"terms,omitempty" maxItems:"20" doc:"important terms"`
	Web    []string `json:"web_queries,omitempty" maxItems:"20" doc:"queries for the web"`
	Memory []string `json:"memory_queries,omitempty" maxItems:"20" doc:"queries for the memory and the documents"`
}

func (p *ResearchPlan) toPlan() *ponder.Plan {
	if p == nil {
		return nil
	}
	return &ponder.Plan{Steps: p.Steps, Terms: p.Terms, Web: p.Web, Memory: p.Memory}
}

// A ResearchState is the state of a research without its sources.
type ResearchState struct {
	ID          ponder.ThreadID `json:"id"`
	Question    string          `json:"question"`
	Title       string          `json:"title,omitempty"`
	Status      ponder.Status   `json:"status"`
	Interrupted bool            `json:"interrupted,omitempty"`
	StopReason  string          `json:"stop_reason"`
	Answer      string          `json:"answer"`
	Confidence  float64         `json:"confidence"`
	Proposal    *ResearchPlan   `json:"proposal,omitempty" doc:"the plan that waits for approval"`
	Rounds      int             `json:"rounds"`
	Sources     int             `json:"source_count"`
	Seconds     float64         `json:"elapsed_seconds"`
	Calls       int             `json:"calls"`
	Tokens      int             `json:"tokens"`
	USD         float64         `json:"cost_usd"`
	Since       ponder.ThreadID `json:"since,omitempty" doc:"the research that this one updates"`
	Started     time.Time       `json:"started_at,omitzero"`
	Completed   time.Time       `json:"completed_at,omitzero"`
}

func researchState(info ponder.Info, v research.View, now time.Time) ResearchState {
	r := v.Research
	s := ResearchState{
		ID: info.ID, Question: r.Question, Title: info.Title, Status: r.Status, StopReason: r.StopReason, Answer: r.Answer, Confidence: r.Confidence,
		Rounds: r.Rounds, Sources: v.References.Unique, Seconds: r.Elapsed, Calls: r.Usage.Calls, Tokens: r.Usage.Total, USD: r.Usage.USD,
		Since: r.Setup.Since, Started: r.Started, Completed: r.Completed,
	}
	if p := v.Proposal; p != nil && r.Status == ponder.Paused {
		s.Proposal = &ResearchPlan{Steps: p.Steps, Terms: p.Terms, Web: p.Web, Memory: p.Memory}
	}
	if info.Interrupted(now) {
		s.Status, s.Interrupted = ponder.Paused, true
	}
	return s
}

type ResearchPath struct {
	ID string `path:"id" maxLength:"200" doc:"ID of the research"`
}

type researchOutput struct {
	Body struct {
		Success  bool          `json:"success"`
		Message  string        `json:"message,omitempty"`
		Research ResearchState `json:"research"`
	}
}

func (a *api) registerResearch() {
	const one = "/api/research/{id}"
	read, think := auth.Read, auth.Think
	op := func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(scope, method, path, id, summary, tagResearch, errs...)
	}
	huma.Register(a.huma, op(think, http.MethodPost, "/api/research/start", "start-research", "Start a research, with plan_first only its plan", http.StatusBadRequest, http.StatusNotFound, http.StatusConflict), a.startResearch)
	huma.Register(a.huma, op(read, http.MethodGet, one, "get-research", "Show a research", http.StatusNotFound), a.getResearch)
	huma.Register(a.huma, op(think, http.MethodPost, one+"/approve", "approve-research", "Run the plan of a research, or another plan", http.StatusBadRequest, http.StatusNotFound, http.StatusConflict), a.approveResearch)
	huma.Register(a.huma, op(think, http.MethodPost, one+"/cancel", "cancel-research", "Cancel a research", http.StatusNotFound, http.StatusConflict), a.cancelResearch)
	huma.Register(a.huma, op(think, http.MethodPost, one+"/ask", "ask-research", "Ask a question about the report of a research", http.StatusNotFound, http.StatusConflict, http.StatusPaymentRequired), a.askResearch)
	huma.Register(a.huma, op(think, http.MethodPost, one+"/rewrite", "rewrite-research", "Rewrite a section of a report from its evidence, as a new research", http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusPaymentRequired), a.rewriteResearch)
	a.registerSchedules(op)
	export := op(read, http.MethodGet, one+"/export", "export-research", "Export the report of a research", http.StatusNotFound)
	huma.Register(a.huma, documentExport(export, "application/json", "text/markdown", "text/html", "application/x-ndjson", "application/pdf"), a.exportResearch)
}

type startResearch struct {
	OnceKey
	Body struct {
		Question  string        `json:"question" minLength:"3" maxLength:"20000" doc:"question" example:"When will the ozone layer recover?"`
		Model     string        `json:"model_id,omitempty" maxLength:"200" doc:"provider/model; default: as configured"`
		Title     string        `json:"title,omitempty" maxLength:"200" doc:"title in lists"`
		Persona   string        `json:"persona,omitempty" maxLength:"200" doc:"name of the persona that answers"`
		Rounds    int           `json:"rounds,omitempty" minimum:"1" maximum:"20" doc:"maximum rounds of searches"`
		NoMemory  bool          `json:"no_memory,omitempty" doc:"do not search the memory"`
		NoWeb     bool          `json:"no_web,omitempty" doc:"do not search the web"`
		PlanFirst bool          `json:"plan_first,omitempty" doc:"only make a plan, and wait for its approval"`
		Plan      *ResearchPlan `json:"plan,omitempty" doc:"search exactly the queries of this plan"`
		Since     string        `json:"since,omitempty" maxLength:"200" doc:"ID of a research to update: the report begins with the changes"`
		SourceFolders
		Limits
	}
}

func (in *startResearch) Resolve(huma.Context) []error {
	b := in.Body
	if b.PlanFirst && b.Plan != nil {
		return []error{&huma.ErrorDetail{Location: "body.plan_first", Message: "a given plan needs no approval: omit plan_first or plan"}}
	}
	if n := len([]rune(b.Question)); n < app.MinQuestion || n > app.MaxQuestion {
		return nil // the schema reports it
	}
	if _, err := app.CheckQuestion(b.Question); err != nil {
		return []error{&huma.ErrorDetail{Location: "body.question", Message: err.Error()}}
	}
	return nil
}

const researchRoute = "POST /api/research/start"

func (a *api) startResearch(ctx context.Context, in *startResearch) (*researchOutput, error) {
	owner, b := auth.CallerOf(ctx).Owner, in.Body
	id := in.threadID(owner, researchRoute)
	if err := a.checkKeyUnused(ctx, in.Key, id); err != nil {
		return nil, err
	}
	if b.Since != "" {
		older, err := a.ownedThread(ctx, b.Since, ponder.KindResearch)
		if err != nil {
			return nil, err
		}
		b.Since = string(older.ID)
	}
	docs, err := a.resolveFolders(ctx, b.Folders)
	if err != nil {
		return nil, err
	}
	_, err = a.runOnce(ctx, onceID{owner, researchRoute, in.Key}, bodyDigest(in.Body), func() (string, error) {
		return string(id), a.Service.Begin(ctx, owner, id, Start{
			Kind: ponder.KindResearch, Question: strings.TrimSpace(b.Question), Model: b.Model, Title: b.Title, Persona: b.Persona, Rounds: b.Rounds, Budget: b.toBudget(),
			NoMemory: b.NoMemory, NoWeb: b.NoWeb, PlanFirst: b.PlanFirst, Plan: b.Plan.toPlan(), Since: b.Since, Folders: docs,
		})
	})
	if err != nil {
		return nil, a.apiError(err)
	}
	return a.researchReply(ctx, string(id), "the research has started: see /api/research/"+string(id))
}

func (a *api) readResearch(ctx context.Context, id string) (ponder.Info, *app.ResearchFold, error) {
	info, err := a.ownedThread(ctx, id, ponder.KindResearch)
	if err != nil {
		return info, nil, err
	}
	fold, err := app.ReadResearch(ctx, a.Store, info.ID)
	return info, fold, a.apiError(err)
}

func (a *api) researchReply(ctx context.Context, id, message string) (*researchOutput, error) {
	info, fold, err := a.readResearch(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &researchOutput{}
	out.Body.Success, out.Body.Message, out.Body.Research = true, message, researchState(info, fold.View, a.views.now())
	return out, nil
}

func (a *api) getResearch(ctx context.Context, in *ResearchPath) (*researchOutput, error) {
	return a.researchReply(ctx, in.ID, "")
}

type approveBody struct {
	Plan  *ResearchPlan `json:"plan,omitempty" doc:"run this plan instead"`
	Model string        `json:"model_id,omitempty" maxLength:"200" doc:"continue with this provider/model"`
}

type approveResearch struct {
	ResearchPath
	Body *approveBody
}

func (a *api) approveResearch(ctx context.Context, in *approveResearch) (*researchOutput, error) {
	if in.Body == nil {
		in.Body = &approveBody{}
	}
	info, fold, err := a.readResearch(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	commands, err := fold.Approval(in.Body.Plan.toPlan())
	if err == nil {
		err = a.continueSession(ctx, target{Info: info, run: commands[0].Run}, in.Body.Model, commands...)
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	return a.researchReply(ctx, string(info.ID), "the research runs the plan")
}

func (a *api) cancelResearch(ctx context.Context, in *ResearchPath) (*researchOutput, error) {
	info, fold, err := a.readResearch(ctx, in.ID)
	switch {
	case err != nil:
		return nil, err
	case info.Status.Ended():
		return nil, wrongState("the research is %s", info.Status)
	}
	if _, err := a.sendCommands(ctx, info.ID, ponder.Event{Run: fold.View.Research.Run, Body: ponder.Steer{Do: ponder.Cancel}}); err != nil {
		return nil, err
	}
	a.startWork(ctx, info)
	if err := a.awaitState(ctx, info.ID, ackTimeout, func(i ponder.Info) bool { return i.Status.Ended() }); err != nil {
		return nil, a.apiError(err)
	}
	return a.researchReply(ctx, string(info.ID), "the research is cancelled")
}

type exportResearch struct {
	ResearchPath
	ReportForm
}

func (a *api) exportResearch(ctx context.Context, in *exportResearch) (*bodyFunc, error) {
	return a.exportReport(ctx, in.ID, ponder.KindResearch, in.ReportForm)
}

type rewriteResearch struct {
	ResearchPath
	OnceKey
	Body struct {
		Section     string `json:"section" minLength:"1" maxLength:"200" doc:"number of the section, from 1, or the beginning of its heading"`
		Instruction string `json:"instruction,omitempty" maxLength:"2000" doc:"how to rewrite it"`
		Model       string `json:"model_id,omitempty" maxLength:"200" doc:"write with this provider/model"`
	}
}

func (a *api) rewriteResearch(ctx context.Context, in *rewriteResearch) (*researchOutput, error) {
	info, fold, err := a.readResearch(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	owner, route := auth.CallerOf(ctx).Owner, "rewrite "+string(info.ID)
	id := in.threadID(owner, route)
	if err := a.checkKeyUnused(ctx, in.Key, id); err != nil {
		return nil, err
	}
	_, err = a.runOnce(ctx, onceID{owner, route, in.Key}, bodyDigest(in.Body), func() (string, error) {
		f, err := fold.RewriteFork(ctx, a.Store, in.Body.Section, in.Body.Instruction)
		if err != nil {
			return "", err
		}
		f.Model, f.Title = in.Body.Model, info.Title
		return string(id), a.Service.Fork(ctx, owner, info.ID, id, f)
	})
	if err != nil {
		return nil, a.apiError(err)
	}
	return a.researchReply(ctx, string(id), "the section is being rewritten: see /api/research/"+string(id))
}
