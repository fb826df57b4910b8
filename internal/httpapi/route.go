package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// route adds an operation to the API. It is here for the size of the program: it does what
// huma.Register does, which is compiled anew for each route.
//
// I and O are pointers to structs: Go compiles what is generic once for all pointers.
// The input is a struct with fields tagged path, query or header, which may be in structs
// that are embedded by an exported name; with a Body, optional if it is a pointer; and with
// a RawBody, the same as bytes. It may be a [huma.Resolver]. The output is a struct with
// headers, a Status, and a Body: what is written as JSON, bytes, or a function that writes
// the answer. Of anything else route panics: it is a mistake of the program.
func route[I, O any](a *api, op huma.Operation, handler func(context.Context, I) (O, error)) {
	register(a.huma, op, reflect.ValueOf(handler))
}

// A bound is an operation, and where the fields of its input and output are.
type bound struct {
	huma.API
	op           *huma.Operation
	handler      reflect.Value
	in           reflect.Type
	params       []param
	body, raw    []int
	schema       *huma.Schema // of the body
	headers      map[string][]int
	status, says []int
}

// A param is a parameter of a request.
type param struct {
	at                  []int
	in, name, otherwise string // otherwise: what it is where it is missing
	required            bool
	schema              *huma.Schema
}

// register documents an operation, and has its handler answer.
func register(to huma.API, op huma.Operation, handler reflect.Value) {
	in, out := handler.Type().In(1), handler.Type().Out(0)
	b := &bound{API: to, op: &op, handler: handler, headers: make(map[string][]int)}
	b.must(in.Kind() == reflect.Pointer && out.Kind() == reflect.Pointer && out.Elem().Kind() == reflect.Struct, "has no pointers to structs")
	b.must(op.RequestBody == nil && op.Parameters == nil && op.Errors != nil && !op.Hidden && !op.SkipValidateParams && !op.SkipValidateBody && !op.RejectUnknownQueryParameters, "has options that are not known here")
	b.in = in.Elem()
	b.input(b.in, nil)
	defaults := slices.ContainsFunc(b.params, func(p param) bool { return p.otherwise != "" })
	b.must(b.body != nil && !defaults || b.body == nil && b.raw == nil, "has a default beside its Body, or no Body beside its RawBody")
	b.output(out.Elem())
	if b.params != nil || b.body != nil {
		op.Errors = append(op.Errors, http.StatusUnprocessableEntity)
	}
	problem := &huma.MediaType{Schema: b.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[huma.ErrorModel](), true, "ErrorModel")}
	op.Errors = append(op.Errors, http.StatusInternalServerError)
	for _, code := range op.Errors {
		op.Responses[strconv.Itoa(code)] = &huma.Response{Description: http.StatusText(code), Content: map[string]*huma.MediaType{"application/problem+json": problem}}
	}
	to.OpenAPI().AddOperation(&op)
	to.Adapter().Handle(&op, to.Middlewares().Handler(op.Middlewares.Handler(b.serve)))
}

// must panics if an operation would not be bound as huma binds it.
func (b *bound) must(ok bool, otherwise string, args ...any) {
	if !ok {
		panic("the route " + b.op.OperationID + " " + fmt.Sprintf(otherwise, args...))
	}
}

// schemaOf returns the schema of a field, which is called other in a struct without a name.
func (b *bound) schemaOf(parent reflect.Type, f reflect.StructField, other string) *huma.Schema {
	if parent.Name() != "" {
		other = parent.Name() + f.Name
	}
	return huma.SchemaFromField(b.OpenAPI().Components.Schemas, f, other)
}

// input finds the fields of an input, or of a struct that is embedded in it.
func (b *bound) input(t reflect.Type, at []int) {
	b.must(t.Kind() == reflect.Struct && (reflect.PointerTo(b.in).Implements(hooks[0]) || !hooked(t)), "has %s, which is no struct of data", t)
	for i := range t.NumField() {
		f := t.Field(i)
		f.Index = append(slices.Clone(at), i)
		switch {
		case f.Anonymous:
			b.must(f.IsExported(), "embeds %s by a name that is not exported", t)
			b.input(f.Type, f.Index)
			continue
		case !f.IsExported():
			continue
		case f.Name == "Body" && at == nil:
			b.must(f.Tag == "" && f.Type.Kind() != reflect.Interface, "has a Body that is not known here")
			b.body, b.schema = f.Index, b.schemaOf(t, f, b.op.OperationID+"Request")
			b.schema.PrecomputeMessages()
			b.op.RequestBody = &huma.RequestBody{Required: f.Type.Kind() != reflect.Pointer, Content: map[string]*huma.MediaType{"application/json": {Schema: b.schema}}}
		case f.Name == "RawBody" && at == nil && f.Tag == "" && f.Type == reflect.TypeFor[[]byte]():
			b.raw = f.Index
		default:
			b.param(f)
		}
		b.data(f.Type, make(map[reflect.Type]bool))
	}
}

// hooks are what huma would call in an input. Here, only the whole may have the first.
var hooks = []reflect.Type{reflect.TypeFor[huma.Resolver](), reflect.TypeFor[huma.ResolverWithPath](), reflect.TypeFor[huma.ParamReactor](), reflect.TypeFor[huma.ParamWrapper]()}

func hooked(t reflect.Type) bool { return slices.ContainsFunc(hooks, reflect.PointerTo(t).Implements) }

// data panics if there is something in a type that huma would call or fill in.
func (b *bound) data(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	b.must(!hooked(t), "has in it %s, which is more than data", t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		b.data(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				b.must(f.Tag.Get("default") == "", "has a default in its Body, of %s", f.Name)
				b.data(f.Type, seen)
			}
		}
	}
}

// param finds a parameter, and documents it.
func (b *bound) param(f reflect.StructField) {
	p := param{at: f.Index, otherwise: f.Tag.Get("default")}
	for _, in := range []string{"header", "query", "path"} { // of several, the last counts
		if name := f.Tag.Get(in); name != "" {
			p.in, p.name, p.required = in, name, in == "path"
		}
	}
	read := f.Type == reflect.TypeFor[[]string]() || slices.Contains([]reflect.Kind{reflect.String, reflect.Int, reflect.Int64, reflect.Bool}, f.Type.Kind())
	b.must(p.in != "" && read && !strings.Contains(p.name, ",") && f.Tag.Get("hidden") == "", "has the field %s, which is no parameter that is known here", f.Name)
	b.must(!slices.ContainsFunc(b.params, func(o param) bool { return o.in == p.in && o.name == p.name }), "has the parameter %s twice", p.name)
	if is, ok := f.Tag.Lookup("required"); ok {
		p.required = is == "true"
	}
	p.schema = huma.SchemaFromField(b.OpenAPI().Components.Schemas, f, "")
	doc := &huma.Param{Name: p.name, In: p.in, Description: p.schema.Description, Required: p.required, Schema: p.schema}
	if p.in == "query" {
		doc.Explode = new(bool)
	}
	b.params, b.op.Parameters = append(b.params, p), append(b.op.Parameters, doc)
}

// output finds the fields of an output, and documents the answer.
func (b *bound) output(t reflect.Type) {
	b.op.DefaultStatus = cmp.Or(b.op.DefaultStatus, http.StatusOK)
	if b.op.Responses == nil {
		b.op.Responses = make(map[string]*huma.Response)
	}
	status := strconv.Itoa(b.op.DefaultStatus)
	doc := cmp.Or(b.op.Responses[status], &huma.Response{})
	b.op.Responses[status], doc.Description = doc, cmp.Or(doc.Description, http.StatusText(b.op.DefaultStatus))
	if doc.Headers == nil {
		doc.Headers = make(map[string]*huma.Param)
	}
	for _, f := range reflect.VisibleFields(t) {
		switch {
		case f.Name == "Body":
			if b.says = f.Index; f.Type == reflect.TypeFor[func(huma.Context)]() {
				continue
			}
			b.must(f.Type.Kind() != reflect.Func && !reflect.PointerTo(f.Type).Implements(reflect.TypeFor[huma.ContentTypeFilter]()) && f.Tag == "", "answers with a Body that is not known here")
			schema := b.schemaOf(t, f, b.op.OperationID+"Response")
			if len(doc.Content) == 0 {
				doc.Content = map[string]*huma.MediaType{"application/json": {}}
			}
			if js := doc.Content["application/json"]; js != nil && js.Schema == nil {
				js.Schema = schema
			}
		case f.Name == "Status" && f.Type.Kind() == reflect.Int:
			b.status = f.Index
		default:
			b.must(f.IsExported() && f.Type == reflect.TypeFor[string]() && f.Tag.Get("hidden") == "", "answers with the field %s, which is no header that is known here", f.Name)
			name := cmp.Or(f.Tag.Get("header"), f.Name)
			b.headers[name], doc.Headers[name] = f.Index, &huma.Header{Schema: b.schemaOf(t, f, b.op.OperationID+status+name)}
		}
	}
	b.must(b.says != nil, "answers without a Body")
}
