// Package openai serves OpenAI's chat completions, completions, models and embeddings. Package responses serves the
// Responses API.
//
// openai.go has the routes and errors, ask.go parses requests, answer.go writes responses,
// legacy.go serves completions of a prompt.
package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"time"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/tokens"
	"ponder/internal/textkit"
	"ponder/llm"
)

type api struct{ desk *compat.Dispatcher }

// New returns the handlers by pattern.
func New(desk *compat.Dispatcher) map[string]http.Handler {
	a := &api{desk}
	return map[string]http.Handler{
		"GET /v1/models":                      Handle(desk, auth.Read, a.listModels),
		"GET /v1/models/{model...}":           Handle(desk, auth.Read, a.oneModel),
		"POST /v1/chat/completions":           Handle(desk, auth.Think, a.handleChat),
		"POST /v1/completions":                Handle(desk, auth.Think, a.handleLegacy),
		"POST /v1/embeddings":                 Handle(desk, auth.Think, a.handleEmbeddings),
		"POST /openwebui/v1/chat/completions": Handle(desk, auth.Think, a.openWebUI),
		"GET /openwebui/v1/models":            Handle(desk, auth.Read, a.listModels),
		"POST /openwebui/v1/embeddings":       Handle(desk, auth.Think, a.handleEmbeddings),
	}
}

// Handle is [compat.Dispatcher.Handle] with errors in OpenAI's form.
func Handle(desk *compat.Dispatcher, s auth.Scope, h compat.Handler) http.Handler {
	return desk.Handle(s, h, Refuse)
}

type Failure struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func FailureOf(f *compat.APIError) Failure {
	out := Failure{Message: f.Detail, Type: "invalid_request_error"}
	if f.Field != "" {
		out.Param = &f.Field
	}
	code := f.Code
	switch {
	case f.Class == llm.TooLong:
		code = "context_length_exceeded"
	case f.Class == llm.Filtered:
		code = "content_policy_violation"
	case f.Status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case f.Status == http.StatusNotFound && f.Field == "model":
		code = "model_not_found"
	case f.Status == http.StatusTooManyRequests:
		out.Type, code = "rate_limit_error", "rate_limit_exceeded"
	case f.Status == http.StatusPaymentRequired:
		out.Type, code = "insufficient_quota", "insufficient_quota"
	case f.Status == http.StatusForbidden:
		out.Type = "permission_error"
	case f.Status >= http.StatusInternalServerError:
		out.Type, code = "server_error", "server_error"
	}
	if code != "" {
		out.Code = &code
	}
	return out
}

// Refuse writes an error in the forms of OpenAI and, beside it, of Mistral, whose clients read the latter.
func Refuse(w http.ResponseWriter, f *compat.APIError) {
	f.SetRetryAfter(w.Header())
	if f.IsPermanent() {
		w.Header().Set("X-Should-Retry", "false")
	}
	out := FailureOf(f)
	_ = compat.Reply(w, f.Status, struct {
		Error  Failure `json:"error"`
		Object string  `json:"object"`
		Failure
	}{out, "error", out})
}

// A model serves the clients of OpenAI and Anthropic on the same path.
type model struct {
	ID      string    `json:"id"`
	Object  string    `json:"object"`
	Created int64     `json:"created"`
	Owner   string    `json:"owned_by"`
	Type    string    `json:"type"`
	Name    string    `json:"display_name"`
	Since   time.Time `json:"created_at"`
}

// since is constant, because models have no creation time.
var since = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func modelOf(id string) model {
	return model{ID: id, Object: "model", Created: since.Unix(), Owner: "ponder", Type: "model", Name: id, Since: since}
}

func (a *api) listModels(w http.ResponseWriter, r *http.Request, owner string) error {
	names, err := a.desk.Names(r.Context(), owner)
	if err != nil {
		return err
	}
	list := make([]model, 0, len(names))
	for _, name := range names {
		list = append(list, modelOf(name))
	}
	body := map[string]any{"object": "list", "data": list, "has_more": false, "first_id": nil, "last_id": nil}
	if len(names) > 0 {
		body["first_id"], body["last_id"] = names[0], names[len(names)-1]
	}
	return compat.Reply(w, http.StatusOK, body)
}

func (a *api) oneModel(w http.ResponseWriter, r *http.Request, _ string) error {
	m, err := ModelOf(a.desk, r.PathValue("model"))
	if err != nil {
		return err
	}
	return compat.Reply(w, http.StatusOK, modelOf(m.Name))
}

// ModelOf returns an APIError with status 404 for an unknown name.
func ModelOf(desk *compat.Dispatcher, name string) (compat.Model, error) {
	if name == "" {
		return compat.Model{}, compat.InvalidField("model", "you must provide a model parameter")
	}
	m, ok := desk.Model(name)
	if !ok {
		return m, &compat.APIError{Status: http.StatusNotFound, Field: "model", Detail: "The model `" + textkit.Prefix(name, 100) + "` does not exist: GET /v1/models lists those that do"}
	}
	return m, nil
}

func (a *api) handleEmbeddings(w http.ResponseWriter, r *http.Request, owner string) error {
	var in struct {
		Model    string          `json:"model"`
		Input    json.RawMessage `json:"input"`
		Encoding string          `json:"encoding_format"`
		Size     *int            `json:"dimensions"`
	}
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	texts, err := textsOf("input", in.Input)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"", "float", "base64"}, in.Encoding) {
		return compat.InvalidField("encoding_format", "encoding_format: expected float or base64")
	}
	size := 0
	if in.Size != nil {
		if size = *in.Size; size < 1 {
			return compat.InvalidField("dimensions", "dimensions: expected at least 1")
		}
	}
	vectors, usage, err := a.desk.Embed(r.Context(), owner, in.Model, texts, size)
	if err != nil {
		return err
	}
	data := make([]map[string]any, 0, len(vectors))
	for i, v := range vectors {
		item := map[string]any{"object": "embedding", "index": i, "embedding": v}
		if in.Encoding == "base64" {
			item["embedding"] = encodeVector(v)
		}
		data = append(data, item)
	}
	return compat.Reply(w, http.StatusOK, map[string]any{
		"object": "list", "model": cmp.Or(in.Model, "ponder/embed"), "data": data,
		"usage": map[string]int{"prompt_tokens": usage.Total(), "total_tokens": usage.Total()},
	})
}

// textsOf parses a text, a list of texts, a list of token IDs, or a list of such lists.
func textsOf(field string, js json.RawMessage) (list []string, err error) {
	var ids []int
	var lists [][]int
	switch {
	case json.Unmarshal(js, &ids) == nil && len(ids) > 0:
		lists = [][]int{ids}
	case json.Unmarshal(js, &lists) == nil && len(lists) > 0:
	default:
		if list, err = compat.TextsOf(js); err != nil {
			err = compat.InvalidField(field, "%s: expected a text, token IDs, or a list of either", field)
		}
		return list, err
	}
	for i, ids := range lists {
		text, at, ok := tokens.Decode(ids)
		if !ok {
			return nil, compat.InvalidField(field, "%s[%d]: %d is no token of the encoding cl100k_base; send the text", field, i, ids[at])
		}
		list = append(list, text)
	}
	return list, nil
}

// encodeVector returns little-endian base64.
func encodeVector(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}
