package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"ponder"
)

type letter string

type EmbeddedPath struct {
	ID  string `path:"id" maxLength:"20" doc:"the id"`
	Key string `header:"X-Key" maxLength:"5"`
}

type allParams struct {
	EmbeddedPath
	Text  string   `query:"text" minLength:"2" maxLength:"5"`
	Kind  letter   `query:"kind" enum:"a,b"`
	N     int      `query:"n" minimum:"1" maximum:"9"`
	Big   int64    `query:"big" maximum:"9223372036854775806"`
	Yes   bool     `query:"yes"`
	List  []string `query:"list" maxItems:"2" enum:"a,b,c"`
	Must  string   `query:"must" required:"true" pattern:"^[a-z]*$"`
	After int64    `header:"X-After" minimum:"0"`
}

type defaultParams struct {
	EmbeddedPath
	N    int      `query:"n" default:"7" minimum:"1"`
	Big  int64    `query:"big" default:"8"`
	Kind letter   `query:"kind" default:"b" enum:"a,b"`
	Yes  bool     `query:"yes" default:"true"`
	List []string `query:"list" default:"a,b"`
	Lang string   `header:"X-Lang" default:"de"`
}

type subBody struct {
	N  int        `json:"n" maximum:"3"`
	At *time.Time `json:"at,omitempty"`
}

type someBody struct {
	Name string             `json:"name" minLength:"1"`
	Tags []letter           `json:"tags,omitempty" maxItems:"2" enum:"a,b"`
	Sub  *subBody           `json:"sub,omitempty"`
	Many map[string]subBody `json:"many,omitempty"`
	More json.RawMessage    `json:"more,omitempty"`
}

type mustBody struct {
	EmbeddedPath
	N    int `query:"n" maximum:"9"`
	Body someBody
}

type mayBody struct {
	EmbeddedPath
	N    int `query:"n" required:"true"`
	Body *struct {
		Name string `json:"name,omitempty" maxLength:"3"`
	}
}

// pickyBody says what it is told to of itself.
type pickyBody struct {
	EmbeddedPath
	Say     []string `query:"say"`
	Body    *someBody
	private int
}

func (in *pickyBody) Resolve(ctx huma.Context) (wrong []error) {
	for _, word := range in.Say {
		switch word {
		case "detail":
			wrong = append(wrong, &huma.ErrorDetail{Location: "body.name", Message: "no", Value: ctx.Header("X-Key")})
		case "plain":
			wrong = append(wrong, errors.New("plain"))
		case "403":
			wrong = append(wrong, huma.Error403Forbidden("nope", errors.New("why")))
		case "409":
			wrong = append(wrong, huma.Error409Conflict("taken"))
		}
	}
	in.private = len(wrong)
	return wrong
}

type mirrored struct {
	Body json.RawMessage
}

// mirror answers with what a handler gets.
func mirror[I any](_ context.Context, in *I) (*mirrored, error) {
	js, err := json.Marshal(in)
	return &mirrored{js}, err
}

type saying struct {
	EmbeddedPath
	Say string `query:"say"`
}

type said struct {
	Link   string `header:"Link" doc:"where"`
	ETag   string
	Kind   string `header:"Content-Type"`
	Status int
	Body   any
}

// sayAs answers in the way that it is asked for.
func sayAs(_ context.Context, in *saying) (*said, error) {
	out := &said{Link: "<a>", Status: http.StatusOK, Body: map[string]string{"a": "<&>"}}
	switch in.Say {
	case "nothing":
		return nil, nil
	case "status":
		out.Status = http.StatusTeapot
	case "204":
		out.Status = http.StatusNoContent
	case "304":
		out.Status, out.ETag = http.StatusNotModified, `"a"`
	case "kind":
		out.Kind = "application/hal+json; charset=utf-8"
	case "odd kind":
		out.Kind = "text/odd"
	case "bytes":
		out.Body = []byte("bytes")
	case "null":
		out.Body = nil
	case "bad":
		out.Body = make(chan int)
	case "filter":
		out.Body = &huma.ErrorModel{Detail: "a"}
	case "known":
		return out, fmt.Errorf("more: %w", huma.Error404NotFound("there is none", &huma.ErrorDetail{Location: "path.id"}))
	case "unknown":
		return nil, errors.New("unknown")
	case "headers":
		return nil, huma.ErrorWithHeaders(huma.Error409Conflict("taken"), http.Header{"X-A": {"1", "2"}})
	case "unknown with headers":
		return nil, huma.ErrorWithHeaders(errors.New("unknown"), http.Header{"X-A": {"1"}})
	case "panic":
		panic("a mistake")
	}
	return out, nil
}

type bytesOf struct{ Body []byte }

func sayBytes(context.Context, *saying) (*bytesOf, error) { return &bytesOf{[]byte("a")}, nil }

func sayWritten(_ context.Context, in *saying) (*written, error) {
	return &written{func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "text/plain")
		ctx.SetStatus(http.StatusAccepted)
		io.WriteString(ctx.BodyWriter(), in.ID)
	}}, nil
}

// The routes of twins.
const (
	toAll = iota
	toDefaults
	toMust
	toMay
	toPicky
	toSay
	toBytes
	toWritten
	toNothing
	toMemory
	toStart
	toSteer
	toFork
	toMessage
	toEvents
	toSearch
	toThreads
	toUsage
)

// twins returns operations of all kinds, and such as have the inputs of ours.
func twins() *pair {
	p := newPair()
	add(p, http.MethodGet, 0, mirror[allParams])
	add(p, http.MethodGet, 0, mirror[defaultParams])
	add(p, http.MethodPost, http.StatusCreated, mirror[mustBody])
	add(p, http.MethodPost, 0, mirror[mayBody])
	add(p, http.MethodPost, 0, mirror[pickyBody])
	add(p, http.MethodGet, 0, sayAs)
	add(p, http.MethodGet, http.StatusAccepted, sayBytes)
	add(p, http.MethodDelete, 0, sayWritten)
	add(p, http.MethodGet, 0, mirror[struct{}])
	add(p, http.MethodPost, http.StatusCreated, mirror[remembering])
	add(p, http.MethodPost, 0, mirror[startSession])
	add(p, http.MethodPost, 0, mirror[steerSession])
	add(p, http.MethodPost, 0, mirror[forkSession])
	add(p, http.MethodPost, 0, mirror[postMessage])
	add(p, http.MethodGet, 0, mirror[listEvents])
	add(p, http.MethodGet, 0, mirror[memorySearch])
	add(p, http.MethodGet, 0, mirror[listThreads])
	add(p, http.MethodGet, 0, mirror[usageOf])
	return p
}

// Operations are described as huma describes them.
func TestRouteDocs(t *testing.T) {
	p := twins()
	var docs [2]bytes.Buffer
	for i, api := range []huma.API{p.theirs, p.ours} {
		js, err := json.Marshal(api.OpenAPI())
		if err == nil {
			err = json.Indent(&docs[i], js, "", " ")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(docs[0].String(), docs[1].String()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(docs[1].String(), `"X-After"`) {
		t.Error("no parameters are described")
	}
}

// Requests are read and heard as huma does it.
func TestRoute(t *testing.T) {
	p, js := twins(), http.Header{"Content-Type": {"application/json"}}
	header := func(pairs ...string) http.Header {
		h := make(http.Header)
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	for _, tt := range []struct {
		name   string
		s      sent
		status int
		text   string
	}{
		{"all", sent{toAll, "text=abc&kind=a&n=3&big=12&yes=true&list=a,b&must=x", header("X-Key", "k", "X-After", "4"), "", false}, 200, `"List":["a","b"]`},
		{"none but what must be", sent{route: toAll, query: "must=x"}, 200, `"ID":"an id"`},
		{"what must be is missing", sent{route: toAll}, 422, "required query parameter is missing"},
		{"what must be is empty", sent{route: toAll, query: "must="}, 422, "required query parameter is missing"},
		{"all is wrong", sent{toAll, "text=a&kind=c&n=0&big=9223372036854775807&yes=maybe&list=a,b,d&must=X", header("X-Key", "123456", "X-After", "-1"), "", false}, 422, "invalid boolean"},
		{"no numbers", sent{toAll, "n=1.5&big=99999999999999999999&must=x", header("X-After", "x"), "", false}, 422, "invalid integer"},
		{"numbers in odd clothes", sent{route: toAll, query: "n=%2B3&big=-0&yes=T&must=x"}, 200, `"N":3`},
		{"twice", sent{route: toAll, query: "n=3&n=99&must=x&must=Y&list=a&list=z"}, 200, `"List":["a"]`},
		{"unknown", sent{route: toAll, query: "must=x&other=1"}, 200, ""},
		{"empty items", sent{route: toAll, query: "must=x&list=,"}, 422, "query.list"},
		{"escapes", sent{route: toAll, query: "must=%zz&text=%ff%fe"}, 422, "missing"},
		{"defaults", sent{route: toDefaults}, 200, `"N":7,"Big":8,"Kind":"b","Yes":true,"List":["a","b"],"Lang":"de"`},
		{"other than the defaults", sent{toDefaults, "n=1&big=0&kind=a&yes=false&list=c", header("X-Lang", "en"), "", false}, 200, `"Yes":false`},
		{"empty ones have defaults", sent{route: toDefaults, query: "n=&yes=&list="}, 200, `"N":7`},
		{"wrong instead of the default", sent{route: toDefaults, query: "n=0&kind=z"}, 422, "query.kind"},
		{"a body", sent{toMust, "n=1", js, `{"name":"a","tags":["a"],"sub":{"n":1,"at":"2026-01-02T03:04:05Z"},"many":{"x":{"n":2}},"more":[1]}`, false}, 201, `"more":[1]`},
		{"a body without a type", sent{route: toMust, body: `{"name":"a"}`}, 201, ""},
		{"a body of a type with words", sent{toMust, "", header("Content-Type", "application/json; charset=utf-8"), `{"name":"a"}`, false}, 201, ""},
		{"a body of a type of JSON", sent{toMust, "", header("Content-Type", "application/x+json"), `{"name":"a"}`, false}, 201, ""},
		{"a body of another type", sent{toMust, "n=x", header("Content-Type", "text/plain"), `{"name":"a"}`, false}, 415, "unknown content type"},
		{"a body of an odd type", sent{toMust, "", header("Content-Type", "a;b+c"), `{"name":"a"}`, false}, 415, ""},
		{"no body", sent{route: toMust}, 400, "request body is required"},
		{"no body and more", sent{route: toMust, query: "n=x"}, 400, "invalid integer"},
		{"an unreadable body", sent{toMust, "n=10", js, `{"name":`, false}, 400, "unexpected end"},
		{"spaces for a body", sent{toMust, "", js, ` `, false}, 400, ""},
		{"two bodies", sent{toMust, "", js, `{"name":"a"} {}`, false}, 400, ""},
		{"unknown fields", sent{toMust, "n=10", js, `{"name":"a","other":1,"another":2,"sub":{"n":1,"x":2}}`, false}, 422, "body.sub.x"},
		{"wrong types", sent{toMust, "", js, `{"name":1,"tags":{"a":1},"sub":[],"many":{"x":{"n":9}}}`, false}, 422, "body.name"},
		{"a field that is missing", sent{toMust, "", js, `{"sub":{}}`, false}, 422, "expected required property name"},
		{"other letters", sent{toMust, "", js, `{"NAME":"a"}`, false}, 201, ""},
		{"a body of no object", sent{toMust, "", js, `[1]`, false}, 422, "expected object"},
		{"null for a body", sent{toMust, "", js, `null`, false}, 422, "expected object"},
		{"what the schema takes and Go does not", sent{toMust, "", js, `{"name":"a","sub":{"n":1,"at":"2026-01-02"}}`, false}, 422, ""},
		{"more than fits", sent{toMust, "", js, `{"name":"a","sub":{"n":1.5}}`, false}, 422, ""},
		{"far less than fits", sent{toMust, "", js, `{"name":"a","sub":{"n":-1e300}}`, false}, 422, "cannot unmarshal"},
		{"an optional body", sent{toMay, "n=1", js, `{"name":"abc"}`, false}, 200, `"name":"abc"`},
		{"no optional body", sent{toMay, "n=1", js, ``, false}, 200, `"Body":null`},
		{"null for an optional body", sent{toMay, "n=1", js, `null`, false}, 422, ""},
		{"a wrong optional body", sent{toMay, "", js, `{"name":"abcd"}`, false}, 422, "body.name"},
		{"one who is content", sent{toPicky, "", js, `{"name":"a"}`, false}, 200, ""},
		{"one who has something to say", sent{toPicky, "say=detail,plain", header("X-Key", "k"), ``, false}, 422, "plain"},
		{"with a status", sent{toPicky, "say=plain,403,detail", nil, ``, false}, 403, "nope"},
		{"with two", sent{toPicky, "say=403,409", nil, ``, false}, 409, "taken"},
		{"of a body that is wrong", sent{toPicky, "say=detail", js, `{"x":1}`, false}, 422, "body.x"},
		{"of a body that is unreadable", sent{toPicky, "say=403", js, `{`, false}, 403, ""},
		{"of an unreadable one, without a status", sent{toPicky, "say=detail", js, `{`, false}, 400, ""},
		{"an answer", sent{route: toSay}, 200, `{"a":"<&>"}`},
		{"an answer to whom JSON is nothing", sent{toSay, "", header("Accept", "text/html"), "", false}, 200, ""},
		{"an answer to whom takes two", sent{toSay, "", header("Accept", "application/json;q=0.1, application/cbor"), "", false}, 200, ""},
		{"no answer", sent{route: toSay, query: "say=nothing"}, 200, ""},
		{"a status", sent{route: toSay, query: "say=status"}, 418, ""},
		{"no content", sent{route: toSay, query: "say=204"}, 204, ""},
		{"not modified", sent{route: toSay, query: "say=304"}, 304, ""},
		{"a type", sent{route: toSay, query: "say=kind"}, 200, ""},
		{"a type that is not known", sent{route: toSay, query: "say=odd+kind"}, 200, "error marshaling response"},
		{"bytes", sent{route: toSay, query: "say=bytes"}, 200, "bytes"},
		{"null", sent{route: toSay, query: "say=null"}, 200, "null"},
		{"what is no JSON", sent{route: toSay, query: "say=bad"}, 200, "error marshaling response"},
		{"what is no JSON, to nobody", sent{toSay, "say=bad", nil, "", true}, 200, ""},
		{"a type of its own", sent{route: toSay, query: "say=filter"}, 200, ""},
		{"an error", sent{route: toSay, query: "say=known"}, 404, "path.id"},
		{"an error that is not known", sent{route: toSay, query: "say=unknown"}, 500, "unexpected error occurred"},
		{"an error with headers", sent{route: toSay, query: "say=headers"}, 409, ""},
		{"one that is not known, with headers", sent{route: toSay, query: "say=unknown+with+headers"}, 500, ""},
		{"a panic", sent{route: toSay, query: "say=panic"}, 200, ""},
		{"only bytes", sent{route: toBytes}, 202, "a"},
		{"a function", sent{route: toWritten}, 202, "an id"},
		{"no input", sent{route: toNothing, query: "a=b"}, 200, "{}"},
		{"a memory", sent{toMemory, "", js, `{"text":"a"}`, false}, 201, `"RawBody":"eyJ0`},
		{"memories", sent{toMemory, "", js, `[{"text":"a"},{"text":"b"}]`, false}, 201, ""},
		{"wrong memories", sent{toMemory, "", js, `[{"text":"a"},{"text":""},{"txt":1}]`, false}, 422, "body[1].text"},
		{"unreadable memories", sent{toMemory, "", js, `[`, false}, 400, ""},
		{"no memories", sent{toMemory, "", js, ``, false}, 400, ""},
		{"a question", sent{toStart, "", header("Idempotency-Key", strings.Repeat("k", 256)), `{"question":"a b"}`, false}, 422, "header.Idempotency-Key"},
		{"wishes", sent{toSteer, "wait=x", js, `{"order":"rank"}`, false}, 422, "query.wait"},
		{"a fork of its own", sent{route: toFork}, 200, ""},
		{"a message", sent{toMessage, "wait=1s", js, `{"content":"a","media":[{"type":"a","data":"!"}]}`, false}, 422, ""},
		{"events", sent{toEvents, "after=3", header("Last-Event-ID", "7"), "", false}, 200, `"Last":7`},
		{"too many events", sent{toEvents, "limit=1001&after=-1", header("Last-Event-ID", "x"), "", false}, 422, ""},
		{"a search", sent{route: toSearch, query: "q=a&kind=post,journal"}, 200, ""},
		{"a search for nothing", sent{route: toSearch, query: "kind=x"}, 422, ""},
		{"threads", sent{route: toThreads, query: "kind=" + string(ponder.KindSession) + "&limit=500"}, 422, ""},
		{"usage", sent{route: toUsage}, 200, `"By":"day"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			diff, ours := p.compare(tt.s)
			if diff != "" {
				t.Errorf("it differs from huma's: %s", diff)
			}
			if ours.Status != tt.status || !strings.Contains(ours.Body, tt.text) {
				t.Errorf("%d %v %s", ours.Status, ours.Header, ours.Body)
			}
		})
	}
}

type unexportedEmbedded struct{ allParams }

type PathResolver struct{}

func (*PathResolver) Resolve(huma.Context, *huma.PathBuffer) []error { return nil }

type resolvingBody struct {
	Body struct {
		In pickyBody `json:"in"`
	}
}

type defaultBody struct {
	Body struct {
		N int `json:"n" default:"3"`
	}
}

type defaultBeside struct {
	N    int `query:"n" default:"3"`
	Body someBody
}

type filtered struct{ Body huma.ErrorModel }

// A route of types that are not known is a mistake that is seen when the program starts.
func TestRouteUnknown(t *testing.T) {
	for name, handler := range map[string]any{
		"no struct":  func(context.Context, *int) (*mirrored, error) { return nil, nil },
		"no pointer": func(context.Context, struct{}) (*mirrored, error) { return nil, nil },
		"a number": mirror[struct {
			N float64 `query:"n"`
		}],
		"a pointer": mirror[struct {
			N *int `query:"n"`
		}],
		"letters": mirror[struct {
			N []letter `query:"n"`
		}],
		"a cookie": mirror[struct {
			N string `cookie:"n"`
		}],
		"a form": mirror[struct {
			N string `form:"n"`
		}],
		"exploded": mirror[struct {
			N []string `query:"n,explode"`
		}],
		"hidden": mirror[struct {
			N string `query:"n" hidden:"true"`
		}],
		"nothing": mirror[struct{ N string }],
		"twice": mirror[struct {
			A, B string `query:"n"`
		}],
		"any body": mirror[struct{ Body any }],
		"a typed body": mirror[struct {
			Body someBody `contentType:"text/x"`
		}],
		"only raw": mirror[struct{ RawBody []byte }],
		"a raw text": mirror[struct {
			RawBody string
			Body    someBody
		}],
		"unexported":       mirror[unexportedEmbedded],
		"a path":           mirror[PathResolver],
		"a path within":    mirror[struct{ PathResolver }],
		"one who resolves": mirror[resolvingBody],
		"a default":        mirror[defaultBody],
		"a default beside": mirror[defaultBeside],
		"no answer":        func(context.Context, *struct{}) (*struct{}, error) { return nil, nil },
		"a number as header": func(context.Context, *struct{}) (*struct {
			N    int
			Body any
		}, error) {
			return nil, nil
		},
		"a status in words": func(context.Context, *struct{}) (*struct {
			Status letter
			Body   any
		}, error) {
			return nil, nil
		},
		"another function": func(context.Context, *struct{}) (*struct{ Body func() }, error) { return nil, nil },
		"another type":     func(context.Context, *struct{}) (*filtered, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p := recover(); p == nil {
					t.Error("it was taken")
				} else if s, ok := p.(string); !ok || !strings.HasPrefix(s, "the route odd ") {
					t.Errorf("it says: %v", p)
				}
			}()
			register(newPair().ours, huma.Operation{OperationID: "odd", Method: http.MethodPost, Path: "/odd", Errors: []int{http.StatusConflict}}, reflect.ValueOf(handler))
		})
	}
}
