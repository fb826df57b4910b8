package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// A docsGroup is operations that belong together.
type docsGroup struct {
	tag  string
	list []docsOperation
}

// operationsOf returns the operations of an API by their tags.
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
			i := slices.IndexFunc(groups, func(g docsGroup) bool { return g.tag == tag })
			if i < 0 {
				i, groups = len(groups), append(groups, docsGroup{tag: tag})
			}
			groups[i].list = append(groups[i].list, one)
		}
	}
	slices.SortStableFunc(groups, func(a, b docsGroup) int { return cmp.Compare(a.tag, b.tag) })
	return groups
}

// text writes markup and texts, in turn: what is at an odd place is escaped.
func (p *pageWriter) text(parts ...string) {
	for i, part := range parts {
		if i%2 == 1 {
			part = html.EscapeString(part)
		}
		p.WriteString(part)
	}
}

// operation writes how an operation is used.
func (p *pageWriter) operation(op docsOperation) {
	p.text(`<h3 id="`, op.OperationID, `"><code>`, op.method, " ", op.path, "</code></h3>\n<p>", op.Summary, ".</p>\n")
	if op.Description != "" {
		p.text("<p>", op.Description, "</p>\n")
	}
	var rows []docsRow
	for _, param := range op.Parameters {
		rows = append(rows, docsRow{param.Name, "in the " + param.In + ", " + kindOf(param.Schema), param.Description})
	}
	p.table("Parameters", rows)
	if op.RequestBody != nil {
		for _, kind := range slices.Sorted(maps.Keys(op.RequestBody.Content)) {
			p.table("Body, as "+kind, p.fields("", op.RequestBody.Content[kind].Schema, 0))
		}
	}
	p.text("<p>Try it:</p>\n<pre>", p.curl(op), "</pre>\n")
	for _, code := range slices.Sorted(maps.Keys(op.Responses)) {
		p.response(code, op.Responses[code])
	}
}

// response writes what an operation answers.
func (p *pageWriter) response(code string, r *huma.Response) {
	if code >= "400" {
		p.text(`<p class="quiet"><code>`, code, "</code> ", r.Description, "</p>\n")
		return
	}
	p.text("<p><code>", code, "</code> ", r.Description, "</p>\n")
	for _, kind := range slices.Sorted(maps.Keys(r.Content)) {
		s := p.resolve(r.Content[kind].Schema)
		if s != nil && s.Description != "" {
			p.text("<p><code>", kind, "</code>: ", s.Description, "</p>\n")
		}
		p.table("Answer, as "+kind, p.fields("", s, 0))
	}
}

// A docsRow is a line of a table.
type docsRow struct{ name, kind, says string }

func (p *pageWriter) table(title string, rows []docsRow) {
	if len(rows) == 0 {
		return
	}
	p.text("<table><thead><tr><th>", title, "</th><th></th><th></th></tr></thead><tbody>\n")
	for _, r := range rows {
		p.text("<tr><td><code>", r.name, `</code></td><td class="quiet">`, r.kind, "</td><td>", r.says, "</td></tr>\n")
	}
	p.WriteString("</tbody></table>\n")
}

// maxNested is how deep the fields of objects are listed.
const maxNested = 3

// fields lists the fields of a schema, those of the objects in it with their paths.
func (p *pageWriter) fields(prefix string, s *huma.Schema, depth int) (rows []docsRow) {
	s = p.resolve(s)
	for s != nil && s.Type == huma.TypeArray {
		s = p.resolve(s.Items)
	}
	if s == nil || depth > maxNested {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		whole := p.resolve(field)
		kind := kindOf(whole)
		if slices.Contains(s.Required, name) {
			kind += ", always"
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
		rows = append(rows, p.fields(nested, whole, depth+1)...)
	}
	return rows
}

// resolve returns what a schema refers to.
func (p *pageWriter) resolve(s *huma.Schema) *huma.Schema {
	for s != nil && s.Ref != "" {
		s = p.schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// kindOf says in a few words what values there are.
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
		words = append(words, fmt.Sprintf("at least %d letters", *s.MinLength))
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

// curl returns a command that calls an operation.
func (p *pageWriter) curl(op docsOperation) string {
	var b strings.Builder
	b.WriteString("curl -sS")
	for _, r := range op.Responses {
		if r.Content[eventStream] != nil && len(r.Content) == 1 {
			b.WriteString(" -N")
		}
	}
	if op.method != http.MethodGet {
		b.WriteString(" -X " + op.method)
	}
	b.WriteString(` -H "Authorization: Bearer $PONDER_TOKEN"`)
	if op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil {
		js, err := json.Marshal(p.example(op.RequestBody.Content["application/json"].Schema, 0))
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
	fmt.Fprintf(&b, " \\\n  \"http://127.0.0.1:8744%s%s\"", strings.NewReplacer("{", "$", "}", "").Replace(op.path), query)
	return b.String()
}

// example returns a value that a schema takes: of an object, what it needs and what has an
// example.
func (p *pageWriter) example(s *huma.Schema, depth int) any {
	s = p.resolve(s)
	switch {
	case s == nil || depth > maxNested:
		return map[string]any{}
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.OneOf) > 0:
		return p.example(s.OneOf[0], depth)
	case s.Type == huma.TypeArray:
		return []any{p.example(s.Items, depth+1)}
	case s.Type == huma.TypeString:
		return "..."
	case s.Type == huma.TypeBoolean:
		return true
	case s.Type == huma.TypeInteger, s.Type == huma.TypeNumber:
		return 1
	}
	object := make(map[string]any)
	for name, field := range s.Properties {
		whole := p.resolve(field)
		if slices.Contains(s.Required, name) || whole != nil && len(whole.Examples) > 0 {
			object[name] = p.example(field, depth+1)
		}
	}
	return object
}
