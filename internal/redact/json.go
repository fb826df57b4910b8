package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON redacts the strings of a JSON value, and replaces a string under a name such as password or
// api_key completely. All other bytes stay unchanged. Card numbers that are JSON numbers become
// strings. Invalid JSON becomes a JSON string of its redacted text.
func (r *Redactor) JSON(value json.RawMessage) json.RawMessage {
	if !json.Valid(value) {
		if len(bytes.TrimSpace(value)) == 0 {
			return value
		}
		return encodeString(r.Text(string(value)))
	}
	w := walker{r: r, in: value, stack: []secrecy{nameOpen}}
	w.run()
	if w.out == nil {
		return value
	}
	return append(w.out, value[w.done:]...)
}

// A walker traverses valid JSON.
type walker struct {
	r    *Redactor
	in   []byte
	out  []byte // nil without changes
	done int    // length of in that is already in out

	stack  []secrecy // for each open object or array, the secrecy of its values
	secret secrecy   // of the next value
}

func (w *walker) run() {
	for i := 0; i < len(w.in); {
		switch c := w.in[i]; {
		case c == '{' || c == '[':
			if c == '{' {
				w.secret = nameOpen
			}
			w.stack = append(w.stack, w.secret)
		case c == '}' || c == ']':
			w.stack = w.stack[:len(w.stack)-1]
			w.secret = w.stack[len(w.stack)-1]
		case c == ',':
			w.secret = w.stack[len(w.stack)-1]
		case c == '"':
			i = w.redactString(i)
			continue
		case isDigit(c) || c == '-':
			i = w.redactNumber(i)
			continue
		}
		i++
	}
}

// redactString handles a string at i and returns its end.
func (w *walker) redactString(i int) int {
	end := i + 1
	for w.in[end] != '"' {
		if w.in[end] == '\\' {
			end++
		}
		end++
	}
	end++
	var s string
	if json.Unmarshal(w.in[i:end], &s) != nil {
		return end // unreachable for valid JSON
	}
	if next := bytes.TrimLeft(w.in[end:], " \t\r\n"); len(next) > 0 && next[0] == ':' {
		w.secret, _ = secretName(s)
		w.replace(i, end, s, w.r.Text(s))
		return end
	}
	w.replace(i, end, s, w.redactText(s))
	return end
}

func (w *walker) redactText(s string) string {
	kept := w.r.Text(s)
	if kept != s || w.secret == nameOpen || len(s) < 4 || isPlaceholder(s, "", true) {
		return kept
	}
	if w.secret == nameStrong || len(s) >= 8 && looksSecret(s) {
		return redactionMark(Password)
	}
	return s
}

// redactNumber handles a number at i and returns its end.
func (w *walker) redactNumber(i int) int {
	end := i
	for end < len(w.in) && strings.IndexByte("+-.0123456789eE", w.in[end]) >= 0 {
		end++
	}
	s := string(w.in[i:end])
	w.replace(i, end, s, w.redactText(s))
	return end
}

// replace replaces a value if it changed.
func (w *walker) replace(from, to int, was, kept string) {
	if was == kept {
		return
	}
	if w.out == nil {
		w.out = make([]byte, 0, len(w.in))
	}
	w.out = append(w.out, w.in[w.done:from]...)
	w.out = append(w.out, encodeString(kept)...)
	w.done = to
}

func encodeString(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return json.RawMessage(`""`) // strings always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
