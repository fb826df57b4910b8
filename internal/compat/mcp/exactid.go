package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"ponder/internal/limitio"
)

// The SDK reads numbers as floating point, so large ids and progress tokens would return changed. An
// exactIDs gives the SDK texts instead, and writes the numbers of the client.

// An exactIDs translates the ids of a connection. It is safe for concurrent use.
type exactIDs struct {
	mark string // unguessable, so that no other text is taken for an id
}

func newExactIDs() exactIDs { return exactIDs{"number-" + rand.Text() + ":"} }

var byteOrderMark = []byte("\xef\xbb\xbf")

// encode returns a message without a byte-order mark, and with texts for inexact numbers. It returns
// messages of other forms unchanged.
func (e exactIDs) encode(js []byte) []byte {
	js = bytes.TrimPrefix(js, byteOrderMark)
	var message object
	if json.Unmarshal(js, &message) != nil {
		return js
	}
	changed := e.encodeField(message, "id")
	var params object
	if json.Unmarshal(message["params"], &params) == nil && params != nil {
		inner := e.encodeField(params, "requestId")
		inner = e.encodeField(params, "progressToken") || inner
		var meta object
		if json.Unmarshal(params["_meta"], &meta) == nil && meta != nil && e.encodeField(meta, "progressToken") {
			inner = setField(params, "_meta", meta)
		}
		if inner {
			changed = setField(message, "params", params)
		}
	}
	if !changed {
		return js
	}
	out, err := json.Marshal(message)
	if err != nil {
		return js
	}
	return out
}

func setField(o object, name string, value any) bool {
	js, err := json.Marshal(value)
	if err == nil {
		o[name] = js
	}
	return err == nil
}

func (e exactIDs) encodeField(o object, name string) bool {
	js := bytes.TrimSpace(o[name])
	if len(js) == 0 || js[0] != '-' && (js[0] < '0' || js[0] > '9') || isID(js) {
		return false
	}
	return setField(o, name, e.mark+string(js))
}

// decode returns the numbers of the client.
func (e exactIDs) decode(out []byte) []byte {
	start := []byte(`"` + e.mark)
	for {
		i := bytes.Index(out, start)
		if i < 0 {
			return out
		}
		n := bytes.IndexByte(out[i+len(start):], '"')
		if n < 0 {
			return out
		}
		number := out[i+len(start) : i+len(start)+n]
		out = slices.Concat(out[:i], number, out[i+len(start)+n+1:])
	}
}

// A exactWriter decodes the ids of the messages of an HTTP response. The SDK writes whole messages.
type exactWriter struct {
	http.ResponseWriter
	ids exactIDs
}

func (w exactWriter) Write(b []byte) (int, error) {
	if _, err := w.ResponseWriter.Write(w.ids.decode(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Unwrap lets [http.ResponseController] flush.
func (w exactWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// encodeRequest replaces the body of a request.
func (e exactIDs) encodeRequest(r *http.Request) {
	if r.Method != http.MethodPost || r.Body == nil {
		return
	}
	if body, err := limitio.RequestBody(r); err == nil {
		limitio.SetRequestBody(r, e.encode(body))
	}
}

// decodeID returns an id as the client wrote it.
func (e exactIDs) decodeID(id any) any {
	if text, ok := id.(string); ok {
		if number, found := strings.CutPrefix(text, e.mark); found {
			return json.Number(number)
		}
	}
	return id
}
