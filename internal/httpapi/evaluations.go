package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/eval"
)

// registerEvaluations serves the reports of the command eval.
func (a *api) registerEvaluations() {
	op := func(path, id, summary string) huma.Operation {
		return a.newOperation(auth.Read, http.MethodGet, path, id, summary, "usage", http.StatusNotFound)
	}
	huma.Register(a.huma, op("/api/evaluations", "list-evaluations", "List reports of evaluations, newest first"), a.listEvaluations)
	huma.Register(a.huma, op("/api/evaluations/{id}", "get-evaluation", "Show the report of an evaluation"), a.getEvaluation)
}

// An Evaluation is a report in a list.
type Evaluation struct {
	Name      string    `json:"name"`
	At        time.Time `json:"at"`
	Judge     string    `json:"judge,omitempty"`
	Questions int       `json:"questions"`
	Samples   int       `json:"samples"`
	Variants  []string  `json:"variants" nullable:"false"`
}

// savedEvaluations returns the reports of the user of this machine. Other owners have none.
func (a *api) savedEvaluations(ctx context.Context) ([]eval.SavedReport, error) {
	all, err := a.appOf(ctx)
	if err != nil || all.Owner() != app.LocalOwner {
		return nil, err
	}
	cfg, err := all.Config()
	if err != nil {
		return nil, a.apiError(err)
	}
	list, err := eval.SavedReports(cfg)
	return list, a.apiError(err)
}

type evaluationsOutput struct {
	Body struct {
		Success     bool         `json:"success"`
		Count       int          `json:"evaluation_count"`
		Evaluations []Evaluation `json:"evaluations" nullable:"false"`
	}
}

func (a *api) listEvaluations(ctx context.Context, _ *struct{}) (*evaluationsOutput, error) {
	list, err := a.savedEvaluations(ctx)
	if err != nil {
		return nil, err
	}
	out := &evaluationsOutput{}
	out.Body.Success, out.Body.Count, out.Body.Evaluations = true, len(list), []Evaluation{}
	for _, s := range list {
		one := Evaluation{Name: s.Name, At: s.At, Judge: s.Judge, Questions: s.Report.Questions, Samples: s.Report.Samples, Variants: []string{}}
		for _, v := range s.Report.Variants {
			one.Variants = append(one.Variants, v.Name)
		}
		out.Body.Evaluations = append(out.Body.Evaluations, one)
	}
	return out, nil
}

type evaluationPath struct {
	ID string `path:"id" maxLength:"200" doc:"name of the report"`
}

type evaluationOutput struct {
	Body struct {
		Success bool        `json:"success"`
		Name    string      `json:"name"`
		At      time.Time   `json:"at"`
		Judge   string      `json:"judge,omitempty"`
		Report  eval.Report `json:"report"`
	}
}

func (a *api) getEvaluation(ctx context.Context, in *evaluationPath) (*evaluationOutput, error) {
	list, err := a.savedEvaluations(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(s eval.SavedReport) bool { return s.Name == in.ID })
	if i < 0 {
		return nil, huma.Error404NotFound("no such report: see /api/evaluations")
	}
	out := &evaluationOutput{}
	out.Body.Success, out.Body.Name, out.Body.At, out.Body.Judge, out.Body.Report = true, list[i].Name, list[i].At, list[i].Judge, list[i].Report
	return out, nil
}
