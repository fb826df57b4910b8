package gemini

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// A partialArg is a piece of an argument, at a JSON path such as $.foo.bar[0].data. The text
// of the next piece at the same path continues a text. Only Vertex AI streams arguments.
type partialArg struct {
	Path   string          `json:"jsonPath"`
	Text   *string         `json:"stringValue,omitempty"`
	Number json.RawMessage `json:"numberValue,omitempty"`
	Bool   *bool           `json:"boolValue,omitempty"`
	Null   json.RawMessage `json:"nullValue,omitempty"`
}

// A partialCall is a call whose arguments are not complete yet.
type partialCall struct {
	id, name string
	args     any // map[string]any, []any, *strings.Builder, json.RawMessage or bool
	size     int
	own      *llm.Opaque
}

const (
	maxArgs      = 64 << 20 // bytes
	maxPathSteps = 100
	maxListGap   = 16
)

var (
	errNameless = &llm.Error{Class: llm.Malformed, Message: "the answer has a call without a name"}
	errArgument = &llm.Error{Class: llm.Malformed, Message: "cannot read an argument of a call of the answer"}
	errOpenCall = &llm.Error{Class: llm.Malformed, Message: "the answer ends within a call"}
)

// addCall adds a call, or a piece of one. The last piece of a call may be empty.
func (f *fold) addCall(c *functionCall, own *llm.Opaque) error {
	if f.open != nil && !f.open.continuesWith(c) {
		if err := f.closeCall(); err != nil {
			return err
		}
	}
	if f.open == nil {
		switch {
		case c.Name == "" && c.ID == "" && len(c.Args) == 0 && len(c.Partial) == 0:
			return nil
		case c.Name == "":
			return errNameless
		case len(c.Partial) == 0 && !c.WillContinue:
			return f.addWholeCall(c, own)
		}
		f.open = &partialCall{id: c.ID, name: c.Name}
	}
	if own != nil {
		f.open.own = own
	}
	if err := f.open.addArgs(c); err != nil || c.WillContinue {
		return err
	}
	return f.closeCall()
}

func (f *fold) addWholeCall(c *functionCall, own *llm.Opaque) error {
	call := &llm.ToolCall{ID: cmp.Or(c.ID, wire.CallID()), Name: c.Name, Input: wire.CallInput(c.Args)}
	f.calls++
	return f.parts.Add(llm.Part{Call: call, Opaque: own})
}

func (f *fold) closeCall() error {
	c := f.open
	f.open = nil
	args, err := json.Marshal(finishArgs(c.args))
	if err != nil || string(args) == "null" {
		args = nil
	}
	return f.addWholeCall(&functionCall{ID: c.id, Name: c.name, Args: args}, c.own)
}

func (c *partialCall) continuesWith(next *functionCall) bool {
	return (next.Name == "" || next.Name == c.name) && (next.ID == "" || next.ID == c.id)
}

func (c *partialCall) addArgs(next *functionCall) error {
	if c.size += len(next.Args); len(next.Args) > 0 {
		var members map[string]json.RawMessage
		if json.Unmarshal(next.Args, &members) != nil {
			return errArgument
		}
		for name, v := range members {
			if err := c.setArg([]pathStep{{name: name}}, v); err != nil {
				return err
			}
		}
	}
	for _, p := range next.Partial {
		path, ok := parsePath(p.Path)
		if !ok {
			return errArgument
		}
		c.size += len(p.Path) + len(p.Number)
		v := any(nil)
		switch {
		case p.Text != nil:
			c.size += len(*p.Text)
			v = *p.Text
		case len(p.Number) > 0:
			v = p.Number
		case p.Bool != nil:
			v = *p.Bool
		case len(p.Null) > 0:
			v = json.RawMessage("null")
		default:
			continue
		}
		if err := c.setArg(path, v); err != nil {
			return err
		}
	}
	return nil
}

func (c *partialCall) setArg(path []pathStep, v any) (err error) {
	if c.size > maxArgs {
		return &llm.Error{Class: llm.Malformed, Message: "the answer is too large"}
	}
	c.args, err = setValue(c.args, path, v)
	return err
}

// setValue sets or continues the value at a path, and returns the node that has it.
func setValue(node any, path []pathStep, v any) (any, error) {
	if len(path) == 0 {
		text, ok := v.(string)
		if !ok {
			return v, nil
		}
		b, ok := node.(*strings.Builder)
		if !ok {
			b = &strings.Builder{}
		}
		b.WriteString(text)
		return b, nil
	}
	step := path[0]
	var err error
	if step.isIndex {
		list, ok := node.([]any)
		if !ok && node != nil || step.index > len(list)+maxListGap {
			return nil, errArgument
		}
		for len(list) <= step.index {
			list = append(list, nil)
		}
		list[step.index], err = setValue(list[step.index], path[1:], v)
		return list, err
	}
	members, ok := node.(map[string]any)
	if !ok && node != nil {
		return nil, errArgument
	}
	if members == nil {
		members = make(map[string]any)
	}
	members[step.name], err = setValue(members[step.name], path[1:], v)
	return members, err
}

// finishArgs replaces builders by their texts.
func finishArgs(node any) any {
	switch node := node.(type) {
	case *strings.Builder:
		return node.String()
	case map[string]any:
		for name, v := range node {
			node[name] = finishArgs(v)
		}
	case []any:
		for i, v := range node {
			node[i] = finishArgs(v)
		}
	}
	return node
}

// A pathStep is a member's name or an item's index.
type pathStep struct {
	name    string
	index   int
	isIndex bool
}

// parsePath reads the paths of RFC 9535 that name one place: names after dots or in brackets
// with quotes, and indexes.
func parsePath(path string) (steps []pathStep, ok bool) {
	rest := strings.TrimPrefix(path, "$")
	if rest != "" && rest[0] != '.' && rest[0] != '[' {
		rest = "." + rest
	}
	for rest != "" && len(steps) < maxPathSteps {
		var step pathStep
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			step.name, rest = rest[1:end], rest[end:]
			ok = step.name != ""
		} else {
			step, rest, ok = parseBracket(rest[1:])
		}
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			return nil, false
		}
		steps = append(steps, step)
	}
	return steps, rest == "" && len(steps) > 0
}

// parseBracket reads a step after its opening bracket.
func parseBracket(text string) (step pathStep, rest string, ok bool) {
	if text == "" || text[0] != '\'' && text[0] != '"' {
		number, rest, closed := strings.Cut(text, "]")
		n, err := strconv.Atoi(number)
		return pathStep{index: n, isIndex: true}, rest, closed && err == nil && n >= 0
	}
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			if step.name, ok = unquoteName(text[1:i]); !ok {
				return step, "", false
			}
			rest, ok = strings.CutPrefix(text[i+1:], "]")
			return step, rest, ok
		}
	}
	return step, "", false
}

// unquoteName decodes a name with the escapes of JSON, and of single quotes.
func unquoteName(text string) (name string, ok bool) {
	text = strings.ReplaceAll(text, `\'`, `'`)
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			b.WriteByte(text[i])
			i++
		} else if text[i] == '"' {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	ok = json.Unmarshal([]byte(`"`+b.String()+`"`), &name) == nil
	return name, ok
}
