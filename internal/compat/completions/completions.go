// Package completions is the language of deep think, as its seed has it: POST
// /api/completions answers the last message, as a stream of chunks. The route is one of the
// native API, which describes it, so that it is an operation of huma.
//
// completions.go has the route, ask.go and media.go read requests, place.go knows the
// threads of a conversation, begin.go has work begun, and answer.go writes streams.
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

// A Config is what the route needs.
type Config struct {
	Desk *compat.Desk

	// Once does a request of an owner once for a key, and returns an error of huma if there
	// was another one with it, in other words. Without a key, it is done each time.
	Once func(ctx context.Context, owner, route, key, words string, do func() (string, error)) error
}

// Path is where the route is.
const Path = "/api/completions"

// route names it for keys.
const route = "POST " + Path

const doc = "With `isDeepThinkMode` the last message is researched, and what was said before is the context; else it is a turn of a conversation. " +
	"The conversation exists before the first chunk, whose `conversationUniqueId` names it. Whoever is cut off sends the same request again, with the same `Idempotency-Key`, " +
	"`messageId` or `newUniqueId`, and gets the same answer from its beginning; nothing is asked twice. The `content` of the chunks of the type `text` is, put together, the answer as it is stored; " +
	"a chunk with `replace` stands in the place of all text before it."

// Register adds the route to an API, as an operation that says who may ask.
func Register(to huma.API, op huma.Operation, c Config) {
	op.Description = doc
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Server-sent events: `data: {chunk}` each, and `data: [DONE]` at the end.",
		Content: map[string]*huma.MediaType{"text/event-stream": {
			Schema: huma.SchemaFromType(to.OpenAPI().Components.Schemas, reflect.TypeFor[Chunk]()),
		}},
	}}
	huma.Register(to, op, (&api{c}).complete)
}

// An api is the handler.
type api struct{ Config }

// complete answers. What is known to be wrong before anything is said of the answer has a
// status of its own.
func (a *api) complete(ctx context.Context, in *completion) (*huma.StreamResponse, error) {
	t, err := a.begin(ctx, auth.CallerOf(ctx).Owner, in)
	if err != nil {
		return nil, a.told(err)
	}
	if fault := t.first(ctx); fault != nil {
		t.feed.Close()
		return nil, huma.ErrorWithHeaders(a.told(fault), http.Header{threadHeader: {string(t.work.Thread)}})
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		_, w := humago.Unwrap(hctx)
		t.stream(hctx.Context(), w)
	}}, nil
}

// fields are the names that fields have here, by those that they have elsewhere.
var fields = map[string]string{"model": "models", "persona": "app", "question": "messages", "content": "messages"}

// keyField is the field of the error of a request that was made before in other words.
const keyField = "Idempotency-Key"

// told returns an error as problem documents tell it.
func (a *api) told(err error) error {
	var known huma.StatusError
	if errors.As(err, &known) {
		return err
	}
	f := a.Desk.FaultOf(err)
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

// imageTypes are those that models read.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// mostName is how much is kept of the name of a file, in bytes.
const mostName = 100

// takeFile adds an image, or says why it cannot be taken.
func (s *said) takeFile(p part) (wrong string) {
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
		return "files are read only as data: URLs in base64, for nothing is fetched from elsewhere"
	}
	if kind = cmp.Or(kind, p.MediaType, p.Mime, p.Kind); !slices.Contains(imageTypes, kind) {
		return "only images are read: " + strings.Join(imageTypes, ", ")
	}
	if base64.StdEncoding.DecodedLen(len(data)) > mostImage {
		return "the image is larger than 5 MiB"
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return "the image is not in base64"
	}
	s.media = append(s.media, llm.Part{Media: &llm.Media{Type: kind, Data: raw, Name: textkit.TruncateBytes(compat.Plain(cmp.Or(p.Filename, p.Name)), mostName)}})
	return ""
}
