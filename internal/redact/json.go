package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON returns a JSON value without the secrets in its strings, and of what stands
// under a name such as password or api_key without the string at all. All else stays
// as it was, byte for byte. Numbers of cards that are numbers become strings. What is
// no JSON becomes a JSON string of what [Redactor.Text] leaves of it.
func (r *Redactor) JSON(value json.RawMessage) json.RawMessage {
	if !json.Valid(value) {
		if len(bytes.TrimSpace(value)) == 0 {
			return value
		}
		return quoted(r.Text(string(value)))
	}
	w := walk{r: r, in: value, stack: []secrecy{open}}
	w.walk()
	if w.out == nil {
		return value
	}
	return append(w.out, value[w.done:]...)
}

// A walk goes through valid JSON.
type walk struct {
	r    *Redactor
	in   []byte
	out  []byte // nil as long as nothing is changed
	done int    // how far in is in out

	stack  []secrecy // of what is open: what its name tells of its values
	secret secrecy   // of the next value
}

func (w *walk) walk() {
	for i := 0; i < len(w.in); {
		switch c := w.in[i]; {
		case c == '{' || c == '[':
			if c == '{' {
				w.secret = open
			}
			w.stack = append(w.stack, w.secret)
		case c == '}' || c == ']':
			w.stack = w.stack[:len(w.stack)-1]
			w.secret = w.stack[len(w.stack)-1]
		case c == ',':
			w.secret = w.stack[len(w.stack)-1]
		case c == '"':
			i = w.text(i)
			continue
		case digit(c) || c == '-':
			i = w.number(i)
			continue
		}
		i++
	}
}

// text takes in a string at i, and returns where it ends.
func (w *walk) text(i int) int {
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
		return end // of valid JSON, it can be read
	}
	if next := bytes.TrimLeft(w.in[end:], " \t\r\n"); len(next) > 0 && next[0] == ':' {
		w.secret, _ = secretName(s)
		w.change(i, end, s, w.r.Text(s))
		return end
	}
	w.change(i, end, s, w.kept(s))
	return end
}

// kept returns what stays of a value.
func (w *walk) kept(s string) string {
	kept := w.r.Text(s)
	if kept != s || w.secret == open || len(s) < 4 || placeholder(s, "", true) {
		return kept
	}
	if w.secret == strong || len(s) >= 8 && looksSecret(s) {
		return mark(Password)
	}
	return s
}

// number takes in a number at i, and returns where it ends.
func (w *walk) number(i int) int {
	end := i
	for end < len(w.in) && strings.IndexByte("+-.0123456789eE", w.in[end]) >= 0 {
		end++
	}
	s := string(w.in[i:end])
	w.change(i, end, s, w.kept(s))
	return end
}

// change puts what is kept in the place of what was there.
func (w *walk) change(from, to int, was, kept string) {
	if was == kept {
		return
	}
	if w.out == nil {
		w.out = make([]byte, 0, len(w.in))
	}
	w.out = append(w.out, w.in[w.done:from]...)
	w.out = append(w.out, quoted(kept)...)
	w.done = to
}

// quoted returns a text as JSON.
func quoted(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return json.RawMessage(`""`) // a string can always be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
