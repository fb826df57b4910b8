package compat

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/limitio"
	"ponder/internal/netaddr"
	"ponder/internal/textkit"
	"ponder/llm"
)

func StatusOf(c app.Code) int { return cmp.Or(statuses[c], http.StatusInternalServerError) }

var statuses = map[app.Code]int{
	app.Invalid: http.StatusUnprocessableEntity, app.NotFound: http.StatusNotFound, app.Conflict: http.StatusConflict,
	app.NotReady: http.StatusServiceUnavailable, app.Unavailable: http.StatusServiceUnavailable, app.Canceled: http.StatusServiceUnavailable,
	app.Limit: http.StatusTooManyRequests, app.OverBudget: http.StatusPaymentRequired, app.Storage: http.StatusInsufficientStorage,
	app.Incomplete: http.StatusConflict,
}

// Read decodes the JSON body of a request, ignores unknown fields, and returns the raw body. Decoding errors
// are a [APIError].
func Read(r *http.Request, into any) ([]byte, error) {
	body, err := limitio.RequestBody(r)
	if err != nil {
		return nil, err
	}
	var syntax *json.SyntaxError
	var misfit *json.UnmarshalTypeError
	switch err := json.Unmarshal(body, into); {
	case errors.As(err, &syntax):
		return nil, InvalidField("", "the body is not JSON: %s, at byte %d", syntax.Error(), syntax.Offset)
	case errors.As(err, &misfit):
		return nil, InvalidField(misfit.Field, "%s: expected %s, not %s", misfit.Field, misfit.Type, misfit.Value)
	case err != nil:
		return nil, InvalidField("", "the body cannot be read: %s", textkit.TruncateBytes(Plain(err.Error()), maxWhy))
	}
	return body, nil
}

// Reply writes body as JSON. It returns nil, for a [Handler].
func Reply(w http.ResponseWriter, status int, body any) error {
	if h := w.Header(); h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
	return nil
}

// TextsOf parses a text or a list of texts.
func TextsOf(js json.RawMessage) (list []string, err error) {
	var one string
	if json.Unmarshal(js, &one) == nil {
		return []string{one}, nil
	}
	if json.Unmarshal(js, &list) != nil {
		return nil, InvalidField("input", "input: expected a text or a list of texts")
	}
	return list, nil
}

// MediaAt parses a base64 data: URL, or a public web address. ok is false for others.
func MediaAt(address string) (m llm.Media, ok bool) {
	if head, data, ok := strings.Cut(address, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		bytes, err := base64.StdEncoding.DecodeString(data)
		if err == nil && len(bytes) > 0 {
			return llm.Media{Type: strings.TrimPrefix(head, "data:"), Data: bytes}, true
		}
	}
	return llm.Media{URL: address}, netaddr.IsPublicURL(address)
}

// May returns the owner of a caller with the scope, or an APIError.
func May(r *http.Request, s auth.Scope) (owner string, err error) {
	c := auth.CallerOf(r.Context())
	if !c.HasScope(s) {
		return "", &APIError{Status: http.StatusForbidden, Detail: "this token lacks a scope: use a token with the scope " + string(s)}
	}
	return c.Owner, nil
}

// A Handler serves a request of owner. It may return an error only if it has written nothing.
type Handler func(w http.ResponseWriter, r *http.Request, owner string) error

// Handle checks the scope, calls h, and passes errors to refuse.
func (d *Dispatcher) Handle(s auth.Scope, h Handler, refuse func(http.ResponseWriter, *APIError)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		owner, err := May(r, s)
		if err == nil {
			err = h(w, r, owner)
		}
		if err != nil {
			refuse(w, d.APIErrorOf(err))
		}
	})
}

// Elsewhere describes valid addresses, for errors.
const Elsewhere = "an https:// address in the public internet"

// A chunker cuts text after white space, or at maxPiece bytes. The cuts do not depend on how the text
// arrives.
type chunker struct {
	rest []byte
	list []string
}

const maxPiece = 64

// add appends text and returns the complete pieces, valid until the next add.
func (c *chunker) add(text string) []string {
	c.rest, c.list = append(c.rest, text...), c.list[:0]
	at := 0
	for {
		n := pieceEnd(c.rest[at:])
		if n == 0 {
			c.rest = append(c.rest[:0], c.rest[at:]...)
			return c.list
		}
		c.list = append(c.list, string(c.rest[at:at+n]))
		at += n
	}
}

func (c *chunker) takeRest() (list []string) {
	if len(c.rest) > 0 {
		list = append(list, string(c.rest))
	}
	c.rest = c.rest[:0]
	return list
}

// pieceEnd returns the end of the first piece, or 0 if it needs more text.
func pieceEnd(text []byte) int {
	spaced := false
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 && len(text)-i < utf8.UTFMax && !utf8.FullRune(text[i:]) {
			return 0 // incomplete rune
		}
		space := unicode.IsSpace(r)
		if spaced && !space || i > 0 && i+n > maxPiece {
			return i
		}
		spaced = spaced || space && i > 0
		i += n
	}
	return 0
}

type FullAnswer struct {
	End
	Thinking  string
	Calls     []llm.ToolCall
	Citations []Citation
}

// WaitAnswer waits until w has ended. A failure is a [APIError]; Whole then calls answered, because it counts as an
// answer.
func (d *Dispatcher) WaitAnswer(ctx context.Context, w Job, answered func()) (out FullAnswer, err error) {
	var thinking strings.Builder
	out.End, err = d.Wait(ctx, w, func(p Part) error {
		thinking.WriteString(p.Thinking())
		out.Citations = append(out.Citations, p.Citations...)
		if p.Kind == Call {
			out.Calls = append(out.Calls, *p.Call)
		}
		return nil
	}, nil, nil)
	if err != nil {
		return out, err
	}
	if fault := out.APIError(); fault != nil {
		answered()
		return out, fault
	}
	out.Thinking = strings.TrimSpace(thinking.String())
	return out, nil
}
