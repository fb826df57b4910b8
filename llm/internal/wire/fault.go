package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"ponder/llm"
)

// InBand returns the error that a piece of an answer with status 200 is, or nil
// if it is none. It knows the shapes of all dialects: an error object or string,
// an object that calls itself an error, a list that holds one. Class, Status,
// Message and RetryAfter are set.
func InBand(data []byte) *llm.Error {
	if n := bytes.Count(data, []byte(`"error"`)); n == 0 || n == bytes.Count(data, []byte(`"error":null`)) {
		return nil
	}
	f, ok := parseFault(data, false)
	if !ok {
		return nil
	}
	e := f.err(http.StatusOK)
	e.RetryAfter = RetryAfter(nil, data, never)
	return e
}

// A fault is what a provider says about a failure.
type fault struct {
	names  []string // its codes, types and statuses, the most telling first
	text   string
	status int // an HTTP status among the codes
}

// envelope has the fields of all known error shapes.
type envelope struct {
	Object   string          `json:"object"`
	Type     string          `json:"type"`
	Code     json.RawMessage `json:"code"`
	Status   json.RawMessage `json:"status"`
	Reason   string          `json:"reason"`
	Message  json.RawMessage `json:"message"`
	Error    json.RawMessage `json:"error"`
	Detail   json.RawMessage `json:"detail"`
	Errors   json.RawMessage `json:"errors"`
	Details  []detail        `json:"details"`
	Metadata struct {
		Provider string          `json:"provider_name"`
		Raw      json.RawMessage `json:"raw"`
	} `json:"metadata"`
	Inner *struct {
		Code string `json:"code"`
	} `json:"innererror"`
}

type detail struct {
	Reason string `json:"reason"`
}

// parseFault reads an error. If whole is set, data is the body of a failed
// answer and is an error whatever it looks like.
func parseFault(data []byte, whole bool) (fault, bool) {
	data = bytes.TrimSpace(data)
	var list []json.RawMessage
	if len(data) > 0 && data[0] == '[' && json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	env, ok := open(data)
	if !ok {
		return fault{text: plain(data)}, whole
	}
	var f fault
	switch {
	case present(env.Error):
		f.read(env.Error, 0)
		f.add(env)
	case env.Object == "error", env.Type == "error", whole:
		f.add(env)
	default:
		return fault{}, false
	}
	return f, true
}

// open reads an object, as far as its fields are of the types they should be.
func open(data []byte) (env envelope, ok bool) {
	var bad *json.UnmarshalTypeError
	err := json.Unmarshal(data, &env)
	return env, err == nil || errors.As(err, &bad) && bad.Field != ""
}

func present(raw json.RawMessage) bool {
	s := string(bytes.TrimSpace(raw))
	return s != "" && s != "null" && s != "false" && s != `""` && s != "{}"
}

// plain returns the text of a body that is not JSON, unless it is a page.
func plain(data []byte) string {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(data, []byte("<")) {
		return ""
	}
	return string(data)
}

// maxNesting bounds how often an error may hold another.
const maxNesting = 4

// read takes what is under "error": an object, a string, or JSON in a string.
func (f *fault) read(raw json.RawMessage, depth int) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if raw = json.RawMessage(strings.TrimSpace(s)); !json.Valid(raw) || len(raw) == 0 || raw[0] != '{' {
			f.say(s)
			return
		}
	}
	env, ok := open(raw)
	if !ok {
		return
	}
	if depth < maxNesting {
		if present(env.Metadata.Raw) {
			f.read(env.Metadata.Raw, depth+1)
			if f.text != "" && env.Metadata.Provider != "" {
				f.text = env.Metadata.Provider + ": " + f.text
			}
		}
		if present(env.Error) {
			f.read(env.Error, depth+1)
		}
	}
	f.add(env)
}

// add takes the fields of one object.
func (f *fault) add(env envelope) {
	f.name(scalar(env.Code))
	if env.Inner != nil {
		f.name(env.Inner.Code)
	}
	f.name(env.Reason)
	for _, d := range env.Details {
		f.name(d.Reason)
	}
	f.name(scalar(env.Status))
	f.name(env.Type)
	for _, raw := range []json.RawMessage{env.Message, env.Detail, env.Errors} {
		f.say(scalar(raw))
	}
}

func (f *fault) name(s string) {
	if n, err := strconv.Atoi(s); err == nil && n >= 400 && n < 600 {
		f.status = cmp.Or(f.status, n)
		return
	}
	if s != "" && s != "error" {
		f.names = append(f.names, s)
	}
}

func (f *fault) say(s string) {
	f.text = cmp.Or(f.text, s)
}

// scalar returns a JSON string's value, and any other JSON but null as it is.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if !present(raw) {
		return ""
	}
	return string(raw)
}
