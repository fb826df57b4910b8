package llm

import (
	"encoding/json"
	"strings"
)

// parseTagged reads calls in tags, such as <function=f><parameter=a>…</parameter></function>,
// <invoke name="f"><parameter name="a">…</parameter></invoke> or
// f<arg_key>a</arg_key><arg_value>…</arg_value>.
func (r *OutputReader) parseTagged(body string, cut bool) (calls []writtenCall) {
	var open *taggedCall
	finish := func(complete bool) {
		if open != nil && (complete || !cut) {
			if input := open.inputObject(r); input != nil {
				calls = append(calls, writtenCall{open.name, input})
			}
		}
		open = nil
	}
	start := func(name string) {
		finish(true)
		open = &taggedCall{name: strings.TrimSpace(name), args: map[string]json.RawMessage{}}
	}
	gap := 0 // end of the last tag
	for i := 0; i < len(body); {
		n := strings.IndexByte(body[i:], '<')
		if n < 0 {
			break
		}
		i += n
		tag, _ := lexTag(body[i:])
		if tag.size == 0 {
			i++
			continue
		}
		before, at := body[gap:i], i
		i += tag.size
		key, isArg := tag.argName()
		switch name := strings.TrimPrefix(tag.name, "longcat_"); {
		case tag.end && (name == "function" || name == "invoke" || name == "call" || name == "tool_call"):
			if open != nil {
				open.text += before
			}
			finish(true)
		case tag.end:
		case name == "arg_key":
			if open == nil {
				start(lastName(before))
			}
			value, size := untilTag(body[i:], tag.name)
			i += size
			open.key = strings.TrimSpace(value)
		case name == "arg_value" && open != nil:
			value, size := untilTag(body[i:], tag.name)
			i += size
			open.args[open.key] = r.argValue(open.name, open.key, value, tag)
		case name == "name" && open == nil:
			value, size := untilTag(body[i:], tag.name)
			i += size
			start(value)
		case (name == "function" || name == "invoke" || name == "call") && tag.callName() != "":
			start(tag.callName())
		case name == "tool_sep":
			start(lastName(before))
		case open == nil:
		case name == "arguments" || name == "parameters" || name == "input":
			value, size := untilTag(body[i:], tag.name)
			i += size
			open.text += value
		case isArg, !isMarkup(name):
			value, size := untilTag(body[i:], tag.name)
			if size == 0 {
				break
			}
			i += size
			open.args[key] = r.argValue(open.name, key, value, tag)
		default:
			i = at + tag.size
		}
		gap = i
	}
	if open != nil {
		open.text += body[min(gap, len(body)):]
	}
	finish(false)
	return calls
}

// A taggedCall is a call of which the arguments have tags.
type taggedCall struct {
	name, key string
	args      map[string]json.RawMessage
	text      string // between the tags
}

// inputObject returns the arguments, which may be one JSON object instead of tags, or nil.
func (c *taggedCall) inputObject(*OutputReader) json.RawMessage {
	if i := strings.IndexByte(c.text, '{'); i >= 0 && len(c.args) == 0 {
		input, _, ok := readInput(c.text[i:], false)
		if !ok {
			return nil
		}
		return input
	}
	return inputOf(c.args)
}

// argName returns the argument of a tag such as <parameter=a>, or the name of the tag.
func (t xmlTag) argName() (name string, named bool) {
	for _, key := range []string{"name", "key"} {
		if v := t.attr(key); v != "" {
			return v, true
		}
	}
	if t.value != "" {
		return t.value, true
	}
	return t.name, false
}

// isMarkup reports whether a tag belongs to the form of calls, not to their arguments.
func isMarkup(name string) bool {
	return tagNames[name] == markCall || name == "call" || name == "parameter" || name == "argument"
}

// untilTag returns the text before an end tag, and its length with the tag. Without the end tag
// it is the text up to the next tag of the same name, or all.
func untilTag(text, name string) (value string, size int) {
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '<')
		if n < 0 {
			return text, len(text)
		}
		at += n
		tag, _ := lexTag(text[at:])
		switch {
		case tag.size > 0 && tag.end && tag.name == name:
			return text[:at], at + tag.size
		case tag.size > 0 && !tag.end && tag.name == name, tag.end && (tag.name == "function" || tag.name == "invoke" || tag.name == "tool_call"):
			return text[:at], at
		}
		at++
	}
}

// argValue returns an argument as JSON, by its attributes or by the tool's schema.
func (r *OutputReader) argValue(tool, arg, value string, tag xmlTag) json.RawMessage {
	value = strings.ReplaceAll(value, gemmaQuote, `<|"|>`)
	value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
	isString := r.argType(tool, arg) == "string"
	switch {
	case tag.attr("string") == "true", tag.attr("type") == "string":
		isString = true
	case tag.attr("string") == "false", tag.attr("type") != "":
		isString = false
	}
	if isString {
		return jsonText(value)
	}
	return looseValue(value)
}

// looseValue returns a value as JSON: itself, a literal of another language, or a string.
func looseValue(value string) json.RawMessage {
	trimmed := strings.TrimSpace(value)
	if json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	if lit, ok := parseLiteral(trimmed); ok {
		return json.RawMessage(lit)
	}
	if isContainer(trimmed) {
		if fixed, err := Repair(trimmed); err == nil {
			return fixed
		}
	}
	return jsonText(value)
}

// argType returns the JSON type of an argument. Without a schema it is a string.
func (r *OutputReader) argType(tool, arg string) string {
	t := r.findTool(tool)
	if t == nil {
		return ""
	}
	var schema struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(t.Schema, &schema) != nil {
		return "string"
	}
	p, ok := schema.Properties[arg]
	if !ok {
		return "string"
	}
	var name string
	if json.Unmarshal(p.Type, &name) != nil {
		return ""
	}
	return name
}

// parsePython reads calls such as f(a=1), a list of them, or those in print(…). whole reports that text
// has nothing else.
func (r *OutputReader) parsePython(text string) (calls []writtenCall, whole bool) {
	return r.parsePrinted(text, false)
}

// parsePrinted is parsePython. Text that is printed already has no other print.
func (r *OutputReader) parsePrinted(text string, printed bool) (calls []writtenCall, whole bool) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "]"))
	}
	for text != "" {
		name := leadingWord(text, ".-")
		rest := strings.TrimLeft(text[len(name):], " ")
		if name == "" || !strings.HasPrefix(rest, "(") {
			return calls, false
		}
		n := groupLen(rest)
		if n == 0 {
			return calls, false
		}
		if name == "print" && !printed {
			inner, ok := r.parsePrinted(rest[1:n-1], true)
			if !ok {
				return calls, false
			}
			calls = append(calls, inner...)
		} else {
			input, ok := r.pythonInput(name, rest[1:n-1])
			if !ok {
				return calls, false
			}
			calls = append(calls, writtenCall{name, input})
		}
		text = strings.TrimLeft(rest[n:], " \t\r\n,;")
	}
	return calls, len(calls) > 0
}

// pythonInput returns the object of arguments such as a=1, b="x".
func (r *OutputReader) pythonInput(tool, text string) (json.RawMessage, bool) {
	args := map[string]json.RawMessage{}
	for _, arg := range splitArgs(text) {
		name, value, ok := strings.Cut(arg, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || leadingWord(name, "") != name {
			only := r.onlyArg(tool)
			if only == "" || len(args) > 0 {
				return nil, false
			}
			name, value = only, arg
		}
		args[name] = pythonValue(strings.TrimSpace(value))
	}
	return inputOf(args), true
}

// onlyArg returns the argument of a tool that has one, or "".
func (r *OutputReader) onlyArg(tool string) string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if t := r.findTool(tool); t == nil || json.Unmarshal(t.Schema, &schema) != nil || len(schema.Properties) != 1 {
		return ""
	}
	for name := range schema.Properties {
		return name
	}
	return ""
}

func pythonValue(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	for _, quote := range []string{`"""`, "'''", `"`, "'"} {
		if inner, ok := strings.CutPrefix(value, quote); ok && strings.HasSuffix(inner, quote) {
			return jsonText(pythonEscapes.Replace(strings.TrimSuffix(inner, quote)))
		}
	}
	return looseValue(value)
}

var pythonEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`, `\'`, "'")

// splitArgs splits arguments at their commas.
func splitArgs(text string) (args []string) {
	start := 0
	for i := 0; i < len(text); {
		if text[i] == ',' {
			args = append(args, text[start:i])
			start = i + 1
		}
		i += max(1, groupLen(text[i:]))
	}
	if rest := text[start:]; strings.TrimSpace(rest) != "" {
		args = append(args, rest)
	}
	return args
}

// groupLen returns the length of the string or of the brackets at the start of text, or 0 if
// there is none, or no end.
func groupLen(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'':
			n := quotedLen(text[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth <= 0 {
			if i == 0 && strings.IndexByte(`"'`, text[0]) < 0 {
				return 0
			}
			return i + 1
		}
	}
	return 0
}

// quotedLen returns the length of the quoted string at the start of text, or 0 without an end.
func quotedLen(text string) int {
	quote := text[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text, triple) {
		if n := strings.Index(text[3:], triple); n >= 0 {
			return n + 6
		}
		return 0
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote[0]:
			return i + 1
		}
	}
	return 0
}
