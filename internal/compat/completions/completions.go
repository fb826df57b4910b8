// Package completions serves deep think as its seed defines it: POST /api/completions streams the answer to
// the last message. The route is an operation of the native API.
//
// completions.go has the route, ask.go parses requests, place.go finds the threads of a conversation,
// answer.go writes streams.
package completions

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

type Config struct {
	Desk *compat.Dispatcher

	// Once runs do once for a key. A key with other words is a huma error. Without a key, do always runs.
	Once func(ctx context.Context, owner, route, key, words string, do func() (string, error)) error
}

const Path = "/api/completions"

const route = "POST " + Path

const doc = "With `isDeepThinkMode`, Ponder researches the last message, and the earlier ones are its context; else the message is a turn of a conversation. " +
	"The conversation exists before the first chunk, whose `conversationUniqueId` names it. After a lost connection, send the same request again, with the same `Idempotency-Key`, " +
	"`messageId` or `newUniqueId`, to get the same answer from its beginning; no model is called twice. The `content` of all chunks of type `text`, joined, is the stored answer; " +
	"a chunk with `replace` replaces all text before it."

// Register adds the route; op carries the authorization.
func Register(to huma.API, op huma.Operation, c Config) {
	op.Description = doc
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Server-sent events: one `data: {chunk}` for each chunk, then `data: [DONE]`.",
		Content: map[string]*huma.MediaType{"text/event-stream": {
			Schema: huma.SchemaFromType(to.OpenAPI().Components.Schemas, reflect.TypeFor[Chunk]()),
		}},
	}}
	huma.Register(to, op, (&api{c}).handleCompletion)
}

type api struct{ Config }

// handleCompletion gives errors before the first output an HTTP status.
func (a *api) handleCompletion(ctx context.Context, in *completion) (*huma.StreamResponse, error) {
	t, err := a.startWork(ctx, auth.CallerOf(ctx).Owner, in)
	if err != nil {
		return nil, a.httpError(err)
	}
	if fault := t.firstError(ctx); fault != nil {
		t.feed.Close()
		return nil, huma.ErrorWithHeaders(a.httpError(fault), http.Header{threadHeader: {string(t.work.Thread)}})
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		t.streamAnswer(hctx.Context(), w)
	}}, nil
}

// fields maps names of package app.
var fields = map[string]string{"model": "models", "persona": "app", "question": "messages", "content": "messages"}

const keyField = "Idempotency-Key"

func (a *api) httpError(err error) error {
	var known huma.StatusError
	if errors.As(err, &known) {
		return err
	}
	f := a.Desk.APIErrorOf(err)
	if f.Field == "" {
		return huma.NewError(f.Status, f.Detail)
	}
	detail, at := f.Detail, "body."+f.Field
	switch name, ok := fields[f.Field]; {
	case ok:
		at = "body." + name
	case f.Field == keyField:
		detail, at = "validation failed", "header."+keyField
	}
	return huma.NewError(f.Status, detail, &huma.ErrorDetail{Message: f.Detail, Location: at})
}

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// maxName is in bytes.
const maxName = 100

// addFile returns an error text.
func (s *messageParts) addFile(p part) (wrong string) {
	var url string
	for _, v := range []any{p.URL, p.Image, p.ImageURL, p.Data} {
		switch v := v.(type) {
		case string:
			url = cmp.Or(url, v)
		case map[string]any: // {"url": ...}
			if inner, ok := v["url"].(string); ok {
				url = cmp.Or(url, inner)
			}
		}
	}
	head, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ",")
	kind, coded := strings.CutSuffix(head, ";base64")
	if !ok || !coded || !strings.HasPrefix(url, "data:") {
		return "files must be data: URLs in base64; other addresses are not fetched"
	}
	if kind = cmp.Or(kind, p.MediaType, p.Mime, p.Kind); !slices.Contains(imageTypes, kind) {
		return "only images are supported: " + strings.Join(imageTypes, ", ")
	}
	if base64.StdEncoding.DecodedLen(len(data)) > maxImage {
		return "the image is larger than 5 MiB"
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return "the image is not in base64"
	}
	s.media = append(s.media, llm.Part{Media: &llm.Media{Type: kind, Data: raw, Name: textkit.TruncateBytes(compat.Plain(cmp.Or(p.Filename, p.Name)), maxName)}})
	return ""
}
