package httpapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"

	"ponder/internal/textkit"
)

//go:embed docs.css
var docsStyle string

//go:embed docs.html
var docsTemplate string

// registerDocs serves the OpenAPI description and a page without scripts and external resources.
func (a *api) registerDocs(mux *http.ServeMux) {
	doc := a.huma.OpenAPI()
	spec := sync.OnceValues(func() ([]byte, error) { return json.Marshal(doc) })
	page := sync.OnceValue(func() []byte { return docsPage(doc) })
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		js, err := spec()
		if err != nil {
			a.Logger.Error("describe the API", "error", err)
			writeProblem(w, http.StatusInternalServerError, "cannot encode the description")
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(js) // a disconnect needs no handling
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

// notThere answers 404 and 405.
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
			writeProblem(w, http.StatusNotFound, "no such route: "+textkit.Truncate(textkit.OneLine(r.URL.Path), 80)+": see /docs")
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeProblem(w, http.StatusMethodNotAllowed, "method not allowed: use "+strings.Join(allowed, ", ")+", not "+textkit.Truncate(textkit.OneLine(r.Method), 20)+": see /docs")
	}
}

func docsPage(doc *huma.OpenAPI) []byte {
	schemas := docsSchemas{doc.Components.Schemas}
	page := template.Must(template.New("").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(docsStyle) }, "groups": operationsOf,
		"parameters": parameterTable, "fields": schemas.schemaTable, "resolve": schemas.resolveRef, "curl": schemas.curlExample,
		"markdown": markdownBlocks, "inline": markdownInline,
	}).Parse(docsTemplate))
	var b bytes.Buffer
	if err := page.Execute(&b, doc); err != nil { // a bug that tests find
		panic(err)
	}
	return b.Bytes()
}

// docsMarkdown renders descriptions, which are Markdown in OpenAPI. HTML stays text, and
// links to unsafe addresses lead nowhere.
var docsMarkdown = goldmark.New(goldmark.WithParser(parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewEmphasisParser(), 500),
	),
)))

func markdownBlocks(text string) template.HTML {
	var b bytes.Buffer
	if err := docsMarkdown.Convert([]byte(text), &b); err != nil {
		return template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // it is escaped
	}
	return template.HTML(b.String()) //nolint:gosec // the renderer escapes text and drops HTML
}

// markdownInline renders a text without its paragraph, for a cell of a table.
func markdownInline(text string) template.HTML {
	s := strings.TrimSpace(string(markdownBlocks(text)))
	inner, ok := strings.CutPrefix(s, "<p>")
	if inner, cut := strings.CutSuffix(inner, "</p>"); ok && cut && !strings.Contains(inner, "<p>") {
		return template.HTML(inner) //nolint:gosec // as above
	}
	return template.HTML(s) //nolint:gosec // as above
}

type docsGroup struct {
	Tag        string
	Operations []docsOperation
}

type docsOperation struct {
	Method, Path string
	*huma.Operation
}

func operationsOf(doc *huma.OpenAPI) (groups []docsGroup) {
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		for _, one := range []docsOperation{
			{http.MethodGet, path, item.Get}, {http.MethodPost, path, item.Post}, {http.MethodPut, path, item.Put},
			{http.MethodPatch, path, item.Patch}, {http.MethodDelete, path, item.Delete},
		} {
			if one.Operation == nil || one.Hidden {
				continue
			}
			tag := "other"
			if len(one.Tags) > 0 {
				tag = one.Tags[0]
			}
			i := slices.IndexFunc(groups, func(g docsGroup) bool { return g.Tag == tag })
			if i < 0 {
				i, groups = len(groups), append(groups, docsGroup{Tag: tag})
			}
			groups[i].Operations = append(groups[i].Operations, one)
		}
	}
	slices.SortStableFunc(groups, func(a, b docsGroup) int { return cmp.Compare(a.Tag, b.Tag) })
	return groups
}

type docsTable struct {
	Title string
	Rows  []docsRow
}

type docsRow struct{ Name, Kind, Text string }

func parameterTable(op docsOperation) docsTable {
	t := docsTable{Title: "Parameters"}
	for _, p := range op.Parameters {
		t.Rows = append(t.Rows, docsRow{p.Name, "in " + p.In + ", " + kindOf(p.Schema), p.Description})
	}
	return t
}

type docsSchemas struct{ huma.Registry }

func (d docsSchemas) schemaTable(title string, s *huma.Schema) docsTable {
	return docsTable{title, d.fieldRows("", s, 0)}
}

const maxNested = 3

// fieldRows lists nested fields with their path.
func (d docsSchemas) fieldRows(prefix string, s *huma.Schema, depth int) (rows []docsRow) {
	s = d.resolveRef(s)
	for s != nil && s.Type == huma.TypeArray {
		s = d.resolveRef(s.Items)
	}
	if s == nil || depth > maxNested {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		whole := d.resolveRef(field)
		kind := kindOf(whole)
		if slices.Contains(s.Required, name) {
			kind += ", required"
		}
		says := field.Description
		if says == "" && whole != nil && whole != field {
			says = whole.Description
		}
		rows = append(rows, docsRow{prefix + name, kind, says})
		nested := prefix + name + "."
		if whole != nil && whole.Type == huma.TypeArray {
			nested = prefix + name + "[]."
		}
		rows = append(rows, d.fieldRows(nested, whole, depth+1)...)
	}
	return rows
}

func (d docsSchemas) resolveRef(s *huma.Schema) *huma.Schema {
	for s != nil && s.Ref != "" {
		s = d.SchemaFromRef(s.Ref)
	}
	return s
}

func kindOf(s *huma.Schema) string {
	if s == nil {
		return "anything"
	}
	words := []string{cmp.Or(s.Type, "anything")}
	if s.Format != "" && s.Format != "int64" && s.Format != "double" {
		words = append(words, s.Format)
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		words = append(words, fmt.Sprintf("%v to %v", *s.Minimum, *s.Maximum))
	case s.Minimum != nil:
		words = append(words, fmt.Sprintf("from %v", *s.Minimum))
	}
	if s.MinLength != nil {
		words = append(words, fmt.Sprintf("at least %d characters", *s.MinLength))
	}
	for i, v := range s.Enum {
		if i == 0 {
			words = append(words, "one of")
		}
		words = append(words, fmt.Sprint(v))
	}
	if js, err := json.Marshal(s.Default); s.Default != nil && err == nil {
		words = append(words, "default "+string(js))
	}
	return strings.Join(words, " ")
}

func (d docsSchemas) curlExample(op docsOperation) string {
	var b strings.Builder
	b.WriteString("curl -sS")
	for _, r := range op.Responses {
		if r.Content[eventStream] != nil && len(r.Content) == 1 {
			b.WriteString(" -N")
		}
	}
	if op.Method != http.MethodGet {
		b.WriteString(" -X " + op.Method)
	}
	b.WriteString(` -H "Authorization: Bearer $PONDER_TOKEN"`)
	if op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil {
		js, err := json.Marshal(d.exampleValue(op.RequestBody.Content["application/json"].Schema, 0))
		if err == nil {
			fmt.Fprintf(&b, " \\\n  -H 'Content-Type: application/json' -d '%s'", strings.ReplaceAll(string(js), "'", `'\''`))
		}
	}
	query := ""
	for _, param := range op.Parameters {
		if param.In == "query" && param.Required {
			query += "&" + param.Name + "=" + strings.ToUpper(param.Name)
		}
	}
	if query != "" {
		query = "?" + query[1:]
	}
	fmt.Fprintf(&b, " \\\n  \"http://127.0.0.1:8744%s%s\"", strings.NewReplacer("{", "$", "}", "").Replace(op.Path), query)
	return b.String()
}

// exampleValue has the required fields and those with examples.
func (d docsSchemas) exampleValue(s *huma.Schema, depth int) any {
	s = d.resolveRef(s)
	switch {
	case s == nil || depth > maxNested:
		return map[string]any{}
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.OneOf) > 0:
		return d.exampleValue(s.OneOf[0], depth)
	case s.Type == huma.TypeArray:
		return []any{d.exampleValue(s.Items, depth+1)}
	case s.Type == huma.TypeString:
		return "..."
	case s.Type == huma.TypeBoolean:
		return true
	case s.Type == huma.TypeInteger, s.Type == huma.TypeNumber:
		return 1
	}
	object := make(map[string]any)
	for name, field := range s.Properties {
		whole := d.resolveRef(field)
		if slices.Contains(s.Required, name) || whole != nil && len(whole.Examples) > 0 {
			object[name] = d.exampleValue(field, depth+1)
		}
	}
	return object
}
