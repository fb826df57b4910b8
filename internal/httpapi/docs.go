package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the style of the page
	"encoding/base64"
	"encoding/json"
	"net/http"
	"ponder/internal/textkit"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.css
var docsStyle string

// docs adds the description of the API, for programs and for people. The page has no
// scripts, and nothing from elsewhere.
func (a *api) docs(mux *http.ServeMux) {
	doc := a.huma.OpenAPI()
	spec := sync.OnceValues(func() ([]byte, error) { return json.Marshal(doc) })
	page := sync.OnceValue(func() []byte { return docsPage(doc) })
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		js, err := spec()
		if err != nil {
			a.Logger.Error("describe the API", "error", err)
			problem(w, http.StatusInternalServerError, "the description can't be made")
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(js) // who has gone away needs nothing
	})
	sum := sha256.Sum256([]byte(docsStyle))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		_, _ = w.Write(page()) // likewise
	})
}

// notThere answers requests that no route is for.
func notThere(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			other := *r
			other.Method = method
			if _, pattern := mux.Handler(&other); pattern != "/" && pattern != "" {
				allowed = append(allowed, method)
			}
		}
		if allowed == nil {
			problem(w, http.StatusNotFound, "there is no "+textkit.Truncate(textkit.OneLine(r.URL.Path), 80)+": see /docs")
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		problem(w, http.StatusMethodNotAllowed, "this route is for "+strings.Join(allowed, ", ")+", not for "+textkit.Truncate(textkit.OneLine(r.Method), 20)+": see /docs")
	}
}

// A docsOperation is an operation and where it is.
type docsOperation struct {
	method, path string
	*huma.Operation
}

// docsPage returns the page that describes an API.
func docsPage(doc *huma.OpenAPI) []byte {
	p := pageWriter{schemas: doc.Components.Schemas}
	p.text("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>", doc.Info.Title, "</title><style>")
	p.WriteString(docsStyle)
	p.text("</style></head><body>\n<h1>", doc.Info.Title+" "+doc.Info.Version, "</h1>\n<p>", doc.Info.Description, "</p>\n")
	p.WriteString(`<p>The same for programs: <a href="/openapi.json">/openapi.json</a>. Errors are problem documents (RFC 9457) that name every field that is wrong. ` +
		`If the server has tokens, each request needs <code>Authorization: Bearer</code> and one of them.</p>` + "\n<nav><ul>\n")
	groups := operationsOf(doc)
	for _, g := range groups {
		for _, op := range g.list {
			p.text(`<li><a href="#`, op.OperationID, `"><code><span class="method">`, op.method, "</span> ", op.path, "</code></a> ", op.Summary, "</li>\n")
		}
	}
	p.WriteString("</ul></nav>\n")
	for _, g := range groups {
		p.text("<h2>", g.tag, "</h2>\n")
		for _, op := range g.list {
			p.operation(op)
		}
	}
	p.table("Other routes", otherRoutes())
	p.WriteString("</body></html>\n")
	return p.Bytes()
}

// otherRoutes are those that are not of the native API.
func otherRoutes() []docsRow {
	return []docsRow{
		{"GET /healthz, /readyz", "no token", "whether the server lives, and whether it takes work"},
		{"GET /metrics", "read", "figures for Prometheus"},
		{"GET /debug/pprof/", "admin", "profiles, as Go has them"},
		{"POST /api/backup", "admin", "a copy of the whole database as it is now"},
		{"/v1/...", "", "the languages of OpenAI (chat completions, responses, embeddings, models) and Anthropic (messages)"},
		{"/api/chat, /api/generate, /api/tags, ...", "", "the language of Ollama"},
		{"/ai/chat", "", "the language of the AI SDK"},
		{"/mcp", "", "the Model Context Protocol"},
	}
}

// A pageWriter writes HTML.
type pageWriter struct {
	bytes.Buffer
	schemas huma.Registry
}
