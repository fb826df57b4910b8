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

type api struct{ desk *compat.Desk }

// New returns the handlers by pattern.
func New(desk *compat.Desk) map[string]http.Handler {
	a := &api{desk}
	return map[string]http.Handler{
		"GET /{$}":             http.HandlerFunc(a.root),
		"GET /api/version":     http.HandlerFunc(a.version),
		"GET /api/tags":        a.handle(auth.Read, a.tags),
		"GET /api/ps":          a.handle(auth.Read, a.running),
		"POST /api/show":       a.handle(auth.Read, a.show),
		"POST /api/chat":       a.handle(auth.Think, a.chat),
		"POST /api/generate":   a.handle(auth.Think, a.generate),
		"POST /api/embed":      a.handle(auth.Think, a.embed),
		"POST /api/embeddings": a.handle(auth.Think, a.embedOne),
		"POST /api/pull":       a.handle(auth.Read, a.fixed),
		"POST /api/create":     a.handle(auth.Read, a.fixed),
		"POST /api/copy":       a.handle(auth.Read, a.fixed),
		"DELETE /api/delete":   a.handle(auth.Read, a.fixed),
	}
}

func (a *api) handle(s auth.Scope, h compat.Handler) http.Handler {
	return a.desk.Handle(s, h, func(w http.ResponseWriter, f *compat.Fault) { Refuse(w, f.Status, f.Detail) })
}

// Refuse writes an error in Ollama's form.
func Refuse(w http.ResponseWriter, status int, detail string) {
	_ = reply(w, status, map[string]string{"error": detail})
}

func reply(w http.ResponseWriter, status int, body any) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	return compat.Reply(w, status, body)
}

func (*api) root(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("Ollama is running"))
}

func (*api) version(w http.ResponseWriter, _ *http.Request) {
	_ = reply(w, http.StatusOK, map[string]string{"version": Version})
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

func (a *api) tags(w http.ResponseWriter, r *http.Request, owner string) error {
	names, err := a.desk.Names(r.Context(), owner)
	if err != nil {
		return err
	}
	list := []model{}
	for _, name := range names {
		list = append(list, modelOf(name))
	}
	return reply(w, http.StatusOK, map[string]any{"models": list})
}

// running lists the loaded models, which are always none.
func (*api) running(w http.ResponseWriter, _ *http.Request, _ string) error {
	return reply(w, http.StatusOK, map[string]any{"models": []model{}})
}

// fixed rejects changes of the models.
func (*api) fixed(http.ResponseWriter, *http.Request, string) error {
	return &compat.Fault{Status: http.StatusBadRequest, Detail: "models are not changed here: see the settings of Ponder, and `ponder model list`"}
}

// show describes a model.
func (a *api) show(w http.ResponseWriter, r *http.Request, _ string) error {
	var in struct{ Model, Name string }
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	name := cmp.Or(in.Model, in.Name)
	if _, err := a.model(name); err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]any{
		"details": detailsOf(), "modified_at": since, "capabilities": []string{"completion", "tools", "thinking", "vision"},
		"model_info": map[string]any{"general.architecture": "ponder", "general.basename": strings.TrimSuffix(name, latest), "ponder.context_length": 131072},
		"template":   "{{ .Prompt }}", "parameters": "", "license": "",
	})
}

// model parses a model name; unknown names are a Fault with status 404.
func (a *api) model(name string) (compat.Model, error) {
	if name == "" {
		return compat.Model{}, compat.Wrong("model", "model is required")
	}
	m, ok := a.desk.Model(strings.TrimSuffix(name, latest))
	if !ok {
		return m, &compat.Fault{Status: http.StatusNotFound, Field: "model", Detail: "model '" + textkit.Prefix(name, 100) + "' not found"}
	}
	m.Name = name
	return m, nil
}
