package wire

import (
	"bytes"
	"encoding/json"

	"ponder/internal/textkit"
	"ponder/llm"
)

// Body writes a request's body so that a request that was stored as JSON and
// read back gives the same bytes: schemas and other raw JSON are escaped as the
// store escapes them, and a byte that is not UTF-8 is the replacement character
// that it is after one turn through JSON.
func Body(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, &llm.Error{Class: llm.BadRequest, Message: "cannot write the request as JSON: " + textkit.VisibleLine(err.Error(), maxMessage), Err: err}
	}
	return unescaped(data, []byte(`\ufffd`), "\uFFFD"), nil
}

// Text returns JSON as a model should read it, in a prompt or as the arguments of
// a call: without blanks, with <, > and & as they are, and the same whether or
// not it was stored meanwhile. What is not JSON becomes "{}".
func Text(raw json.RawMessage) string {
	data, err := Body(raw)
	if err != nil {
		return "{}"
	}
	for _, e := range []struct{ escape, by string }{{`\u003c`, "<"}, {`\u003e`, ">"}, {`\u0026`, "&"}} {
		data = unescaped(data, []byte(e.escape), e.by)
	}
	return string(data)
}

// unescaped replaces an escape in JSON, unless its backslash is escaped itself.
func unescaped(data, escape []byte, by string) []byte {
	at := bytes.Index(data, escape)
	if at < 0 {
		return data
	}
	out := make([]byte, 0, len(data))
	for at >= 0 {
		slashes := 0
		for slashes < at && data[at-slashes-1] == '\\' {
			slashes++
		}
		out = append(out, data[:at]...)
		if slashes%2 == 0 {
			out = append(out, by...)
		} else {
			out = append(out, escape...)
		}
		data = data[at+len(escape):]
		at = bytes.Index(data, escape)
	}
	return append(out, data...)
}
