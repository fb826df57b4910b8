package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/eval"
)

func (a *api) registerEvaluations() {
	const all = "/api/evaluations"
	list := a.newOperation(auth.Read, http.MethodGet, all, "list-evaluations", "List the results of ponder eval, newest first", "usage")
	list.Description = "`ponder eval` stores its report beside the database of the server. Only the local user has evaluations."
	huma.Register(a.huma, list, a.listEvaluations)
	huma.Register(a.huma, a.newOperation(auth.Read, http.MethodGet, all+"/{name}", "get-evaluation", "Show a result of ponder eval", "usage", http.StatusNotFound), a.getEvaluation)
}

// An Evaluation describes a result of ponder eval.
type Evaluation struct {
	Name      string    `json:"name" doc:"name of the file of questions"`
	At        time.Time `json:"at"`
	Questions int       `json:"questions"`
	Samples   int       `json:"samples"`
	Variants  []string  `json:"variants" nullable:"false" doc:"the first is the baseline"`
}

type manyEvaluations struct {
	Body struct {
		Success     bool         `json:"success"`
		Evaluations []Evaluation `json:"evaluations" nullable:"false"`
	}
}

func (a *api) listEvaluations(ctx context.Context, _ *struct{}) (*manyEvaluations, error) {
	out := &manyEvaluations{}
	out.Body.Success, out.Body.Evaluations = true, []Evaluation{}
	if a.Evaluations == "" || auth.CallerOf(ctx).Owner != app.LocalOwner {
		return out, nil
	}
	list, err := eval.StoredReports(a.Evaluations)
	if err != nil {
		return nil, a.apiError(err)
	}
	for _, r := range list {
		one := Evaluation{Name: r.Name, At: r.At, Questions: r.Questions, Samples: r.Samples}
		for _, v := range r.Variants {
			one.Variants = append(one.Variants, v.Name)
		}
		out.Body.Evaluations = append(out.Body.Evaluations, one)
	}
	return out, nil
}

type evaluationPath struct {
	Name string `path:"name" maxLength:"200" doc:"name of an evaluation"`
}

type oneEvaluation struct {
	Body struct {
		Success bool              `json:"success"`
		Report  eval.StoredReport `json:"report"`
	}
}

func (a *api) getEvaluation(ctx context.Context, in *evaluationPath) (*oneEvaluation, error) {
	out, err := &oneEvaluation{}, eval.ErrNoReport
	out.Body.Success = true
	if a.Evaluations != "" && auth.CallerOf(ctx).Owner == app.LocalOwner {
		out.Body.Report, err = eval.ReadReport(a.Evaluations, in.Name)
	}
	if errors.Is(err, eval.ErrNoReport) {
		return nil, huma.Error404NotFound("no such evaluation: see /api/evaluations")
	}
	if err != nil {
		return nil, a.apiError(err)
	}
	return out, nil
}
