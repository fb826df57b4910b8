package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
)

const tagServer = "server"

func (a *api) registerModels() {
	op := func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation {
		return a.newOperation(scope, method, path, id, summary, tagServer, append(errs, http.StatusNotFound)...)
	}
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/server", "get-server", "Show the abilities of the server"), a.getServer)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/models", "list-models", "Show the models of each role"), a.listModels)
	huma.Register(a.huma, op(auth.Read, http.MethodGet, "/api/models/available", "list-available-models", "List models to choose from"), a.listAvailable)
	test := op(auth.Think, http.MethodPost, "/api/models/test", "test-model", "Ask a model for a word, or for a vector", http.StatusBadRequest)
	test.Description = "With `base_url`, `type` or `key`, the server tests a model that it does not know yet and stores nothing. This needs the scope admin."
	huma.Register(a.huma, test, a.testModel)
	huma.Register(a.huma, op(auth.Read, http.MethodPost, "/api/estimates", "estimate-cost", "Estimate the cost of thinking from earlier work"), a.estimateCost)
}

// An Ability is a function that works without a model.
type Ability struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// modelFree lists the functions that work without a model.
var modelFree = []Ability{
	{"think", "A session collects and orders passages of your folders and memory. The answer consists of quotes."},
	{"research", "Research searches the memory, folders and the web. The report consists of quotes with their sources."},
	{"memory", "Add, search and delete memories by words."},
	{"read", "Open, export, compare and share earlier sessions, research and conversations."},
	{"verify", "Check the quotes of a report against their archived originals."},
}

type serverOutput struct {
	Body struct {
		Success      bool          `json:"success"`
		Version      string        `json:"version"`
		Now          time.Time     `json:"now" doc:"time of the server"`
		Roles        []ponder.Role `json:"ready_roles" nullable:"false" doc:"roles with a model"`
		ModelError   string        `json:"model_error,omitempty" doc:"why no model can answer, and the remedy"`
		Notes        []string      `json:"notes" nullable:"false" doc:"models that get no calls, and calls that wait"`
		WebSearch    bool          `json:"web_search"`
		Memory       bool          `json:"memory" doc:"the caller has memories"`
		PDF          bool          `json:"pdf" doc:"the server makes PDFs of reports"`
		Shares       bool          `json:"shares" doc:"the server shares reports by link"`
		WithoutModel []Ability     `json:"without_model" nullable:"false" doc:"functions that work without a model"`
		MaxBody      int           `json:"max_body_bytes"`
	}
}

func (a *api) getServer(ctx context.Context, _ *struct{}) (*serverOutput, error) {
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	out := &serverOutput{}
	b := &out.Body
	b.Success, b.Version, b.Now, b.PDF, b.Shares, b.MaxBody = true, a.Version, time.Now(), a.Print != nil, a.Shares != nil, MaxBody
	b.Roles, b.Notes, b.WithoutModel = []ponder.Role{}, []string{}, modelFree
	if a.ModelNotes != nil {
		notes, _ := a.ModelNotes()
		b.Notes = append(b.Notes, notes...)
	}
	rows, set, err := all.RoleModels(ctx)
	if err != nil {
		return nil, a.apiError(err)
	}
	for _, row := range rows {
		if len(row.Models) > 0 && row.Error == "" {
			b.Roles = append(b.Roles, row.Role)
		}
	}
	if set.Empty() {
		b.ModelError = textkit.OneLine(cmp.Or(set.Missed, app.ErrNoModel).Error())
	}
	b.Memory, b.WebSearch, _, err = all.DefaultSources(ctx, false, false)
	return out, a.apiError(err)
}

type modelsOutput struct {
	Body struct {
		Success bool             `json:"success"`
		Roles   []app.RoleModels `json:"roles" nullable:"false"`
	}
}

func (a *api) listModels(ctx context.Context, _ *struct{}) (*modelsOutput, error) {
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	rows, _, err := all.RoleModels(ctx)
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &modelsOutput{}
	out.Body.Success, out.Body.Roles = true, append([]app.RoleModels{}, rows...)
	return out, nil
}

type availableInput struct {
	Use string `query:"use" enum:"text,embed" default:"text" doc:"text: models that write; embed: models for search by meaning"`
}

// An AvailableModel is a model that the server can reach.
type AvailableModel struct {
	Model string `json:"model"`
	About string `json:"about"`
}

type availableOutput struct {
	Body struct {
		Success bool             `json:"success"`
		Models  []AvailableModel `json:"models" nullable:"false"`
	}
}

func (a *api) listAvailable(ctx context.Context, in *availableInput) (*availableOutput, error) {
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	use := config.ForText
	if in.Use == "embed" {
		use = config.ForEmbed
	}
	names, err := all.ModelNames(ctx, use)
	if err != nil {
		return nil, a.apiError(err)
	}
	out := &availableOutput{}
	out.Body.Success, out.Body.Models = true, []AvailableModel{}
	for _, n := range names {
		out.Body.Models = append(out.Body.Models, AvailableModel{n.Model, n.About})
	}
	return out, nil
}

type testInput struct {
	Body struct {
		Model string `json:"model" minLength:"1" maxLength:"200" doc:"provider/model" example:"ollama/llama3.1"`
		Type  string `json:"type,omitempty" enum:"openai,anthropic,gemini,ollama" doc:"API of a server that is not configured yet"`
		Base  string `json:"base_url,omitempty" maxLength:"2000" doc:"address of that server"`
		Key   string `json:"key,omitempty" maxLength:"4000" doc:"key of that server"`
	}
}

type testOutput struct {
	Body struct {
		Success bool           `json:"success" doc:"the model works"`
		Result  app.ModelCheck `json:"result"`
	}
}

func (a *api) testModel(ctx context.Context, in *testInput) (*testOutput, error) {
	all, err := a.appOf(ctx)
	if err != nil {
		return nil, err
	}
	b := in.Body
	if b.Type != "" || b.Base != "" || b.Key != "" {
		if err := needAdmin(ctx); err != nil {
			return nil, err
		}
		name, _, err := config.SplitModel(b.Model)
		if err != nil {
			return nil, a.apiError(app.Invalidf("model", "%w", err))
		}
		cfg, err := config.Load(all.Source())
		if err != nil {
			return nil, a.apiError(err)
		}
		trial := app.New(app.Options{Version: a.Version})
		trial.Settings = cfg.WithProvider(config.Provider{Name: name, Type: b.Type, BaseURL: b.Base, Key: config.Secret(b.Key)})
		defer trial.Close()
		all = trial
	}
	out := &testOutput{}
	err = all.TestModels(ctx, []string{b.Model}, func(c app.ModelCheck) error {
		c.Error = lookup.NamePaths(c.Error) // as of the configuration file
		out.Body.Success, out.Body.Result = c.Works, c
		return nil
	})
	return out, a.apiError(err)
}

// needAdmin refuses callers without the scope admin.
func needAdmin(ctx context.Context) error {
	c := auth.CallerOf(ctx)
	if c.HasScope(auth.Admin) {
		return nil
	}
	if c.Token == "" {
		return huma.Error403Forbidden("only the user of the server may do this: run `ponder open` as this user, which signs the browser in")
	}
	return huma.Error403Forbidden("this token lacks a scope: use a token with the scope admin")
}
