package compat

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/netaddr"
	"ponder/internal/textkit"
	"ponder/llm"
)

// A Fault is why a request is not answered, as far as its client is told. Each language
// has a form of its own for it.
type Fault struct {
	Status int    // of HTTP, 400 to 599
	Field  string // of the request, or empty
	Detail string // a sentence
}

func (f *Fault) Error() string { return f.Detail }

// Wrong returns the fault of a field that a client can mend.
func Wrong(field, format string, args ...any) *Fault {
	return &Fault{http.StatusBadRequest, field, fmt.Sprintf(format, args...)}
}

// FaultOf returns what a client is told of an error: what it can mend in its own words,
// and of others only that something failed, which the log says.
func (d *Desk) FaultOf(err error) *Fault {
	var told *Fault
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &large):
		return &Fault{http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the request has more than %d bytes", large.Limit)}
	}
	e := app.Public(err)
	if e.Code == app.Internal {
		d.log().Error("request failed", "error", err)
	}
	field := e.Field
	if field == "model_id" {
		field = "model"
	}
	return &Fault{StatusOf(e.Code), field, e.Message}
}

// StatusOf returns the status of HTTP for an error of a code.
func StatusOf(c app.Code) int { return cmp.Or(statuses[c], http.StatusInternalServerError) }

var statuses = map[app.Code]int{
	app.Invalid: http.StatusUnprocessableEntity, app.NotFound: http.StatusNotFound, app.Conflict: http.StatusConflict,
	app.NotReady: http.StatusServiceUnavailable, app.Unavailable: http.StatusServiceUnavailable, app.Canceled: http.StatusServiceUnavailable,
	app.Limit: http.StatusTooManyRequests, app.OverBudget: http.StatusPaymentRequired, app.Storage: http.StatusInsufficientStorage,
	app.Incomplete: http.StatusConflict,
}

// Read reads the body of a request, which is JSON, into a value. Fields that the value
// does not have are ignored, as clients send them. It returns the body, and a [Fault].
func Read(r *http.Request, into any) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var syntax *json.SyntaxError
	var misfit *json.UnmarshalTypeError
	switch err := json.Unmarshal(body, into); {
	case errors.As(err, &syntax):
		return nil, Wrong("", "the body is not JSON: %s, at byte %d", syntax.Error(), syntax.Offset)
	case errors.As(err, &misfit):
		return nil, Wrong(misfit.Field, "%s: expected %s, not %s", misfit.Field, misfit.Type, misfit.Value)
	case err != nil:
		return nil, Wrong("", "the body cannot be read: %s", textkit.TruncateBytes(Plain(err.Error()), maxWhy))
	}
	return body, nil
}

// Reply answers with JSON. It returns nil, for a [Handler] that ends with it.
func Reply(w http.ResponseWriter, status int, body any) error {
	if h := w.Header(); h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that disconnected needs none
	return nil
}

// TextsOf reads the input of embeddings: a text, or a list of texts.
func TextsOf(js json.RawMessage) (list []string, err error) {
	var one string
	if json.Unmarshal(js, &one) == nil {
		return []string{one}, nil
	}
	if json.Unmarshal(js, &list) != nil {
		return nil, Wrong("input", "input: expected a text or a list of texts")
	}
	return list, nil
}

// MediaAt reads an address of a file: of the web, or one that is the data itself, which has
// a type.
func MediaAt(address string) (m llm.Media, ok bool) {
	if head, data, ok := strings.Cut(address, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		bytes, err := base64.StdEncoding.DecodeString(data)
		if err == nil && len(bytes) > 0 {
			return llm.Media{Type: strings.TrimPrefix(head, "data:"), Data: bytes}, true
		}
	}
	return llm.Media{URL: address}, IsPublic(address)
}

// May refuses a caller whose token is not for what is asked, and returns the owner.
func May(r *http.Request, s auth.Scope) (owner string, err error) {
	c := auth.CallerOf(r.Context())
	if !c.May(s) {
		return "", &Fault{http.StatusForbidden, "", "this token is not for that: it needs the scope " + string(s)}
	}
	return c.Owner, nil
}

// A Handler answers for an owner. An error before anything was written is told the client.
type Handler func(w http.ResponseWriter, r *http.Request, owner string) error

// Handle returns a handler that checks what the caller may do, and has refuse tell errors
// in the form of its language.
func (d *Desk) Handle(s auth.Scope, h Handler, refuse func(http.ResponseWriter, *Fault)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		owner, err := May(r, s)
		if err == nil {
			err = h(w, r, owner)
		}
		if err != nil {
			refuse(w, d.FaultOf(err))
		}
	})
}

// localNames are ends of names that lead into a private network.
var localNames = []string{"local", "localhost", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa"}

// Elsewhere says what an address of an image must be that is not sent with the request.
const Elsewhere = "an address that begins with https:// and is in the public internet"

// IsPublic reports whether an address, of http or https, is one that a model server may be
// told to read: its host is in the public internet, as far as that can be told from its
// name. A model server may stand in a private network, and would be asked to read there
// what its client cannot.
func IsPublic(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		return netaddr.IsPublic(a)
	}
	dot := strings.LastIndexByte(host, '.')
	if dot <= 0 || strings.ContainsAny(host, "%\\ _") || strings.ContainsFunc(host, func(c rune) bool { return c >= 0x80 }) {
		return false // other forms of letters may mean the same names
	}
	if last := host[dot+1:]; last == "" || last[0] >= '0' && last[0] <= '9' { // an address in another form, such as 127.1
		return false
	}
	return !slices.ContainsFunc(localNames, func(n string) bool { return strings.HasSuffix(host, "."+n) })
}

// A chunker cuts a text into pieces, at the same places however it comes in: behind the
// space between two words, and else before a piece gets too long. So whoever reads a text
// from the log gets the same pieces as one who saw it being written.
type chunker struct {
	rest []byte
	list []string
}

// maxPiece is how many bytes a piece has at most.
const maxPiece = 64

// add takes in more of the text, and returns the pieces that are whole, until it is
// called again.
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

// end returns what is left, if anything is.
func (c *chunker) end() (list []string) {
	if len(c.rest) > 0 {
		list = append(list, string(c.rest))
	}
	c.rest = c.rest[:0]
	return list
}

// pieceEnd returns where the first piece of a text ends, or 0 if that is not known before
// there is more of it.
func pieceEnd(text []byte) int {
	spaced := false
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 && len(text)-i < utf8.UTFMax && !utf8.FullRune(text[i:]) {
			return 0 // the rest of a letter is to come
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

// A Whole is an answer that is sent at once.
type Whole struct {
	End
	Thinking  string
	Calls     []llm.ToolCall
	Citations []Citation
}

// Whole waits until a work has ended. A failure of the work is a [Fault], which counts as
// an answer.
func (d *Desk) Whole(ctx context.Context, w Work, answered func()) (out Whole, err error) {
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
	if fault := out.Fault(); fault != nil {
		answered()
		return out, fault
	}
	out.Thinking = strings.TrimSpace(thinking.String())
	return out, nil
}
