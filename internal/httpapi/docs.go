package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"ponder/internal/textkit"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.css
var docsStyle string

//go:embed docs.html
var docsTemplate string

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

// docsPage returns the page that describes an API.
func docsPage(doc *huma.OpenAPI) []byte {
	schemas := docsSchemas{doc.Components.Schemas}
	page := template.Must(template.New("").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(docsStyle) }, "groups": operationsOf,
		"parameters": parameters, "fields": schemas.table, "resolve": schemas.resolve, "curl": schemas.curl,
	}).Parse(docsTemplate))
	var b bytes.Buffer
	if err := page.Execute(&b, doc); err != nil { // a mistake of the program, which tests find
		panic(err)
	}
	return b.Bytes()
}
