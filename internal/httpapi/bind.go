package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// serve answers a request, or says all that is wrong with it.
func (b *bound) serve(ctx huma.Context) {
	in, res, status := reflect.New(b.in), &huma.ValidateResult{}, http.StatusUnprocessableEntity
	for _, p := range b.params {
		b.take(ctx, p, in.Elem().FieldByIndex(p.at), res)
	}
	if b.body != nil {
		body, err := io.ReadAll(ctx.BodyReader()) // from memory: see takeBody
		switch {
		case err != nil:
			huma.WriteErr(b.API, ctx, http.StatusInternalServerError, "cannot read request body", err)
			return
		case len(body) > 0:
			status = b.decode(ctx, body, in.Elem(), res)
		case b.op.RequestBody.Required:
			huma.WriteErr(b.API, ctx, http.StatusBadRequest, "request body is required", res.Errors...)
			return
		}
	}
	if r, ok := in.Interface().(huma.Resolver); ok {
		res.Errors = append(res.Errors, r.Resolve(ctx)...)
	}
	if len(res.Errors) == 0 {
		b.reply(ctx, in)
		return
	}
	for _, err := range res.Errors {
		if s, ok := err.(huma.StatusError); ok { //nolint:errorlint // itself, as huma asks it
			status = s.GetStatus()
		}
	}
	huma.WriteErr(b.API, ctx, status, "validation failed", res.Errors...)
}

// take reads a parameter into a field.
func (b *bound) take(ctx huma.Context, p param, f reflect.Value, res *huma.ValidateResult) {
	read := map[string]func(string) string{"path": ctx.Param, "query": ctx.Query, "header": ctx.Header}[p.in]
	text, at := cmp.Or(read(p.name), p.otherwise), huma.NewPathBuffer(nil, 0)
	at.Push(p.in)
	at.Push(p.name)
	if text == "" {
		if p.required {
			res.Add(at, "", "required "+p.in+" parameter is missing")
		}
	} else if v, wrong := set(f, text); wrong != "" {
		res.Add(at, text, wrong)
	} else {
		huma.Validate(b.OpenAPI().Components.Schemas, p.schema, at, huma.ModeWriteToServer, v, res)
	}
}

// set reads a value into a field. It returns it as schemas see it, or what is wrong with it.
func set(f reflect.Value, text string) (v any, wrong string) {
	switch f.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, "invalid integer"
		}
		f.SetInt(n)
		return n, ""
	case reflect.Bool:
		is, err := strconv.ParseBool(text)
		if err != nil {
			return nil, "invalid boolean"
		}
		f.SetBool(is)
		return is, ""
	case reflect.Slice:
		list := strings.Split(text, ",")
		f.Set(reflect.ValueOf(list))
		return list, ""
	}
	f.SetString(text)
	return text, ""
}

// decode reads a body into an input. It returns the status of what is wrong with it.
func (b *bound) decode(ctx huma.Context, body []byte, in reflect.Value, res *huma.ValidateResult) int {
	if b.raw != nil {
		in.FieldByIndex(b.raw).SetBytes(body)
	}
	kind, status, before := cmp.Or(ctx.Header("Content-Type"), "application/json"), http.StatusUnprocessableEntity, len(res.Errors)
	unread := func(err error) error {
		return &huma.ErrorDetail{Location: "body", Message: err.Error(), Value: string(body)}
	}
	var parsed any
	if err := b.Unmarshal(kind, body, &parsed); err != nil {
		if status = http.StatusBadRequest; errors.Is(err, huma.ErrUnknownContentType) {
			status = http.StatusUnsupportedMediaType
		}
		res.Errors = append(res.Errors, unread(err))
	} else {
		at := huma.NewPathBuffer(nil, 0)
		at.Push("body")
		huma.Validate(b.OpenAPI().Components.Schemas, b.schema, at, huma.ModeWriteToServer, parsed, res)
	}
	// What is wrong is read as well, as far as it goes: a resolver may have more to say of it.
	if err := b.Unmarshal(kind, body, in.FieldByIndex(b.body).Addr().Interface()); err != nil && len(res.Errors) == before {
		res.Errors = append(res.Errors, unread(err))
	}
	return status
}

// reply has the handler answer.
func (b *bound) reply(ctx huma.Context, in reflect.Value) {
	got := b.handler.Call([]reflect.Value{reflect.ValueOf(ctx.Context()), in})
	if err, ok := got[1].Interface().(error); ok {
		b.fail(ctx, err)
		return
	}
	kind, status := "", b.op.DefaultStatus
	if got[0].IsNil() {
		ctx.SetStatus(status)
		return
	}
	out := got[0].Elem()
	for name, at := range b.headers {
		text := out.FieldByIndex(at).String()
		if name == "Content-Type" {
			kind = text
		}
		if text != "" {
			ctx.SetHeader(name, text)
		}
	}
	if b.status != nil {
		status = int(out.FieldByIndex(b.status).Int())
	}
	switch body := out.FieldByIndex(b.says).Interface().(type) {
	case func(huma.Context):
		body(ctx)
	case []byte:
		ctx.SetStatus(status)
		_, _ = ctx.BodyWriter().Write(body) // who has gone away needs nothing
	default:
		b.write(ctx, status, kind, body)
	}
}

// fail answers with an error of the handler.
func (b *bound) fail(ctx huma.Context, err error) {
	var more huma.HeadersError
	if errors.As(err, &more) {
		for name, values := range more.GetHeaders() {
			for _, v := range values {
				ctx.AppendHeader(name, v)
			}
		}
	}
	var known huma.StatusError
	if !errors.As(err, &known) {
		known = huma.NewErrorWithContext(ctx, http.StatusInternalServerError, "unexpected error occurred", err)
	}
	b.write(ctx, known.GetStatus(), "", known)
}

// write writes an answer, of a type that the client takes unless one is given. It panics if
// that fails while the client is there.
func (b *bound) write(ctx huma.Context, status int, kind string, body any) {
	var err error
	if kind == "" {
		kind, err = b.Negotiate(ctx.Header("Accept"))
		if filter, ok := body.(huma.ContentTypeFilter); ok {
			kind = filter.ContentType(kind)
		}
		ctx.SetHeader("Content-Type", kind)
	}
	if err == nil {
		body, err = b.Transform(ctx, strconv.Itoa(status), body)
	}
	if err != nil { // which ours don't
		panic(err)
	}
	ctx.SetStatus(status)
	if status == http.StatusNoContent || status == http.StatusNotModified {
		return
	}
	err = b.Marshal(ctx.BodyWriter(), kind, body)
	if err == nil || errors.Is(ctx.Context().Err(), context.Canceled) {
		return
	}
	_, _ = ctx.BodyWriter().Write([]byte("error marshaling response")) // likewise
	panic(fmt.Errorf("error marshaling response for %s %s %d: %w", b.op.Method, b.op.Path, status, err))
}
