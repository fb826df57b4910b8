package llm

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// parseCalls returns the calls of a block. name is the tool, if the start of the block has it.
// An incomplete call counts only if the model ended it, that is, without cut.
func (r *OutputReader) parseCalls(body, name string, cut bool) []writtenCall {
	body = plainTags(body)
	trimmed := strings.TrimSpace(body)
	switch {
	case name != "":
		input, _, ok := readInput(trimmed, cut)
		if !ok && trimmed != "" {
			return nil
		}
		return []writtenCall{{name, input}}
	case callTags.MatchString(body):
		return r.parseTagged(body, cut)
	case strings.HasPrefix(trimmed, "[") && !strings.HasPrefix(strings.TrimLeft(trimmed[1:], " \n"), "{"), pythonCall.MatchString(trimmed):
		calls, _ := r.parsePython(trimmed)
		return calls
	}
	return r.parseNamed(body, cut)
}

var (
	callTags = regexp.MustCompile(`(?i)<(?:[\w.]+:)?(?:function|invoke|call|parameter|\w*arg_key)\b|<name>`)

	pythonCall = regexp.MustCompile(`^[A-Za-z_][\w.]*\(`)
)

// plainTags turns the tags of MiniMax, DeepSeek and Kimi K3 into plain ones.
func plainTags(body string) string {
	return tagReplacer.Replace(body)
}

var tagReplacer = strings.NewReplacer(minimaxPrefix, "", "｜DSML｜", "", "|DSML|", "", "<|open|>", "<", "<|close|>", "</", "<|sep|>", ">",
	`<|"|>`, gemmaQuote, "<escape>", gemmaQuote)

const gemmaQuote = "\x00"

// readInput reads the JSON object at the start of text. It repairs one that is invalid or, unless
// cut, incomplete.
func readInput(text string, cut bool) (input json.RawMessage, n int, ok bool) {
	if text == "" || text[0] != '{' {
		return json.RawMessage("{}"), 0, false
	}
	text = quoteGemma(text)
	if n = jsonLen(text); n == 0 {
		if cut {
			return nil, 0, false
		}
		n = len(text)
	}
	if data := text[:n]; json.Valid([]byte(data)) {
		return json.RawMessage(data), n, true
	}
	fixed, err := Repair(text[:n])
	if err != nil || !bytes.HasPrefix(fixed, []byte("{")) {
		return nil, 0, false
	}
	return fixed, n, true
}

// quoteGemma writes Gemma's strings as JSON.
func quoteGemma(text string) string {
	pieces := strings.Split(text, gemmaQuote)
	if len(pieces) == 1 {
		return text
	}
	var b strings.Builder
	for i, p := range pieces {
		if i%2 == 0 {
			b.WriteString(p)
		} else {
			b.Write(jsonText(p))
		}
	}
	return b.String()
}

func jsonText(s string) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil { // cannot happen
		return json.RawMessage(`""`)
	}
	return data
}

// parseNamed reads objects, lists of objects, and objects after the name of a tool.
func (r *OutputReader) parseNamed(body string, cut bool) (calls []writtenCall) {
	body = quoteGemma(body)
	for body != "" {
		i := strings.IndexAny(body, "{[")
		if i >= 0 && body[i] == '[' && !startsList(body[i+1:]) {
			if j := strings.IndexByte(body[i:], '{'); j > 0 {
				i += j
			} else {
				i = -1
			}
		}
		if i < 0 {
			return calls
		}
		name := lastName(body[:i])
		rest := body[i:]
		n := jsonLen(rest)
		if n == 0 {
			if cut {
				return calls
			}
			n = len(rest)
		}
		value := rest[:n]
		if !json.Valid([]byte(value)) {
			fixed, err := Repair(value)
			if err != nil {
				return calls
			}
			value = string(fixed)
		}
		if name != "" && value[0] == '{' {
			calls = append(calls, writtenCall{name, json.RawMessage(value)})
		} else {
			calls = append(calls, r.callsOf(json.RawMessage(value), maxCallDepth)...)
		}
		body = rest[n:]
	}
	return calls
}

// startsList reports whether a list of objects starts after a bracket.
func startsList(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text == "" || text[0] == '{' || text[0] == ']'
}

var (
	nameWord = regexp.MustCompile(`[A-Za-z_][\w.\-]*`)
	noName   = regexp.MustCompile("<[^<>]*>|\\[CALL_ID\\]\\w*|\\[/?[A-Z_]+\\]|```\\w*")
)

// lastName returns the tool that text before an object names, or "".
func lastName(text string) string {
	words := nameWord.FindAllString(noName.ReplaceAllString(text, " "), -1)
	for _, w := range slices.Backward(words) {
		switch strings.ToLower(w) {
		case "function", "json", "tool", "call", "and", "type":
			continue
		}
		return w
	}
	return ""
}

// maxCallDepth limits the lists and wrappers around a call. Each of them parses the rest again.
const maxCallDepth = 8

// callsOf returns the calls in a JSON value, in at most depth lists and wrappers.
func (r *OutputReader) callsOf(value json.RawMessage, depth int) (calls []writtenCall) {
	if depth == 0 {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil {
		for _, v := range list {
			calls = append(calls, r.callsOf(v, depth-1)...)
		}
		return calls
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(value, &m) != nil {
		return nil
	}
	if inner, ok := m["tool_calls"]; ok && len(inner) > 0 && inner[0] == '[' {
		return r.callsOf(inner, depth-1)
	}
	if f, ok := m["function"]; ok && len(f) > 0 && f[0] == '{' {
		return r.callsOf(f, depth-1)
	}
	c := writtenCall{input: json.RawMessage("{}")}
	for _, key := range []string{"name", "tool_name", "function_name", "function", "tool", "action", "recipient_name"} {
		if json.Unmarshal(m[key], &c.name) == nil && c.name != "" {
			break
		}
	}
	for _, key := range []string{"arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs"} {
		if raw, ok := m[key]; ok {
			c.input = objectOf(raw)
			break
		}
	}
	if c.name == "" && len(m) == 1 { // as in {"f": {…}}
		for name, raw := range m {
			if r.findTool(name) != nil && len(raw) > 0 && raw[0] == '{' {
				return []writtenCall{{name, raw}}
			}
		}
	}
	if c.name == "" || c.input == nil {
		return nil
	}
	return []writtenCall{c}
}

// objectOf returns an object, perhaps from a string, or nil.
func objectOf(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		raw = json.RawMessage(strings.TrimSpace(s))
		if len(raw) == 0 {
			return json.RawMessage("{}")
		}
	}
	if string(raw) == "null" {
		return json.RawMessage("{}")
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return raw
}

// bareMembers has the members that an object without a marker may have to be a call.
var bareMembers = map[string]bool{
	"name": true, "tool_name": true, "function": true, "function_name": true, "tool": true, "type": true, "id": true, "tool_call_id": true,
	"arguments": true, "parameters": true, "args": true, "tool_calls": true,
}

// parseBare returns the calls of an answer. whole reports that it has nothing else.
func (r *OutputReader) parseBare(body string) (calls []writtenCall, whole bool) {
	if body == "" {
		return nil, false
	}
	if body[0] != '{' && !startsList(body[1:]) || body[0] != '{' && body[0] != '[' {
		return r.parsePython(body)
	}
	for rest := body; rest != ""; rest = strings.TrimLeft(rest, " \t\r\n;,") {
		n := jsonLen(rest)
		if n == 0 || !json.Valid([]byte(rest[:n])) {
			return nil, false
		}
		value := json.RawMessage(rest[:n])
		found := r.callsOf(value, maxCallDepth)
		if len(found) == 0 || !isBareCall(value) {
			return nil, false
		}
		calls = append(calls, found...)
		rest = rest[n:]
	}
	return calls, true
}

// isBareCall reports whether JSON has only the members of calls, and arguments.
func isBareCall(value json.RawMessage) bool {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil {
		return len(list) > 0 && !slices.ContainsFunc(list, func(v json.RawMessage) bool { return !isBareCall(v) })
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(value, &m) != nil {
		return false
	}
	for key := range m {
		if !bareMembers[key] {
			return false
		}
	}
	return m["arguments"] != nil || m["parameters"] != nil || m["args"] != nil || m["tool_calls"] != nil || len(m["function"]) > 0 && m["function"][0] == '{'
}

// inputOf returns the object of named arguments.
func inputOf(args map[string]json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(args)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonText(key))
		b.WriteByte(':')
		b.Write(args[key])
	}
	b.WriteByte('}')
	return b.Bytes()
}
