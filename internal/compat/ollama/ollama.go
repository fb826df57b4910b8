// Package ollama serves the API of Ollama 0.17, so that its clients find Ponder's ways of thinking as models.
//
// ollama.go has the routes and models, ask.go parses requests, answer.go writes lines of JSON. Heartbeats are
// lines without text.
package ollama

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

// Version is the emulated version of Ollama.
const Version = "0.17.4"

type api struct{ desk *compat.Dispatcher }

// New returns the handlers by pattern.
func New(desk *compat.Dispatcher) map[string]http.Handler {
	a := &api{desk}
	return map[string]http.Handler{
		"GET /{$}":             http.HandlerFunc(a.serveRoot),
		"GET /api/version":     http.HandlerFunc(a.serveVersion),
		"GET /api/tags":        a.newHandler(auth.Read, a.listModels),
		"GET /api/ps":          a.newHandler(auth.Read, a.listRunning),
		"POST /api/show":       a.newHandler(auth.Read, a.showModel),
		"POST /api/chat":       a.newHandler(auth.Think, a.handleChat),
		"POST /api/generate":   a.newHandler(auth.Think, a.handleGenerate),
		"POST /api/embed":      a.newHandler(auth.Think, a.handleEmbed),
		"POST /api/embeddings": a.newHandler(auth.Think, a.embedOne),
		"POST /api/pull":       a.newHandler(auth.Read, a.rejectChange),
		"POST /api/create":     a.newHandler(auth.Read, a.rejectChange),
		"POST /api/copy":       a.newHandler(auth.Read, a.rejectChange),
		"DELETE /api/delete":   a.newHandler(auth.Read, a.rejectChange),
	}
}

func (a *api) newHandler(s auth.Scope, h compat.Handler) http.Handler {
	return a.desk.Handle(s, h, replyError)
}

// Refuse writes an error in Ollama's form.
func Refuse(w http.ResponseWriter, status int, detail string) {
	replyError(w, &compat.APIError{Status: status, Detail: detail})
}

func replyError(w http.ResponseWriter, f *compat.APIError) {
	f.SetRetryAfter(w.Header())
	_ = replyJSON(w, f.Status, map[string]string{"error": f.Detail})
}

func replyJSON(w http.ResponseWriter, status int, body any) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	return compat.Reply(w, status, body)
}

func (*api) serveRoot(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("Ollama is running"))
}

func (*api) serveVersion(w http.ResponseWriter, _ *http.Request) {
	_ = replyJSON(w, http.StatusOK, map[string]string{"version": Version})
}

type model struct {
	Name     string    `json:"name"`
	Model    string    `json:"model"`
	Modified time.Time `json:"modified_at"`
	Size     int64     `json:"size"`
	Digest   string    `json:"digest"`
	Details  details   `json:"details"`
}

type details struct {
	Parent   string   `json:"parent_model"`
	Format   string   `json:"format"`
	Family   string   `json:"family"`
	Families []string `json:"families"`
	Size     string   `json:"parameter_size"`
	Quant    string   `json:"quantization_level"`
}

// since is a fixed modification time, because models have none.
var since = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// latest is the tag that clients append to names without one.
const latest = ":latest"

func modelOf(name string) model {
	sum := sha256.Sum256([]byte(name))
	return model{Name: name + latest, Model: name + latest, Modified: since, Digest: hex.EncodeToString(sum[:]), Details: detailsOf()}
}

func detailsOf() details {
	return details{Format: "ponder", Family: "ponder", Families: []string{"ponder"}}
}

func (a *api) listModels(w http.ResponseWriter, r *http.Request, owner string) error {
	names, err := a.desk.Names(r.Context(), owner)
	if err != nil {
		return err
	}
	list := []model{}
	for _, name := range names {
		list = append(list, modelOf(name))
	}
	return replyJSON(w, http.StatusOK, map[string]any{"models": list})
}

// listRunning lists the loaded models, which are always none.
func (*api) listRunning(w http.ResponseWriter, _ *http.Request, _ string) error {
	return replyJSON(w, http.StatusOK, map[string]any{"models": []model{}})
}

// rejectChange rejects changes of the models.
func (*api) rejectChange(http.ResponseWriter, *http.Request, string) error {
	return &compat.APIError{Status: http.StatusBadRequest, Detail: "this API cannot change models; use the settings of Ponder, see `ponder model list`"}
}

// showModel describes a model.
func (a *api) showModel(w http.ResponseWriter, r *http.Request, _ string) error {
	var in struct{ Model, Name string }
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	name := cmp.Or(in.Model, in.Name)
	if _, err := a.findModel(name); err != nil {
		return err
	}
	return replyJSON(w, http.StatusOK, map[string]any{
		"details": detailsOf(), "modified_at": since, "capabilities": []string{"completion", "tools", "thinking", "vision"},
		"model_info": map[string]any{"general.architecture": "ponder", "general.basename": strings.TrimSuffix(name, latest), "ponder.context_length": 131072},
		"template":   "{{ .Prompt }}", "parameters": "", "license": "",
	})
}

// findModel parses a model name; unknown names are an APIError with status 404.
func (a *api) findModel(name string) (compat.Model, error) {
	if name == "" {
		return compat.Model{}, compat.InvalidField("model", "model is required")
	}
	m, ok := a.desk.Model(strings.TrimSuffix(name, latest))
	if !ok {
		return m, &compat.APIError{Status: http.StatusNotFound, Field: "model", Detail: "model '" + textkit.Prefix(name, 100) + "' not found"}
	}
	m.Name = name
	return m, nil
}
