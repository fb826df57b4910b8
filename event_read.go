package ponder

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"ponder/llm"
)

// quick reads an event in the form in which [EventEncoder] writes it, several times as fast
// as package json. It returns false, having read some of it or nothing, if anything is in
// another form: that is not wrong yet. Data is a part of js, and may be
// wrong if the type of the event is known: whoever decodes it finds out.
func (f *flat) quick(js []byte) bool {
	r := jsonReader{bytes.TrimSuffix(js, []byte{'\n'})}
	if !r.skip('{') {
		return false
	}
	for first := true; ; first = false {
		if !first && r.skip('}') {
			return len(r.b) == 0 && (decoders[f.Type] != nil || len(f.Data) == 0 || json.Valid(f.Data))
		}
		if !first && !r.skip(',') {
			return false
		}
		name, plain := r.quoted()
		if !plain || !r.skip(':') || !f.field(string(name), &r) {
			return false
		}
	}
}

// field reads the value of a field.
func (f *flat) field(name string, r *jsonReader) bool {
	switch name {
	case "event_id":
		return r.text(&f.ID)
	case "thread_id":
		return r.text((*string)(&f.Thread))
	case "seq":
		return r.number((*int64)(&f.Seq))
	case "ts":
		return r.text(&f.Time)
	case "type":
		return r.text(&f.Type)
	case "run_id":
		return r.text((*string)(&f.Run))
	case "cause":
		return r.text(&f.Cause)
	case "after":
		return r.number((*int64)(&f.After))
	case "elapsed_ms":
		return r.number(&f.Elapsed)
	case "internal":
		return r.flag(&f.Internal)
	case "role":
		return r.text(&f.Role)
	case "content":
		return r.text(&f.Content)
	case "tool_name":
		return r.text(&f.ToolName)
	case "tool_args":
		var args json.RawMessage
		ok := r.raw(&args) && json.Valid(args)
		f.ToolArgs = bytes.Clone(args)
		return ok
	case "tool_result":
		return r.text(&f.ToolResult)
	case "reason":
		return r.text(&f.Reason)
	case "model":
		return r.text(&f.Model)
	case "usage":
		var usage json.RawMessage
		if f.Usage != nil || !r.raw(&usage) {
			return false
		}
		f.Usage = new(llm.Usage)
		return json.Unmarshal(usage, f.Usage) == nil
	case "data":
		return r.raw(&f.Data)
	}
	return false
}

// A jsonReader reads JSON that has no spaces. Its methods return false where something
// is in another form.
type jsonReader struct{ b []byte }

func (r *jsonReader) skip(c byte) bool {
	if len(r.b) == 0 || r.b[0] != c {
		return false
	}
	r.b = r.b[1:]
	return true
}

// quoted reads what is between quotes, and reports whether it is what it means.
func (r *jsonReader) quoted() (text []byte, plain bool) {
	if !r.skip('"') {
		return nil, false
	}
	ascii := true
	for i, c := range r.b {
		switch {
		case c == '"':
			text, r.b = r.b[:i], r.b[i+1:]
			return text, ascii || utf8.Valid(text)
		case c < ' ', c == '\\':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

func (r *jsonReader) text(s *string) bool {
	before := r.b
	if text, plain := r.quoted(); plain {
		*s = string(text)
		return true
	}
	r.b = before
	n := quotedLen(r.b)
	if n == 0 || json.Unmarshal(r.b[:n], s) != nil {
		return false
	}
	r.b = r.b[n:]
	return true
}

// quotedLen returns how long the quoted text is that b begins with; 0 if it does not.
func quotedLen(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return 0
}

func (r *jsonReader) number(n *int64) bool {
	const most = 18 // digits that fit in any case
	minus := r.skip('-')
	i, sum := 0, int64(0)
	for i < len(r.b) && r.b[i] >= '0' && r.b[i] <= '9' {
		sum = 10*sum + int64(r.b[i]-'0')
		if i++; i > most {
			return false
		}
	}
	if i == 0 || i > 1 && r.b[0] == '0' {
		return false
	}
	if *n = sum; minus {
		*n = -sum
	}
	r.b = r.b[i:]
	return true
}

func (r *jsonReader) flag(b *bool) bool {
	for _, word := range [...]string{"true", "false"} {
		if rest, ok := bytes.CutPrefix(r.b, []byte(word)); ok {
			*b, r.b = word == "true", rest
			return true
		}
	}
	return false
}

// raw reads an object or a list.
func (r *jsonReader) raw(v *json.RawMessage) bool {
	depth := 0
	for i := 0; i < len(r.b); i++ {
		switch r.b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			n := quotedLen(r.b[i:])
			if n == 0 {
				return false
			}
			i += n - 1
		}
		if depth <= 0 {
			*v, r.b = json.RawMessage(r.b[:i+1]), r.b[i+1:]
			return depth == 0 && i > 0 && ((*v)[0] == '{' || (*v)[0] == '[')
		}
	}
	return false
}
